/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/watch.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "conformance/guard.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"

static double fixed_timeout, fixed_patience; /* seconds; 0 = by the amount of work */

/* Slowest rates known, per second: scalar code, and the reference as a provider, under emulation.
 */
static const double slowest_int8 = 0.2e9, slowest_bf16 = 0.03e9; /* MACs */
static const double slowest_token = 3e6;  /* elements of x, y and between: conversion of f16 */
static const double slowest_weight = 3e7; /* elements of w: packing */

void watch_set_timeout(double seconds) { fixed_timeout = seconds; }

void watch_set_patience(double seconds) { fixed_patience = seconds; }

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Elements of tokens that one call touches; a token counts even where its rows are empty. */
static double token_elements(const armq_desc *d) {
    double elements = 1.0 + (double)armq_x_row(d) + (double)armq_y_row(d);
    if (armq_op_is_moe(d->op)) /* x quantised, gate, up and their product, y of each slot */
        elements += (double)d->top_k * (2.0 * (double)d->hidden + 3.0 * (double)d->intermediate);
    return (double)d->tokens * elements;
}

static double weight_elements(const armq_case *c) {
    const armq_desc *d = &c->desc;
    if (!armq_op_is_moe(d->op))
        return (double)d->n * (double)d->k;
    double experts = (double)d->experts, slots = (double)d->tokens * (double)d->top_k;
    if (c->sparse && slots < experts) /* others are never packed */
        experts = slots;
    return experts * 3.0 * (double)d->hidden * (double)d->intermediate;
}

/* Seconds of one call at the slowest rates. */
static double slowest_call(const armq_case *c) {
    double rate = armq_op_is_bf16(c->desc.op) ? slowest_bf16 : slowest_int8;
    return (double)case_macs(c) / rate + token_elements(&c->desc) / slowest_token +
           weight_elements(c) / slowest_weight;
}

double watch_allowance(const armq_case *c, int64_t calls) {
    if (fixed_timeout > 0)
        return fixed_timeout;
    return 10.0 + (c ? 10.0 * (double)calls * slowest_call(c) : 0.0);
}

double watch_patience(const armq_case *c) {
    return fixed_patience > 0 ? fixed_patience : 300.0 + 50.0 * slowest_call(c);
}

void watch_call_begin(watch *w, double seconds) {
    w->call_allowed = seconds < 9e9 ? (int64_t)(seconds * 1e9) : INT64_MAX;
    w->steps++;
    w->call_start = now_ns();
}

void watch_call_end(watch *w) {
    w->call_start = 0;
    w->steps++;
}

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
