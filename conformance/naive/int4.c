/* SPDX-License-Identifier: Apache-2.0 */
/* int4 weights: unpacked to int8 without their zero points, and the ops that have a scale per
 * group. */
#include "conformance/naive/naive.h"
#include "kernels/api/describe.h"
#include "reference/formats.h"

/* --- Unpacking ---------------------------------------------------------------------------------
 */

static size_t row_bytes(armq_weight_format format, int64_t k) {
    return (size_t)(format == ARMQ_WEIGHT_S4_WORD8 ? (k + 7) / 8 * 4 : (k + 1) / 2);
}

void naive_unpack_low(const uint8_t *row, int64_t k, int8_t *w) {
    for (int64_t i = 0; i < k; i++) {
        int32_t code = row[i / 2] >> (i % 2 ? 4 : 0) & 15;
        w[i] = (int8_t)(code >= 8 ? code - 16 : code);
    }
}

void naive_unpack_word8(const int32_t *row, int64_t k, int8_t *w) {
    for (int64_t i = 0; i < k; i++)
        w[i] = (int8_t)((int32_t)((uint32_t)row[i / 8] >> (i % 8 * 4) & 15u) - 8);
}

/* [rows, groups], rows of all experts of the range. */
int32_t naive_weight_zero(const armq_weights *weights, int64_t groups, int64_t row, int64_t group) {
    return weights->zero_points ? weights->zero_points[row * groups + group] : 0;
}

void naive_pack_int4(const armq_desc *desc, const naive_packed *shape, const armq_weights *weights,
                     int64_t expert, int8_t *w) {
    int64_t k = shape->k, length = shape->group_size;
    size_t bytes = row_bytes(desc->format, k);
    for (int64_t n = 0; n < shape->n && k > 0; n++, w += k) {
        int64_t row = expert * shape->n + n;
        const void *from = (const uint8_t *)weights->w + (size_t)row * bytes;
        if (desc->format == ARMQ_WEIGHT_S4_WORD8)
            naive_unpack_word8(from, k, w);
        else
            naive_unpack_low(from, k, w);
        for (int64_t i = 0; i < k && weights->zero_points; i++)
            w[i] = (int8_t)(w[i] - naive_weight_zero(weights, shape->groups, row, i / length));
    }
}

/* --- Products ----------------------------------------------------------------------------------
 */

static const int8_t *group_weights(const naive_packed *packed, int64_t n, int64_t group) {
    return (const int8_t *)packed->w + n * packed->k + group * packed->group_size;
}

void naive_pack_sums(const naive_packed *packed, int32_t *sums) {
    for (int64_t n = 0; n < packed->n; n++)
        for (int64_t group = 0; group < packed->groups; group++) {
            const int8_t *w = group_weights(packed, n, group);
            int32_t sum = 0;
            for (int64_t i = 0; i < packed->group_size; i++)
                sum += w[i];
            sums[n * packed->groups + group] = sum;
        }
}

int32_t naive_row_sum(const naive_packed *packed, int64_t n, int64_t group) {
    return packed->sums[n * packed->groups + group];
}

float naive_group_scale(const naive_packed *packed, int64_t n, int64_t group) {
    return packed->scales[n * packed->groups + group];
}

float naive_dequantized_groups(const naive_packed *packed, const int8_t *q, naive_row x,
                               int64_t n) {
    float sum = 0.0f, correction = 0.0f;
    for (int64_t group = 0; group < packed->groups; group++) {
        float scale = naive_group_scale(packed, n, group);
        int64_t acc = naive_dot_s8(q + group * packed->group_size, 0,
                                   group_weights(packed, n, group), packed->group_size);
        sum += (float)acc * scale;
        if (x.zero != 0)
            correction += scale * (float)naive_row_sum(packed, n, group);
    }
    return (sum - (float)x.zero * correction) * x.scale;
}

void naive_gemm_s8s4s32(const naive_call *call, int64_t row, void *scratch) {
    (void)scratch;
    const naive_packed *packed = &call->packed;
    const int8_t *x = naive_x_row(call, row).at;
    int32_t *y = naive_y_row(call, row);
    for (int64_t n = 0; n < packed->n; n++)
        for (int64_t group = 0; group < packed->groups; group++) {
            int64_t length = packed->group_size;
            int64_t sum = length ? naive_dot_s8(x + group * length, 0,
                                                group_weights(packed, n, group), length)
                                 : 0;
            y[n * packed->groups + group] = (int32_t)sum;
        }
}
