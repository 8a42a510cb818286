/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation of activations, one row at a time, in f32 as the dialects prescribe. */
#include <math.h>
#include <string.h>

#include "conformance/faults/fault.h"
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

uint16_t naive_bf16(float value) {
    FAULT_DO(bf16_truncated, return wrong_bf16_truncated(value));
    FAULT_DO(bf16_away, return wrong_bf16_away(value));
    FAULT_DO(bf16_nan_as_number, return wrong_bf16_odd(value));
    FAULT_DO(bf16_nan_payload, return wrong_bf16_payload(value));
    FAULT_DO(bf16_saturated, return wrong_bf16_saturated(value));
    return armq_f32_to_bf16(value);
}

uint16_t naive_f16(float value) {
    FAULT_DO(f16_saturated, return wrong_f16_saturated(value));
    FAULT_DO(f16_flushed, return wrong_f16_flushed(value));
    FAULT_DO(f16_truncated, return wrong_f16_truncated(value));
    return armq_f32_to_f16(value);
}

float naive_round(armq_dtype dtype, float value) {
    switch (dtype) {
    case ARMQ_DTYPE_BF16:
        return armq_bf16_to_f32(naive_bf16(value));
    case ARMQ_DTYPE_F16:
        return armq_f16_to_f32(naive_f16(value));
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
    FAULT_DO(q_truncated, return truncf(value));
    FAULT_DO(q_half_up, return floorf(value + 0.5f));
    FAULT_DO(q_always_even, return rintf(value));
    FAULT_DO(q_always_away, return roundf(value));
    FAULT_DO(q_half_added, if (dialect->q_rounding ==
                               ARMQ_ROUND_TIES_AWAY) return truncf(value + copysignf(0.5f, value)));
    FAULT_DO(q_in_bf16, value = naive_round(ARMQ_DTYPE_BF16, value));
    return dialect->q_rounding == ARMQ_ROUND_TIES_AWAY ? roundf(value) : rintf(value);
}

static float clamp_q(float value) {
    FAULT_DO(q_wraps, return (float)(int8_t)(int32_t)value);
    FAULT_DO(q_never_minus_128, return value < -127.0f ? -127.0f : value > 127.0f ? 127.0f : value);
    return value < -128.0f ? -128.0f : value > 127.0f ? 127.0f : value;
}

/* As naive_load, where the range is looked for. */
static float load_bound(const naive_values *values, int64_t i) {
    FAULT_DO(work_after_range, return load_exactly(values, i));
    return naive_load(values, i);
}

static naive_row not_finite(const naive_values *x, int8_t *q) {
    for (int64_t i = 0; i < x->count; i++)
        q[i] = 0;
    return (naive_row){NAN, 0, false};
}

static naive_row symmetric(const armq_dialect *dialect, const naive_values *x, int8_t *q) {
    float amax = FAULT(amax_without_floor, 0.0f, 1e-7f), steps = FAULT(q_by_128, 128.0f, 127.0f);
    int64_t count = FAULT(amax_of_half, (x->count + 1) / 2, x->count);
    for (int64_t i = 0; i < count; i++) {
        float size = FAULT(amax_signed, load_bound(x, i), fabsf(load_bound(x, i)));
        if (!(size < INFINITY))
            return not_finite(x, q);
        amax = size > amax ? size : amax;
    }
    FAULT_DO(amax_without_floor, if (amax == 0.0f) return not_finite(x, q)); /* 0/0 */
    float factor = steps / amax;
    FAULT_DO(factor_in_bf16, factor = naive_round(ARMQ_DTYPE_BF16, factor));
    FAULT_DO(factor_by_scale, factor = 1.0f / (amax / 127.0f));
    FAULT_DO(factor_by_scale_again, factor = fault_second ? 1.0f / (amax / 127.0f) : factor);
    for (int64_t i = 0; i < x->count; i++)
        q[i] = (int8_t)clamp_q(round_q(dialect, naive_load(x, i) * factor));
    return (naive_row){amax / steps, 0, true};
}

/* The zero point is always rounded to even, also where q is rounded away from zero. */
static float zero_point(float low, float high) {
    float below = -128.0f + low, above = 127.0f + high;
    FAULT_DO(zero_point_away, return roundf(below + above > 0.0f ? -128.0f - low : 127.0f - high));
    FAULT_DO(zero_point_truncated,
             return truncf(below + above > 0.0f ? -128.0f - low : 127.0f - high));
    FAULT_DO(zero_point_from_low, return rintf(clamp_q(-128.0f - low)));
    FAULT_DO(zero_point_not_clamped,
             return rintf(below + above > 0.0f ? -128.0f - low : 127.0f - high));
    return rintf(clamp_q(below + above > 0.0f ? -128.0f - low : 127.0f - high));
}

static naive_row asymmetric(const armq_dialect *dialect, const naive_values *x, int8_t *q) {
    float low = 0.0f, high = 0.0f, steps = FAULT(q_by_256, 256.0f, 255.0f);
    FAULT_DO(range_without_zero, low = high = x->count ? naive_load(x, 0) : 0.0f);
    int64_t count = FAULT(amax_of_half, (x->count + 1) / 2, x->count);
    for (int64_t i = 0; i < count; i++) {
        float value = load_bound(x, i);
        if (!(fabsf(value) < INFINITY))
            return not_finite(x, q);
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    float range = high - low;
    if (!(range < INFINITY))
        return not_finite(x, q);
    FAULT_DO(range_zero_divides, if (range == 0.0f) return not_finite(x, q)); /* 0/0 */
    if (range < FAULT(range_small_is_none, 1e-35f, FAULT(range_vanishing_kept, 0.0f, 0x1p-120f)))
        range = low = high = 0.0f;
    float factor = range > 0.0f ? steps / range : 1.0f;
    FAULT_DO(factor_in_bf16, factor = naive_round(ARMQ_DTYPE_BF16, factor));
    float zero = zero_point(low * factor, high * factor);
    for (int64_t i = 0; i < x->count; i++)
        q[i] =
            (int8_t)clamp_q(FAULT(q_zero_inside, round_q(dialect, naive_load(x, i) * factor + zero),
                                  round_q(dialect, naive_load(x, i) * factor) + zero));
    return (naive_row){1.0f / factor, (int32_t)zero, true};
}

naive_row naive_quantize_row(const armq_dialect *dialect, const naive_values *x, int8_t *q) {
    FAULT_DO(finite_by_sum, if (!wrong_is_finite(x)) return not_finite(x, q));
    FAULT_DO(quant_always_symmetric, return symmetric(dialect, x, q));
    return dialect->quant == ARMQ_QUANT_ASYMMETRIC ? asymmetric(dialect, x, q)
                                                   : symmetric(dialect, x, q);
}

void naive_quantize(const naive_call *call, int64_t row, void *scratch) {
    (void)scratch;
    naive_values x = naive_x_row(call, row);
    naive_row result = naive_quantize_row(&call->desc->dialect, &x, naive_y_row(call, row));
    FAULT_DO(scale_inverted, result.scale = 1.0f / result.scale);
    FAULT_DO(zero_point_negated, result.zero = -result.zero);
    FAULT_DO(scale_tail_unwritten, if (row >= call->desc->tokens / 4 * 4) return );
    call->args->y_scales[row] = result.scale;
    if (call->args->y_zero_points)
        call->args->y_zero_points[row] = result.zero;
}
