/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/runner.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/progress.h"
#include "conformance/reduction.h"
#include "conformance/results.h"
#include "conformance/worker.h"

enum { POLL_MS = 50 };

typedef struct {
    const run_setup *setup;
    outcome *outcomes;
    bool *claimed; /* per task: given out, or done */
    int64_t first; /* all tasks before it are claimed */
    int64_t fresh; /* first task of the next group that no worker has begun */
    worker *workers;
    reduction *reductions; /* per worker: of the failed case that it is at */
    uint8_t *alike;        /* per provider, op and check: cases that were reduced */
    double reducing;       /* seconds spent on it, by all workers */
    struct pollfd *polled;
    progress progress;
    int64_t failures; /* in this run */
    bool broken;
} runner;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
    (void)number;
    interrupted = 1;
}

/* --- Which task next -----------------------------------------------------------------------------
 * Providers of the same case go to one worker as long as there is other work: it has the inputs. */

static int64_t next_in_group(const runner *r, int64_t previous) {
    const plan *p = r->setup->plan;
    for (int64_t i = previous + 1;
         previous >= 0 && i < p->count && p->tasks[i].group == p->tasks[previous].group; i++)
        if (!r->claimed[i])
            return i;
    return -1;
}

static int64_t next_fresh(runner *r) {
    const plan *p = r->setup->plan;
    while (r->fresh < p->count) {
        int64_t start = r->fresh, group = p->tasks[start].group;
        while (r->fresh < p->count && p->tasks[r->fresh].group == group)
            r->fresh++;
        for (int64_t i = start; i < r->fresh; i++)
            if (!r->claimed[i])
                return i;
    }
    return -1;
}

static int64_t next_any(runner *r) {
    while (r->first < r->setup->plan->count && r->claimed[r->first])
        r->first++;
    return r->first < r->setup->plan->count ? r->first : -1;
}

static int64_t next_task(runner *r, int64_t previous) {
    int64_t next = next_in_group(r, previous);
    if (next < 0)
        next = next_fresh(r);
    return next >= 0 ? next : next_any(r);
}

/* --- A result ------------------------------------------------------------------------------------
 */

/* Time of a case grows with its MACs; a small one costs about as much as the second term. */
static double work_of(const plan_task *t) { return (double)case_macs(&t->c) + 3e6; }

static void print_smallest(const run_setup *s, const plan_task *t, const reduced *d) {
    plan_task smallest = *t;
    if (!d->smallest) {
        fprintf(s->out, "     smallest: itself, as far as %" PRId64 " smaller cases tell\n",
                d->runs);
        return;
    }
    smallest.c = *d->smallest;
    char *again = results_reproduce(s->plan, &smallest, s->options, s->program);
    fprintf(s->out, "     smallest: %s\n", again ? again : "");
    free(again);
}

static void print_failure(const runner *r, const plan_task *t, const json_t *record,
                          const reduced *d) {
    const run_setup *s = r->setup;
    char text[CASE_TEXT_MAX];
    char *what = results_failure_text(record);
    char *again = results_reproduce(s->plan, t, s->options, s->program);
    fprintf(s->out, "FAIL %s: %s: %s\n     reproduce: %s\n", s->plan->providers[t->provider].name,
            case_text(&t->c, text), what ? what : "", again ? again : "");
    if (d)
        print_smallest(s, t, d);
    fflush(s->out);
    free(what);
    free(again);
}

static void waive(const runner *r, int64_t index, case_result *result) {
    const run_setup *s = r->setup;
    const plan_task *t = &s->plan->tasks[index];
    char text[CASE_TEXT_MAX];
    if (s->profile)
        profile_apply(s->profile, s->plan->providers[t->provider].name, case_text(&t->c, text),
                      result);
}

/* d: NULL if the case was not reduced. */
static void take(runner *r, int64_t index, const case_result *result, const reduced *d) {
    const run_setup *s = r->setup;
    const plan_task *t = &s->plan->tasks[index];
    json_t *record = results_case_record(s->plan, t, result);
    if (d)
        results_set_shrunk(record, d);
    bool failed = result->status == CASE_FAILED || result->status == CASE_CRASHED;
    if (s->json && !results_write(s->json, record)) {
        progress_clear(&r->progress);
        fprintf(stderr, "armq-conform: the result file cannot be written: %s\n", strerror(errno));
        r->broken = true;
    }
    results_outcome(record, &r->outcomes[index]);
    progress_step(&r->progress, work_of(t), failed);
    if (failed) {
        r->failures++;
        progress_clear(&r->progress);
        print_failure(r, t, record, d);
    }
    json_decref(record);
}

/* Tasks whose result is known without running them. */
static bool take_without_worker(runner *r, int64_t index) {
    const provider_info *info = &r->setup->plan->providers[r->setup->plan->tasks[index].provider];
    const int64_t most = r->setup->options->max_failures;
    const bool enough = most > 0 && r->failures >= most;
    if (info->runs_here && !info->broken && !enough)
        return false;
    case_result result = {.status = info->broken && !enough ? CASE_CRASHED : CASE_SKIPPED};
    if (enough)
        snprintf(result.reason, sizeof result.reason,
                 "not run: %" PRId64 " failed, --max-failures %" PRId64, r->failures, most);
    else
        snprintf(result.reason, sizeof result.reason, "%s", info->why);
    waive(r, index, &result);
    take(r, index, &result, NULL);
    return true;
}

/* --- The loop ------------------------------------------------------------------------------------
 */

static void give(runner *r, worker *w, int64_t task, uint64_t checks, const armq_case *c) {
    if (worker_give(w, r->setup->plan, checks, task, c))
        return;
    fprintf(stderr, "armq-conform: no worker process could be started: %s\n", strerror(errno));
    r->broken = true;
}

static void give_next(runner *r, worker *w, int64_t previous) {
    while (!r->broken && !interrupted) {
        int64_t next = next_task(r, previous);
        if (next < 0)
            return;
        r->claimed[next] = true;
        previous = next;
        if (take_without_worker(r, next))
            continue;
        give(r, w, next, r->setup->options->checks, NULL);
        return;
    }
}

/* --- Smaller cases -------------------------------------------------------------------------------
 */

static uint8_t *alike(const runner *r, const plan_task *t, int check) {
    int64_t at =
        ((int64_t)t->provider * ARMQ_OP_COUNT + (int64_t)t->c.desc.op) * RESULT_CHECKS_MAX + check;
    return &r->alike[at];
}

static bool is_worth_reducing(runner *r, const plan_task *t, const case_result *result) {
    int check = reduction_check(result);
    if (!r->setup->options->shrink || check < 0 || r->reducing > REDUCTION_SECONDS_ALL ||
        (result->status != CASE_FAILED && result->status != CASE_CRASHED))
        return false;
    uint8_t *count = alike(r, t, check);
    return *count < REDUCTION_ALIKE && ++*count;
}

/* False: there is nothing more to try, or the run ends. */
static bool reduce_further(runner *r, worker *w, reduction *d) {
    uint64_t checks;
    const armq_case *c = interrupted || r->broken ? NULL : reduction_next(d, &checks);
    if (c)
        give(r, w, d->task, checks, c);
    return c && !r->broken;
}

static void end_reduction(runner *r, reduction *d) {
    reduced result = reduction_end(d);
    r->reducing += reduction_now() - d->started;
    d->active = false;
    take(r, d->task, &d->result, &result);
}

static void finish_task(runner *r, worker *w) {
    int64_t task = w->task;
    case_result *result = &w->shared->result;
    reduction *d = &r->reductions[w - r->workers];
    const plan_task *t = &r->setup->plan->tasks[task];
    w->task = -1;
    if (d->active) {
        reduction_answer(d, result);
    } else {
        waive(r, task, result);
        uint64_t checks = r->setup->options->checks;
        if (!is_worth_reducing(r, t, result) || !reduction_begin(d, task, &t->c, checks, result))
            take(r, task, result, NULL);
    }
    if (d->active && reduce_further(r, w, d))
        return;
    if (d->active)
        end_reduction(r, d);
    give_next(r, w, task);
}

static bool any_busy(const runner *r) {
    for (int32_t i = 0; i < r->setup->jobs; i++)
        if (r->workers[i].task >= 0)
            return true;
    return false;
}

static void wait_for_workers(runner *r) {
    int32_t jobs = r->setup->jobs;
    for (int32_t i = 0; i < jobs; i++)
        r->polled[i] = (struct pollfd){.fd = r->workers[i].task >= 0 ? r->workers[i].fd : -1,
                                       .events = POLLIN};
    if (poll(r->polled, (nfds_t)jobs, POLL_MS) < 0)
        return; /* a signal */
    for (int32_t i = 0; i < jobs && !interrupted; i++) {
        worker *w = &r->workers[i];
        if (w->task < 0 || r->polled[i].fd < 0)
            continue;
        worker_event event = r->polled[i].revents ? worker_collect(w) : worker_check_hang(w);
        if (event == WORKER_DONE)
            finish_task(r, w);
    }
}

static void loop(runner *r) {
    for (int32_t i = 0; i < r->setup->jobs; i++)
        give_next(r, &r->workers[i], -1);
    while (any_busy(r) && !interrupted && !r->broken) {
        wait_for_workers(r);
        progress_show(&r->progress);
    }
    for (int32_t i = 0; i < r->setup->jobs; i++)
        if (r->reductions[i].active)
            end_reduction(r, &r->reductions[i]);
    progress_clear(&r->progress);
}

static bool prepare(runner *r) {
    const plan *p = r->setup->plan;
    int64_t open = 0;
    double work = 0;
    r->claimed = calloc((size_t)p->count + 1, sizeof *r->claimed);
    r->workers = calloc((size_t)r->setup->jobs, sizeof *r->workers);
    r->reductions = calloc((size_t)r->setup->jobs, sizeof *r->reductions);
    r->alike = calloc((size_t)p->provider_count + 1, (size_t)ARMQ_OP_COUNT * RESULT_CHECKS_MAX);
    r->polled = calloc((size_t)r->setup->jobs, sizeof *r->polled);
    bool ok = r->claimed && r->workers && r->reductions && r->alike && r->polled;
    for (int32_t i = 0; ok && i < r->setup->jobs; i++)
        ok = worker_open(&r->workers[i]);
    for (int64_t i = 0; ok && i < p->count; i++) {
        r->claimed[i] = r->outcomes[i].done;
        open += !r->claimed[i];
        work += r->claimed[i] ? 0 : work_of(&p->tasks[i]);
    }
    progress_begin(&r->progress, stderr, open, work);
    return ok;
}

run_end runner_run(const run_setup *setup, outcome *outcomes) {
    runner r = {.setup = setup, .outcomes = outcomes};
    struct sigaction action = {.sa_handler = on_interrupt}, old_int, old_term;
    interrupted = 0;
    sigaction(SIGINT, &action, &old_int);
    sigaction(SIGTERM, &action, &old_term);
    if (prepare(&r)) {
        loop(&r);
    } else {
        fprintf(stderr, "armq-conform: no memory for the workers\n");
        r.broken = true;
    }
    for (int32_t i = 0; r.workers && i < setup->jobs; i++)
        worker_close(&r.workers[i]);
    free(r.workers);
    free(r.reductions);
    free(r.alike);
    free(r.polled);
    free(r.claimed);
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    return r.broken ? RUN_BROKEN : interrupted ? RUN_INTERRUPTED : RUN_COMPLETE;
}
