/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/tests/s4.h"

#include <stdbool.h>
#include <string.h>

#include "kernels/tests/problem.h"
#include "reference/formats.h"

static int64_t groups_of(const armq_desc *desc, int64_t k) {
    return desc->group_size ? k / desc->group_size : 1;
}

static int64_t group_at(const armq_desc *desc, int64_t k, int64_t row, int64_t i) {
    return row * groups_of(desc, k) + (desc->group_size ? i / desc->group_size : 0);
}

int64_t s4_row_bytes(const armq_desc *desc, int64_t k) {
    return desc->format == ARMQ_WEIGHT_S4_WORD8 ? (k + 7) / 8 * 4 : (k + 1) / 2;
}

void s4_fill(const armq_desc *desc, armq_weights *weights, int64_t rows, int64_t k, double unit,
             uint64_t *state) {
    const int64_t bytes = rows * s4_row_bytes(desc, k), count = rows * groups_of(desc, k);
    uint8_t *w = guarded((size_t)bytes, desc->format == ARMQ_WEIGHT_S4_WORD8 ? 4 : 1, 0);
    for (int64_t i = 0; i < bytes; i++)
        w[i] = (uint8_t)random_u32(state);
    weights->w = w;
    const size_t element = desc->scale_dtype == ARMQ_DTYPE_BF16 ? 2 : 4;
    void *scales = guarded((size_t)count * element, element, 0);
    for (int64_t i = 0; i < count; i++) {
        const double value = unit * (double)(1 + i % 3 * 2 + i / 7 % 2) / (i % 2 ? 4 : 1);
        if (element == 2)
            armq_store(ARMQ_DTYPE_BF16, scales, i, value);
        else
            ((float *)scales)[i] = (float)value;
    }
    weights->scales = desc->scale_dtype == ARMQ_DTYPE_NONE ? NULL : scales;
    int8_t *zeros = guarded((size_t)count, 1, 0);
    for (int64_t i = 0; i < count; i++)
        zeros[i] = (int8_t)(random_u32(state) % 16) - 8;
    weights->zero_points = desc->uses & ARMQ_USES_WEIGHT_ZERO ? zeros : NULL;
}

int32_t s4_value(const armq_desc *desc, const armq_weights *weights, int64_t k, int64_t row,
                 int64_t i) {
    const bool word8 = desc->format == ARMQ_WEIGHT_S4_WORD8;
    int32_t value;
    if (word8) {
        uint32_t word;
        memcpy(&word, (const char *)weights->w + row * s4_row_bytes(desc, k) + i / 8 * 4, 4);
        value = (int32_t)(word >> (i % 8 * 4) & 15) - 8;
    } else {
        const uint8_t byte = ((const uint8_t *)weights->w)[row * s4_row_bytes(desc, k) + i / 2];
        value = i % 2 ? byte >> 4 : byte & 15;
        value = value < 8 ? value : value - 16;
    }
    return value - (weights->zero_points ? weights->zero_points[group_at(desc, k, row, i)] : 0);
}

void s4_set(const armq_desc *desc, const armq_weights *weights, int64_t k, int64_t row, int64_t i,
            int32_t value) {
    uint8_t *byte =
        (uint8_t *)(uintptr_t)weights->w + row * s4_row_bytes(desc, k) + i / 2; /* both formats */
    const int32_t code = desc->format == ARMQ_WEIGHT_S4_WORD8 ? value + 8 : value & 15;
    *byte = (uint8_t)(i % 2 ? (*byte & 15) | code << 4 : (*byte & 0xf0) | code);
}

float s4_scale(const armq_desc *desc, const armq_weights *weights, int64_t k, int64_t row,
               int64_t i) {
    const int64_t at = group_at(desc, k, row, i);
    if (desc->scale_dtype == ARMQ_DTYPE_BF16)
        return (float)armq_load(ARMQ_DTYPE_BF16, weights->scales, at);
    return ((const float *)weights->scales)[at];
}
