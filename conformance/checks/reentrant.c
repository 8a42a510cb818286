/* SPDX-License-Identifier: Apache-2.0 */
/* Two calls at the same time on the same packed weights and plan, each with its own tokens, outputs
 * and workspace. First in a fixed order of events: inside every dispatch of jobs of the one call, a
 * second thread makes the other call from start to end. Then both call freely, over and over. */
#include <stdlib.h>

#include "conformance/check.h"
#include "conformance/crew.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"

enum { VISITS_MAX = 16, ROUNDS_MIN = 4, ROUNDS_MAX = 16 };

/* Multiply-accumulates of all rounds of one thread; what is done once for each element of x, y and
 * the intermediate (conversions, exp, copies, comparison) takes as long as many of them. */
static const int64_t budget = 1 << 21, budget_bf16 = 1 << 18, macs_an_element = 64;

/* Rows far behind those of the case, of the same kind. */
static const int64_t other_rows = 1000;

/* One of the two threads. */
typedef struct {
    trial *t;
    const void *plan;
    armq_args args;
    armq_threads threads;
    int64_t rounds;
    const char *what;
    bool ok;
    check_failure failure;
} caller;

static void call_once(caller *c) {
    trial_poison(c->t, 1);
    armq_status status = call_run_safely(c->t->provider, &c->t->c.desc, c->plan, &c->args);
    if (status != ARMQ_OK) {
        failure_set(&c->failure, "%s: run returned %d, though it did the same alone", c->what,
                    (int)status);
        c->ok = false;
    } else if (c->ok) {
        c->ok = trial_same(c->t, c->t, c->what, &c->failure);
    }
}

static void call_repeatedly(void *arg) {
    caller *c = arg;
    for (int64_t i = 0; i < c->rounds && c->ok; i++)
        call_once(c);
}

/* --- One call inside the other ---------------------------------------------------------------- */

/* What armq_threads.ctx points to while the first call runs. */
typedef struct {
    caller *second;
    int32_t n;
    int64_t visits;
    bool started; /* the thread that was needed */
} visitor;

static void visit(visitor *v) {
    if (v->visits++ >= VISITS_MAX)
        return;
    if (crew_begin(call_repeatedly, v->second))
        crew_wait();
    else
        v->started = false;
}

/* Jobs in order; the other call comes after the first of them. */
static void run_with_visit(void *ctx, int64_t jobs, void (*f)(void *, int64_t, int32_t),
                           void *arg) {
    visitor *v = ctx;
    for (int64_t job = 0; job < jobs; job++) {
        f(arg, job, (int32_t)(job % v->n));
        if (job == 0)
            visit(v);
    }
}

static bool interleaved(caller *first, caller *second, check_failure *failure) {
    visitor v = {.second = second, .n = first->t->c.threads, .started = true};
    armq_threads threads = {.ctx = &v, .n = v.n, .run = run_with_visit};
    first->what = "a call in which another begins and ends";
    second->what = "a call that begins and ends within another";
    first->args.threads = &threads;
    second->rounds = 1;
    call_once(first);
    first->args.threads = first->threads.n > 1 ? &first->threads : NULL;
    if (!v.started)
        failure_unjudged(failure, "cannot start a thread");
    return v.started;
}

/* --- Both at their own pace ------------------------------------------------------------------- */

static int64_t rounds_within_budget(const armq_case *c) {
    const armq_desc *d = &c->desc;
    int64_t slots = d->top_k > 0 ? d->top_k : 1;
    int64_t elements = armq_x_row(d) + armq_y_row(d) + slots * 2 * d->intermediate + 1;
    int64_t all = armq_op_is_bf16(d->op) ? budget_bf16 : budget;
    int64_t rounds = all / (case_macs(c) + macs_an_element * d->tokens * elements);
    return rounds < ROUNDS_MIN ? ROUNDS_MIN : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
}

static bool concurrent(caller *first, caller *second, check_failure *failure) {
    first->what = second->what = "two threads calling at once";
    first->rounds = second->rounds = rounds_within_budget(&first->t->c);
    if (!crew_begin(call_repeatedly, second)) {
        failure_unjudged(failure, "cannot start a thread");
        return false;
    }
    call_repeatedly(first);
    crew_wait();
    return true;
}

/* ---------------------------------------------------------------------------------------------- */

static bool both_hold(trial *t, trial *d, check_failure *failure) {
    caller first = {.t = t, .plan = t->plan, .ok = true},
           second = {.t = d, .plan = t->plan, .ok = true};
    caller *callers[2] = {&first, &second};
    for (int i = 0; i < 2; i++) {
        caller *c = callers[i];
        c->threads = threads_serial(c->t->c.threads);
        trial_args(c->t, c->threads.n > 1 ? &c->threads : NULL, &c->args);
        for (int which = 0; which < 2; which++) {
            c->args.packed[which] = first.args.packed[which];
            c->args.weights[which] = first.args.weights[which];
        }
    }
    trial_enter_many(t, VISITS_MAX + ROUNDS_MAX);
    bool ran = interleaved(&first, &second, failure) &&
               (!first.ok || !second.ok || concurrent(&first, &second, failure));
    trial_leave(t);
    trial_inspect(t);
    trial_inspect(d);
    if (ran && !(first.ok && second.ok))
        *failure = first.ok ? second.failure : first.failure;
    return ran && first.ok && second.ok;
}

/* The same case with other rows of x. */
static const inputs *other_inputs(const trial *t) {
    int64_t tokens = t->c.desc.tokens;
    data_kind *kinds = malloc((size_t)(tokens + 1) * sizeof *kinds);
    int64_t *rows = malloc((size_t)(tokens + 1) * sizeof *rows);
    const inputs *in = NULL;
    for (int64_t i = 0; kinds && rows && i < tokens; i++) {
        kinds[i] = t->c.data;
        rows[i] = other_rows + i;
    }
    if (kinds && rows)
        in = inputs_kinds(t->in, &t->c, kinds, rows, NULL);
    free(kinds);
    free(rows);
    return in;
}

check_status check_reentrant(trial *t, check_result *out) {
    if (!(t->support.claims & ARMQ_CLAIM_REENTRANT))
        return check_skip(out, "not claimed");
    if (t->c.desc.tokens == 0)
        return check_skip(out, "no tokens");
    const inputs *in = other_inputs(t);
    if (!in)
        return check_skip(out, "no memory");
    if (!(t->placed && t->side == GUARD_END) && !trial_place(t, GUARD_END, &out->failure)) {
        inputs_release(in);
        return CHECK_FAILED;
    }
    trial d;
    trial_state state = trial_derive(&d, t, &t->c, in, GUARD_END, &out->failure);
    check_status status = state == TRIAL_READY ? check_verdict(both_hold(t, &d, &out->failure))
                                               : check_not_ready(&d, state, "other tokens", out);
    trial_close(&d);
    return status;
}
