/* SPDX-License-Identifier: Apache-2.0 */
/* Worker processes. A worker is forked from a parent that never starts a thread, runs one case
 * after another, and shares its result with the parent (watch.h). It is replaced after a failure, a
 * crash, a hang, a changed FPCR or a leaked thread, so that no case sees what another left behind.
 * It leads a process group of its own, which ends with it: a provider may fork. */
#ifndef ARMQ_CONFORMANCE_WORKER_H
#define ARMQ_CONFORMANCE_WORKER_H

#include <sys/types.h>

#include "conformance/plan.h"
#include "conformance/watch.h"

typedef struct {
    pid_t pid; /* 0: not running */
    int fd;    /* a message each way per task */
    watch *shared;
    int64_t task; /* index of the running task, -1: idle */
    int64_t started_ns;
    /* Whether it goes on: what the parent saw last, since when, and how long that may last. */
    int64_t steps, still_since_ns, patience_ns;
    int32_t check;
    /* What it had waited for a processor then (starved.h), as of when that was looked up. */
    int64_t starved_before_ns, starved_seen_ns;
} worker;

typedef enum { WORKER_RUNNING, WORKER_DONE } worker_event;

/* Maps the shared memory. The process is forked by the first worker_give. */
bool worker_open(worker *w);
void worker_close(worker *w);

/* Starts a task; c: another case for the same provider (NULL: the task's own). False: no process
 * could be started (errno). */
bool worker_give(worker *w, const plan *p, uint64_t checks, int64_t task, const armq_case *c);

/* To be called when the worker's fd can be read: takes its answer, or notices that it has died.
 * DONE: w->shared->result is complete, the worker is idle (and possibly not running). */
worker_event worker_collect(worker *w);

/* DONE if the worker died without its fd saying so, if the current call has overrun its allowance,
 * or if nothing has begun or ended for longer than watch_patience: then the worker is gone, and the
 * result says so. Time in which other processes kept it from running does not count. To be called
 * every now and then. */
worker_event worker_check_hang(worker *w);

#endif
