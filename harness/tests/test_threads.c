/* SPDX-License-Identifier: Apache-2.0 */
/* Thread pools: every job once, no logical thread twice at a time, all of them used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "harness/threads.h"

enum { MAX_JOBS = 1000, MAX_THREADS = 64 };

/* What a run did. */
typedef struct {
    int32_t n;
    atomic_int runs[MAX_JOBS];        /* of each job */
    atomic_int busy[MAX_THREADS];     /* 1 while a logical thread works */
    atomic_int used[MAX_THREADS];     /* jobs of each logical thread */
    atomic_int bad;                   /* a thread out of range or busy already */
    int64_t order[MAX_JOBS], ordered; /* serial runs only */
} record;

static record the_record;

static record *fresh(int32_t n) {
    memset(&the_record, 0, sizeof the_record);
    the_record.n = n;
    return &the_record;
}

static void job(void *arg, int64_t index, int32_t thread) {
    record *r = arg;
    if (thread < 0 || thread >= r->n || atomic_exchange(&r->busy[thread], 1) != 0) {
        atomic_fetch_add(&r->bad, 1);
        return;
    }
    atomic_fetch_add(&r->runs[index], 1);
    atomic_fetch_add(&r->used[thread], 1);
    sched_yield();
    atomic_store(&r->busy[thread], 0);
}

static void ordered_job(void *arg, int64_t index, int32_t thread) {
    record *r = arg;
    r->order[r->ordered++] = index;
    job(arg, index, thread);
}

static void assert_each_once(const record *r, int64_t jobs) {
    assert_int_equal(r->bad, 0);
    for (int64_t i = 0; i < MAX_JOBS; i++)
        assert_int_equal(r->runs[i], i < jobs ? 1 : 0);
}

static int32_t used_threads(const record *r) {
    int32_t count = 0;
    for (int32_t i = 0; i < MAX_THREADS; i++)
        count += r->used[i] > 0;
    return count;
}

static void test_serial(void **state) {
    (void)state;
    armq_threads threads = threads_serial(3);
    record *r = fresh(3);
    assert_int_equal(threads.n, 3);
    threads.run(threads.ctx, 10, ordered_job, r);
    assert_each_once(r, 10);
    for (int64_t i = 0; i < 10; i++)
        assert_int_equal(r->order[i], i);
    assert_int_equal(r->used[0], 4);
    assert_int_equal(r->used[2], 3);
    threads.run(threads.ctx, 0, ordered_job, r);
    assert_int_equal(r->ordered, 10);
}

static void test_reversed(void **state) {
    (void)state;
    armq_threads threads = threads_reversed(4);
    record *r = fresh(4);
    threads.run(threads.ctx, 7, ordered_job, r);
    assert_each_once(r, 7);
    for (int64_t i = 0; i < 7; i++)
        assert_int_equal(r->order[i], 6 - i);
    assert_int_equal(used_threads(r), 4);
}

static void test_pool(void **state) {
    (void)state;
    static const int32_t reals[] = {1, 2, 3, 5}, logicals[] = {1, 2, 3, 7, 64};
    static const int64_t jobs[] = {0, 1, 2, 63, 1000};
    for (size_t a = 0; a < 4; a++) {
        thread_pool *pool = thread_pool_open(reals[a]);
        assert_non_null(pool);
        for (size_t b = 0; b < 5; b++)
            for (size_t c = 0; c < 5; c++) {
                armq_threads threads = thread_pool_threads(pool, logicals[b]);
                assert_int_equal(threads.n, logicals[b]);
                record *r = fresh(logicals[b]);
                threads.run(threads.ctx, jobs[c], job, r);
                assert_each_once(r, jobs[c]);
                /* Idle indices take turns, so all are used, also by few real threads. */
                if (jobs[c] >= 63)
                    assert_true(used_threads(r) >= (logicals[b] < 63 ? logicals[b] : 63));
            }
        thread_pool_close(pool);
    }
}

static void test_pool_views_are_kept(void **state) {
    (void)state;
    thread_pool *pool = thread_pool_open(2);
    armq_threads three = thread_pool_threads(pool, 3), five = thread_pool_threads(pool, 5);
    record *r = fresh(3);
    three.run(three.ctx, 100, job, r);
    assert_each_once(r, 100);
    r = fresh(5);
    five.run(five.ctx, 100, job, r);
    assert_each_once(r, 100);
    assert_ptr_equal(thread_pool_threads(pool, 3).ctx, three.ctx);
    assert_null(thread_pool_threads(pool, 0).run);
    thread_pool_close(pool);
    thread_pool_close(NULL);
    assert_null(thread_pool_open(0));
}

/* A pool really works in parallel: two jobs that wait for each other both end. */
static atomic_int arrived;

static void meeting_job(void *arg, int64_t index, int32_t thread) {
    (void)arg, (void)index, (void)thread;
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < 2)
        sched_yield();
}

static void test_pool_is_parallel(void **state) {
    (void)state;
    thread_pool *pool = thread_pool_open(2);
    armq_threads threads = thread_pool_threads(pool, 2);
    for (int i = 0; i < 50; i++) {
        atomic_store(&arrived, 0);
        threads.run(threads.ctx, 2, meeting_job, NULL);
        assert_int_equal(atomic_load(&arrived), 2);
    }
    thread_pool_close(pool);
}

/* Two callers share a pool. */
typedef struct {
    armq_threads threads;
    atomic_int done;
} caller;

static void count_job(void *arg, int64_t index, int32_t thread) {
    (void)index, (void)thread;
    atomic_fetch_add(&((caller *)arg)->done, 1);
}

static void *caller_main(void *arg) {
    caller *c = arg;
    for (int i = 0; i < 100; i++)
        c->threads.run(c->threads.ctx, 20, count_job, c);
    return NULL;
}

static void test_pool_is_shared(void **state) {
    (void)state;
    thread_pool *pool = thread_pool_open(2);
    caller callers[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        callers[i].threads = thread_pool_threads(pool, i + 1);
        atomic_init(&callers[i].done, 0);
        assert_int_equal(pthread_create(&threads[i], NULL, caller_main, &callers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(callers[i].done, 2000);
    }
    thread_pool_close(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serial),
        cmocka_unit_test(test_reversed),
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_pool_views_are_kept),
        cmocka_unit_test(test_pool_is_parallel),
        cmocka_unit_test(test_pool_is_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
