/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
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

static bool has_activation(const armq_desc *d) { return is_moe(d) || d->op == ARMQ_OP_ACTIVATION; }

static bool alpha_without_clamp(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.alpha = 1.702f;
    return has_activation(d) && d->dialect.activation != ARMQ_ACT_SWIGLUOAI;
}

static bool negative_limit(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.limit = -1;
    return has_activation(d) && d->dialect.activation == ARMQ_ACT_SWIGLUOAI;
}

static bool wrong_rounding(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.y2_round = ARMQ_DTYPE_S8;
    return is_moe(d);
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

static bool is_int4(const armq_desc *d) {
    return d->format == ARMQ_WEIGHT_S4_LOW || d->format == ARMQ_WEIGHT_S4_WORD8;
}

static void set_groups(armq_desc *d, int64_t size) {
    d->group_size = size;
    if (d->scale_dtype != ARMQ_DTYPE_NONE)
        d->scale_dtype = ARMQ_DTYPE_BF16;
}

static bool odd_groups(const trial *t, armq_desc *d) {
    (void)t;
    set_groups(d, 48);
    d->k = 96; /* which 48 divides */
    return is_int4(d) && !is_moe(d);
}

static bool negative_groups(const trial *t, armq_desc *d) {
    (void)t;
    set_groups(d, -32);
    return is_int4(d);
}

/* One group and one weight more than there are. */
static bool groups_that_do_not_divide(const trial *t, armq_desc *d) {
    (void)t;
    int64_t longest = d->k > d->hidden ? d->k : d->hidden;
    longest = longest > d->intermediate ? longest : d->intermediate;
    set_groups(d, (longest / 32 + 1) * 32);
    return is_int4(d) && longest > 0;
}

static bool other_scales(const trial *t, armq_desc *d) {
    (void)t;
    d->scale_dtype = d->scale_dtype == ARMQ_DTYPE_F32 ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
    return d->format != ARMQ_WEIGHT_NONE;
}

static bool foreign_zero_points(const trial *t, armq_desc *d) {
    (void)t;
    d->uses |= ARMQ_USES_WEIGHT_ZERO;
    return !is_int4(d);
}

static bool unquantised(const trial *t, armq_desc *d) {
    (void)t;
    bool quantises = d->dialect.quant != ARMQ_QUANT_NONE && d->op != ARMQ_OP_ACTIVATION;
    d->dialect.quant = ARMQ_QUANT_NONE;
    return quantises;
}

static bool other_format(const trial *t, armq_desc *d) {
    (void)t;
    d->format = is_int4(d) ? ARMQ_WEIGHT_S8 : ARMQ_WEIGHT_S4_LOW;
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

static bool no_features(const trial *t, armq_desc *d) {
    d->features &= ~t->provider->required_features;
    return t->provider->required_features != 0;
}

/* A provider that splits K, or sums in floats, has no longest one. */
static bool has_longest(const trial *t) {
    return t->support.max_k > 0 && t->support.max_k <= INT64_C(1) << 40;
}

/* The next size that group_size divides. */
static int64_t above_max_k(const trial *t, const armq_desc *d) {
    int64_t size = d->group_size > 0 ? d->group_size : 1;
    return (t->support.max_k / size + 1) * size;
}

static bool beyond_max_k(const trial *t, armq_desc *d) {
    d->k = above_max_k(t, d);
    return has_longest(t) && !is_moe(d) && d->op != ARMQ_OP_ACTIVATION;
}

static bool hidden_beyond_max_k(const trial *t, armq_desc *d) {
    d->hidden = above_max_k(t, d);
    return has_longest(t) && is_moe(d);
}

static bool intermediate_beyond_max_k(const trial *t, armq_desc *d) {
    d->intermediate = above_max_k(t, d);
    return has_longest(t) && is_moe(d);
}

/* --- Fields of the dialect, and sizes, that are checked apart from the others --------------------
 */

static bool is_quantised(const armq_desc *d) {
    return d->dialect.quant != ARMQ_QUANT_NONE && d->op != ARMQ_OP_ACTIVATION;
}

static bool unknown_quant(const trial *t, armq_desc *d) {
    (void)t;
    bool quantised = is_quantised(d);
    d->dialect.quant = (armq_quant)(ARMQ_QUANT_ASYMMETRIC + 1);
    return quantised;
}

static bool unknown_q_rounding(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.q_rounding = (armq_rounding)(ARMQ_ROUND_TIES_AWAY + 1);
    return is_quantised(d);
}

static bool unknown_layout(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.gate_layout = (armq_gate_layout)(ARMQ_GATE_INTERLEAVED + 1);
    return has_activation(d);
}

static bool unknown_order(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.combine_order = (armq_combine_order)(ARMQ_COMBINE_EXPERT_ORDER + 1);
    return is_moe(d);
}

static bool rounded_twice_before_bias(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.linear_round_before_bias = 2;
    return armq_op_is_linear(d->op);
}

static bool limit_of_nan(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.limit = NAN;
    return has_activation(d) && d->dialect.activation == ARMQ_ACT_SWIGLUOAI;
}

static bool infinite_alpha(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.alpha = INFINITY;
    return has_activation(d) && d->dialect.activation == ARMQ_ACT_SWIGLUOAI;
}

static bool wrong_work(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.work = ARMQ_DTYPE_S8;
    return !armq_op_is_gemm(d->op);
}

static bool wrong_activation_round(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.activation_round = ARMQ_DTYPE_S8;
    return has_activation(d);
}

static bool wrong_y13_round(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.y13_round = ARMQ_DTYPE_NONE;
    return is_moe(d);
}

static bool wrong_intermediate(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.intermediate = ARMQ_DTYPE_S8;
    return is_moe(d);
}

static bool wrong_combine_round(const trial *t, armq_desc *d) {
    (void)t;
    d->dialect.combine_round = ARMQ_DTYPE_S32;
    return is_moe(d);
}

static bool no_input_dtype(const trial *t, armq_desc *d) {
    (void)t;
    d->in = ARMQ_DTYPE_NONE;
    return true;
}

static bool another_output(const trial *t, armq_desc *d) {
    (void)t;
    d->out = d->in == ARMQ_DTYPE_F32 ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
    return has_activation(d);
}

/* Neither f32 nor that of the input. */
static bool another_bias(const trial *t, armq_desc *d) {
    (void)t;
    d->bias_dtype = d->in == ARMQ_DTYPE_F16 ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F16;
    return (d->uses & (ARMQ_USES_BIAS | ARMQ_USES_W13_BIAS | ARMQ_USES_W2_BIAS)) != 0;
}

static bool unknown_format(const trial *t, armq_desc *d) {
    (void)t;
    d->format = ARMQ_WEIGHT_COUNT;
    return true;
}

static bool negative_cache(const trial *t, armq_desc *d) {
    (void)t;
    d->l2 = -1;
    return true;
}

static bool foreign_dimension(const trial *t, armq_desc *d) {
    (void)t;
    *(is_moe(d) ? &d->k : &d->hidden) = 8;
    return true;
}

static bool tokens_beyond_memory(const trial *t, armq_desc *d) {
    (void)t;
    d->tokens = INT64_MAX;
    return (d->op == ARMQ_OP_ACTIVATION || is_moe(d) ? d->intermediate + d->hidden : d->k) > 1;
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
    {"alpha = 1.702 for an activation without it", alpha_without_clamp},
    {"swigluoai with limit = -1", negative_limit},
    {"a dialect that rounds to s8", wrong_rounding},
    {"an input dtype that the op does not have", wrong_input},
    {"an output dtype that the op does not have", wrong_output},
    {"bias dtype s32", wrong_bias},
    {"a bias dtype without a bias", undeclared_bias_dtype},
    {"group_size = 32 for weights without groups", groups_of_int8},
    {"group_size = 48", odd_groups},
    {"group_size = -32", negative_groups},
    {"a group_size that does not divide", groups_that_do_not_divide},
    {"scales of another dtype", other_scales},
    {"zero points of weights that are not int4", foreign_zero_points},
    {"activations that are not quantised", unquantised},
    {"a weight format that the op does not have", other_format},
    {"uses w13_bias, which the op does not have", foreign_use},
    {"an unknown bit in uses", unknown_use},
    {"max_threads = 0", no_threads},
    {"dialect.size = 0", no_dialect},
    {"none of the features that the provider requires", no_features},
    {"a quantisation beyond the enum", unknown_quant},
    {"a rounding of q beyond the enum", unknown_q_rounding},
    {"a gate layout beyond the enum", unknown_layout},
    {"an order of combination beyond the enum", unknown_order},
    {"linear_round_before_bias = 2", rounded_twice_before_bias},
    {"swigluoai with limit = NaN", limit_of_nan},
    {"swigluoai with alpha = infinity", infinite_alpha},
    {"a working dtype of s8", wrong_work},
    {"an activation that is rounded to s8", wrong_activation_round},
    {"a first product that is rounded to no dtype", wrong_y13_round},
    {"an intermediate of s8", wrong_intermediate},
    {"sums that are rounded to s32", wrong_combine_round},
    {"no input dtype", no_input_dtype},
    {"another dtype of y than of x, which the op does not have", another_output},
    {"a bias dtype that is neither f32 nor the input's", another_bias},
    {"a weight format beyond the enum", unknown_format},
    {"l2 = -1", negative_cache},
    {"a dimension that the op does not have", foreign_dimension},
    {"tokens = 2^63 - 1", tokens_beyond_memory},
    {"k above max_k", beyond_max_k},
    {"hidden above max_k", hidden_beyond_max_k},
    {"intermediate above max_k", intermediate_beyond_max_k},
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
    if (status != ARMQ_INVALID_ARGUMENT && status != ARMQ_UNSUPPORTED) {
        failure_set(failure, "query refuses a description with %s, but by status %d", what,
                    (int)status);
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

/* A caller that knows a part of the answer has memory for that part. */
static bool answers_within_size(trial *t, check_failure *failure) {
    enum { KNOWN = offsetof(armq_support, workspace_bytes), FILL = 0x5a };
    armq_support support;
    memset(&support, FILL, sizeof support);
    support.size = KNOWN;
    trial_enter(t);
    t->provider->query(&t->c.desc, &support);
    trial_leave(t);
    size_t at = bytes_first_other((const uint8_t *)&support + KNOWN, sizeof support - KNOWN, FILL);
    if (KNOWN + at < sizeof support)
        failure_set(failure, "query writes byte %zu of a support of size %d", KNOWN + at,
                    (int)KNOWN);
    return KNOWN + at >= sizeof support;
}

static bool same_answer(const armq_support *a, const armq_support *b) {
    for (int which = 0; which < 2; which++)
        if (a->packed_bytes[which] != b->packed_bytes[which] ||
            a->packed_expert_stride[which] != b->packed_expert_stride[which])
            return false;
    return strncmp(a->kernel, b->kernel, sizeof a->kernel) == 0 &&
           a->workspace_bytes == b->workspace_bytes && a->workspace_align == b->workspace_align &&
           a->packed_align == b->packed_align && a->tile_m == b->tile_m && a->tile_n == b->tile_n &&
           a->tile_k == b->tile_k && a->max_k == b->max_k && a->claims == b->claims;
}

/* Again, and where another answer, or nothing, stood before. */
static bool answers_alike(trial *t, check_failure *failure) {
    for (int fill = 0x5a; fill < 0x5a + 3; fill++) {
        armq_support support;
        memset(&support, fill, sizeof support);
        support.size = sizeof support;
        trial_enter(t);
        armq_status status = t->provider->query(&t->c.desc, &support);
        trial_leave(t);
        if (status == ARMQ_OK && support.size == sizeof support &&
            same_answer(&support, &t->support))
            continue;
        failure_set(failure, "query answers the same question in another way, or not in full");
        return false;
    }
    return true;
}

/* Callers of a later header know more fields, of which none is used here: all are zero. */
static bool answers_later_callers(trial *t, check_failure *failure) {
    struct {
        armq_desc d;
        uint64_t more[4];
    } desc = {.d = t->c.desc};
    struct {
        armq_support s;
        uint64_t more[4];
    } support;
    desc.d.size = sizeof desc;
    desc.d.dialect.size += sizeof desc.more;
    memset(&support, 0, sizeof support);
    support.s.size = sizeof support;
    trial_enter(t);
    armq_status status = t->provider->query(&desc.d, &support.s);
    trial_leave(t);
    if (status == ARMQ_OK && same_answer(&support.s, &t->support))
        return true;
    failure_set(failure, "query refuses structs of a later header, or answers otherwise: %.120s",
                support.s.reason);
    return false;
}

bool arguments_of_query(trial *t, check_failure *failure) {
    if (!takes_max_k(t, failure) || !answers_within_size(t, failure) ||
        !answers_alike(t, failure) || !answers_later_callers(t, failure))
        return false;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        armq_desc d = t->c.desc;
        if (table[i].spoil(t, &d) && !refuses(t, &d, table[i].what, failure))
            return false;
    }
    return true;
}
