/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker tells its parent while it runs a case, in memory they share: where it is (so that a
 * signal or a hang is attributed to a check), how long the current call may take, and which regions
 * are guarded (so that a fault address becomes "2 bytes past the end of x"). */
#ifndef ARMQ_CONFORMANCE_WATCH_H
#define ARMQ_CONFORMANCE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "conformance/result.h"

typedef struct watch {
    volatile int32_t check; /* index of the running check; -1: setting up */
    volatile int64_t
        call_start; /* CLOCK_MONOTONIC ns at the start of the provider's call; 0: not in one */
    volatile int64_t call_allowed; /* ns the call may take before it counts as a hang */
    volatile int32_t signal;       /* set by the worker's signal handler, 0 otherwise */
    volatile uint64_t fault_address;
    char fault[192]; /* the handler's sentence on the address; "" if it is in no region */
    case_result result;
} watch;

/* Allowance: 10 s + ten times MACs / slowest rate known for the op, or the fixed one if seconds > 0
 * was given to watch_set_timeout. */
void watch_set_timeout(double seconds);
void watch_call_begin(watch *w, int64_t macs, bool bf16);
void watch_call_end(watch *w);

/* Installs handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT in a worker, on a stack of
 * their own: they describe the fault in *w and end the process. */
void watch_install(watch *w);

#endif
