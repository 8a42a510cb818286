/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a measurement can be judged: what disturbed it, and whether that is too much. */
#ifndef ARMQ_PERF_NOISE_H
#define ARMQ_PERF_NOISE_H

#include <stdbool.h>
#include <stdint.h>

/* Repetitions of a quiet machine differ by 1 or 2 %. */
#define NOISE_SPREAD_MAX 0.05

typedef struct {
    double spread; /* of repetitions, see stats_spread; NAN: fewer than two */
    int64_t
        migrations; /* times that the thread was found on a processor that it was not bound to */
    int64_t preemptions; /* involuntary context switches of the process */
    int64_t repetitions;
} noise_seen;

enum { NOISE_WHY = 160 };

/* True: quiet. Else `why` names the first of: migrated; spread above NOISE_SPREAD_MAX; fewer than
 * two repetitions (nothing is known then). Preemptions show in the spread; they are only told. */
bool noise_quiet(const noise_seen *seen, char why[NOISE_WHY]);

/* Load that is none: an idle system's own services. Without it, as many threads as there are
 * processors would never be quiet. */
#define NOISE_LOAD_IDLE 0.5

/* Whether the machine had processors to spare: the load average (of one minute) without this
 * process' own threads leaves `threads` of `online` processors idle, but for NOISE_LOAD_IDLE. */
bool noise_load_quiet(double load, int32_t threads, int32_t online, char why[NOISE_WHY]);

/* Whether a thread may run without a pause: not where the CPU quota (thousandths of a processor, 0:
 * none) is less than one processor. More threads than it allows are refused before. */
bool noise_quota_quiet(int64_t thousandths, char why[NOISE_WHY]);

/* A watch on the calling thread. */
typedef struct {
    int32_t cpu; /* that it is bound to; -1: not bound, the first one seen counts */
    int64_t migrations, preempted_before;
} noise_watch;

void noise_watch_start(noise_watch *watch, int32_t cpu);
void noise_watch_look(void *watch); /* where the thread is now */
void noise_watch_stop(const noise_watch *watch, noise_seen *seen);

#endif
