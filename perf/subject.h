/* SPDX-License-Identifier: Apache-2.0 */
/* An entry of the plan, open and ready to be timed: tensors there, threads bound, weights warm or
 * in rotation, its answer judged. */
#ifndef ARMQ_PERF_SUBJECT_H
#define ARMQ_PERF_SUBJECT_H

#include "perf/plan.h"
#include "perf/rotation.h"

typedef struct {
    const bench_entry *entry; /* NULL: not open */
    workload w;
    rotation r; /* cold only */
    bench_counts counts;
    int64_t weight_bytes; /* packed, of one run */
    int32_t cpu;          /* that the calling thread is bound to; -1: several, or none */
} subject;

typedef struct {
    const core_list *cores;
    int64_t cold_bytes; /* of distinct weights that a turn of the copies must exceed */
} subject_setup;

/* Binds the calling thread too. Judges a sample of the answer, of some of the copies if cold.
 * False: `why`, and nothing is left to close. A subject must not move in memory. */
bool subject_open(subject *s, const bench_entry *entry, const subject_setup *setup,
                  char why[WORKLOAD_WHY]);
void subject_close(subject *s); /* also of one that is not open */

armq_status subject_run(void *s);

/* Poisons the output; judges it. */
void subject_poison(subject *s);
bool subject_judge(const subject *s, char why[WORKLOAD_WHY]);

#endif
