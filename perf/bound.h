/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest time that the measured peaks allow a case, and what is to be thought of a time. */
#ifndef ARMQ_PERF_BOUND_H
#define ARMQ_PERF_BOUND_H

#include "perf/counts.h"
#include "perf/peaks.h"

/* A time is no record when it is shorter than the machine allows by more than the error of
 * measurement: then what was measured is not what it is called. */
#define BOUND_INVALID_PERCENT 105.0

typedef struct {
    double seconds; /* the longer of multiplying and reading at the peak; 0: no peak applies */
    const char *by; /* of the binding one: "SMMLA", "memory"; "" without one */
} bench_bound;

typedef struct {
    const peaks *peaks;
    uint64_t features;   /* that the provider may use */
    bool any_extension;  /* it may use instructions that are not measured: only reads bind */
    bool cold;           /* weights come from memory */
    int64_t l1, l2, llc; /* per core, per core, of all cores in use; 0 = unknown */
} bound_setup;

/* Multiplying: MAC / the fastest measured instruction of the op's kind that the provider may use.
 * Reading: cold, the weights as handed over / memory's rate. Warm, all bytes / the rate of the
 * fastest cache that can hold a good part of them: less than four times its size. */
bench_bound bound_of(const armq_case *c, const bench_counts *counts, const bound_setup *setup);

/* 100 * bound / seconds; NAN if no peak applies or seconds is not positive. */
double bound_percent(const bench_bound *bound, double seconds);

/* More than BOUND_INVALID_PERCENT. */
bool bound_invalid(const bench_bound *bound, double seconds);

#endif
