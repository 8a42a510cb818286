/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "conformance/check.h"
#include "kernels/api/describe.h"

enum { FEW_TOKENS = 3 };

/* Every third row, so that each tile holds poisoned rows and others; a single row is poisoned. */
static bool is_poisoned(int64_t tokens, int64_t row) { return tokens == 1 || row % 3 == 1; }

/* Logical rows 1, 3 and 5 of six of data=poison hold NaN, infinity, and an overflowing range. */
static int64_t poison_row(int64_t row) { return 6 * row + 1 + 2 * (row / 3 % 3); }

/* Of the first poisoned token: 0 times NaN is NaN. */
static void clear_weights(const inputs *in) {
    int64_t top_k = in->c.desc.top_k, row = in->c.desc.tokens == 1 ? 0 : 1;
    float *weights = in->data.at[OPERAND_TOPK_WEIGHTS];
    if (weights)
        memset(weights + row * top_k, 0, (size_t)top_k * sizeof *weights);
}

static const inputs *poisoned_inputs(const trial *t) {
    int64_t tokens = t->c.desc.tokens;
    data_kind *kinds = malloc((size_t)tokens * sizeof *kinds);
    int64_t *rows = malloc((size_t)tokens * sizeof *rows);
    const inputs *in = NULL;
    for (int64_t i = 0; kinds && rows && i < tokens; i++) {
        bool poisoned = is_poisoned(tokens, i);
        kinds[i] = poisoned ? DATA_POISON : t->c.data;
        rows[i] = poisoned ? poison_row(i) : i;
    }
    if (kinds && rows)
        in = inputs_kinds(t->in, &t->c, kinds, rows, clear_weights);
    free(kinds);
    free(rows);
    return in;
}

/* Untouched rows bit for bit as in the base run; poisoned ones as the provider claims. */
static bool rows_hold(trial *t, check_failure *failure) {
    static const char other[] = "NaN or Inf in other rows";
    int64_t tokens = t->c.desc.tokens;
    for (int64_t i = 0; i < tokens; i++)
        if (!is_poisoned(tokens, i) && !trial_same_token(t, i, t, i, other, failure))
            return false;
    return check_judge_last(t, "rows with NaN or Inf", failure);
}

static check_status poisoned_rows(trial *t, check_result *out) {
    const inputs *clean = inputs_share(t->in), *poisoned = poisoned_inputs(t);
    if (!poisoned) {
        inputs_release(clean);
        return check_skip(out, "no memory");
    }
    bool ready = t->placed && t->side == GUARD_END;
    if (!ready && !trial_place(t, GUARD_END, &out->failure)) {
        inputs_release(clean);
        inputs_release(poisoned);
        return CHECK_FAILED;
    }
    trial_swap_tokens(t, poisoned);
    bool ok = trial_runs(t, &(call_options){.poison = 0}, "NaN or Inf in rows", &out->failure) &&
              rows_hold(t, &out->failure);
    trial_swap_tokens(t, clean);
    return check_verdict(ok);
}

/* NaN in the weights of experts that no token uses, and in some rows. */
static check_status poisoned_experts(trial *t, check_result *out) {
    static const char what[] = "NaN in experts that no token uses";
    armq_case c = t->c;
    trial d;
    c.data = DATA_POISON;
    c.routing = ROUTING_EMPTY;
    c.desc.tokens = c.desc.tokens < FEW_TOKENS ? c.desc.tokens : FEW_TOKENS;
    if (!data_kind_exists(c.desc.op, c.data))
        return CHECK_PASSED;
    trial_state state = trial_derive(&d, t, &c, NULL, GUARD_END, &out->failure);
    check_status status = state == TRIAL_READY ? check_verdict(check_judge(&d, what, &out->failure))
                                               : check_not_ready(&d, state, what, out);
    trial_close(&d);
    return status;
}

check_status check_poison(trial *t, check_result *out) {
    if (t->c.desc.in == ARMQ_DTYPE_S8)
        return check_skip(out, "integer inputs hold no NaN");
    if (t->c.desc.tokens == 0 || armq_x_row(&t->c.desc) == 0)
        return check_skip(out, "x is empty");
    check_status status = poisoned_rows(t, out);
    return status == CHECK_PASSED && t->c.desc.experts >= 3 ? poisoned_experts(t, out) : status;
}
