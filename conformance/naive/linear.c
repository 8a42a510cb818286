/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "conformance/naive/naive.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

naive_values naive_x_row(const naive_call *call, int64_t row) {
    const armq_desc *desc = call->desc;
    int64_t offset = row * armq_x_stride(desc, call->args);
    const uint8_t *x = call->args->x;
    return (naive_values){
        .at = x ? x + (size_t)offset * armq_dtype_bytes(desc->in) : NULL,
        .dtype = desc->in,
        .work = armq_op_is_bf16(desc->op) ? ARMQ_DTYPE_BF16 : desc->dialect.work,
        .count = armq_x_row(desc),
    };
}

void *naive_y_row(const naive_call *call, int64_t row) {
    int64_t offset = row * armq_y_stride(call->desc, call->args);
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
    for (int64_t i = 0; i < k; i++)
        sum += (int64_t)(q[i] - zero) * w[i];
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
    for (int64_t i = 0; i < k; i++)
        sum += widen(x[i]) * widen(w[i]);
    return sum;
}

float naive_dequantized(const naive_packed *packed, const int8_t *q, naive_row x, int64_t n) {
    if (packed->k == 0)
        return 0.0f; /* whatever the scales are */
    if (packed->grouped)
        return naive_dequantized_groups(packed, q, x, n);
    int64_t sum = naive_dot_s8(q, x.zero, (const int8_t *)packed->w + n * packed->k, packed->k);
    return (float)sum * (x.scale * packed->scales[n]);
}

float naive_product_bf16(const naive_packed *packed, const uint16_t *x, int64_t n) {
    if (packed->k == 0)
        return 0.0f;
    return naive_dot_bf16(x, (const uint16_t *)packed->w + n * packed->k, packed->k);
}

float naive_add_bias(float y, const naive_packed *packed, int64_t n) {
    return packed->bias ? y + packed->bias[n] : y;
}

void naive_store(const armq_desc *desc, void *y_row, int64_t n, float y) {
    armq_store(desc->out, y_row, n, (double)y);
}

void naive_store_nan_row(const naive_call *call, int64_t row) {
    for (int64_t n = 0; n < armq_y_row(call->desc); n++)
        naive_store(call->desc, naive_y_row(call, row), n, NAN);
}

void naive_gemm_s8s8s32(const naive_call *call, int64_t row, void *scratch) {
    (void)scratch;
    int64_t k = call->desc->k;
    const int8_t *x = naive_x_row(call, row).at, *w = call->packed.w;
    int32_t *y = naive_y_row(call, row);
    for (int64_t n = 0; n < call->desc->n; n++)
        y[n] = (int32_t)naive_dot_s8(x, 0, k ? w + n * k : w, k);
}

void naive_linear_int(const naive_call *call, int64_t row, void *scratch) {
    const armq_desc *desc = call->desc;
    naive_values values = naive_x_row(call, row);
    naive_row x = naive_quantize_row(&desc->dialect, &values, scratch);
    if (!x.finite) {
        naive_store_nan_row(call, row);
        return;
    }
    for (int64_t n = 0; n < desc->n; n++) {
        float y = naive_dequantized(&call->packed, scratch, x, n);
        if (desc->dialect.linear_round_before_bias)
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
        x[i] = armq_f32_to_bf16(naive_load(&values, i));
    for (int64_t n = 0; n < desc->n; n++) {
        float y = naive_product_bf16(&call->packed, x, n);
        if (desc->dialect.linear_round_before_bias)
            y = (float)armq_round_to(desc->out, (double)y);
        naive_store(desc, naive_y_row(call, row), n, naive_add_bias(y, &call->packed, n));
    }
}
