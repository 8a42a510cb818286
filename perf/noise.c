/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/noise.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>

bool noise_quiet(const noise_seen *seen, char why[NOISE_WHY]) {
    why[0] = '\0';
    if (seen->migrations > 0)
        snprintf(why, NOISE_WHY, "noisy: migrated %" PRId64 " times", seen->migrations);
    else if (isnan(seen->spread))
        snprintf(why, NOISE_WHY, "noise unknown: %" PRId64 " repetitions", seen->repetitions);
    else if (seen->spread > NOISE_SPREAD_MAX)
        snprintf(why, NOISE_WHY, "noisy: repetitions spread by %.1f %% (quartiles), limit %.0f %%",
                 100 * seen->spread, 100 * NOISE_SPREAD_MAX);
    return why[0] == '\0';
}

bool noise_load_quiet(double load, int32_t threads, int32_t online, char why[NOISE_WHY]) {
    why[0] = '\0';
    if (load + threads > online + NOISE_LOAD_IDLE)
        snprintf(why, NOISE_WHY,
                 "noisy: load %.2f and %" PRId32 " threads on %" PRId32 " processors", load,
                 threads, online);
    return why[0] == '\0';
}

bool noise_quota_quiet(int64_t thousandths, char why[NOISE_WHY]) {
    why[0] = '\0';
    if (thousandths > 0 && thousandths < 1000)
        snprintf(why, NOISE_WHY, "noisy: the CPU quota is %g processors, so threads are stopped",
                 (double)thousandths / 1000);
    return why[0] == '\0';
}

static int64_t preempted(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

void noise_watch_start(noise_watch *watch, int32_t cpu) {
    *watch = (noise_watch){cpu, 0, preempted()};
    if (cpu < 0)
        watch->cpu = sched_getcpu();
}

void noise_watch_look(void *arg) {
    noise_watch *watch = arg;
    const int cpu = sched_getcpu();
    if (cpu < 0 || cpu == watch->cpu)
        return;
    watch->migrations++;
    watch->cpu = cpu;
}

void noise_watch_stop(const noise_watch *watch, noise_seen *seen) {
    seen->migrations = watch->migrations;
    seen->preemptions = preempted() - watch->preempted_before;
}
