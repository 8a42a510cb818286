/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "conformance/faults/fault.h"
#include "conformance/naive/naive.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

static armq_dtype work_of(const armq_desc *desc) {
    if (armq_op_is_bf16(desc->op))
        return ARMQ_DTYPE_BF16;
    FAULT_DO(work_ignored, return ARMQ_DTYPE_F32);
    FAULT_DO(work_always_bf16,
             return desc->dialect.work == ARMQ_DTYPE_F32 ? ARMQ_DTYPE_F32 : ARMQ_DTYPE_BF16);
    return desc->dialect.work;
}

naive_values naive_x_row(const naive_call *call, int64_t row) {
    const armq_desc *desc = call->desc;
    int64_t stride = FAULT(x_stride_ignored, armq_x_row(desc), armq_x_stride(desc, call->args));
    FAULT_DO(offset_x_stride, stride = (int64_t)(uint32_t)stride);
    FAULT_DO(m_tail_repeats, row -= row > 0 && row + 1 == desc->tokens && desc->tokens % 4);
    int64_t offset = row * stride;
    FAULT_DO(offset_x, offset = (int64_t)(uint32_t)offset);
    FAULT_DO(offset_x_bytes,
             offset = (int64_t)((uint32_t)(offset * (int64_t)armq_dtype_bytes(desc->in)) /
                                armq_dtype_bytes(desc->in)));
    const uint8_t *x = call->args->x;
    FAULT_DO(x_taken_as_aligned, x = (const uint8_t *)((uintptr_t)x & ~(uintptr_t)15));
    return (naive_values){
        .at = x ? x + (size_t)offset * armq_dtype_bytes(desc->in) : NULL,
        .dtype = desc->in,
        .work = work_of(desc),
        .count = armq_x_row(desc),
    };
}

void *naive_y_row(const naive_call *call, int64_t row) {
    int64_t stride =
        FAULT(y_stride_ignored, armq_y_row(call->desc), armq_y_stride(call->desc, call->args));
    FAULT_DO(offset_y_stride, stride = (int64_t)(uint32_t)stride);
    int64_t offset = row * stride;
    FAULT_DO(offset_y, offset = (int64_t)(uint32_t)offset);
    uint8_t *y = call->args->y;
    return y ? y + (size_t)offset * armq_dtype_bytes(call->desc->out) : NULL;
}

/* A row of x as the dot product takes it: int8, or bf16. */
size_t naive_scratch_bytes(const armq_desc *desc) {
    if (armq_op_is_moe(desc->op))
        return naive_moe_scratch_bytes(desc);
    size_t element = !armq_op_is_linear(desc->op) ? 0 : armq_op_is_bf16(desc->op) ? 2 : 1;
    return ((size_t)desc->k * element + 63) / 64 * 64;
}

int64_t naive_dot_s8(const int8_t *q, int32_t zero, const int8_t *w, int64_t k) {
    int64_t sum = 0;
    FAULT_DO(int16_pairs, return wrong_dot_int16(q, zero, w, k, 2, false));
    FAULT_DO(int16_pairs_saturated, return wrong_dot_int16(q, zero, w, k, 2, true));
    FAULT_DO(int16_fours, return wrong_dot_int16(q, zero, w, k, 4, false));
    FAULT_DO(sum_in_f32, return wrong_dot_f32(q, zero, w, k));
    FAULT_DO(lanes_along_k, return wrong_dot_swapped(q, zero, w, k));
    FAULT_DO(k_tail_2, k -= k % 2);
    FAULT_DO(k_tail_4, k -= k % 4);
    FAULT_DO(k_tail_8, k -= k % 8);
    FAULT_DO(k_tail_of_long, if (k > 512) k -= k % 2);
    FAULT_DO(k_tail_16, k -= k % 16);
    FAULT_DO(k_tail_32, k -= k % 32);
    FAULT_DO(k_last_twice, sum += k % 2 ? (int64_t)(q[k - 1] - zero) * w[k - 1] : 0);
    FAULT_DO(k_block_dropped, k = k > 16 ? (k - 1) / 16 * 16 : k);
    FAULT_DO(k_from_1, sum -= k > 0 ? (int64_t)(q[0] - zero) * w[0] : 0);
    for (int64_t i = 0; i < k; i++)
        sum += (int64_t)(q[i] - zero) * w[i];
    FAULT_DO(int32_wrap, sum = (int32_t)(uint64_t)sum);
    FAULT_DO(int32_wrap_zero, sum = (int32_t)(uint64_t)sum);
    return sum;
}

/* In the loop, where a call per element would be most of the time. */
static inline float widen(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

float naive_dot_bf16(const uint16_t *x, const uint16_t *w, int64_t k) {
    float sum = 0.0f;
    FAULT_DO(sum_in_bf16, return wrong_dot_in_bf16(x, w, k));
    FAULT_DO(k_tail_of_long, if (k > 512) k -= k % 2);
    FAULT_DO(k_16384, k = k < 16384 ? k : 16384);
    FAULT_DO(k_tail_2, k -= k % 2);
    FAULT_DO(k_tail_4, k -= k % 4);
    FAULT_DO(k_tail_8, k -= k % 8);
    FAULT_DO(k_last_twice, sum += k % 2 ? widen(x[k - 1]) * widen(w[k - 1]) : 0.0f);
    for (int64_t i = 0; i < k; i++) {
        int64_t at = FAULT_ORDER(k - 1 - i, i);
        sum += widen(x[at]) * widen(w[at]);
    }
    FAULT_DO(sum_to_bf16, sum = widen(armq_f32_to_bf16(sum)));
    return sum;
}

float naive_dequantized(const naive_packed *packed, const int8_t *q, naive_row x, int64_t n) {
    if (packed->k == 0)
        return 0.0f; /* whatever the scales are */
    FAULT_DO(zero_ignored, x.zero = 0);
    FAULT_DO(zero_added, x.zero = -x.zero);
    if (packed->grouped)
        return naive_dequantized_groups(packed, q, x, n);
    int64_t row = n * packed->k;
    FAULT_DO(offset_w, row = (int64_t)(uint32_t)row);
    FAULT_DO(lanes_swapped, row = (n ^ 1) < packed->n ? (n ^ 1) * packed->k : row);
    const int8_t *w = (const int8_t *)packed->w + row;
    int64_t sum = naive_dot_s8(q, x.zero, w, packed->k);
    FAULT_DO(row_sum_in_int16, sum = wrong_row_sum(sum, x, w, packed->k));
    FAULT_DO(row_sum_short, sum += (int64_t)x.zero * w[packed->k - 1]);
    FAULT_DO(zero_row_sum_in_f32, return wrong_correction(sum, x, w, packed->k, packed->scales[n]));
    FAULT_DO(scale_along_k,
             return wrong_scales_along_k(q, x.zero, w, packed->k, packed->scales, packed->n) *
                    x.scale);
    FAULT_DO(scale_next_channel, n = (n + 1) % packed->n);
    float scale = FAULT_OF(wrong_scale, packed->scales[n]);
    FAULT_DO(channel_as_group_32, scale = packed->scales[n * packed->k / 32 % packed->n]);
    FAULT_DO(scale_x_missing, x.scale = 1.0f);
    FAULT_DO(scale_x_twice, x.scale *= x.scale);
    FAULT_DO(scales_to_bf16, return (float)sum * naive_round(ARMQ_DTYPE_BF16, x.scale * scale));
    FAULT_DO(sum_to_f16, return naive_round(ARMQ_DTYPE_F16, (float)sum) * (x.scale * scale));
    FAULT_DO(bias_before_scale,
             return ((float)sum + (packed->bias ? packed->bias[n] : 0.0f)) * (x.scale * scale));
    return FAULT_ORDER((float)sum * x.scale * scale, (float)sum * (x.scale * scale));
}

float naive_product_bf16(const naive_packed *packed, const uint16_t *x, int64_t n) {
    if (packed->k == 0)
        return 0.0f;
    int64_t row = n * packed->k;
    FAULT_DO(lanes_swapped, row = (n ^ 1) < packed->n ? (n ^ 1) * packed->k : row);
    return naive_dot_bf16(x, (const uint16_t *)packed->w + row, packed->k);
}

float naive_add_bias(float y, const naive_packed *packed, int64_t n) {
    FAULT_DO(bias_dropped, return y);
    FAULT_DO(bias_twice, return packed->bias ? y + packed->bias[n] + packed->bias[n] : y);
    FAULT_DO(bias_subtracted, return packed->bias ? y - packed->bias[n] : y);
    FAULT_DO(bias_first_channel, n = 0);
    FAULT_DO(bias_next_channel, n = (n + 1) % packed->n);
    FAULT_DO(bias_tail_dropped,
             return packed->bias && n < packed->n / 8 * 8 ? y + packed->bias[n] : y);
    FAULT_DO(bias_not_advanced, n = fault_thread > 0 ? (n + 1) % packed->n : n);
    FAULT_DO(bias_before_scale, return y);
    return packed->bias ? y + packed->bias[n] : y;
}

void naive_store(const armq_desc *desc, void *y_row, int64_t n, float y) {
    FAULT_DO(columns_8192, n = n < 8192 ? n : 0);
    FAULT_DO(output_accumulates, y += (float)armq_load(desc->out, y_row, n));
    FAULT_DO(output_zero_unwritten, if (y == 0.0f) return );
    FAULT_DO(output_through_bf16, y = naive_round(ARMQ_DTYPE_BF16, y));
    if (desc->out == ARMQ_DTYPE_F32)
        ((float *)y_row)[n] = y;
    else
        ((uint16_t *)y_row)[n] = desc->out == ARMQ_DTYPE_BF16 ? naive_bf16(y) : naive_f16(y);
    FAULT_DO(n_tail_over,
             if (n + 1 == armq_y_row(desc)) armq_store(desc->out, y_row, n + 1, (double)y));
}

void naive_store_nan_row(const naive_call *call, int64_t row) {
    for (int64_t n = 0; n < armq_y_row(call->desc); n++)
        naive_store(call->desc, naive_y_row(call, row), n, FAULT(nan_row_zero, 0.0f, NAN));
}

void naive_gemm_s8s8s32(const naive_call *call, int64_t row, void *scratch) {
    (void)scratch;
    int64_t k = call->desc->k;
    const int8_t *x = naive_x_row(call, row).at, *w = call->packed.w;
    int32_t *y = naive_y_row(call, row);
    int64_t end = FAULT(n_tail_8, call->desc->n - call->desc->n % 8, call->desc->n);
    for (int64_t n = 0; n < end; n++) {
        int64_t at = n * k;
        FAULT_DO(offset_w, at = (int64_t)(uint32_t)at);
        FAULT_DO(lanes_swapped, at = (n ^ 1) < end ? (n ^ 1) * k : at);
        int64_t sum = naive_dot_s8(x, 0, k ? w + at : w, k);
        FAULT_DO(output_accumulates, sum += y[n]);
        y[n] = (int32_t)(uint64_t)sum;
    }
}

void naive_linear_int(const naive_call *call, int64_t row, void *scratch) {
    const armq_desc *desc = call->desc;
    naive_values values = naive_x_row(call, row);
    naive_row x = naive_quantize_row(&desc->dialect, &values, scratch);
    FAULT_DO(threads_share_scratch, fault_pause());
    if (!x.finite) {
        naive_store_nan_row(call, row);
        return;
    }
    FAULT_DO(zero_ignored_for_one, x.zero = desc->tokens == 1 ? 0 : x.zero);
    bool round_first = desc->dialect.linear_round_before_bias != 0;
    FAULT_DO(round_first_missing, round_first = false);
    FAULT_DO(round_first_always, round_first = true);
    int64_t end = FAULT(n_tail_8, desc->n - desc->n % 8, desc->n);
    for (int64_t n = 0; n < end; n++) {
        float y = naive_dequantized(&call->packed, scratch, x, n);
        if (round_first)
            y = naive_round(desc->out, y);
        naive_store(desc, naive_y_row(call, row), n, naive_add_bias(y, &call->packed, n));
    }
}

void naive_linear_bf16(const naive_call *call, int64_t row, void *scratch) {
    const armq_desc *desc = call->desc;
    uint16_t *x = scratch;
    naive_values values = naive_x_row(call, row);
    if (!naive_is_finite(&values)) {
        naive_store_nan_row(call, row);
        return;
    }
    for (int64_t i = 0; i < desc->k; i++)
        x[i] = naive_bf16(naive_load(&values, i));
    bool round_first = desc->dialect.linear_round_before_bias != 0;
    FAULT_DO(round_first_missing, round_first = false);
    FAULT_DO(round_first_always, round_first = true);
    int64_t end = FAULT(n_tail_8, desc->n - desc->n % 8, desc->n);
    for (int64_t n = 0; n < end; n++) {
        float y = naive_product_bf16(&call->packed, x, n);
        if (round_first)
            y = (float)armq_round_to(desc->out, (double)y);
        naive_store(desc, naive_y_row(call, row), n, naive_add_bias(y, &call->packed, n));
    }
}
