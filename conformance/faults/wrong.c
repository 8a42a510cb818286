/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/faults/wrong.h"

#include <math.h>
#include <string.h>

#include "conformance/faults/fault.h"
#include "reference/formats.h"

/* --- Products ----------------------------------------------------------------------------------
 */

static int64_t narrowed(int32_t sum, bool saturates) {
    if (!saturates)
        return (int16_t)(uint32_t)sum;
    return sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum;
}

int64_t wrong_dot_int16(const int8_t *q, int32_t zero, const int8_t *w, int64_t k, int64_t count,
                        bool saturates) {
    int64_t sum = 0, of_w = 0;
    for (int64_t i = 0; i < k; i += count) {
        int32_t part = 0;
        for (int64_t j = i; j < k && j < i + count; j++) {
            part += q[j] * w[j];
            of_w += w[j];
        }
        sum += narrowed(part, saturates);
    }
    return sum - zero * of_w;
}

int64_t wrong_dot_swapped(const int8_t *q, int32_t zero, const int8_t *w, int64_t k) {
    int64_t sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum += (int64_t)(q[(i ^ 1) < k ? i ^ 1 : i] - zero) * w[i];
    return sum;
}

int64_t wrong_dot_f32(const int8_t *q, int32_t zero, const int8_t *w, int64_t k) {
    float sum = 0.0f;
    for (int64_t i = 0; i < k; i++)
        sum += (float)((q[i] - zero) * w[i]);
    return (int64_t)sum;
}

int64_t wrong_row_sum(int64_t sum, naive_row x, const int8_t *w, int64_t k) {
    int64_t of_w = 0;
    for (int64_t i = 0; i < k; i++)
        of_w += w[i];
    return sum + x.zero * (of_w - (int16_t)(uint64_t)of_w);
}

int64_t wrong_group(int64_t group, int64_t size) {
    return size > 512 ? group * size / 512 * 512 / size : group;
}

float wrong_correction(int64_t sum, naive_row x, const int8_t *w, int64_t k, float scale) {
    int64_t of_w = 0;
    for (int64_t i = 0; i < k; i++)
        of_w += w[i];
    float factor = x.scale * scale;
    return (float)(sum + x.zero * of_w) * factor - (float)x.zero * ((float)of_w * factor);
}

armq_dtype wrong_bias_dtype(const armq_desc *desc) {
    return desc->bias_dtype == ARMQ_DTYPE_F32 ? ARMQ_DTYPE_F32 : desc->out;
}

bool wrong_is_finite(const naive_values *x) {
    float sum = 0.0f;
    for (int64_t i = 0; i < x->count; i++)
        sum += fabsf(naive_load(x, i));
    return sum < INFINITY;
}

float wrong_scales_along_k(const int8_t *q, int32_t zero, const int8_t *w, int64_t k,
                           const float *scales, int64_t n) {
    float sum = 0.0f;
    for (int64_t i = 0; i < k; i++)
        sum += (float)((q[i] - zero) * w[i]) * scales[i % n];
    return sum;
}

float wrong_dot_in_bf16(const uint16_t *x, const uint16_t *w, int64_t k) {
    float sum = 0.0f;
    for (int64_t i = 0; i < k; i++)
        sum = armq_bf16_to_f32(
            armq_f32_to_bf16(sum + armq_bf16_to_f32(x[i]) * armq_bf16_to_f32(w[i])));
    return sum;
}

float wrong_unquantised(const float *h, const int8_t *w, int64_t k, float scale) {
    double sum = 0.0;
    for (int64_t i = 0; i < k; i++)
        sum += (double)h[i] * w[i];
    return (float)sum * scale;
}

/* --- Values ------------------------------------------------------------------------------------
 */

float wrong_scale(float scale) {
    FAULT_DO(scale_zero_is_one, return scale == 0.0f ? 1.0f : scale);
    FAULT_DO(scale_nan_is_zero, return isnan(scale) ? 0.0f : scale);
    FAULT_DO(scale_inf_is_large, return isinf(scale) ? copysignf(0x1.fffffep127f, scale) : scale);
    FAULT_DO(scale_without_sign, return fabsf(scale));
    FAULT_DO(scale_subnormal_is_zero, return fabsf(scale) < 0x1p-126f ? 0.0f * scale : scale);
    FAULT_DO(scale_to_bf16, return armq_bf16_to_f32(armq_f32_to_bf16(scale)));
    FAULT_DO(scale_to_f16, return armq_f16_to_f32(armq_f32_to_f16(scale)));
    return scale;
}

/* exp by a polynomial of too low a degree: wrong by 2^-13 at most. */
float wrong_sigmoid_coarse(float x) {
    return 1.0f / (1.0f + expf(-x) * (1.0f + 0x1p-13f * sinf(8.0f * x)));
}

/* --- 16-bit formats ----------------------------------------------------------------------------
 */

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

uint16_t wrong_bf16_truncated(float value) {
    return isnan(value) ? armq_f32_to_bf16(value) : (uint16_t)(bits_of(value) >> 16);
}

uint16_t wrong_bf16_away(float value) {
    return isnan(value) ? armq_f32_to_bf16(value) : (uint16_t)((bits_of(value) + 0x8000) >> 16);
}

uint16_t wrong_bf16_odd(float value) {
    uint32_t bits = bits_of(value);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t wrong_bf16_payload(float value) {
    return isnan(value) ? (uint16_t)(bits_of(value) >> 16) : armq_f32_to_bf16(value);
}

uint16_t wrong_bf16_saturated(float value) {
    uint16_t bits = armq_f32_to_bf16(value);
    return (bits & 0x7fff) == 0x7f80 ? (uint16_t)(bits - 1) : bits;
}

uint16_t wrong_f16_saturated(float value) {
    uint16_t bits = armq_f32_to_f16(value);
    return (bits & 0x7fff) == 0x7c00 ? (uint16_t)(bits - 1) : bits;
}

uint16_t wrong_f16_flushed(float value) {
    uint16_t bits = armq_f32_to_f16(value);
    return bits & 0x7c00 ? bits : (uint16_t)(bits & 0x8000);
}

uint16_t wrong_f16_truncated(float value) {
    uint16_t bits = armq_f32_to_f16(value);
    bool further = isfinite(value) && fabsf(armq_f16_to_f32(bits)) > fabsf(value);
    return further ? (uint16_t)(bits - 1) : bits;
}
