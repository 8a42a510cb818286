/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARMQ_KERNELS_RANGE_H
#define ARMQ_KERNELS_RANGE_H

#include "kernels/armq.h"

/* min(0, min x) and max(0, max x) of a row of F32, BF16 or F16. If the row holds a NaN or an
 * infinity, at least one of the two is not finite. */
typedef struct {
    float min, max;
} armq_range;

/* Reads exactly the k elements at x. */
armq_range armq_row_range(armq_dtype dtype, const void *x, int64_t k);

#endif
