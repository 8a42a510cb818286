/* SPDX-License-Identifier: Apache-2.0 */
/* The naive provider: a second opinion on every op, written from the formulas of the dialects and
 * sharing nothing with reference/ but the number formats. One small function per step, so that a
 * step can be replaced by a wrong one (conformance/tests/broken). */
#ifndef ARMQ_CONFORMANCE_NAIVE_H
#define ARMQ_CONFORMANCE_NAIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/armq.h"

/* --- Packed weights: row-major as given, scales and bias widened to f32 behind them. ------------
 */

typedef struct {
    const void *w;       /* [n, k] in desc.format */
    const float *scales; /* [n]; NULL for gemm and bf16 */
    const float *bias;   /* [n]; NULL without bias */
} naive_packed;

size_t naive_packed_bytes(const armq_desc *desc);
naive_packed naive_unpack(const armq_desc *desc, const void *packed);
void naive_pack(const armq_desc *desc, const armq_weights *weights, void *packed);

/* --- Steps --------------------------------------------------------------------------------------
 */

/* Element i of a row of x, in the working dtype of the dialect. */
float naive_load(const armq_desc *desc, const void *x_row, int64_t i);

typedef struct {
    float scale; /* real = (q - zero) * scale; NaN if not finite */
    int32_t zero;
    bool finite;
} naive_row;

/* Quantises k elements to q. A row with NaN, Inf or an infinite range gives q 0, scale NaN. */
naive_row naive_quantize_row(const armq_desc *desc, const void *x_row, int8_t *q);

/* Sum of (q - zero) * w. */
int64_t naive_dot_s8(const int8_t *q, int32_t zero, const int8_t *w, int64_t k);
float naive_dot_bf16(const uint16_t *x, const uint16_t *w, int64_t k);
float naive_add_bias(float y, const naive_packed *packed, int64_t n);

/* Rounds to the output dtype and stores element n of a row of y. */
void naive_store(const armq_desc *desc, void *y_row, int64_t n, float y);

/* --- Ops: one row of x to one row of y, with the scratch of one thread. -------------------------
 */

typedef struct {
    const armq_desc *desc;
    const armq_args *args;
    naive_packed packed;
} naive_call;

size_t naive_scratch_bytes(const armq_desc *desc); /* per thread, a multiple of 64 */
const void *naive_x_row(const naive_call *call, int64_t row);
void *naive_y_row(const naive_call *call, int64_t row);

void naive_quantize(const naive_call *call, int64_t row, void *scratch);
void naive_gemm_s8s8s32(const naive_call *call, int64_t row, void *scratch);
void naive_linear_w8a8(const naive_call *call, int64_t row, void *scratch);
void naive_linear_bf16(const naive_call *call, int64_t row, void *scratch);

#endif
