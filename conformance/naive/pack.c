/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "conformance/naive/naive.h"
#include "kernels/api/describe.h"
#include "reference/formats.h"

static size_t weight_bytes(const armq_desc *desc) {
    size_t element = desc->format == ARMQ_WEIGHT_BF16 ? 2 : desc->format == ARMQ_WEIGHT_S8 ? 1 : 0;
    size_t bytes = (size_t)desc->n * (size_t)desc->k * element;
    return (bytes + 3) / 4 * 4; /* what follows is f32 */
}

static size_t scale_bytes(const armq_desc *desc) {
    return desc->scale_dtype == ARMQ_DTYPE_NONE ? 0 : (size_t)desc->n * sizeof(float);
}

static size_t bias_bytes(const armq_desc *desc) {
    return desc->uses & ARMQ_USES_BIAS ? (size_t)desc->n * sizeof(float) : 0;
}

size_t naive_packed_bytes(const armq_desc *desc) {
    return weight_bytes(desc) + scale_bytes(desc) + bias_bytes(desc);
}

naive_packed naive_unpack(const armq_desc *desc, const void *packed) {
    naive_packed result = {packed, NULL, NULL};
    if (!packed)
        return result;
    const uint8_t *scales = (const uint8_t *)packed + weight_bytes(desc);
    if (scale_bytes(desc))
        result.scales = (const float *)(const void *)scales;
    if (bias_bytes(desc))
        result.bias = (const float *)(const void *)(scales + scale_bytes(desc));
    return result;
}

static void copy(void *to, const void *from, size_t bytes) {
    if (bytes)
        memcpy(to, from, bytes);
}

void naive_pack(const armq_desc *desc, const armq_weights *weights, void *packed) {
    size_t element = desc->format == ARMQ_WEIGHT_BF16 ? 2 : 1;
    uint8_t *at = packed;
    copy(at, weights->w, (size_t)desc->n * (size_t)desc->k * element);
    at += weight_bytes(desc);
    copy(at, weights->scales, scale_bytes(desc));
    at += scale_bytes(desc);
    if (bias_bytes(desc))
        for (int64_t n = 0; n < desc->n; n++)
            ((float *)(void *)at)[n] = (float)armq_load(desc->bias_dtype, weights->bias, n);
}
