/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the reference: dot products of bf16 operands accumulated in f32. Bounds:
 * reference/README.md, "bf16 dot products". */
#ifndef ARMQ_REFERENCE_BF16_DOT_H
#define ARMQ_REFERENCE_BF16_DOT_H

#include "reference/reference.h"

/* A value that a correct implementation may hold anywhere in [lo, hi]. */
typedef struct {
    int64_t at;
    double lo, hi;
} ref_spread;

/* A row of bf16 values, all finite. */
typedef struct {
    double *values;
    bool tiny;           /* subnormals of bf16 are among them */
    ref_spread *spreads; /* the uncertain ones */
    int64_t spread_count;
} ref_bf16_row;

/* Sum of row * w over k elements, in any order and with any of the accumulation rules of real
 * hardware. w: bf16 patterns. */
ref_interval ref_dot_bf16(const ref_bf16_row *row, const uint16_t *w, int64_t k);

#endif
