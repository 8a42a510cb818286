/* SPDX-License-Identifier: Apache-2.0 */
/* activation(gate) * up, in f32 with the roundings of the dialect in between. */
#include <math.h>

#include "conformance/naive/naive.h"

static float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

static float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

static float gelu_tanh(float x) {
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

/* Written so that a NaN stays one. */
static float at_most(float x, float limit) { return x > limit ? limit : x; }
static float at_least(float x, float limit) { return x < limit ? limit : x; }

static float swigluoai(const armq_dialect *dialect, float gate, float up) {
    armq_dtype r = dialect->activation_round;
    float g = naive_round(r, at_most(gate, dialect->limit));
    float u = naive_round(r, at_least(at_most(up, dialect->limit), -dialect->limit));
    float s = naive_round(r, sigmoid(naive_round(r, dialect->alpha * g)));
    return naive_round(r, naive_round(r, u + 1.0f) * naive_round(r, g * s));
}

float naive_activate(const armq_dialect *dialect, float gate, float up) {
    float y = NAN;
    switch (dialect->activation) {
    case ARMQ_ACT_SILU:
        y = gate * sigmoid(gate);
        break;
    case ARMQ_ACT_GELU:
        y = gelu(gate);
        break;
    case ARMQ_ACT_GELU_TANH:
        y = gelu_tanh(gate);
        break;
    case ARMQ_ACT_SWIGLUOAI:
        return swigluoai(dialect, gate, up);
    default:
        break;
    }
    return naive_round(dialect->activation_round, y * up);
}

/* Where gate and up number i stand among 2*count values. */
static int64_t gate_at(const armq_dialect *dialect, int64_t i) {
    return dialect->gate_layout == ARMQ_GATE_INTERLEAVED ? 2 * i : i;
}

static int64_t up_at(const armq_dialect *dialect, int64_t i, int64_t count) {
    return dialect->gate_layout == ARMQ_GATE_INTERLEAVED ? 2 * i + 1 : count + i;
}

void naive_intermediate(const naive_call *call, const float *y13, float *h) {
    const armq_dialect *dialect = &call->desc->dialect;
    int64_t count = call->desc->intermediate;
    for (int64_t i = 0; i < count; i++)
        h[i] = naive_round(dialect->intermediate, naive_activate(dialect, y13[gate_at(dialect, i)],
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
    for (int64_t i = 0; i < count; i++) {
        float gate = naive_load(&x, gate_at(dialect, i));
        float up = naive_load(&x, up_at(dialect, i, count));
        naive_store(call->desc, naive_y_row(call, row), i, naive_activate(dialect, gate, up));
    }
}
