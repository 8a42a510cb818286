/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/crew.h"

#include <pthread.h>
#include <semaphore.h>

static thread_pool *pool;

static struct {
    bool started;
    sem_t begin, end;
    void (*f)(void *arg);
    void *arg;
} partner;

thread_pool *crew_pool(void) {
    if (!pool)
        pool = thread_pool_open(CREW_POOL);
    return pool;
}

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0)
        continue; /* a signal */
}

static void *partner_main(void *unused) {
    for (;;) {
        wait_for(&partner.begin);
        partner.f(partner.arg);
        sem_post(&partner.end);
    }
    return unused;
}

static bool partner_start(void) {
    pthread_t thread;
    sem_init(&partner.begin, 0, 0);
    sem_init(&partner.end, 0, 0);
    partner.started = pthread_create(&thread, NULL, partner_main, NULL) == 0;
    if (partner.started)
        pthread_detach(thread);
    return partner.started;
}

bool crew_begin(void (*f)(void *arg), void *arg) {
    if (!partner.started && !partner_start())
        return false;
    partner.f = f;
    partner.arg = arg;
    sem_post(&partner.begin);
    return true;
}

void crew_wait(void) { wait_for(&partner.end); }

int crew_threads(void) { return (pool ? CREW_POOL - 1 : 0) + (partner.started ? 1 : 0); }
