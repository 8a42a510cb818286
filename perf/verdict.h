/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be thought of a time, and of a whole run. */
#ifndef ARMQ_PERF_VERDICT_H
#define ARMQ_PERF_VERDICT_H

#include "perf/gbench.h"
#include "perf/plan.h"

enum { EXIT_TIMED = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_NOTHING = 3, EXIT_NOISY = 4 };

typedef struct {
    bench_plan *plan;
    bool emulated;        /* times mean nothing: they are neither judged nor kept */
    char load[NOISE_WHY]; /* why the machine was too busy; "": it was not */
} bench_verdict;

/* For gbench_observer. verdict_vet: a time that the peaks do not allow is "invalid: ..."; then all
 * lines of that entry are. verdict_note keeps times and failures in the plan. */
const char *verdict_vet(void *verdict, const gbench_result *result);
void verdict_note(void *verdict, const gbench_result *result);

/* One line about noise. Returns EXIT_WRONG if an entry failed or is invalid, else EXIT_NOISY if one
 * that was timed is too noisy to judge or the machine was too busy, else EXIT_TIMED. */
int verdict_print(const bench_verdict *verdict, FILE *out);

#endif
