/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "conformance/check.h"
#include "conformance/crew.h"
#include "kernels/api/describe.h"

enum { THREADS_MAX = 64 };

static int64_t tiles_along(int64_t size, int64_t tile) {
    return tile > 1 ? (size + tile - 1) / tile : size;
}

/* Four times the number of tiles: more threads than a kernel can find work for. */
static int32_t most_threads(const trial *t) {
    const armq_desc *d = &t->c.desc;
    int64_t y_row = armq_y_row(d), wide = 2 * d->intermediate;
    int64_t columns = y_row > wide ? y_row : wide, slots = d->top_k > 0 ? d->top_k : 1;
    int64_t tiles = tiles_along(d->tokens * slots, t->support.tile_m);
    tiles = tiles < THREADS_MAX ? tiles * tiles_along(columns, t->support.tile_n) : tiles;
    return tiles < 1 ? 4 : 4 * tiles < THREADS_MAX ? (int32_t)(4 * tiles) : THREADS_MAX;
}

static bool holds(trial *d, const trial *t, const char *what, check_failure *failure) {
    return t->support.claims & ARMQ_CLAIM_THREAD_INVARIANT ? trial_same(d, t, what, failure)
                                                           : check_judge_last(d, what, failure);
}

/* The base run of a trial that would allow more: args.threads was NULL. */
static bool without_threads(trial *d, const trial *t, check_failure *failure) {
    char what[64];
    snprintf(what, sizeof what, "no threads with max_threads = %d", (int)d->c.desc.max_threads);
    return holds(d, t, what, failure);
}

static bool call_with(trial *d, const trial *t, const armq_threads *threads, const char *how,
                      check_failure *failure) {
    char what[64];
    snprintf(what, sizeof what, "%d logical threads %s", (int)threads->n, how);
    if (!trial_runs(d, &(call_options){.garbage = 3, .threads = threads}, what, failure))
        return false;
    return holds(d, t, what, failure);
}

static bool on_real_threads(trial *d, const trial *t, int32_t most, check_failure *failure) {
    thread_pool *pool = crew_pool();
    if (!pool) {
        failure_unjudged(failure, "cannot start %d real threads", CREW_POOL);
        return false;
    }
    armq_threads few = thread_pool_threads(pool, 2), many = thread_pool_threads(pool, most);
    return call_with(d, t, &many, "on two real ones", failure) &&
           call_with(d, t, &few, "on two real ones", failure);
}

static bool all_counts(trial *d, const trial *t, int32_t most, check_failure *failure) {
    /* 2 and the most always; of the rest, some that differ from case to case. */
    const uint64_t hash = t->in->hash;
    const int32_t low = hash & 64 ? 1 : 3, high = hash & 128 ? 4 : 8;
    const int32_t first = 5 + (int32_t)(hash % 6), second = 11 + (int32_t)(hash % 7);
    const int32_t counts[] = {2, low, high, first, second, most};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (counts[i] > most)
            continue;
        armq_threads threads = threads_serial(counts[i]);
        if (!call_with(d, t, &threads, "in order", failure))
            return false;
    }
    armq_threads reversed = threads_reversed(most);
    return call_with(d, t, &reversed, "in reverse", failure) &&
           on_real_threads(d, t, most, failure);
}

static bool three(trial *d, const trial *t, int32_t most, check_failure *failure) {
    armq_threads threads = threads_serial(most);
    return call_with(d, t, &threads, "in order", failure);
}

/* A workspace for exactly `most` threads, and calls with that many and fewer. */
static check_status with_most(trial *t, int32_t most,
                              bool (*calls)(trial *, const trial *, int32_t, check_failure *),
                              check_result *out) {
    armq_case c = t->c;
    trial d;
    c.threads = 1;
    c.desc.max_threads = most;
    trial_state state = trial_derive(&d, t, &c, inputs_share(t->in), GUARD_END, &out->failure);
    bool ok = state == TRIAL_READY && without_threads(&d, t, &out->failure) &&
              trial_adopt_packed(&d, t, "for more threads", &out->failure) &&
              calls(&d, t, most, &out->failure);
    check_status status =
        state == TRIAL_READY ? check_verdict(ok) : check_not_ready(&d, state, "more threads", out);
    trial_close(&d);
    return status;
}

check_status check_threads(trial *t, check_result *out) {
    check_status status = with_most(t, 3, three, out);
    if (status != CHECK_PASSED)
        return status;
    if (!(t->support.claims & ARMQ_CLAIM_THREAD_INVARIANT))
        return check_skip(out, "same bits not claimed; value holds for 3 threads");
    return with_most(t, most_threads(t), all_counts, out);
}
