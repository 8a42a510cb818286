/* SPDX-License-Identifier: Apache-2.0 */
/* silu, gelu (erf), gelu_tanh and swigluoai, each times up: functions, bounds, and the op. */
#include "reference/activation.h"

#include <math.h>

#include "reference/formats.h"
#include "reference/interval.h"
#include "reference/ops.h"

static const double error_of_value = 1e-6; /* times |f(x)| */
static const double least_f32 = 0x1p-149;

int64_t ref_gate_at(const armq_dialect *dialect, int64_t intermediate, int64_t i) {
    (void)intermediate;
    return dialect->gate_layout == ARMQ_GATE_INTERLEAVED ? 2 * i : i;
}

int64_t ref_up_at(const armq_dialect *dialect, int64_t intermediate, int64_t i) {
    return dialect->gate_layout == ARMQ_GATE_INTERLEAVED ? 2 * i + 1 : intermediate + i;
}

/* --- Functions of one number ---------------------------------------------------------------------
 */

/* None of these forms cancels, so that double is exact enough everywhere. */
static double function(const armq_dialect *dialect, double x) {
    switch (dialect->activation) {
    case ARMQ_ACT_GELU:
        return 0.5 * x * erfc(-x * M_SQRT1_2);
    case ARMQ_ACT_GELU_TANH: /* 0.5 x (1 + tanh z) */
        return x / (1.0 + exp(-2.0 * sqrt(M_2_PI) * (x + 0.044715 * x * x * x)));
    case ARMQ_ACT_SWIGLUOAI:
        return x / (1.0 + exp(-(double)dialect->alpha * x));
    default:
        return x / (1.0 + exp(-x));
    }
}

/* Where the function has its only minimum (maximum, for a negative alpha); outside all intervals
 * if it has none. */
static double turning_point(const armq_dialect *dialect) {
    const double of_silu = -1.2784645427610738;
    switch (dialect->activation) {
    case ARMQ_ACT_GELU:
        return -0.75179152;
    case ARMQ_ACT_GELU_TANH:
        return -0.75246142;
    case ARMQ_ACT_SWIGLUOAI:
        return of_silu / (double)dialect->alpha;
    default:
        return of_silu;
    }
}

/* Of the dialect's function at x: 1e-6 of its value and 4 (8) units 2^-24 of x. */
static double error_at(const armq_dialect *dialect, double x, double value) {
    double units = dialect->activation == ARMQ_ACT_GELU_TANH ? 8.0 : 4.0;
    if (x == 0.0 || isinf(value))
        return 0.0;
    return error_of_value * fabs(value) + units * (0x1p-24 * fabs(x) + least_f32);
}

static void include(const armq_dialect *dialect, double x, ref_interval *f) {
    double value = function(dialect, x), error = error_at(dialect, x, value);
    f->lo = fmin(f->lo, value - error);
    f->hi = fmax(f->hi, value + error);
}

/* The function over an interval. Both ends decide, and the turning point between them. */
static ref_interval function_over(const armq_dialect *dialect, ref_interval x) {
    bool to_infinity = isinf(x.hi) && dialect->activation != ARMQ_ACT_SWIGLUOAI;
    ref_interval f = ref_exact(isinf(x.mid) ? x.mid : function(dialect, x.mid));
    if ((isinf(x.lo) && x.lo < 0.0) || (isinf(x.hi) && !to_infinity)) {
        f.kind = REF_ANY; /* -inf * sigmoid(-inf): 0, NaN or -inf, by formula */
        return f;
    }
    double turn = turning_point(dialect);
    include(dialect, x.mid, &f);
    if (!isinf(x.lo))
        include(dialect, x.lo, &f);
    if (!isinf(x.hi))
        include(dialect, x.hi, &f);
    else
        f.hi = (double)INFINITY;
    if (x.lo < turn && turn < x.hi)
        include(dialect, turn, &f);
    return f;
}

static ref_interval clamped(ref_interval x, double low, double high) {
    x.lo = fmin(fmax(x.lo, low), high);
    x.mid = fmin(fmax(x.mid, low), high);
    x.hi = fmin(fmax(x.hi, low), high);
    return x;
}

/* --- Gated ---------------------------------------------------------------------------------------
 */

static bool is_swiglu(const armq_dialect *dialect) {
    return dialect->activation == ARMQ_ACT_SWIGLUOAI;
}

static ref_interval clamped_gate(const armq_dialect *dialect, ref_interval gate) {
    return is_swiglu(dialect) ? clamped(gate, -(double)INFINITY, (double)dialect->limit) : gate;
}

static ref_interval clamped_up(const armq_dialect *dialect, ref_interval up) {
    double limit = (double)dialect->limit;
    return is_swiglu(dialect) ? clamped(up, -limit, limit) : up;
}

/* In one stretch of f32: the error of the function covers the product with up (or up + 1). */
static ref_interval gated(const armq_dialect *dialect, ref_interval gate, ref_interval up) {
    ref_interval f = function_over(dialect, clamped_gate(dialect, gate));
    ref_interval factor = clamped_up(dialect, up);
    if (is_swiglu(dialect)) {
        factor.lo += 1.0;
        factor.mid += 1.0;
        factor.hi += 1.0;
    }
    ref_interval y = ref_times(f, factor);
    if (y.lo < y.hi && isfinite(y.lo) && isfinite(y.hi)) {
        y.lo -= least_f32;
        y.hi += least_f32;
    }
    return y;
}

static ref_interval sigmoid(ref_interval x) {
    double lo = 1.0 / (1.0 + exp(-x.lo)), hi = 1.0 / (1.0 + exp(-x.hi));
    ref_interval y = ref_exact(1.0 / (1.0 + exp(-x.mid)));
    y.lo = fmax(0.0, lo - error_of_value * lo - 4.0 * 0x1p-24);
    y.hi = fmin(1.0, hi + error_of_value * hi + 4.0 * 0x1p-24);
    return y;
}

/* RN(RN(u + 1) * RN(g * RN(sigmoid(RN(alpha * g))))) */
static ref_interval swiglu_op_by_op(const armq_dialect *dialect, ref_interval gate,
                                    ref_interval up) {
    armq_dtype t = dialect->activation_round;
    ref_interval g = ref_rounded(clamped_gate(dialect, gate), t);
    ref_interval u = ref_rounded(clamped_up(dialect, up), t);
    ref_interval s = ref_rounded(ref_times_f32(g, ref_exact((double)dialect->alpha)), t);
    s = ref_rounded(sigmoid(s), t);
    ref_interval f = ref_rounded(ref_times_f32(g, s), t);
    u = ref_rounded(ref_plus_f32(u, 1.0), t);
    return ref_rounded(ref_times_f32(u, f), t);
}

static ref_kind kind_of_operands(const armq_dialect *dialect, ref_interval gate, ref_interval up) {
    if (gate.kind == REF_VALUE && up.kind == REF_VALUE)
        return REF_VALUE;
    bool is_nan = gate.kind == REF_NAN || up.kind == REF_NAN;
    return is_nan && !is_swiglu(dialect) ? REF_NAN : REF_ANY; /* a clamp may swallow NaN */
}

ref_interval ref_activate(const armq_dialect *dialect, ref_interval gate, ref_interval up) {
    bool rounds = dialect->activation_round != ARMQ_DTYPE_F32;
    ref_interval y = ref_exact(0.0);
    y.kind = kind_of_operands(dialect, gate, up);
    if (y.kind != REF_VALUE)
        return y;
    if (rounds && is_swiglu(dialect))
        return swiglu_op_by_op(dialect, gate, up);
    y = gated(dialect, gate, up);
    return rounds ? ref_rounded(y, dialect->activation_round) : y;
}

double ref_activate_exact(const armq_dialect *dialect, double gate, double up) {
    double limit = (double)dialect->limit;
    if (!is_swiglu(dialect))
        return function(dialect, gate) * up;
    return function(dialect, fmin(gate, limit)) * (fmin(fmax(up, -limit), limit) + 1.0);
}

/* --- The op `activation`: element by element ----------------------------------------------------
 */

static bool activation_open(ref_context *context) {
    const armq_dialect *dialect = &context->problem.desc->dialect;
    return dialect->activation >= ARMQ_ACT_SILU && dialect->activation <= ARMQ_ACT_SWIGLUOAI;
}

static double operand(const ref_context *context, int64_t row, int64_t at) {
    const armq_desc *desc = context->problem.desc;
    return armq_round_to(desc->dialect.work, armq_load(desc->in, ref_x_row(context, row), at));
}

static bool row_is_finite(const ref_context *context, int64_t row) {
    for (int64_t i = 0; i < 2 * context->problem.desc->intermediate; i++)
        if (!isfinite(operand(context, row, i)))
            return false;
    return true;
}

/* A provider that declares NaN for rows with NaN or Inf is held to it. One that does not owes
 * nothing for the elements concerned, and right values for all others. */
static void activation_row(ref_context *context, int64_t row, const int64_t *columns, int64_t count,
                           ref_interval *intervals) {
    const armq_desc *desc = context->problem.desc;
    const armq_dialect *dialect = &desc->dialect;
    bool declared = context->problem.claims & ARMQ_CLAIM_NONFINITE_ROW_NAN;
    bool all_nan = declared && !row_is_finite(context, row);
    for (int64_t i = 0; i < count; i++) {
        int64_t column = columns ? columns[i] : i;
        double gate = operand(context, row, ref_gate_at(dialect, desc->intermediate, column));
        double up = operand(context, row, ref_up_at(dialect, desc->intermediate, column));
        intervals[i] = all_nan || !isfinite(gate) || !isfinite(up)
                           ? ref_not_finite_row(context)
                           : ref_activate(dialect, ref_exact(gate), ref_exact(up));
    }
}

static double activation_unquantized(ref_context *context, int64_t row, int64_t column) {
    const armq_desc *desc = context->problem.desc;
    const void *x = ref_x_row(context, row);
    int64_t gate = ref_gate_at(&desc->dialect, desc->intermediate, column);
    int64_t up = ref_up_at(&desc->dialect, desc->intermediate, column);
    return ref_activate_exact(&desc->dialect, armq_load(desc->in, x, gate),
                              armq_load(desc->in, x, up));
}

const ref_op ref_op_activation = {
    .op = ARMQ_OP_ACTIVATION,
    .open = activation_open,
    .row = activation_row,
    .unquantized = activation_unquantized,
};
