/* SPDX-License-Identifier: Apache-2.0 */
/* Google Benchmark for C: the few calls that armq-bench needs, and nothing of armq itself. */
#ifndef ARMQ_PERF_GBENCH_H
#define ARMQ_PERF_GBENCH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gbench_state gbench_state;

/* A benchmark: loops while gbench_keep_running, or calls gbench_skip and returns. Google Benchmark
 * calls it several times, with growing numbers of iterations. */
typedef void (*gbench_function)(gbench_state *state, void *arg);

/* Wall time decides; results carry the name with "/real_time" behind it. Name is copied. */
void gbench_register(const char *name, gbench_function function, void *arg);

bool gbench_keep_running(gbench_state *state);
void gbench_skip(gbench_state *state, const char *message); /* an error in the results */
void gbench_label(gbench_state *state, const char *label);
void gbench_counter(gbench_state *state, const char *name, double value);
/* Reported as value * iterations / seconds of the timed loop. A name that starts with '%' is shown
 * without "/s". */
void gbench_rate(gbench_state *state, const char *name, double value_per_iteration);

/* A key and value of the "context" object of the JSON output; also printed above the results. */
void gbench_context(const char *key, const char *value);

/* Takes the --benchmark_* flags out of argv. What is left, apart from argv[0], was not understood.
 * A flag whose value is not allowed ends the program: message on stderr, exit status 2. */
void gbench_initialize(int *argc, char **argv);
void gbench_print_flags(void);

/* One line of the results. */
typedef struct {
    const char *name;     /* as registered */
    const char *error;    /* NULL, or the message of gbench_skip */
    const char *repeated; /* NULL: one repetition; else "mean", "median", "stddev", "cv" */
    double seconds;       /* wall time per iteration */
} gbench_result;

/* What is done with every line of the results before it is shown and written. vet, which may be
 * called several times for a line, returns NULL or a message that turns the line into an error:
 * its time is 0 then, and it has no counters. The message stands until the next call. each is
 * called once, with that error in place. */
typedef struct {
    const char *(*vet)(void *ctx, const gbench_result *result);
    void (*each)(void *ctx, const gbench_result *result);
    void *ctx;
} gbench_observer;

/* Runs (or lists) what --benchmark_filter matches. Returns how many benchmarks matched. -1: the
 * file of --benchmark_out could not be written. */
int64_t gbench_run(const gbench_observer *observer);

#ifdef __cplusplus
}
#endif

#endif
