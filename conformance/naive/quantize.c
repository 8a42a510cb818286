/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation of activations, one row at a time, in f32 as the dialects prescribe. */
#include <math.h>
#include <string.h>

#include "conformance/naive/naive.h"
#include "reference/formats.h"

/* f32 and bf16 in place: this is called for every element. */
static float load_exactly(const naive_values *values, int64_t i) {
    float value;
    uint32_t bits;
    switch (values->dtype) {
    case ARMQ_DTYPE_F32:
        return ((const float *)values->at)[i];
    case ARMQ_DTYPE_BF16:
        bits = (uint32_t)((const uint16_t *)values->at)[i] << 16;
        memcpy(&value, &bits, sizeof value);
        return value;
    default:
        return (float)armq_load(values->dtype, values->at, i);
    }
}

float naive_round(armq_dtype dtype, float value) {
    switch (dtype) {
    case ARMQ_DTYPE_BF16:
        return armq_bf16_to_f32(armq_f32_to_bf16(value));
    case ARMQ_DTYPE_F16:
        return armq_f16_to_f32(armq_f32_to_f16(value));
    default:
        return value;
    }
}

float naive_load(const naive_values *values, int64_t i) {
    return naive_round(values->work, load_exactly(values, i));
}

bool naive_is_finite(const naive_values *values) {
    for (int64_t i = 0; i < values->count; i++)
        if (!isfinite(naive_load(values, i)))
            return false;
    return true;
}

static float round_q(const armq_dialect *dialect, float value) {
    return dialect->q_rounding == ARMQ_ROUND_TIES_AWAY ? roundf(value) : rintf(value);
}

static float clamp_q(float value) {
    return value < -128.0f ? -128.0f : value > 127.0f ? 127.0f : value;
}

static naive_row not_finite(const naive_values *x, int8_t *q) {
    for (int64_t i = 0; i < x->count; i++)
        q[i] = 0;
    return (naive_row){NAN, 0, false};
}

static naive_row symmetric(const armq_dialect *dialect, const naive_values *x, int8_t *q) {
    float amax = 1e-7f;
    for (int64_t i = 0; i < x->count; i++) {
        float size = fabsf(naive_load(x, i));
        if (!(size < INFINITY))
            return not_finite(x, q);
        amax = size > amax ? size : amax;
    }
    float factor = 127.0f / amax;
    for (int64_t i = 0; i < x->count; i++)
        q[i] = (int8_t)clamp_q(round_q(dialect, naive_load(x, i) * factor));
    return (naive_row){amax / 127.0f, 0, true};
}

/* The zero point is always rounded to even, also where q is rounded away from zero. */
static float zero_point(float low, float high) {
    float below = -128.0f + low, above = 127.0f + high;
    return rintf(clamp_q(below + above > 0.0f ? -128.0f - low : 127.0f - high));
}

static naive_row asymmetric(const armq_dialect *dialect, const naive_values *x, int8_t *q) {
    float low = 0.0f, high = 0.0f;
    for (int64_t i = 0; i < x->count; i++) {
        float value = naive_load(x, i);
        if (!(fabsf(value) < INFINITY))
            return not_finite(x, q);
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    float range = high - low;
    if (!(range < INFINITY))
        return not_finite(x, q);
    if (range < 0x1p-120f)
        range = low = high = 0.0f;
    float factor = range > 0.0f ? 255.0f / range : 1.0f;
    float zero = zero_point(low * factor, high * factor);
    for (int64_t i = 0; i < x->count; i++)
        q[i] = (int8_t)clamp_q(round_q(dialect, naive_load(x, i) * factor) + zero);
    return (naive_row){1.0f / factor, (int32_t)zero, true};
}

naive_row naive_quantize_row(const armq_dialect *dialect, const naive_values *x, int8_t *q) {
    return dialect->quant == ARMQ_QUANT_ASYMMETRIC ? asymmetric(dialect, x, q)
                                                   : symmetric(dialect, x, q);
}

void naive_quantize(const naive_call *call, int64_t row, void *scratch) {
    (void)scratch;
    naive_values x = naive_x_row(call, row);
    naive_row result = naive_quantize_row(&call->desc->dialect, &x, naive_y_row(call, row));
    call->args->y_scales[row] = result.scale;
    if (call->args->y_zero_points)
        call->args->y_zero_points[row] = result.zero;
}
