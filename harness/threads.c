/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

/* --- On the caller ---------------------------------------------------------------------------- */

/* The context is the number of logical threads itself, so nothing has to be kept. */
static void run_serial(void *ctx, int64_t jobs, void (*f)(void *, int64_t, int32_t), void *arg) {
    intptr_t n = (intptr_t)ctx;
    for (int64_t job = 0; job < jobs; job++)
        f(arg, job, (int32_t)(job % n));
}

static void run_reversed(void *ctx, int64_t jobs, void (*f)(void *, int64_t, int32_t), void *arg) {
    intptr_t n = (intptr_t)ctx;
    for (int64_t job = jobs - 1; job >= 0; job--)
        f(arg, job, (int32_t)(job % n));
}

armq_threads threads_serial(int32_t n) {
    return (armq_threads){.ctx = (void *)(intptr_t)n, .n = n, .run = run_serial};
}

armq_threads threads_reversed(int32_t n) {
    return (armq_threads){.ctx = (void *)(intptr_t)n, .n = n, .run = run_reversed};
}

/* --- Pool ------------------------------------------------------------------------------------- */

/* What armq_threads.ctx points to: the pool, seen as n logical threads. */
typedef struct pool_view {
    thread_pool *pool;
    int32_t n;
    struct pool_view *next;
} pool_view;

struct thread_pool {
    pthread_t *workers;
    int32_t started; /* workers beside the caller */
    pthread_mutex_t one_run;
    pool_view *views;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t work, done;
    uint64_t generation; /* of runs; workers wait for the next */
    bool closing;
    /* The current run. */
    void (*f)(void *, int64_t, int32_t);
    void *arg;
    int64_t next_job, jobs, running;
    /* Idle logical threads, first in first out so that all get their turn. */
    int32_t *idle;
    int64_t idle_capacity, idle_head, idle_count;
};

/* Runs jobs until there are none left. Called and left with the lock held. */
static void work_off(thread_pool *pool) {
    while (pool->next_job < pool->jobs && pool->idle_count > 0) {
        int64_t job = pool->next_job++;
        int32_t thread = pool->idle[pool->idle_head];
        pool->idle_head = (pool->idle_head + 1) % pool->idle_capacity;
        pool->idle_count--;
        pool->running++;
        pthread_mutex_unlock(&pool->lock);
        pool->f(pool->arg, job, thread);
        pthread_mutex_lock(&pool->lock);
        pool->idle[(pool->idle_head + pool->idle_count) % pool->idle_capacity] = thread;
        pool->idle_count++;
        pool->running--;
    }
}

static void *worker_main(void *arg) {
    thread_pool *pool = arg;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    while (!pool->closing) {
        if (seen == pool->generation) {
            pthread_cond_wait(&pool->work, &pool->lock);
            continue;
        }
        seen = pool->generation;
        work_off(pool);
        if (pool->running == 0)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void run_pool(void *ctx, int64_t jobs, void (*f)(void *, int64_t, int32_t), void *arg) {
    pool_view *view = ctx;
    thread_pool *pool = view->pool;
    pthread_mutex_lock(&pool->one_run);
    pthread_mutex_lock(&pool->lock);
    pool->f = f;
    pool->arg = arg;
    pool->next_job = 0;
    pool->jobs = jobs;
    pool->idle_head = 0;
    pool->idle_count = view->n;
    for (int32_t i = 0; i < view->n; i++)
        pool->idle[i] = i;
    pool->generation++;
    pthread_cond_broadcast(&pool->work);
    work_off(pool);
    /* All logical threads may be taken by workers while jobs are left: those workers go on. */
    while (pool->running > 0 || pool->next_job < pool->jobs)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->one_run);
}

thread_pool *thread_pool_open(int32_t real) {
    if (real < 1)
        return NULL;
    thread_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pthread_mutex_init(&pool->one_run, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->workers = calloc((size_t)real, sizeof *pool->workers);
    while (pool->workers && pool->started < real - 1) {
        if (pthread_create(&pool->workers[pool->started], NULL, worker_main, pool) != 0)
            break;
        pool->started++;
    }
    if (pool->workers && pool->started == real - 1)
        return pool;
    thread_pool_close(pool);
    return NULL;
}

void thread_pool_close(thread_pool *pool) {
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int32_t i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i], NULL);
    for (pool_view *view = pool->views, *next; view; view = next) {
        next = view->next;
        free(view);
    }
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->one_run);
    free(pool->idle);
    free(pool->workers);
    free(pool);
}

static bool bind_thread(pthread_t thread, int32_t cpu) {
    size_t bytes = CPU_ALLOC_SIZE((size_t)cpu + 1);
    cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
    if (!set)
        return false;
    CPU_ZERO_S(bytes, set);
    CPU_SET_S((size_t)cpu, bytes, set);
    bool ok = pthread_setaffinity_np(thread, bytes, set) == 0;
    CPU_FREE(set);
    return ok;
}

bool thread_pool_bind(thread_pool *pool, const int32_t *cpus, int32_t count) {
    bool ok = count > pool->started;
    for (int32_t i = 0; ok && i < pool->started; i++)
        ok = bind_thread(pool->workers[i], cpus[i + 1]);
    return ok;
}

/* Room for n idle logical threads. */
static bool reserve_idle(thread_pool *pool, int32_t n) {
    if (n <= pool->idle_capacity)
        return true;
    int32_t *idle = realloc(pool->idle, (size_t)n * sizeof *idle);
    if (!idle)
        return false;
    pool->idle = idle;
    pool->idle_capacity = n;
    return true;
}

armq_threads thread_pool_threads(thread_pool *pool, int32_t n) {
    armq_threads none = {0};
    pthread_mutex_lock(&pool->one_run);
    pool_view *view = pool->views;
    while (view && view->n != n)
        view = view->next;
    if (!view && n >= 1 && reserve_idle(pool, n) && (view = malloc(sizeof *view)) != NULL) {
        *view = (pool_view){pool, n, pool->views};
        pool->views = view;
    }
    pthread_mutex_unlock(&pool->one_run);
    return view ? (armq_threads){.ctx = view, .n = n, .run = run_pool} : none;
}
