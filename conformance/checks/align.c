/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "conformance/check.h"

/* Odd, so that no row but the first is aligned to more than its element. */
enum { X_PAD = 3, Y_PAD = 5 };

static bool holds(trial *d, const trial *t, const char *what, check_failure *failure) {
    return t->support.claims & ARMQ_CLAIM_BATCH_INVARIANT ? trial_same(d, t, what, failure)
                                                          : check_judge_last(d, what, failure);
}

/* In pack and run, tensors start one element, workspace and packed weights one alignment unit past
 * a 64-byte boundary. */
static check_status odd_pointers(trial *t, check_result *out) {
    static const char what[] = "odd pointers";
    bool ok = trial_runs(t, &(call_options){.side = GUARD_ODD}, what, &out->failure) &&
              holds(t, t, what, &out->failure);
    return check_verdict(ok);
}

/* Weights are packed once, whatever the strides. */
static bool packed_serves(trial *d, const trial *t, check_failure *failure) {
    static const char what[] = "weights packed for rows without strides";
    return trial_adopt_packed(d, t, what, failure) &&
           trial_runs(d, &(call_options){.side = GUARD_ODD}, what, failure) &&
           holds(d, t, what, failure);
}

check_status check_align(trial *t, check_result *out) {
    static const char what[] = "odd pointers and row strides";
    int64_t tokens = t->c.desc.tokens;
    int64_t *rows = malloc((size_t)(tokens + 1) * sizeof *rows);
    armq_case c = t->c;
    trial d;
    if (!rows)
        return check_skip(out, "no memory");
    for (int64_t i = 0; i < tokens; i++)
        rows[i] = i;
    c.x_pad += X_PAD;
    c.y_pad += Y_PAD;
    c.desc.uses |= ARMQ_USES_X_STRIDE | ARMQ_USES_Y_STRIDE;
    trial_state state =
        trial_derive(&d, t, &c, inputs_rows(t->in, &c, rows), GUARD_ODD, &out->failure);
    check_status status;
    if (state == TRIAL_REFUSED)
        status = odd_pointers(t, out);
    else if (state == TRIAL_BROKEN)
        status = check_not_ready(&d, state, what, out);
    else
        status =
            check_verdict(holds(&d, t, what, &out->failure) && packed_serves(&d, t, &out->failure));
    trial_close(&d);
    free(rows);
    return status;
}
