/* SPDX-License-Identifier: Apache-2.0 */
/* Interleaved repetitions: two things timed in turns, so that whatever slows the machine down slows
 * both of a pair. */
#ifndef ARMQ_PERF_ROUNDS_H
#define ARMQ_PERF_ROUNDS_H

#include "kernels/armq.h"

typedef struct {
    armq_status (*run)(void *arg);
    void *arg;
    double *seconds; /* out: of one run, for each round */
    int64_t runs;    /* out: how many runs one repetition times together */
} rounds_side;

typedef struct {
    int64_t rounds;
    double seconds;           /* that a repetition takes at least, about */
    double (*now)(void);      /* NULL: the monotonic clock */
    void (*after)(void *ctx); /* NULL, or called after each repetition */
    void *ctx;
} rounds_setup;

/* Times `sides` (1 or 2) in the order a b, b a, a b, ...: a drift of the clock or the temperature
 * favours neither. Each repetition is preceded by one run that is not timed, for the other side has
 * had the caches. Returns what the first run to fail returned. */
armq_status rounds_time(rounds_side *side, int sides, const rounds_setup *setup);

#endif
