/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong steps that take more than an expression, for the faulty build alone. */
#ifndef ARMQ_CONFORMANCE_WRONG_H
#define ARMQ_CONFORMANCE_WRONG_H

#include <stdbool.h>
#include <stdint.h>

#include "conformance/naive/naive.h"

/* Of the row that this thread is at: set before each row by faults/provider.c. */
extern _Thread_local bool fault_other_order;
extern _Thread_local int32_t fault_thread;
extern _Thread_local bool fault_second; /* at the second product of an expert */
extern _Thread_local float fault_kept;  /* from one step to a later one */

void fault_pause(void); /* long enough for another thread to come by */

/* Products of int8 rows, each sum starting from nothing: two or four products are added in int16
 * before they are widened; neighbours of q exchanged; summed in f32. */
int64_t wrong_dot_int16(const int8_t *q, int32_t zero, const int8_t *w, int64_t k, int64_t count,
                        bool saturates);
int64_t wrong_dot_swapped(const int8_t *q, int32_t zero, const int8_t *w, int64_t k);
int64_t wrong_dot_f32(const int8_t *q, int32_t zero, const int8_t *w, int64_t k);
float wrong_dot_in_bf16(const uint16_t *x, const uint16_t *w, int64_t k);

/* Per-channel scales along K. */
/* Of one other than f32. */
armq_dtype wrong_bias_dtype(const armq_desc *desc);
bool wrong_is_finite(const naive_values *x); /* as the sum of a row is */
int64_t wrong_row_sum(int64_t sum, naive_row x, const int8_t *w, int64_t k); /* in 16 bits */
int64_t wrong_group(int64_t group, int64_t size); /* that the block of 512 begins in */
float wrong_correction(int64_t sum, naive_row x, const int8_t *w, int64_t k, float scale);
float wrong_scales_along_k(const int8_t *q, int32_t zero, const int8_t *w, int64_t k,
                           const float *scales, int64_t n);

/* The intermediate as it is, times the weights. */
float wrong_unquantised(const float *h, const int8_t *w, int64_t k, float scale);

float wrong_scale(float scale); /* of weights: what becomes of 0, NaN, signs */
float wrong_sigmoid_coarse(float x);

/* Routing: whether the slot's expert has had as many slots before as a fixed room holds; the place
 * of an expert among those that any token uses; the sum of a token's weights, and whether all are
 * 0; 0 times what unused experts would contribute. */
bool wrong_is_beyond_capacity(const naive_call *call, int64_t token, int64_t slot);
int64_t wrong_rank_of(const naive_call *call, int64_t expert);
float wrong_sum_of_weights(const naive_call *call, int64_t token);
bool wrong_has_no_weight(const naive_call *call, int64_t token);
void wrong_add_unused(const naive_call *call, float *sum);
float wrong_bias(const naive_call *call, int64_t token, int64_t slot, int64_t n); /* of w2 */
armq_desc wrong_preset(const armq_desc *desc); /* roundings that depend on the op alone */
void wrong_add_skipped(const naive_call *call, int64_t token, float *sum);

/* Parts of an expert's packed weights exchanged for others. */
void wrong_expert(const naive_call *call, int32_t which, int64_t expert, naive_packed *found);

/* f32 to 16 bits by other rules. */
uint16_t wrong_bf16_truncated(float value);
uint16_t wrong_bf16_away(float value);
uint16_t wrong_bf16_odd(float value); /* NaN handled like a number */
uint16_t wrong_bf16_payload(float value);
uint16_t wrong_bf16_saturated(float value);
uint16_t wrong_f16_saturated(float value);
uint16_t wrong_f16_flushed(float value);
uint16_t wrong_f16_truncated(float value);

#endif
