/* SPDX-License-Identifier: Apache-2.0 */
/* The naive provider: a second opinion on every op, written from the formulas of the dialects and
 * sharing nothing with reference/ but the number formats. One small function per step, so that a
 * step can be replaced by a wrong one (conformance/tests/broken); FAULT marks where another build
 * can be told to go wrong (conformance/faults/fault.h). */
#ifndef ARMQ_CONFORMANCE_NAIVE_H
#define ARMQ_CONFORMANCE_NAIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/armq.h"

/* --- Packed weights: row-major as given (int4: a byte each), scales and bias widened to f32 behind
 * them; experts one after the other. which: 0 = w or w13, 1 = w2. ---------------------------------
 */

typedef struct {
    const void *w;       /* [n, k]: bf16, int8, or int4 minus zero points as int8 */
    const float *scales; /* [n, groups]; NULL for gemm and bf16 */
    const float *bias;   /* [n]; NULL without bias */
    const int32_t *sums; /* [n, groups] of w, if grouped */
    int64_t n, k;
    int64_t groups, group_size; /* along k; per channel: 1 and k */
    bool grouped;               /* each group has its own scale */
} naive_packed;

/* Of one expert, or of the only weights there are. */
size_t naive_packed_bytes(const armq_desc *desc, int32_t which);
naive_packed naive_unpack(const armq_desc *desc, int32_t which, const void *packed);
void naive_pack(const armq_desc *desc, int32_t which, const armq_weights *weights, int64_t experts,
                void *packed);

/* --- int4 ---------------------------------------------------------------------------------------
 */

/* A row of k weights to int8. */
void naive_unpack_low(const uint8_t *row, int64_t k, int8_t *w);
void naive_unpack_word8(const int32_t *row, int64_t k, int8_t *w);

/* Zero point of a row, which counts from the first expert of the range; 0 if there are none. */
int32_t naive_weight_zero(const armq_weights *weights, int64_t groups, int64_t row, int64_t group);

/* w [n, k] of one expert of the range, without its zero points. */
void naive_pack_int4(const armq_desc *desc, const naive_packed *shape, const armq_weights *weights,
                     int64_t expert, int8_t *w);
void naive_pack_sums(const naive_packed *packed, int32_t *sums);

float naive_group_scale(const naive_packed *packed, int64_t n, int64_t group);
int32_t naive_row_sum(const naive_packed *packed, int64_t n, int64_t group); /* of the weights */

/* --- Steps that several ops share ---------------------------------------------------------------
 */

/* Values as they stand in memory, and the dtype that each is rounded to when it is read. */
typedef struct {
    const void *at;
    armq_dtype dtype, work;
    int64_t count;
} naive_values;

float naive_load(const naive_values *values, int64_t i);
bool naive_is_finite(const naive_values *values);
float naive_round(armq_dtype dtype, float value);
uint16_t naive_bf16(float value);
uint16_t naive_f16(float value);

typedef struct {
    float scale; /* real = (q - zero) * scale; NaN if not finite */
    int32_t zero;
    bool finite;
} naive_row;

/* Quantises x to q. A row with NaN, Inf or an infinite range gives q 0, scale NaN. */
naive_row naive_quantize_row(const armq_dialect *dialect, const naive_values *x, int8_t *q);

/* Sum of (q - zero) * w. */
int64_t naive_dot_s8(const int8_t *q, int32_t zero, const int8_t *w, int64_t k);
float naive_dot_bf16(const uint16_t *x, const uint16_t *w, int64_t k);

/* Product of a quantised row with row n of the weights, without bias; of those with groups. */
float naive_dequantized_groups(const naive_packed *packed, const int8_t *q, naive_row x, int64_t n);

/* The same of any. */
float naive_dequantized(const naive_packed *packed, const int8_t *q, naive_row x, int64_t n);
float naive_product_bf16(const naive_packed *packed, const uint16_t *x, int64_t n);
float naive_add_bias(float y, const naive_packed *packed, int64_t n);

/* Rounds to the output dtype and stores element n of a row of y. */
void naive_store(const armq_desc *desc, void *y_row, int64_t n, float y);

/* --- Ops: one row of x to one row of y, with the scratch of one thread. -------------------------
 */

typedef struct {
    const armq_desc *desc;
    const armq_args *args;
    naive_packed packed; /* not moe */
} naive_call;

size_t naive_scratch_bytes(const armq_desc *desc); /* per thread, a multiple of 64 */
naive_values naive_x_row(const naive_call *call, int64_t row);
void *naive_y_row(const naive_call *call, int64_t row);
void naive_store_nan_row(const naive_call *call, int64_t row);

void naive_quantize(const naive_call *call, int64_t row, void *scratch);
void naive_activation(const naive_call *call, int64_t row, void *scratch);
void naive_gemm_s8s8s32(const naive_call *call, int64_t row, void *scratch);
void naive_gemm_s8s4s32(const naive_call *call, int64_t row, void *scratch);
void naive_linear_int(const naive_call *call, int64_t row, void *scratch); /* w8a8 and w4a8 */
void naive_linear_bf16(const naive_call *call, int64_t row, void *scratch);
void naive_moe(const naive_call *call, int64_t token, void *scratch);

/* --- Steps of a mixture of experts, for one slot of one token -----------------------------------
 */

size_t naive_moe_scratch_bytes(const armq_desc *desc);

/* Whether every expert id is one that the description allows. */
bool naive_ids_are_valid(const naive_call *call);

/* Routing: whether a slot belongs to this machine, and the slot that is added after `previous` (-1:
 * the first) in the order of the dialect; -1 after the last. */
bool naive_slot_runs(const naive_call *call, int64_t token, int64_t slot);
int64_t naive_next_slot(const naive_call *call, int64_t token, int64_t previous);

naive_packed naive_expert(const naive_call *call, int32_t which, int64_t expert);

/* Router weight, rounded as the dialect says; 1 if there is none. */
float naive_router_weight(const naive_call *call, int64_t token, int64_t slot);

/* x [hidden] in the working dtype, times the router weight if that is on the input. */
void naive_gather(const naive_call *call, int64_t token, int64_t slot, float *x);

/* y13 [2*intermediate] = w13 * x + bias. operand: room for x as the product takes it. */
void naive_gate_up(const naive_call *call, int64_t expert, const float *x, void *operand,
                   float *y13);

/* activation(gate) * up. */
float naive_activate(const armq_dialect *dialect, float gate, float up);

/* h [intermediate] from y13. */
void naive_intermediate(const naive_call *call, const float *y13, float *h);

/* y2 [hidden] = w2 * h + bias, h quantised again. */
void naive_down(const naive_call *call, int64_t expert, const float *h, void *operand, float *y2);

/* sum [hidden] += y2 times the router weight, if that is on the output. */
void naive_combine(const naive_call *call, int64_t token, int64_t slot, const float *y2,
                   float *sum);

#endif
