/* SPDX-License-Identifier: Apache-2.0 */
/* One benchmark: judge a sample of the answer, time, judge again. */
#ifndef ARMQ_PERF_RUN_H
#define ARMQ_PERF_RUN_H

#include "perf/gbench.h"
#include "perf/plan.h"

/* A gbench_function; arg is a bench_entry. The tensors of the entry last run are kept until another
 * one comes, because Google Benchmark calls several times. */
void bench_run_entry(gbench_state *state, void *arg);

/* Frees the tensors that are still kept. */
void bench_run_close(void);

#endif
