/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of armq-bench. */
#ifndef ARMQ_PERF_OPTIONS_H
#define ARMQ_PERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { OPTIONS_MESSAGE = 384, OPTIONS_ALL = -1 };

typedef struct {
    char **sweeps; /* --sweep, in order */
    int64_t sweep_count;
    char **lines; /* case lines */
    int64_t line_count;
    char **providers; /* --provider; none: every built-in kernel that runs here */
    int64_t provider_count;
    int32_t *threads; /* --threads; none: as each case says. OPTIONS_ALL: every core of the kind */
    int64_t thread_count;
    bool warm, cold; /* --memory; neither: as bench_is_decode says */
    int32_t kind;    /* --cores: of core_list; OPTIONS_ALL: one kind after the other */
    int32_t pairs;   /* --pairs: interleaved repetitions; OPTIONS_ALL: the default */
    bool list, help;
    char **gbench; /* argv for Google Benchmark, [0] included, NULL-terminated */
    int gbench_count;
    bool min_time; /* --benchmark_min_time is among them */
    char message[OPTIONS_MESSAGE];
} bench_options;

/* False: o->message says what is wrong with which argument and what is allowed. A case may be one
 * argument or several words (op, then key=value ...). Free with bench_options_free in either case.
 */
bool bench_options_parse(bench_options *o, int argc, char **argv);
void bench_options_free(bench_options *o);

void bench_options_help(void);

#endif
