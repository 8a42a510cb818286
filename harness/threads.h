/* SPDX-License-Identifier: Apache-2.0 */
/* Implementations of armq_threads: n logical threads on the caller (in order or reversed), or on a
 * pool of real ones. */
#ifndef ARMQ_HARNESS_THREADS_H
#define ARMQ_HARNESS_THREADS_H

#include <stdbool.h>

#include "kernels/armq.h"

/* Job j runs as logical thread j % n, one after the other on the caller. */
armq_threads threads_serial(int32_t n);
/* The same, last job first. */
armq_threads threads_reversed(int32_t n);

/* A pool of `real` pthreads (the caller is one of them) that serves n logical threads: each real
 * thread takes the next job and the logical index that has been idle longest. NULL if threads
 * cannot be started. Runs of one pool that are started at the same time wait for each other. */
typedef struct thread_pool thread_pool;
thread_pool *thread_pool_open(int32_t real);
void thread_pool_close(thread_pool *pool);
/* The pool's own threads onto cpus[1], cpus[2], ...; cpus[0] is for the caller, who binds itself.
 * count: at least `real`. False if the kernel refuses one. */
bool thread_pool_bind(thread_pool *pool, const int32_t *cpus, int32_t count);
/* Lives as long as the pool. run is NULL if memory is short. */
armq_threads thread_pool_threads(thread_pool *pool, int32_t n);

#endif
