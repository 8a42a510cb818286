/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens in another order, and the experts of a MoE under other numbers. What adds up the slots of
 * a token in the order of their experts may then add in another order: such tokens are judged by
 * the reference instead. */
#include <stdlib.h>

#include "conformance/check.h"
#include "harness/generate.h"

/* Tokens judged by the reference, whose cost is that of the whole pipeline each. */
enum { JUDGED_MAX = 4 };

static bool same_bits_claimed(const trial *t) {
    return (t->support.claims & ARMQ_CLAIM_BATCH_INVARIANT) != 0;
}

/* A permutation of `count` numbers that leaves not all of them where they are, if it can. */
static int64_t *shuffled(uint64_t seed, int64_t count) {
    int64_t *to = calloc((size_t)count + 1, sizeof *to), moved = 0;
    for (int64_t i = 0; to && i < count; i++) {
        int64_t j = (int64_t)(random_u64(seed, OPERAND_COUNT, (uint64_t)i) % (uint64_t)(i + 1));
        to[i] = to[j];
        to[j] = i;
    }
    for (int64_t i = 0; to && i < count; i++)
        moved += to[i] != i;
    for (int64_t i = 0; to && moved == 0 && i < count; i++)
        to[i] = (i + 1) % count;
    return to;
}

/* --- Tokens ----------------------------------------------------------------------------------- */

/* Token i of the call is token from[i] of the base run. */
static bool tokens_hold(trial *t, const int64_t *from, check_failure *failure) {
    static const char what[] = "tokens in another order";
    if (!trial_runs(t, &(call_options){.garbage = 2}, what, failure))
        return false;
    if (!same_bits_claimed(t))
        return check_judge_last(t, what, failure);
    for (int64_t i = 0; i < t->c.desc.tokens; i++)
        if (!trial_same_token(t, i, t, from[i], what, failure))
            return false;
    return true;
}

static check_status permuted_tokens(trial *t, check_result *out) {
    int64_t *from = shuffled(t->c.seed, t->c.desc.tokens);
    const inputs *other = from ? inputs_rows(t->in, &t->c, from) : NULL;
    if (!other) {
        free(from);
        return check_skip(out, "no memory");
    }
    const inputs *usual = inputs_share(t->in);
    bool placed = t->placed && t->side == GUARD_END;
    bool ok = placed || trial_place(t, GUARD_END, &out->failure);
    trial_swap_tokens(t, other);
    ok = ok && tokens_hold(t, from, &out->failure);
    trial_swap_tokens(t, usual);
    free(from);
    return check_verdict(ok);
}

/* --- Experts ---------------------------------------------------------------------------------- */

/* Slot a of a token is added before slot b. */
static bool is_before(const int32_t *ids, int64_t a, int64_t b) {
    return ids[a] != ids[b] ? ids[a] < ids[b] : a < b;
}

static bool same_order(const trial *d, const trial *t, int64_t token) {
    int64_t top_k = t->c.desc.top_k;
    if (t->c.desc.dialect.combine_order == ARMQ_COMBINE_SLOT_ORDER)
        return true;
    const int32_t *now = (const int32_t *)d->in->data.at[OPERAND_TOPK_IDS] + token * top_k;
    const int32_t *before = (const int32_t *)t->in->data.at[OPERAND_TOPK_IDS] + token * top_k;
    for (int64_t a = 0; a < top_k; a++)
        for (int64_t b = 0; b < a; b++)
            if (before[a] >= 0 && before[b] >= 0 && is_before(now, a, b) != is_before(before, a, b))
                return false;
    return true;
}

static bool relabelled_hold(trial *d, const trial *t, check_failure *failure) {
    static const char what[] = "experts under other numbers";
    int64_t judged[JUDGED_MAX], count = 0;
    for (int64_t i = 0; i < t->c.desc.tokens; i++) {
        if (!same_bits_claimed(t) || !same_order(d, t, i)) {
            if (count < JUDGED_MAX)
                judged[count++] = i;
        } else if (!trial_same_token(d, i, t, i, what, failure)) {
            return false;
        }
    }
    return check_judge_rows(d, judged, count, what, failure);
}

static check_status relabelled_experts(trial *t, check_result *out) {
    int64_t *to = shuffled(t->c.seed + 1, t->c.desc.experts);
    const inputs *in = to ? inputs_relabelled(t->in, to) : NULL;
    free(to);
    if (!in)
        return check_skip(out, "no memory");
    trial d;
    trial_state state = trial_derive(&d, t, &t->c, in, GUARD_END, &out->failure);
    check_status status = state == TRIAL_READY
                              ? check_verdict(relabelled_hold(&d, t, &out->failure))
                              : check_not_ready(&d, state, "experts under other numbers", out);
    trial_close(&d);
    return status;
}

check_status check_permute(trial *t, check_result *out) {
    const armq_desc *d = &t->c.desc;
    bool experts = d->experts > 1 && d->top_k > 0 && d->tokens > 0;
    if (d->tokens < 2 && !experts)
        return check_skip(out, "nothing to permute: fewer than two tokens");
    check_status status = d->tokens < 2 ? CHECK_PASSED : permuted_tokens(t, out);
    if (status == CHECK_PASSED && experts)
        status = relabelled_experts(t, out);
    if (status == CHECK_PASSED && !same_bits_claimed(t))
        return check_skip(out, "same bits not claimed; value holds for other orders");
    return status;
}
