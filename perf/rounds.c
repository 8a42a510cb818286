/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/rounds.h"

#include <time.h>

static double monotonic(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct {
    const rounds_setup *setup;
    double (*now)(void);
    armq_status status;
} timing;

/* Seconds of `runs` runs together. */
static double time_runs(timing *t, const rounds_side *side, int64_t runs) {
    const double begin = t->now();
    for (int64_t i = 0; i < runs && t->status == ARMQ_OK; i++)
        t->status = side->run(side->arg);
    return t->now() - begin;
}

static void calibrate(timing *t, rounds_side *side) {
    time_runs(t, side, 1);
    side->runs = 1;
    for (double took; t->status == ARMQ_OK && side->runs < INT64_C(1) << 30;) {
        took = time_runs(t, side, side->runs);
        if (took >= t->setup->seconds)
            return;
        const double more = took > 0 ? 1.1 * t->setup->seconds / took : 8;
        side->runs = (int64_t)((double)side->runs * (more < 8 ? more : 8)) + 1;
    }
}

static void repetition(timing *t, rounds_side *side, int64_t round) {
    time_runs(t, side, 1);
    side->seconds[round] = time_runs(t, side, side->runs) / (double)side->runs;
    if (t->setup->after != NULL)
        t->setup->after(t->setup->ctx);
}

armq_status rounds_time(rounds_side *side, int sides, const rounds_setup *setup) {
    timing t = {setup, setup->now != NULL ? setup->now : monotonic, ARMQ_OK};
    for (int s = 0; s < sides; s++)
        calibrate(&t, &side[s]);
    for (int64_t round = 0; round < setup->rounds && t.status == ARMQ_OK; round++)
        for (int s = 0; s < sides; s++)
            repetition(&t, &side[round % 2 == 0 ? s : sides - 1 - s], round);
    return t.status;
}
