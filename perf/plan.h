/* SPDX-License-Identifier: Apache-2.0 */
/* What is going to be timed: every case on every provider that takes it, and what was refused. */
#ifndef ARMQ_PERF_PLAN_H
#define ARMQ_PERF_PLAN_H

#include <stdio.h>

#include "harness/case.h"
#include "harness/cores.h"
#include "perf/bound.h"
#include "perf/noise.h"
#include "perf/options.h"
#include "perf/stats.h"

enum { ENTRY_NAME_MAX = 96 + CASE_TEXT_MAX };

typedef struct {
    char name[ENTRY_NAME_MAX]; /* "<provider>/<case text>", then "/cold", then "/kind<number>" */
    const armq_provider *provider;
    armq_case c;     /* bound */
    char kernel[64]; /* that the provider will use */
    int64_t order;   /* of the case in the sweep: entries are sorted by it */
    bool cold;       /* weights from memory */
    int32_t kind;    /* of cores */
    bool failed;
    char invalid[160]; /* why its times are no times; "": they are */
    bench_bound bound;
    stats_ratio speedup; /* pairs 0: none */
    const char *baseline_provider, *baseline_kernel;
    noise_seen noise;      /* repetitions 0: not looked at */
    char noisy[NOISE_WHY]; /* "": quiet */
    double *seconds;       /* per run, one for each repetition that was timed */
    int64_t repetitions;
    double median; /* of seconds; NAN while nothing was timed */
} bench_entry;

/* Cases that one provider refused for one reason. */
typedef struct {
    const char *provider;
    char reason[256];
    int64_t count;
    char first[CASE_TEXT_MAX];
} bench_refusal;

typedef struct {
    bench_entry *entries;
    int64_t count, capacity;
    bench_refusal *refusals;
    int64_t refusal_count;
    int64_t dropped; /* combinations that no dialect defines, see case_list */
} bench_plan;

enum { PLAN_MESSAGE = 1024, BENCH_DECODE_TOKENS = 16 };

/* Weights are read for a few rows only, as when a server generates text: such cases are cold unless
 * the user says otherwise. */
bool bench_is_decode(const armq_case *c);

/* Threads that may run at once on cores of one kind: the CPU quota respected. */
int32_t bench_threads_most(const core_list *cores, int32_t kind);

/* Expands sweeps and case lines for each provider, mode and kind of cores. False with a message for
 * bad sweeps, cases and providers. Free with bench_plan_free in either case. */
bool bench_plan_build(bench_plan *plan, const bench_options *options, const core_list *cores,
                      char message[PLAN_MESSAGE]);
void bench_plan_free(bench_plan *plan);

/* One line per refusal, and one for dropped combinations. */
void bench_plan_print_refusals(const bench_plan *plan, FILE *out);

/* Where `--sweep NAME` is looked up first: $ARMQ_CASES, or the directory that came with the
 * program. */
const char *bench_case_directory(void);

/* Notes one repetition and brings entry->median up to date. False: out of memory. */
bool bench_entry_add(bench_entry *entry, double seconds);

/* The entry of that name; NULL if there is none. */
bench_entry *bench_plan_find(const bench_plan *plan, const char *name);

#endif
