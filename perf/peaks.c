/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/peaks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "perf/peaks/loops.h"

typedef void read_function(const uint8_t *from, int64_t bytes);

#ifdef ARMQ_HAVE_KERNELS
#define LOOP(function) function
static read_function *const read_loops[] = {peak_loop_read, peak_loop_read_quarters};
#else
#define LOOP(function) NULL
/* Other architectures run unit tests only. */
static void read_loop(const uint8_t *from, int64_t bytes) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < bytes; i += 8)
        sum += *(const volatile uint64_t *)(from + i);
    (void)sum;
}
static read_function *const read_loops[] = {read_loop};
#endif

/* An instruction on four 32-bit lanes of result: SMMLA and BFMMLA do 2x8x2 and 2x4x2 products, SDOT
 * and BFDOT 4 and 2 for each lane; SMLAL 8 lanes of 16 bits. */
const peak_kind peak_kinds[PEAK_COUNT] = {
    [PEAK_SMMLA] = {"SMMLA", ARMQ_FEATURE_I8MM, 32, true, LOOP(peak_loop_smmla)},
    [PEAK_SDOT] = {"SDOT", ARMQ_FEATURE_DOTPROD, 16, true, LOOP(peak_loop_sdot)},
    [PEAK_SMLAL] = {"SMLAL", ARMQ_FEATURE_NEON, 8, true, LOOP(peak_loop_smlal)},
    [PEAK_BFMMLA] = {"BFMMLA", ARMQ_FEATURE_BF16, 16, false, LOOP(peak_loop_bfmmla)},
    [PEAK_BFDOT] = {"BFDOT", ARMQ_FEATURE_BF16, 8, false, LOOP(peak_loop_bfdot)},
    [PEAK_FMLA] = {"FMLA", ARMQ_FEATURE_NEON, 4, false, LOOP(peak_loop_fmla)},
};

const char *const read_level_names[READ_COUNT] = {"L1", "L2", "last-level cache", "memory"};

double peak_rate(int64_t mac, int64_t instructions, int64_t rounds, int32_t threads,
                 double seconds) {
    return (double)mac * (double)instructions * (double)rounds * (double)threads / seconds;
}

/* --- All threads at once ------------------------------------------------------------------------
 */

typedef struct {
    void (*loop)(int64_t rounds); /* NULL: read */
    read_function *read;
    int64_t rounds;
    uint8_t *buffer; /* `slice` bytes per thread */
    int64_t slice;
    double (*now)(void);
    pthread_barrier_t start; /* one job per thread: none gets past it before all are there */
    struct {
        double begin, end;
        char apart[112]; /* from the next thread's cache line */
    } * time;
} team;

static double monotonic(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void team_job(void *arg, int64_t job, int32_t thread) {
    (void)thread;
    team *t = arg;
    const uint8_t *mine = t->buffer + job * t->slice;
    pthread_barrier_wait(&t->start);
    t->time[job].begin = t->now();
    if (t->loop != NULL)
        t->loop(t->rounds);
    else
        for (int64_t i = 0; i < t->rounds; i++)
            t->read(mine, t->slice);
    t->time[job].end = t->now();
}

/* Written by the thread that reads it, so that it lies in that core's memory. */
static void touch_job(void *arg, int64_t job, int32_t thread) {
    (void)thread;
    team *t = arg;
    pthread_barrier_wait(&t->start);
    memset(t->buffer + job * t->slice, 1, (size_t)t->slice);
}

/* From the first thread's start to the last one's end. */
static double run_team(team *t, const armq_threads *threads) {
    threads->run(threads->ctx, threads->n, team_job, t);
    double begin = t->time[0].begin, end = t->time[0].end;
    for (int32_t i = 1; i < threads->n; i++) {
        begin = t->time[i].begin < begin ? t->time[i].begin : begin;
        end = t->time[i].end > end ? t->time[i].end : end;
    }
    return end > begin ? end - begin : 1e-9;
}

/* Seconds of one round, the best of several; the first runs find how many rounds take long enough,
 * and give the clock time to rise. */
static double best_round(team *t, const peaks_setup *setup) {
    double best = 0;
    t->rounds = 1;
    for (double took = 0; took < setup->seconds && t->rounds < INT64_C(1) << 40;) {
        took = run_team(t, setup->threads);
        const double wanted = 1.2 * setup->seconds / (took > 1e-7 ? took : 1e-7);
        if (took < setup->seconds)
            t->rounds = (int64_t)((double)t->rounds * (wanted < 8 ? wanted + 0.5 : 8)) + 1;
    }
    for (int32_t i = 0; i < setup->repeats; i++) {
        const double round = run_team(t, setup->threads) / (double)t->rounds;
        best = i == 0 || round < best ? round : best;
    }
    return best;
}

/* --- Reading ------------------------------------------------------------------------------------
 */

/* Bytes for each of n threads to read again and again; 0: the level is unknown. Half of a cache, so
 * that all of it stays there. */
static int64_t slice_of(const peaks_setup *s, read_level level) {
    const int64_t n = s->threads->n;
    int64_t bytes = 0;
    switch (level) {
    case READ_L1:
        bytes = s->l1 / 2;
        break;
    case READ_L2:
        bytes = s->l2 / 2;
        break;
    case READ_LLC:
        bytes = s->llc / 2 / n;
        break;
    case READ_MEMORY:
        bytes = s->memory / n;
        break;
    case READ_COUNT:
        break;
    }
    return bytes / PEAK_READ_STEP * PEAK_READ_STEP;
}

static bool measure_read(double *rate, team *t, const peaks_setup *setup, read_level level,
                         char why[PEAKS_WHY]) {
    t->loop = NULL;
    t->slice = slice_of(setup, level);
    *rate = 0;
    if (t->slice == 0)
        return true;
    const int64_t all = t->slice * setup->threads->n;
    void *buffer;
    if (posix_memalign(&buffer, 4096, (size_t)all) != 0) {
        snprintf(why, PEAKS_WHY, "no memory for the %lld bytes that are read to measure %s",
                 (long long)all, read_level_names[level]);
        return false;
    }
    t->buffer = buffer;
    setup->threads->run(setup->threads->ctx, setup->threads->n, touch_job, t);
    for (size_t i = 0; i < sizeof read_loops / sizeof *read_loops; i++) {
        t->read = read_loops[i];
        const double one = (double)all / best_round(t, setup);
        *rate = one > *rate ? one : *rate;
    }
    free(buffer);
    t->buffer = NULL;
    return true;
}

bool peaks_measure(peaks *p, const peaks_setup *setup, char why[PEAKS_WHY]) {
    const int32_t n = setup->threads->n;
    team t = {.now = setup->now != NULL ? setup->now : monotonic,
              .time = calloc((size_t)n, sizeof *t.time)};
    if (t.time == NULL || pthread_barrier_init(&t.start, NULL, (unsigned)n) != 0) {
        snprintf(why, PEAKS_WHY, "no memory to time %d threads", n);
        free(t.time);
        return false;
    }
    p->threads = n;
    for (int id = 0; id < PEAK_COUNT; id++) {
        const peak_kind *kind = &peak_kinds[id];
        p->mac[id] = 0;
        if (kind->loop == NULL || !(setup->features & kind->feature))
            continue;
        t.loop = kind->loop;
        p->mac[id] = peak_rate(kind->mac, PEAK_ACCUMULATORS, 1, n, best_round(&t, setup));
    }
    bool ok = true;
    for (int level = 0; ok && level < READ_COUNT; level++)
        ok = measure_read(&p->bytes[level], &t, setup, (read_level)level, why);
    pthread_barrier_destroy(&t.start);
    free(t.time);
    return ok;
}
