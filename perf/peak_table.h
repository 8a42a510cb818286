/* SPDX-License-Identifier: Apache-2.0 */
/* The peaks that a plan needs: for each kind of cores, of one core, of all, and of every number of
 * threads in between that some entry runs with. */
#ifndef ARMQ_PERF_PEAK_TABLE_H
#define ARMQ_PERF_PEAK_TABLE_H

#include <jansson.h>

#include "perf/peaks.h"
#include "perf/plan.h"

typedef struct {
    peaks *items;
    int64_t count;
} peak_table;

typedef struct {
    const core_list *cores;
    uint64_t features;
    int64_t l1, l2;
    int64_t memory; /* bytes to read from memory, see peaks_setup */
    double seconds; /* of each loop */
    int32_t repeats;
} peak_table_setup;

/* Binds the calling thread. False: `why`; free in either case. */
bool peak_table_measure(peak_table *table, const bench_plan *plan, const peak_table_setup *setup,
                        char why[PEAKS_WHY]);
void peak_table_free(peak_table *table);

/* NULL if it was not measured. */
const peaks *peak_table_find(const peak_table *table, int32_t kind, int32_t threads);

/* An array, one object for each kind and number of threads: "kind", "threads", "<instruction>
 * MAC/s", "read <level> bytes/s", every rate name after `prefix`. What was not measured is left
 * out. Caller owns. */
json_t *peak_table_json(const peak_table *table, const char *prefix);

/* In GMAC/s and GB/s (1e9), and why an instruction was not measured. */
void peak_table_print(const peak_table *table, const char *prefix, uint64_t features, FILE *out);

#endif
