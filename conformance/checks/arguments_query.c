/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "conformance/checks/arguments.h"
#include "kernels/api/names.h"

/* Each makes one thing wrong; false: the case has no such thing. */
typedef bool spoil_desc(const trial *t, armq_desc *d);

static bool no_size(const trial *t, armq_desc *d) {
    (void)t;
    d->size = 0;
    return true;
}

static bool other_abi(const trial *t, armq_desc *d) {
    (void)t;
    d->abi = ARMQ_ABI_VERSION + 1;
    return true;
}

static bool unknown_op(const trial *t, armq_desc *d) {
    (void)t;
    d->op = ARMQ_OP_COUNT;
    return true;
}

static bool negative_tokens(const trial *t, armq_desc *d) {
    (void)t;
    d->tokens = -1;
    return true;
}

static bool negative_n(const trial *t, armq_desc *d) {
    (void)t;
    d->n = -1;
    return !armq_op_is_moe(d->op);
}

static bool negative_k(const trial *t, armq_desc *d) {
    (void)t;
    d->k = -1;
    return !armq_op_is_moe(d->op);
}

static bool is_moe(const armq_desc *d) { return armq_op_is_moe(d->op); }

static bool negative_hidden(const trial *t, armq_desc *d) {
    (void)t;
    d->hidden = -1;
    return is_moe(d);
}

static bool negative_intermediate(const trial *t, armq_desc *d) {
    (void)t;
    d->intermediate = -1;
    return is_moe(d) || d->op == ARMQ_OP_ACTIVATION;
}

static bool negative_experts(const trial *t, armq_desc *d) {
    (void)t;
    d->experts = -1;
    return is_moe(d);
}

static bool negative_top_k(const trial *t, armq_desc *d) {
    (void)t;
    d->top_k = -1;
    return is_moe(d);
}

static bool no_experts(const trial *t, armq_desc *d) {
    (void)t;
    d->experts = 0;
    return is_moe(d) && d->tokens > 0 && d->top_k > 0 && !(d->uses & ARMQ_USES_SKIP_IDS);
}

static bool unweighted_top_2(const trial *t, armq_desc *d) {
    (void)t;
    d->uses = (d->uses & ~(uint32_t)ARMQ_USES_WEIGHT_ON_INPUT) | ARMQ_USES_NO_ROUTER_WEIGHT;
    return is_moe(d) && d->top_k > 1;
}

static bool weighted_and_not(const trial *t, armq_desc *d) {
    (void)t;
    d->uses |= ARMQ_USES_WEIGHT_ON_INPUT | ARMQ_USES_NO_ROUTER_WEIGHT;
    return is_moe(d);
}

static bool unknown_activation(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.activation = (armq_activation)(ARMQ_ACT_SWIGLUOAI + 1);
    return is_moe(d) || d->op == ARMQ_OP_ACTIVATION;
}

static bool no_activation(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.activation = ARMQ_ACT_NONE;
    return is_moe(d) || d->op == ARMQ_OP_ACTIVATION;
}

static bool wrong_input(const trial *t, armq_desc *d) {
    (void)t;
    d->in = d->in == ARMQ_DTYPE_S8 ? ARMQ_DTYPE_F32 : ARMQ_DTYPE_S32;
    return true;
}

static bool wrong_output(const trial *t, armq_desc *d) {
    (void)t;
    d->out = d->out == ARMQ_DTYPE_S8 || d->out == ARMQ_DTYPE_S32 ? ARMQ_DTYPE_F32 : ARMQ_DTYPE_S8;
    return true;
}

static bool wrong_bias(const trial *t, armq_desc *d) {
    (void)t;
    d->bias_dtype = ARMQ_DTYPE_S32;
    return d->uses & ARMQ_USES_BIAS;
}

static bool undeclared_bias_dtype(const trial *t, armq_desc *d) {
    (void)t;
    d->bias_dtype = ARMQ_DTYPE_F32;
    return armq_op_is_linear(d->op) && !(d->uses & ARMQ_USES_BIAS);
}

static bool groups_of_int8(const trial *t, armq_desc *d) {
    (void)t;
    d->group_size = 32;
    return d->format == ARMQ_WEIGHT_S8 || d->format == ARMQ_WEIGHT_BF16;
}

static bool other_format(const trial *t, armq_desc *d) {
    (void)t;
    d->format = d->format == ARMQ_WEIGHT_S4_LOW ? ARMQ_WEIGHT_S8 : ARMQ_WEIGHT_S4_LOW;
    return true;
}

static bool foreign_use(const trial *t, armq_desc *d) {
    (void)t;
    d->uses |= ARMQ_USES_W13_BIAS;
    return !armq_op_is_moe(d->op);
}

static bool unknown_use(const trial *t, armq_desc *d) {
    (void)t;
    d->uses |= 1u << 31;
    return true;
}

static bool no_threads(const trial *t, armq_desc *d) {
    (void)t;
    d->max_threads = 0;
    return true;
}

static bool no_dialect(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.size = 0;
    return true;
}

/* A provider that splits K, or sums in floats, has no longest one. */
static bool has_longest(const trial *t) {
    return t->support.max_k > 0 && t->support.max_k <= INT64_C(1) << 40;
}

static bool beyond_max_k(const trial *t, armq_desc *d) {
    d->k = t->support.max_k + 1;
    return has_longest(t) && !is_moe(d) && d->op != ARMQ_OP_ACTIVATION;
}

static bool hidden_beyond_max_k(const trial *t, armq_desc *d) {
    d->hidden = t->support.max_k + 1;
    return has_longest(t) && is_moe(d);
}

static bool intermediate_beyond_max_k(const trial *t, armq_desc *d) {
    d->intermediate = t->support.max_k + 1;
    return has_longest(t) && is_moe(d);
}

static const struct {
    const char *what;
    spoil_desc *spoil;
} table[] = {
    {"size = 0", no_size},
    {"an unknown ABI version", other_abi},
    {"an op beyond the enum", unknown_op},
    {"tokens = -1", negative_tokens},
    {"n = -1", negative_n},
    {"k = -1", negative_k},
    {"hidden = -1", negative_hidden},
    {"intermediate = -1", negative_intermediate},
    {"experts = -1", negative_experts},
    {"top_k = -1", negative_top_k},
    {"slots but no experts", no_experts},
    {"no router weight, but top_k above 1", unweighted_top_2},
    {"a router weight both on the input and not at all", weighted_and_not},
    {"an activation beyond the enum", unknown_activation},
    {"no activation", no_activation},
    {"an input dtype that the op does not have", wrong_input},
    {"an output dtype that the op does not have", wrong_output},
    {"bias dtype s32", wrong_bias},
    {"a bias dtype without a bias", undeclared_bias_dtype},
    {"group_size = 32 for weights without groups", groups_of_int8},
    {"a weight format that the op does not have", other_format},
    {"uses w13_bias, which the op does not have", foreign_use},
    {"an unknown bit in uses", unknown_use},
    {"max_threads = 0", no_threads},
    {"dialect.size = 0", no_dialect},
    {"k = max_k + 1", beyond_max_k},
    {"hidden = max_k + 1", hidden_beyond_max_k},
    {"intermediate = max_k + 1", intermediate_beyond_max_k},
};

static bool refuses(trial *t, const armq_desc *d, const char *what, check_failure *failure) {
    armq_support support;
    memset(&support, 0, sizeof support);
    support.size = sizeof support;
    trial_enter(t);
    armq_status status = t->provider->query(d, &support);
    trial_leave(t);
    if (status == ARMQ_OK) {
        failure_set(failure, "query accepts a description with %s", what);
        return false;
    }
    if (support.reason[0] && memchr(support.reason, '\0', sizeof support.reason))
        return true;
    failure_set(failure, "query refuses a description with %s, but without a reason", what);
    return false;
}

/* The longest K that query says it has must be one that it takes. */
static bool takes_max_k(trial *t, check_failure *failure) {
    armq_desc d = t->c.desc;
    armq_support support;
    if (!d.k || is_moe(&d))
        return true;
    d.tokens = d.n = d.n ? 1 : 0;
    d.k = t->support.max_k < INT32_MAX ? t->support.max_k : INT32_MAX;
    d.k -= d.group_size ? d.k % d.group_size : 0;
    memset(&support, 0, sizeof support);
    support.size = sizeof support;
    trial_enter(t);
    armq_status status = t->provider->query(&d, &support);
    trial_leave(t);
    if (status != ARMQ_OK)
        failure_set(failure, "query says max_k = %" PRId64 " and refuses k = %" PRId64 ": %.120s",
                    t->support.max_k, d.k, support.reason);
    return status == ARMQ_OK;
}

bool arguments_of_query(trial *t, check_failure *failure) {
    if (!takes_max_k(t, failure))
        return false;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        armq_desc d = t->c.desc;
        if (table[i].spoil(t, &d) && !refuses(t, &d, table[i].what, failure))
            return false;
    }
    return true;
}
