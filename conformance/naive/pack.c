/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "conformance/faults/fault.h"
#include "conformance/naive/naive.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

static size_t element_bytes(const armq_desc *desc) {
    return desc->format == ARMQ_WEIGHT_NONE ? 0 : desc->format == ARMQ_WEIGHT_BF16 ? 2 : 1;
}

static bool is_int4(const armq_desc *desc) {
    return desc->format == ARMQ_WEIGHT_S4_LOW || desc->format == ARMQ_WEIGHT_S4_WORD8;
}

static int64_t group_count(const armq_desc *desc, int32_t which) {
    return desc->group_size > 0 ? armq_weight_k(desc, which) / desc->group_size : 1;
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
               : (size_t)(armq_weight_n(desc, which) * group_count(desc, which)) * sizeof(float);
}

static size_t bias_bytes(const armq_desc *desc, int32_t which) {
    uint32_t flag = !armq_op_is_moe(desc->op) ? ARMQ_USES_BIAS
                    : which == 0              ? ARMQ_USES_W13_BIAS
                                              : ARMQ_USES_W2_BIAS;
    return desc->uses & flag ? (size_t)armq_weight_n(desc, which) * sizeof(float) : 0;
}

static size_t sum_bytes(const armq_desc *desc, int32_t which) {
    return desc->group_size > 0 && desc->scale_dtype != ARMQ_DTYPE_NONE
               ? (size_t)(armq_weight_n(desc, which) * group_count(desc, which)) * sizeof(int32_t)
               : 0;
}

size_t naive_packed_bytes(const armq_desc *desc, int32_t which) {
    size_t more = 0;
    FAULT_DO(pack_for_one_token, more = desc->tokens == 1 ? 4 : 0);
    FAULT_DO(packed_where_it_was, more = sizeof(void *));
    FAULT_DO(pack_for_strides, more = desc->uses & ARMQ_USES_X_STRIDE ? 4 : 0);
    FAULT_DO(pack_for_threads, more = (size_t)desc->max_threads * 4);
    return weight_bytes(desc, which) + scale_bytes(desc, which) + bias_bytes(desc, which) +
           sum_bytes(desc, which) + more;
}

naive_packed naive_unpack(const armq_desc *desc, int32_t which, const void *packed) {
    int64_t k = armq_weight_k(desc, which);
    naive_packed result = {
        .w = packed,
        .n = armq_weight_n(desc, which),
        .k = k,
        .groups = group_count(desc, which),
        .group_size = desc->group_size > 0 ? desc->group_size : k,
        .grouped = desc->group_size > 0,
    };
    if (!packed)
        return result;
    const uint8_t *scales = (const uint8_t *)packed + weight_bytes(desc, which);
    if (scale_bytes(desc, which))
        result.scales = (const float *)(const void *)scales;
    if (bias_bytes(desc, which))
        result.bias = (const float *)(const void *)(scales + scale_bytes(desc, which));
    if (sum_bytes(desc, which))
        result.sums = (const int32_t *)(const void *)(scales + scale_bytes(desc, which) +
                                                      bias_bytes(desc, which));
    return result;
}

/* Part `index` of an array of parts of `bytes`, or of what will be as many bytes of f32. */
static void copy_part(uint8_t *to, const void *from, int64_t index, size_t bytes) {
    if (bytes)
        memcpy(to, (const uint8_t *)from + (size_t)index * bytes, bytes);
}

static uint8_t *widen_part(uint8_t *to, armq_dtype dtype, const void *from, int64_t index,
                           size_t bytes) {
    int64_t count = (int64_t)(bytes / sizeof(float));
    for (int64_t i = 0; i < count; i++)
        ((float *)(void *)to)[i] = (float)armq_load(dtype, from, index * count + i);
    return to + bytes;
}

/* `expert` counts from the first expert of the range. */
static void pack_expert(const armq_desc *desc, int32_t which, const armq_weights *weights,
                        int64_t expert, uint8_t *at) {
    naive_packed shape = naive_unpack(desc, which, at);
    if (is_int4(desc))
        naive_pack_int4(desc, &shape, weights, expert, (int8_t *)at);
    else
        copy_part(at, weights->w, expert, dense_bytes(desc, which));
    at = widen_part(at + weight_bytes(desc, which), desc->scale_dtype, weights->scales, expert,
                    scale_bytes(desc, which));
    armq_dtype bias_dtype = FAULT(bias_as_output, wrong_bias_dtype(desc), desc->bias_dtype);
    at = widen_part(at, bias_dtype, weights->bias, expert, bias_bytes(desc, which));
    if (sum_bytes(desc, which))
        naive_pack_sums(&shape, (int32_t *)(void *)at);
}

void naive_pack(const armq_desc *desc, int32_t which, const armq_weights *weights, int64_t experts,
                void *packed) {
    size_t stride = naive_packed_bytes(desc, which);
    if (stride == 0)
        return;
    for (int64_t i = 0; i < experts; i++)
        pack_expert(desc, which, weights, i, (uint8_t *)packed + (size_t)i * stride);
}
