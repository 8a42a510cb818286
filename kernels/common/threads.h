/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARMQ_KERNELS_THREADS_H
#define ARMQ_KERNELS_THREADS_H

#include "kernels/armq.h"

typedef void armq_job_fn(void *arg, int64_t job, int32_t thread);

static inline int32_t armq_thread_count(const armq_threads *threads) {
    return threads ? threads->n : 1;
}

/* All jobs on the caller's threads; on this one if there are none, or nothing to share. */
static inline void armq_run_jobs(const armq_threads *threads, int64_t jobs, armq_job_fn *job,
                                 void *arg) {
    if (threads && threads->n > 1 && jobs > 1) {
        threads->run(threads->ctx, jobs, job, arg);
        return;
    }
    for (int64_t i = 0; i < jobs; i++)
        job(arg, i, 0);
}

/* Where part `index` of `count` parts of [0, total) begins; total * count fits in 64 bits. */
static inline int64_t armq_split(int64_t total, int64_t index, int64_t count) {
    return total / count * index + total % count * index / count;
}

#endif
