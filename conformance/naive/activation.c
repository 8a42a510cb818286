/* SPDX-License-Identifier: Apache-2.0 */
/* activation(gate) * up, in f32 with the roundings of the dialect in between. */
#include <math.h>

#include "conformance/faults/fault.h"
#include "conformance/naive/naive.h"

static float sigmoid(float x) {
    FAULT_DO(sigmoid_overflow, return expf(x) / (1.0f + expf(x)));
    FAULT_DO(sigmoid_sign, return x < -40.0f ? 1.0f : 1.0f / (1.0f + expf(-x)));
    FAULT_DO(sigmoid_cut_early, x = x < -8.0f ? -8.0f : x > 8.0f ? 8.0f : x);
    FAULT_DO(sigmoid_cut_18, x = x < -18.0f ? -18.0f : x > 18.0f ? 18.0f : x);
    FAULT_DO(sigmoid_one_above_12_5, if (x > 12.5f) return 1.0f);
    FAULT_DO(sigmoid_coarse, return wrong_sigmoid_coarse(x));
    return 1.0f / (1.0f + expf(-x));
}

static float gelu_tanh(float x) {
    float cubic = FAULT(gelu_tanh_cubic, 0.0447f, 0.044715f);
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + cubic * x * x * x)));
}

static float gelu(float x) {
    FAULT_DO(gelu_by_sigmoid, return x * sigmoid(1.702f * x));
    FAULT_DO(gelu_by_tanh, return gelu_tanh(x));
    FAULT_DO(erf_cut_above, if (x > 4.596f) return x);
    FAULT_DO(erf_cut_below, if (x < -4.596f) return 0.0f);
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

/* Written so that a NaN stays one. */
static float at_most(float x, float limit) { return x > limit ? limit : x; }
static float at_least(float x, float limit) { return x < limit ? limit : x; }

static float swigluoai(const armq_dialect *dialect, float gate, float up) {
    armq_dtype r = FAULT(swiglu_not_rounded, ARMQ_DTYPE_F32, dialect->activation_round);
    float limit = FAULT(limit_ignored, 7.0f, dialect->limit);
    FAULT_DO(limit_0_is_none, limit = limit == 0.0f ? INFINITY : limit);
    FAULT_DO(limit_to_bf16, limit = naive_round(ARMQ_DTYPE_BF16, limit));
    float alpha = FAULT(alpha_ignored, 1.702f, FAULT(alpha_short, 1.7f, dialect->alpha));
    FAULT_DO(alpha_0_is_usual, alpha = alpha == 0.0f ? 1.702f : alpha);
    FAULT_DO(alpha_to_bf16, alpha = naive_round(ARMQ_DTYPE_BF16, alpha));
    float g = naive_round(r, FAULT(clamp_gate_missing, gate, at_most(gate, limit)));
    float u = naive_round(r, at_least(at_most(up, limit), -limit));
    FAULT_DO(clamp_gate_below, g = at_least(g, -limit));
    FAULT_DO(clamp_up_missing, u = naive_round(r, up));
    FAULT_DO(clamp_up_above_only, u = naive_round(r, at_most(up, limit)));
    float s = naive_round(r, sigmoid(naive_round(r, alpha * g)));
    float one = FAULT(plus_one_missing, 0.0f, 1.0f);
    return naive_round(r, naive_round(r, u + one) * naive_round(r, g * s));
}

float naive_activate(const armq_dialect *dialect, float gate, float up) {
    float y = NAN;
    FAULT_DO(gate_up_swapped, float other = gate; gate = up; up = other);
    switch (dialect->activation) {
    case ARMQ_ACT_SILU:
        y = FAULT(gelu_for_silu, gelu(gate), gate * sigmoid(gate));
        break;
    case ARMQ_ACT_GELU:
        y = FAULT(silu_for_gelu, gate * sigmoid(gate), gelu(gate));
        break;
    case ARMQ_ACT_GELU_TANH:
        y = FAULT(gelu_tanh_by_erf, gelu(gate), gelu_tanh(gate));
        break;
    case ARMQ_ACT_SWIGLUOAI:
        return swigluoai(dialect, gate, up);
    default:
        break;
    }
    FAULT_DO(up_forgotten, up = 1.0f);
    return naive_round(dialect->activation_round, y * up);
}

/* Where gate and up number i stand among 2*count values. */
static bool is_interleaved(const armq_dialect *dialect) {
    FAULT_DO(gate_always_halves, return false);
    FAULT_DO(gate_always_interleaved, return true);
    return dialect->gate_layout == ARMQ_GATE_INTERLEAVED;
}

static int64_t gate_at(const armq_dialect *dialect, int64_t i) {
    return is_interleaved(dialect) ? 2 * i : i;
}

static int64_t up_at(const armq_dialect *dialect, int64_t i, int64_t count) {
    return is_interleaved(dialect) ? 2 * i + 1 : count + i;
}

void naive_intermediate(const naive_call *call, const float *y13, float *h) {
    const armq_dialect *dialect = &call->desc->dialect;
    armq_dtype round = dialect->intermediate;
    FAULT_DO(intermediate_not_rounded, round = ARMQ_DTYPE_F32);
    FAULT_DO(intermediate_to_bf16, round = ARMQ_DTYPE_BF16);
    FAULT_DO(intermediate_to_f16, round = ARMQ_DTYPE_F16);
    int64_t count = call->desc->intermediate;
    for (int64_t i = 0; i < count; i++)
        h[i] = naive_round(round, naive_activate(dialect, y13[gate_at(dialect, i)],
                                                 y13[up_at(dialect, i, count)]));
}

void naive_activation(const naive_call *call, int64_t row, void *scratch) {
    (void)scratch;
    const armq_dialect *dialect = &call->desc->dialect;
    int64_t count = call->desc->intermediate;
    naive_values x = naive_x_row(call, row);
    if (!naive_is_finite(&x)) {
        naive_store_nan_row(call, row);
        return;
    }
    int64_t end = FAULT(n_tail_8, count - count % 8, count);
    for (int64_t i = 0; i < end; i++) {
        float gate = naive_load(&x, gate_at(dialect, i));
        float up = naive_load(&x, up_at(dialect, i, count));
        naive_store(call->desc, naive_y_row(call, row), i, naive_activate(dialect, gate, up));
    }
}
