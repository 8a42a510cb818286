/* SPDX-License-Identifier: Apache-2.0 */
/* What is linear in an input doubles with it, bit for bit: every quantiser, product, sum and
 * rounding of the dialects commutes with a power of two, whatever the order of operations, as long
 * as nothing clamps, overflows or is subnormal. Doubled are x (quantize, linear layers without
 * bias), up (activation) and the router weights (MoE). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "conformance/check.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

/* Rows of x that are doubled: max|x| within these, far from the smallest amax (1e-7) and range, and
 * from what overflows; other elements 0 or large enough for normal products. */
static const double least_amax = 0x1p-20, least_element = 0x1p-100;

static double most_of(armq_dtype dtype) { return dtype == ARMQ_DTYPE_F16 ? 0x1p14 : 0x1p100; }
static double smallest_normal(armq_dtype dtype) {
    return dtype == ARMQ_DTYPE_F16 ? 0x1p-14 : 0x1p-126;
}

/* NULL: it has something to double. */
static const char *why_not(const armq_case *c) {
    const armq_desc *d = &c->desc;
    bool weights_scale = armq_op_is_moe(d->op) && d->top_k > 0;
    if (d->in == ARMQ_DTYPE_S8)
        return "integers do not scale";
    if (c->data == DATA_BAD_SCALES)
        return "products of such scales are not normal numbers";
    if (d->uses & ARMQ_USES_BIAS)
        return "a bias does not scale";
    if (d->op == ARMQ_OP_ACTIVATION && d->dialect.activation == ARMQ_ACT_SWIGLUOAI)
        return "swigluoai is not linear in up";
    if (armq_op_is_moe(d->op) && d->uses & (ARMQ_USES_WEIGHT_ON_INPUT | ARMQ_USES_NO_ROUTER_WEIGHT))
        return "no router weight is on the output";
    if (d->tokens == 0 || armq_y_row(d) == 0 || (!weights_scale && armq_x_row(d) == 0) ||
        (armq_op_is_moe(d->op) && !weights_scale))
        return "an operand is empty";
    return NULL;
}

static const uint8_t *row_of(const inputs *in, int64_t row) {
    size_t element = armq_dtype_bytes(in->shapes[OPERAND_X].dtype);
    return (const uint8_t *)in->data.at[OPERAND_X] +
           (size_t)(row * in->shapes[OPERAND_X].stride) * element;
}

/* Rounding to a working dtype of f16 doubles where it gives normal numbers alone. */
static bool row_doubles(const armq_desc *d, const uint8_t *x) {
    bool to_f16 = d->dialect.work == ARMQ_DTYPE_F16 && d->in != ARMQ_DTYPE_F16;
    double most = most_of(to_f16 ? ARMQ_DTYPE_F16 : d->in);
    double smallest = to_f16 ? smallest_normal(ARMQ_DTYPE_F16) : least_element;
    double amax = 0.0, least = INFINITY;
    for (int64_t i = 0; i < armq_x_row(d); i++) {
        double size = fabs(armq_load(d->in, x, i));
        if (!(size <= most))
            return false;
        amax = size > amax ? size : amax;
        least = size > 0.0 && size < least ? size : least;
    }
    return amax >= least_amax && least >= smallest;
}

/* Whether element i of a row of x belongs to what is doubled. */
static bool is_doubled(const armq_desc *d, int64_t i) {
    if (d->op != ARMQ_OP_ACTIVATION)
        return true;
    return d->dialect.gate_layout == ARMQ_GATE_INTERLEAVED ? i % 2 == 1 : i >= d->intermediate;
}

/* arg: bool [tokens], set where a row was doubled. */
static void double_inputs(const inputs *in, void *arg) {
    const armq_desc *d = &in->c.desc;
    float *weights = in->data.at[OPERAND_TOPK_WEIGHTS];
    bool *doubled = arg;
    for (int64_t row = 0; row < d->tokens; row++)
        doubled[row] = armq_op_is_moe(d->op) || row_doubles(d, row_of(in, row));
    for (int64_t i = 0; armq_op_is_moe(d->op) && i < d->tokens * d->top_k; i++)
        weights[i] *= 2.0f;
    for (int64_t row = 0; !armq_op_is_moe(d->op) && row < d->tokens; row++) {
        uint8_t *x = (uint8_t *)(uintptr_t)row_of(in, row);
        if (doubled[row])
            for (int64_t i = 0; i < armq_x_row(d); i++)
                if (is_doubled(d, i))
                    armq_store(d->in, x, i, 2.0 * armq_load(d->in, x, i));
    }
}

/* --- The outputs --------------------------------------------------------------------------------
 */

static bool is_exact(armq_dtype dtype, double was, double is) {
    if (!(fabs(was) >= 4.0 * smallest_normal(dtype)) || !(fabs(was) < most_of(dtype)))
        return true; /* could be rounded in another place, or overflow */
    return is == 2.0 * was;
}

static bool token_doubles(const trial *t, operand_id id, int64_t row, check_failure *failure) {
    const operand_shape *shape = &t->shapes[id];
    token_span span = trial_token(t, id, row);
    bool integers = shape->dtype == ARMQ_DTYPE_S8 || shape->dtype == ARMQ_DTYPE_S32;
    for (int64_t i = 0; i < span.count; i++) {
        double was = armq_load(shape->dtype, t->base[id], span.dense + i);
        double is = armq_load(shape->dtype, t->buffers[id].data, span.at + i);
        if (integers ? is == was : is_exact(shape->dtype, was, is))
            continue;
        failure_element(failure, shape->name, row, i, is, integers ? was : 2.0 * was);
        failure_set(failure,
                    "inputs times two: %s[%" PRId64 "][%" PRId64 "] is %.9g, was %.9g, wanted %s",
                    shape->name, row, i, is, was, integers ? "the same" : "twice that");
        return false;
    }
    return true;
}

static bool outputs_double(const trial *t, const bool *doubled, check_failure *failure) {
    for (int64_t row = 0; row < t->c.desc.tokens; row++)
        for (operand_id id = OPERAND_Y; doubled[row] && id < OPERAND_COUNT; id++)
            if (t->base[id] && !token_doubles(t, id, row, failure))
                return false;
    return true;
}

check_status check_scale(trial *t, check_result *out) {
    const char *why = why_not(&t->c);
    if (why)
        return check_skip(out, "%s", why);
    bool *doubled = calloc((size_t)t->c.desc.tokens, sizeof *doubled);
    const inputs *twice = doubled ? inputs_adjusted(t->in, double_inputs, doubled) : NULL;
    if (!twice) {
        free(doubled);
        return check_skip(out, "no memory");
    }
    const inputs *usual = inputs_share(t->in);
    bool ok = (t->placed && t->side == GUARD_END) || trial_place(t, GUARD_END, &out->failure);
    trial_swap_tokens(t, twice);
    ok = ok && trial_runs(t, &(call_options){.garbage = 3}, "inputs times two", &out->failure) &&
         outputs_double(t, doubled, &out->failure);
    trial_swap_tokens(t, usual);
    free(doubled);
    return check_verdict(ok);
}
