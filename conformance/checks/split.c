/* SPDX-License-Identifier: Apache-2.0 */
/* A token's slots over two calls: all but the last in the order of the dialect, then that one
 * alone. The others have the weight 0, which adds exactly nothing, or, where a case has skipped
 * slots, are -1 (not if the provider's bits depend on how many rows an expert has). What comes last
 * is added last, so the whole is the sum of both calls but for one rounding of each of them and of
 * the sum; where every step is rounded to the output dtype, exactly. The roundings that are counted
 * need no reference. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "conformance/check.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

static const char *why_not(const armq_desc *d) {
    if (!armq_op_is_moe(d->op))
        return "not a mixture of experts";
    if (d->uses & (ARMQ_USES_WEIGHT_ON_INPUT | ARMQ_USES_NO_ROUTER_WEIGHT))
        return "no router weight is on the output";
    if (d->top_k < 2)
        return "one slot";
    return d->tokens == 0 || d->hidden == 0 ? "an operand is empty" : NULL;
}

/* The slot of a token that is added last; -1: it has none. */
static int64_t last_slot(const armq_desc *d, const int32_t *ids) {
    int64_t last = -1;
    for (int64_t s = 0; s < d->top_k; s++)
        if (ids[s] >= 0 && (last < 0 || d->dialect.combine_order == ARMQ_COMBINE_SLOT_ORDER ||
                            ids[s] >= ids[last]))
            last = s;
    return last;
}

typedef struct {
    bool alone; /* the last slot of every token, or all but that */
    bool skips; /* what is left out becomes -1, or its weight 0 */
} part;

static void take_part(const inputs *in, void *arg) {
    const armq_desc *d = &in->c.desc;
    const part *p = arg;
    for (int64_t token = 0; token < d->tokens; token++) {
        int32_t *ids = (int32_t *)in->data.at[OPERAND_TOPK_IDS] + token * d->top_k;
        float *weights = (float *)in->data.at[OPERAND_TOPK_WEIGHTS] + token * d->top_k;
        int64_t last = last_slot(d, ids);
        for (int64_t s = 0; s < d->top_k; s++) {
            if ((s == last) == p->alone)
                continue;
            ids[s] = p->skips ? -1 : ids[s];
            weights[s] = p->skips ? weights[s] : 0.0f;
        }
    }
}

/* --- The sum ------------------------------------------------------------------------------------
 */

/* Relative error of one rounding, and absolute of one below the normal numbers. */
static double rounding_of(armq_dtype dtype) {
    return dtype == ARMQ_DTYPE_F32 ? 0x1p-24 : dtype == ARMQ_DTYPE_BF16 ? 0x1p-8 : 0x1p-11;
}
static double tiny_of(armq_dtype dtype) { return dtype == ARMQ_DTYPE_F16 ? 0x1p-25 : 0x1p-134; }

static bool is_sum(const armq_desc *d, double whole, double rest, double last) {
    double size = fabs(whole) + fabs(rest) + fabs(last), u = rounding_of(d->out);
    if (!(size < (d->out == ARMQ_DTYPE_F16 ? 32768.0 : (double)FLT_MAX / 2)))
        return true; /* not finite, or a part may have overflowed */
    if (d->out != ARMQ_DTYPE_F32 && d->dialect.combine_round == d->out)
        return whole == armq_round_to(d->out, rest + last);
    /* Of the parts, of the whole, and of the sum in f32 before it. */
    double f32 = d->out == ARMQ_DTYPE_F32 ? 0.0 : 0x1p-22 * size;
    return fabs(whole - (rest + last)) <= u * size * (1.0 + 4.0 * u) + f32 + 4.0 * tiny_of(d->out);
}

/* rest and last: y of both calls, dense. */
static bool sums_hold(const trial *t, const void *rest, const void *last, check_failure *failure) {
    const armq_desc *d = &t->c.desc;
    for (int64_t i = 0; i < d->tokens * d->hidden; i++) {
        double whole = armq_load(d->out, t->base[OPERAND_Y], i), a = armq_load(d->out, rest, i),
               b = armq_load(d->out, last, i);
        if (is_sum(d, whole, a, b))
            continue;
        int64_t row = i / d->hidden, column = i % d->hidden;
        failure_element(failure, "y", row, column, whole, a + b);
        failure_set(failure,
                    "y[%" PRId64 "][%" PRId64 "] is %.9g, without the last slot %.9g, with it "
                    "alone %.9g: no sum",
                    row, column, whole, a, b);
        return false;
    }
    return true;
}

static bool run_part(trial *t, bool alone, void *y, check_failure *failure) {
    bool skips =
        t->c.desc.uses & ARMQ_USES_SKIP_IDS && t->support.claims & ARMQ_CLAIM_BATCH_INVARIANT;
    const inputs *usual = inputs_share(t->in);
    const inputs *of_part = inputs_adjusted(t->in, take_part, &(part){alone, skips});
    if (!of_part) {
        inputs_release(usual);
        failure_unjudged(failure, "not enough memory for the routing of a part");
        return false;
    }
    trial_swap_tokens(t, of_part);
    bool ok = trial_runs(t, &(call_options){.garbage = 3},
                         alone ? "the last slot alone" : "without the last slot", failure);
    void *to[OPERAND_COUNT] = {[OPERAND_Y] = y};
    trial_copy_outputs(t, to);
    trial_swap_tokens(t, usual);
    return ok;
}

check_status check_split(trial *t, check_result *out) {
    const char *why = why_not(&t->c.desc);
    if (why)
        return check_skip(out, "%s", why);
    size_t bytes = (size_t)(t->c.desc.tokens * t->c.desc.hidden) * armq_dtype_bytes(t->c.desc.out);
    void *rest = malloc(bytes), *last = malloc(bytes);
    bool ok = rest && last;
    if (!ok)
        failure_unjudged(&out->failure, "not enough memory for two outputs");
    ok = ok && ((t->placed && t->side == GUARD_END) || trial_place(t, GUARD_END, &out->failure)) &&
         run_part(t, false, rest, &out->failure) && run_part(t, true, last, &out->failure) &&
         sums_hold(t, rest, last, &out->failure);
    free(rest);
    free(last);
    return check_verdict(ok);
}
