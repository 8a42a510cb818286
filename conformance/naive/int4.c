/* SPDX-License-Identifier: Apache-2.0 */
/* int4 weights: unpacked to int8 without their zero points, and the ops that have a scale per
 * group. */
#include "conformance/faults/fault.h"
#include "conformance/naive/naive.h"
#include "kernels/api/describe.h"
#include "reference/formats.h"

/* --- Unpacking ---------------------------------------------------------------------------------
 */

static size_t row_bytes(armq_weight_format format, int64_t k) {
    FAULT_DO(nibble_row_short, return (size_t)(k / 2));
    FAULT_DO(word8_row_of_bytes, return (size_t)((k + 1) / 2));
    return (size_t)(format == ARMQ_WEIGHT_S4_WORD8 ? (k + 7) / 8 * 4 : (k + 1) / 2);
}

void naive_unpack_low(const uint8_t *row, int64_t k, int8_t *w) {
    for (int64_t i = 0; i < k; i++) {
        int64_t high = FAULT(nibble_order, (i + 1) % 2, i % 2);
        int32_t code = row[i / 2] >> (high ? 4 : 0) & 15;
        w[i] = (int8_t)(code >= 8 ? code - 16 : code);
        FAULT_DO(nibble_unsigned, w[i] = (int8_t)code);
        FAULT_DO(nibble_offset, w[i] = (int8_t)(code - 8));
        FAULT_DO(nibble_without_8, w[i] = w[i] == -8 ? -7 : w[i]);
    }
}

void naive_unpack_word8(const int32_t *row, int64_t k, int8_t *w) {
    int32_t offset = FAULT(word8_offset_missing, 0, FAULT(word8_offset_twice, 16, 8));
    for (int64_t i = 0; i < k; i++) {
        int64_t at = FAULT(word8_reversed, 7 - i % 8, FAULT(word8_pairs_swapped, i % 8 ^ 1, i % 8));
        w[i] = (int8_t)((int32_t)((uint32_t)row[i / 8] >> (at * 4) & 15u) - offset);
    }
}

/* [rows, groups], rows of all experts of the range. */
int32_t naive_weight_zero(const armq_weights *weights, int64_t groups, int64_t row, int64_t group) {
    FAULT_DO(weight_zero_ignored, return 0);
    FAULT_DO(weight_zero_first_group, group = 0);
    FAULT_DO(weight_zero_next_group, group = (group + 1) % groups);
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
        for (int64_t i = 0; i < k && weights->zero_points; i++) {
            int32_t zero = naive_weight_zero(weights, shape->groups, row, i / length);
            w[i] = (int8_t)(FAULT(weight_zero_added, w[i] + zero, w[i] - zero));
            FAULT_DO(weight_zero_saturated, w[i] = (int8_t)(w[i] < -8 ? -8 : w[i] > 7 ? 7 : w[i]));
        }
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
            int64_t end = FAULT(row_sum_short, packed->group_size - 1, packed->group_size);
            for (int64_t i = 0; i < end; i++)
                sum += w[i];
            sums[n * packed->groups + group] = sum;
        }
}

int32_t naive_row_sum(const naive_packed *packed, int64_t n, int64_t group) {
    FAULT_DO(row_sum_first_group, group = 0);
    FAULT_DO(row_sum_neighbour, n = (n + 1) % packed->n);
    return packed->sums[n * packed->groups + group];
}

float naive_group_scale(const naive_packed *packed, int64_t n, int64_t group) {
    FAULT_DO(group_scale_first, group = 0);
    FAULT_DO(groups_256, group %= 256);
    FAULT_DO(group_of_block, group = wrong_group(group, packed->group_size));
    FAULT_DO(group_scale_next, group = (group + 1) % packed->groups);
    FAULT_DO(group_size_32, group = group * packed->group_size / 32 % packed->groups);
    FAULT_DO(group_size_128, group = group * packed->group_size / 128);
    FAULT_DO(group_scale_transposed, return packed->scales[group * packed->n + n]);
    FAULT_DO(scale_next_channel, n = (n + 1) % packed->n);
    return FAULT_OF(wrong_scale, packed->scales[n * packed->groups + group]);
}

float naive_dequantized_groups(const naive_packed *packed, const int8_t *q, naive_row x,
                               int64_t n) {
    float sum = 0.0f, correction = 0.0f;
    int64_t last = packed->groups - 1, end = FAULT(group_last_dropped, last ? last : 1, last + 1);
    for (int64_t i = 0; i < end; i++) {
        int64_t group = FAULT_ORDER(end - 1 - i, i);
        float scale = naive_group_scale(packed, n, group);
        int64_t acc = naive_dot_s8(q + group * packed->group_size, 0,
                                   group_weights(packed, n, group), packed->group_size);
        FAULT_DO(int16_group, acc = (int16_t)(uint64_t)acc);
        sum += (float)acc * scale;
        if (x.zero != 0)
            correction += scale * (float)naive_row_sum(packed, n, group);
    }
    FAULT_DO(scale_x_missing, return sum - (float)x.zero * correction);
    FAULT_DO(scale_x_twice, x.scale *= x.scale);
    return FAULT_ORDER(sum * x.scale - (float)x.zero * (correction * x.scale),
                       (sum - (float)x.zero * correction) * x.scale);
}

void naive_gemm_s8s4s32(const naive_call *call, int64_t row, void *scratch) {
    (void)scratch;
    const naive_packed *packed = &call->packed;
    const int8_t *x = naive_x_row(call, row).at;
    int32_t *y = naive_y_row(call, row);
    int64_t end = FAULT(n_tail_8, packed->n - packed->n % 8, packed->n);
    for (int64_t n = 0; n < end; n++)
        for (int64_t group = 0; group < packed->groups; group++) {
            int64_t length = packed->group_size;
            int64_t sum = length ? naive_dot_s8(x + group * length, 0,
                                                group_weights(packed, n, group), length)
                                 : 0;
            FAULT_DO(int16_group, sum = (int16_t)(uint64_t)sum);
            int64_t at = n * packed->groups + group;
            FAULT_DO(group_out_transposed, at = group * packed->n + n);
            FAULT_DO(output_accumulates, sum += y[at]);
            y[at] = (int32_t)(uint64_t)sum;
        }
}
