/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/runner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/progress.h"
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
    struct pollfd *polled;
    progress progress;
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

static void print_failure(const runner *r, const plan_task *t, const json_t *record) {
    const run_setup *s = r->setup;
    char text[CASE_TEXT_MAX];
    char *what = results_failure_text(record);
    char *again = results_reproduce(s->plan, t, s->options, s->program);
    fprintf(s->out, "FAIL %s: %s: %s\n     reproduce: %s\n", s->plan->providers[t->provider].name,
            case_text(&t->c, text), what ? what : "", again ? again : "");
    fflush(s->out);
    free(what);
    free(again);
}

static void take(runner *r, int64_t index, case_result *result) {
    const run_setup *s = r->setup;
    const plan_task *t = &s->plan->tasks[index];
    char text[CASE_TEXT_MAX];
    if (s->profile)
        profile_apply(s->profile, s->plan->providers[t->provider].name, case_text(&t->c, text),
                      result);
    json_t *record = results_case_record(s->plan, t, result);
    bool failed = result->status == CASE_FAILED || result->status == CASE_CRASHED;
    if (s->json && !results_write(s->json, record)) {
        progress_clear(&r->progress);
        fprintf(stderr, "armq-conform: the result file cannot be written: %s\n", strerror(errno));
        r->broken = true;
    }
    results_outcome(record, &r->outcomes[index]);
    progress_step(&r->progress, work_of(t), failed);
    if (failed) {
        progress_clear(&r->progress);
        print_failure(r, t, record);
    }
    json_decref(record);
}

/* Tasks whose result is known without running them. */
static bool take_without_worker(runner *r, int64_t index) {
    const provider_info *info = &r->setup->plan->providers[r->setup->plan->tasks[index].provider];
    if (info->runs_here && !info->broken)
        return false;
    case_result result = {.status = info->broken ? CASE_CRASHED : CASE_SKIPPED};
    snprintf(result.reason, sizeof result.reason, "%s", info->why);
    take(r, index, &result);
    return true;
}

/* --- The loop ------------------------------------------------------------------------------------
 */

static void give_next(runner *r, worker *w, int64_t previous) {
    while (!r->broken && !interrupted) {
        int64_t next = next_task(r, previous);
        if (next < 0)
            return;
        r->claimed[next] = true;
        previous = next;
        if (take_without_worker(r, next))
            continue;
        if (!worker_give(w, r->setup->plan, r->setup->options->checks, next)) {
            fprintf(stderr, "armq-conform: no worker process could be started: %s\n",
                    strerror(errno));
            r->broken = true;
        }
        return;
    }
}

static void finish_task(runner *r, worker *w) {
    int64_t task = w->task;
    w->task = -1;
    take(r, task, &w->shared->result);
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
    progress_clear(&r->progress);
}

static bool prepare(runner *r) {
    const plan *p = r->setup->plan;
    int64_t open = 0;
    double work = 0;
    r->claimed = calloc((size_t)p->count + 1, sizeof *r->claimed);
    r->workers = calloc((size_t)r->setup->jobs, sizeof *r->workers);
    r->polled = calloc((size_t)r->setup->jobs, sizeof *r->polled);
    bool ok = r->claimed && r->workers && r->polled;
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
    free(r.polled);
    free(r.claimed);
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    return r.broken ? RUN_BROKEN : interrupted ? RUN_INTERRUPTED : RUN_COMPLETE;
}
