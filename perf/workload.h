/* SPDX-License-Identifier: Apache-2.0 */
/* A workload: one case on one provider, ready to be run again and again, with a sample of its
 * output judged by the reference. */
#ifndef ARMQ_PERF_WORKLOAD_H
#define ARMQ_PERF_WORKLOAD_H

#include "harness/operands.h"
#include "harness/threads.h"

enum { WORKLOAD_ROWS = 16, WORKLOAD_COLUMNS = 32 };

/* The elements that are judged: first, last and evenly spread rows and columns, and the interval
 * that each must lie in. */
typedef struct {
    int64_t rows, columns;
    int64_t row[WORKLOAD_ROWS], column[WORKLOAD_COLUMNS];
    ref_interval interval[WORKLOAD_ROWS][WORKLOAD_COLUMNS];
} workload_sample;

typedef struct {
    armq_case c; /* bound */
    const armq_provider *provider;
    armq_support support;
    operand_shape shapes[OPERAND_COUNT];
    operands data; /* owned */
    armq_weights weights[2];
    void *plan;        /* NULL if the provider has no prepare */
    thread_pool *pool; /* NULL for one thread */
    armq_threads threads;
    armq_args args;
    workload_sample sample;
} workload;

enum { WORKLOAD_WHY = 384 };

/* Allocates, generates, packs, prepares and computes the intervals of the sample. The case must be
 * one that the provider supports. False with `why` filled; then nothing is left to close. */
bool workload_open(workload *w, const armq_case *c, const armq_provider *provider,
                   char why[WORKLOAD_WHY]);
void workload_close(workload *w);

/* One run of the kernel. */
static inline armq_status workload_run(const workload *w) {
    return w->provider->run(&w->c.desc, w->plan, &w->args);
}

/* Fills y with a pattern that is no right answer, so that an unwritten output is noticed. */
void workload_poison(workload *w);

/* Every sampled element of y lies inside its interval; else `why` names the first that does not. */
bool workload_judge(const workload *w, char why[WORKLOAD_WHY]);

#endif
