/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "conformance/check.h"
#include "harness/generate.h"

enum { ALONE_MAX = 8 };

/* Rows of the last, incomplete tile take other paths, so most of the rows chosen are at the end. */
static int64_t choose_rows(const trial *t, int64_t rows[ALONE_MAX]) {
    int64_t tokens = t->c.desc.tokens, count = 0;
    if (tokens <= ALONE_MAX) {
        while (count < tokens) {
            rows[count] = count;
            count++;
        }
        return count;
    }
    for (int64_t i = 1; i <= 4; i++)
        rows[count++] = tokens - i;
    rows[count++] = 0;
    while (count < ALONE_MAX) {
        uint64_t random = random_u64(t->c.seed, OPERAND_COUNT, (uint64_t)count);
        rows[count++] = (int64_t)(random % (uint64_t)tokens);
    }
    return count;
}

static trial_state derive(trial *d, trial *t, const int64_t *rows, int64_t count,
                          check_failure *failure) {
    armq_case c = t->c;
    c.desc.tokens = count;
    return trial_derive(d, t, &c, inputs_rows(t->in, &c, rows), GUARD_END, failure);
}

static bool rows_hold(trial *d, const trial *t, const int64_t *rows, const char *what,
                      check_failure *failure) {
    if (!(t->support.claims & ARMQ_CLAIM_BATCH_INVARIANT))
        return check_judge_last(d, what, failure);
    for (int64_t i = 0; i < d->c.desc.tokens; i++)
        if (!trial_same_token(d, i, t, rows[i], what, failure))
            return false;
    return true;
}

static check_status alone(trial *t, check_result *out) {
    int64_t rows[ALONE_MAX] = {0}, count = choose_rows(t, rows);
    trial d;
    trial_state state = derive(&d, t, rows, 1, &out->failure);
    bool ok = state == TRIAL_READY && trial_adopt_packed(&d, t, "for one token", &out->failure);
    trial_spoil_packed(t, true);
    for (int64_t i = 0; ok && i < count; i++) {
        char what[64];
        snprintf(what, sizeof what, "row %" PRId64 " alone", rows[i]);
        trial_swap_tokens(&d, inputs_rows(t->in, &d.c, &rows[i]));
        ok = trial_runs(&d, &(call_options){.garbage = 2}, what, &out->failure) &&
             rows_hold(&d, t, &rows[i], what, &out->failure);
    }
    trial_spoil_packed(t, false);
    check_status status =
        state == TRIAL_READY ? check_verdict(ok) : check_not_ready(&d, state, "one token", out);
    trial_close(&d);
    return status;
}

static void count_from(int64_t *rows, int64_t count, int64_t first) {
    for (int64_t i = 0; i < count; i++)
        rows[i] = first + i;
}

/* Two batches that together are the whole, and share a row or two: the second one starts at an odd
 * row, so that its rows stand elsewhere in their tiles. */
static check_status halves(trial *t, check_result *out) {
    static const char first[] = "the first half of the rows", second[] = "the second half";
    int64_t tokens = t->c.desc.tokens, start = (tokens / 2 - 1) | 1, count = tokens - start;
    int64_t *rows = calloc((size_t)count, sizeof *rows);
    trial d;
    if (!rows)
        return check_skip(out, "no memory");
    count_from(rows, count, start);
    trial_state state = derive(&d, t, rows, count, &out->failure);
    bool ok = state == TRIAL_READY && rows_hold(&d, t, rows, second, &out->failure);
    count_from(rows, count, 0);
    if (ok) {
        trial_swap_tokens(&d, inputs_rows(t->in, &d.c, rows));
        ok = trial_runs(&d, &(call_options){.garbage = 3}, first, &out->failure) &&
             rows_hold(&d, t, rows, first, &out->failure);
    }
    check_status status =
        state == TRIAL_READY ? check_verdict(ok) : check_not_ready(&d, state, second, out);
    trial_close(&d);
    free(rows);
    return status;
}

check_status check_batch(trial *t, check_result *out) {
    if (t->c.desc.tokens < 2)
        return check_skip(out, "a batch needs two tokens or more");
    check_status status = alone(t, out);
    if (status == CHECK_PASSED && t->c.desc.tokens >= 4)
        status = halves(t, out);
    if (status == CHECK_PASSED && !(t->support.claims & ARMQ_CLAIM_BATCH_INVARIANT))
        return check_skip(out, "same bits not claimed; value holds for other batches");
    return status;
}
