/* SPDX-License-Identifier: Apache-2.0 */
/* Measured peaks of this machine: multiply-accumulates a second of each multiply instruction, bytes
 * a second of reads from each level. Every percentage is of one of these. */
#ifndef ARMQ_PERF_PEAKS_H
#define ARMQ_PERF_PEAKS_H

#include <stdbool.h>

#include "kernels/armq.h"

typedef enum {
    PEAK_SMMLA = 0,
    PEAK_SDOT,
    PEAK_SMLAL, /* int8 without extensions */
    PEAK_BFMMLA,
    PEAK_BFDOT,
    PEAK_FMLA, /* f32 */
    PEAK_COUNT
} peak_id;

typedef enum { READ_L1 = 0, READ_L2, READ_LLC, READ_MEMORY, READ_COUNT } read_level;

typedef struct {
    const char *name;
    uint64_t feature;             /* ARMQ_FEATURE_* that the CPU must have */
    int64_t mac;                  /* multiply-accumulates of one instruction on 128-bit registers */
    bool integer;                 /* multiplies int8; else bf16 or f32 */
    void (*loop)(int64_t rounds); /* NULL where it is not compiled for */
} peak_kind;

extern const peak_kind peak_kinds[PEAK_COUNT];
extern const char *const read_level_names[READ_COUNT];

/* One loop on every one of `threads` cores at once. */
typedef struct {
    int32_t kind, threads;    /* kind of cores */
    double mac[PEAK_COUNT];   /* MAC/s of all threads; 0: not measured, the CPU lacks it */
    double bytes[READ_COUNT]; /* bytes/s of all threads; 0: not measured */
} peaks;

typedef struct {
    const armq_threads *threads; /* bound, real; as many run at once as it says */
    uint64_t features;           /* ARMQ_FEATURE_*, from HWCAP */
    int64_t l1, l2;              /* per core; 0 = unknown: that level is not measured */
    int64_t llc;                 /* of all caches beside these cores */
    int64_t memory;              /* bytes that no cache holds: read for READ_MEMORY */
    double seconds;              /* that each timed loop takes, about */
    int32_t repeats;             /* the best counts */
    double (*now)(void);         /* for tests; NULL: the monotonic clock */
} peaks_setup;

enum { PEAKS_WHY = 192 };

/* False: no memory, `why` says for what. */
bool peaks_measure(peaks *p, const peaks_setup *setup, char why[PEAKS_WHY]);

/* MAC/s of `threads` loops of `rounds` rounds of `instructions` of `mac` each, in `seconds`. */
double peak_rate(int64_t mac, int64_t instructions, int64_t rounds, int32_t threads,
                 double seconds);

#endif
