/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/watch.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "conformance/guard.h"

static double fixed_timeout; /* seconds; 0 = by the amount of work */

/* Slowest rates known, MAC/s: scalar code under emulation. */
static const double slowest_int8 = 0.5e9, slowest_bf16 = 0.08e9;

void watch_set_timeout(double seconds) { fixed_timeout = seconds; }

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void watch_call_begin(watch *w, int64_t macs, bool bf16) {
    double seconds = fixed_timeout > 0
                         ? fixed_timeout
                         : 10.0 + 10.0 * (double)macs / (bf16 ? slowest_bf16 : slowest_int8);
    w->call_allowed = (int64_t)(seconds * 1e9);
    w->call_start = now_ns();
}

void watch_call_end(watch *w) { w->call_start = 0; }

static watch *installed; /* one per process */

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    watch *w = installed;
    if (number != SIGABRT) {
        w->fault_address = (uint64_t)(uintptr_t)info->si_addr;
        if (number == SIGSEGV || number == SIGBUS)
            if (!guard_describe(w->fault_address, w->fault, sizeof w->fault))
                w->fault[0] = '\0';
    }
    w->signal = number;
    _exit(128 + number);
}

void watch_install(watch *w) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    const struct rlimit no_core = {0, 0};
    stack_t stack = {.ss_size = (size_t)64 * 1024};
    stack.ss_sp = malloc(stack.ss_size); /* for the life of the process */
    installed = w;
    setrlimit(RLIMIT_CORE, &no_core);
    if (stack.ss_sp)
        sigaltstack(&stack, NULL); /* a stack overflow is a fault like others */
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaction(signals[i], &action, NULL);
}
