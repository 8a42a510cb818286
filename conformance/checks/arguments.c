/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/checks/arguments.h"

#include <stdio.h>

#include "kernels/api/names.h"

enum { TOKENS = 2 };

/* Weights and multiply-accumulates that the optional parameters may cost; in larger cases they take
 * turns. */
static const int64_t budget = 1 << 17, budget_bf16 = 1 << 14;

/* Changes one parameter; the case with it is judged like any other. */
typedef bool change(armq_case *c);

static void toggle_bias(armq_case *c, uint32_t flag) {
    const uint32_t all = ARMQ_USES_BIAS | ARMQ_USES_W13_BIAS | ARMQ_USES_W2_BIAS;
    c->desc.uses ^= flag;
    if (!(c->desc.uses & all))
        c->desc.bias_dtype = ARMQ_DTYPE_NONE;
    else if (c->desc.bias_dtype == ARMQ_DTYPE_NONE)
        c->desc.bias_dtype = ARMQ_DTYPE_F32;
}

static bool bias(armq_case *c) {
    toggle_bias(c, ARMQ_USES_BIAS);
    return armq_op_is_linear(c->desc.op);
}

static bool w13_bias(armq_case *c) {
    toggle_bias(c, ARMQ_USES_W13_BIAS);
    return armq_op_is_moe(c->desc.op);
}

static bool w2_bias(armq_case *c) {
    toggle_bias(c, ARMQ_USES_W2_BIAS);
    return armq_op_is_moe(c->desc.op);
}

static bool weight_zero(armq_case *c) {
    c->desc.uses ^= ARMQ_USES_WEIGHT_ZERO;
    return c->desc.format == ARMQ_WEIGHT_S4_LOW || c->desc.format == ARMQ_WEIGHT_S4_WORD8;
}

static bool weight_on_input(armq_case *c) {
    c->desc.uses ^= ARMQ_USES_WEIGHT_ON_INPUT;
    return armq_op_is_moe(c->desc.op) && !(c->desc.uses & ARMQ_USES_NO_ROUTER_WEIGHT);
}

static bool no_router_weight(armq_case *c) {
    c->desc.uses ^= ARMQ_USES_NO_ROUTER_WEIGHT;
    return armq_op_is_moe(c->desc.op) && c->desc.top_k == 1 &&
           !(c->desc.uses & ARMQ_USES_WEIGHT_ON_INPUT);
}

static bool skip_ids(armq_case *c) {
    c->desc.uses ^= ARMQ_USES_SKIP_IDS;
    return armq_op_is_moe(c->desc.op) && c->routing != ROUTING_SKIP;
}

static bool gate_layout(armq_case *c) {
    armq_gate_layout *layout = &c->desc.dialect.gate_layout;
    *layout = *layout == ARMQ_GATE_HALVES ? ARMQ_GATE_INTERLEAVED : ARMQ_GATE_HALVES;
    return c->desc.intermediate > 0;
}

static bool has_clamp(const armq_case *c) {
    return c->desc.dialect.activation == ARMQ_ACT_SWIGLUOAI && c->desc.intermediate > 0;
}

static bool alpha(armq_case *c) {
    c->desc.dialect.alpha *= 0.5f;
    return has_clamp(c);
}

static bool limit(armq_case *c) {
    c->desc.dialect.limit *= 0.5f;
    return has_clamp(c);
}

/* What no preset rounds so, or adds in this order. */
static armq_dtype other_rounding(armq_dtype dtype) {
    return dtype == ARMQ_DTYPE_F32 ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
}

static bool first_product(armq_case *c) {
    c->desc.dialect.y13_round = other_rounding(c->desc.dialect.y13_round);
    return armq_op_is_moe(c->desc.op) && c->desc.intermediate > 0;
}

static bool second_product(armq_case *c) {
    c->desc.dialect.y2_round = other_rounding(c->desc.dialect.y2_round);
    return armq_op_is_moe(c->desc.op);
}

static bool intermediate(armq_case *c) {
    c->desc.dialect.intermediate = other_rounding(c->desc.dialect.intermediate);
    return armq_op_is_moe(c->desc.op) && !armq_op_is_bf16(c->desc.op) && c->desc.intermediate > 0;
}

static bool activation_round(armq_case *c) {
    c->desc.dialect.activation_round = other_rounding(c->desc.dialect.activation_round);
    return (armq_op_is_moe(c->desc.op) || c->desc.op == ARMQ_OP_ACTIVATION) &&
           c->desc.intermediate > 0;
}

static bool combination(armq_case *c) {
    armq_combine_order *order = &c->desc.dialect.combine_order;
    c->desc.dialect.combine_round = other_rounding(c->desc.dialect.combine_round);
    *order =
        *order == ARMQ_COMBINE_SLOT_ORDER ? ARMQ_COMBINE_EXPERT_ORDER : ARMQ_COMBINE_SLOT_ORDER;
    return armq_op_is_moe(c->desc.op);
}

/* 0 is a value, not the want of one. */
static bool no_alpha(armq_case *c) {
    c->desc.dialect.alpha = 0.0f;
    return has_clamp(c);
}

static bool no_limit(armq_case *c) {
    c->desc.dialect.limit = 0.0f;
    return has_clamp(c);
}

static const struct {
    const char *what;
    change *apply;
} changes[] = {
    {"bias", bias},
    {"w13_bias", w13_bias},
    {"w2_bias", w2_bias},
    {"zero points", weight_zero},
    {"router weight on the input", weight_on_input},
    {"no router weight", no_router_weight},
    {"skip_ids", skip_ids},
    {"gate layout", gate_layout},
    {"alpha halved", alpha},
    {"limit halved", limit},
    {"alpha = 0", no_alpha},
    {"limit = 0", no_limit},
    {"rounding of the first product", first_product},
    {"rounding of the second product", second_product},
    {"rounding of the intermediate", intermediate},
    {"rounding of the activation", activation_round},
    {"rounding and order of the sum over slots", combination},
};
enum { CHANGES = sizeof changes / sizeof changes[0] };

static check_status changed(trial *t, int which, check_result *out) {
    static const int64_t rows[TOKENS] = {0, 1};
    char what[64];
    armq_case c = t->c;
    trial d;
    if (!changes[which].apply(&c))
        return CHECK_SKIPPED;
    if (c.desc.tokens > TOKENS)
        c.desc.tokens = TOKENS;
    snprintf(what, sizeof what, "%s, on or off as the case does not have it", changes[which].what);
    trial_state state =
        trial_derive(&d, t, &c, inputs_rows(t->in, &c, rows), GUARD_END, &out->failure);
    check_status status = state == TRIAL_READY ? check_verdict(check_judge(&d, what, &out->failure))
                                               : check_not_ready(&d, state, what, out);
    trial_close(&d);
    return status;
}

static int64_t cost(const trial *t) {
    const armq_desc *d = &t->c.desc;
    armq_case few = t->c;
    few.desc.tokens = d->tokens < TOKENS ? d->tokens : TOKENS;
    return case_macs(&few) + d->n * d->k + d->experts * 3 * d->hidden * d->intermediate + 1;
}

check_status arguments_optional(trial *t, check_result *out) {
    int64_t most = (armq_op_is_bf16(t->c.desc.op) ? budget_bf16 : budget) / cost(t);
    for (int64_t i = 0, done = 0; i < CHANGES && done <= most; i++) {
        check_status status = changed(t, (int)((t->in->hash + (uint64_t)i) % CHANGES), out);
        if (status == CHECK_FAILED)
            return status;
        done += status == CHECK_PASSED;
    }
    return CHECK_PASSED;
}

check_status check_arguments(trial *t, check_result *out) {
    /* Odd placement: a call that is wrongly accepted still finds memory all around. */
    if (!trial_place(t, GUARD_ODD, &out->failure) || !arguments_of_query(t, &out->failure) ||
        !arguments_of_pack(t, &out->failure) || !arguments_of_run(t, &out->failure))
        return CHECK_FAILED;
    return arguments_optional(t, out); /* refusing one is as good as honouring it */
}
