/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker tells its parent while it runs a case, in memory they share: where it is (so that a
 * signal or a hang is attributed to a check), how long the current call may take, and which regions
 * are guarded (so that a fault address becomes "2 bytes past the end of x"). */
#ifndef ARMQ_CONFORMANCE_WATCH_H
#define ARMQ_CONFORMANCE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "conformance/result.h"
#include "harness/case.h"

typedef struct watch {
    volatile int32_t check; /* index of the running check; -1: setting up */
    volatile int64_t
        call_start; /* CLOCK_MONOTONIC ns at the start of the provider's call; 0: not in one */
    volatile int64_t call_allowed; /* ns the call may take before it counts as a hang */
    volatile int64_t steps;        /* grows with every call that begins or ends */
    volatile int32_t signal;       /* set by the worker's signal handler, 0 otherwise */
    volatile uint64_t fault_address;
    char fault[192]; /* the handler's sentence on the address; "" if it is in no region */
    case_result result;
} watch;

/* Seconds that so many calls of a case may take together: 10 s, and ten times what its work takes
 * at the slowest rates known (multiply-accumulates, elements of tokens, elements of weights); or
 * the fixed ones if seconds > 0 was given to watch_set_timeout. c may be NULL: a call without data.
 */
double watch_allowance(const armq_case *c, int64_t calls);
void watch_set_timeout(double seconds);
void watch_call_begin(watch *w, double seconds);
void watch_call_end(watch *w);

/* Seconds that a worker may go without beginning or ending a call or a check while it is not in a
 * call: 300 s, and fifty times what the case's work takes at those rates, for the reference
 * works in this time. Or the fixed ones if seconds > 0 was given to watch_set_patience. */
double watch_patience(const armq_case *c);
void watch_set_patience(double seconds);

/* Installs handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT in a worker, on a stack of
 * their own: they describe the fault in *w and end the process. */
void watch_install(watch *w);

#endif
