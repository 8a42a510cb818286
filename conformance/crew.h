/* SPDX-License-Identifier: Apache-2.0 */
/* Threads for checks that call from several: they live as long as the process, as starting one
 * takes an emulator as long as many calls, and memory that it never gives back. Started when first
 * asked for; for one caller, the thread that runs the checks. */
#ifndef ARMQ_CONFORMANCE_CREW_H
#define ARMQ_CONFORMANCE_CREW_H

#include <stdbool.h>

#include "harness/threads.h"

/* Real threads of the pool, the caller among them. */
enum { CREW_POOL = 2 };

/* NULL: they cannot be started. Owned by the crew. */
thread_pool *crew_pool(void);

/* Has another thread (none of the pool) call f(arg), and returns at once; false if it cannot be
 * started. crew_wait, which must follow, returns when f has. */
bool crew_begin(void (*f)(void *arg), void *arg);
void crew_wait(void);

/* How many threads of the process are the crew's. */
int crew_threads(void);

#endif
