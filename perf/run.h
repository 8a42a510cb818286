/* SPDX-License-Identifier: Apache-2.0 */
/* One benchmark: judge a sample of the answer, time it in turns with its baseline, time it as
 * Google Benchmark wants it, judge again. */
#ifndef ARMQ_PERF_RUN_H
#define ARMQ_PERF_RUN_H

#include "perf/gbench.h"
#include "perf/peak_table.h"
#include "perf/plan.h"
#include "perf/subject.h"

typedef struct {
    bench_plan *plan;
    subject_setup subject;
    const peak_table *peaks;
    int32_t pairs;       /* interleaved repetitions; 0: neither speed-up nor noise */
    double seconds;      /* of each */
    double (*now)(void); /* their clock, for tests; NULL: the monotonic one */
} bench_run_setup;

/* To be called once, before any benchmark runs. Copies *setup. */
void bench_run_start(const bench_run_setup *setup);

/* A gbench_function; arg is a bench_entry, whose bound, speed-up and noise are filled. The tensors
 * of the entry last run are kept until another one comes, because Google Benchmark calls several
 * times.
 */
void bench_run_entry(gbench_state *state, void *arg);

/* Frees the tensors that are still kept. */
void bench_run_close(void);

#endif
