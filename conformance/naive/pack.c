/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "conformance/naive/naive.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

static size_t element_bytes(const armq_desc *desc) {
    return desc->format == ARMQ_WEIGHT_BF16 ? 2 : desc->format == ARMQ_WEIGHT_S8 ? 1 : 0;
}

/* Of one expert's w, without what aligns the f32 behind it. */
static size_t dense_bytes(const armq_desc *desc, int32_t which) {
    return (size_t)armq_weight_n(desc, which) * (size_t)armq_weight_k(desc, which) *
           element_bytes(desc);
}

static size_t weight_bytes(const armq_desc *desc, int32_t which) {
    return (dense_bytes(desc, which) + 3) / 4 * 4;
}

static size_t scale_bytes(const armq_desc *desc, int32_t which) {
    return desc->scale_dtype == ARMQ_DTYPE_NONE
               ? 0
               : (size_t)armq_weight_n(desc, which) * sizeof(float);
}

static size_t bias_bytes(const armq_desc *desc, int32_t which) {
    uint32_t flag = !armq_op_is_moe(desc->op) ? ARMQ_USES_BIAS
                    : which == 0              ? ARMQ_USES_W13_BIAS
                                              : ARMQ_USES_W2_BIAS;
    return desc->uses & flag ? (size_t)armq_weight_n(desc, which) * sizeof(float) : 0;
}

size_t naive_packed_bytes(const armq_desc *desc, int32_t which) {
    return weight_bytes(desc, which) + scale_bytes(desc, which) + bias_bytes(desc, which);
}

naive_packed naive_unpack(const armq_desc *desc, int32_t which, const void *packed) {
    naive_packed result = {
        .w = packed, .n = armq_weight_n(desc, which), .k = armq_weight_k(desc, which)};
    if (!packed)
        return result;
    const uint8_t *scales = (const uint8_t *)packed + weight_bytes(desc, which);
    if (scale_bytes(desc, which))
        result.scales = (const float *)(const void *)scales;
    if (bias_bytes(desc, which))
        result.bias = (const float *)(const void *)(scales + scale_bytes(desc, which));
    return result;
}

/* Part `index` of an array of parts of `bytes`. */
static uint8_t *copy_part(uint8_t *to, const void *from, int64_t index, size_t bytes) {
    if (bytes)
        memcpy(to, (const uint8_t *)from + (size_t)index * bytes, bytes);
    return to + bytes;
}

/* `expert` counts from the first expert of the range. */
static void pack_expert(const armq_desc *desc, int32_t which, const armq_weights *weights,
                        int64_t expert, uint8_t *at) {
    copy_part(at, weights->w, expert, dense_bytes(desc, which));
    at = copy_part(at + weight_bytes(desc, which), weights->scales, expert,
                   scale_bytes(desc, which));
    int64_t n = bias_bytes(desc, which) ? armq_weight_n(desc, which) : 0;
    for (int64_t i = 0; i < n; i++)
        ((float *)(void *)at)[i] =
            (float)armq_load(desc->bias_dtype, weights->bias, expert * n + i);
}

void naive_pack(const armq_desc *desc, int32_t which, const armq_weights *weights, int64_t experts,
                void *packed) {
    size_t stride = naive_packed_bytes(desc, which);
    if (stride == 0)
        return;
    for (int64_t i = 0; i < experts; i++)
        pack_expert(desc, which, weights, i, (uint8_t *)packed + (size_t)i * stride);
}
