/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/providers.h"
#include "harness/machine.h"
#include "kernels/api/names.h"
#include "perf/rounds.h"
#include "perf/speedup.h"

static bench_run_setup run_setup;
static subject current, baseline;

void bench_run_start(const bench_run_setup *setup) { run_setup = *setup; }

void bench_run_close(void) {
    subject_close(&current);
    subject_close(&baseline);
}

/* --- What the peaks allow -----------------------------------------------------------------------
 */

static bool is_builtin(const armq_provider *provider) {
    int64_t count;
    const armq_provider *const *all = providers_builtin(&count);
    for (int64_t i = 0; i < count; i++)
        if (all[i] == provider)
            return true;
    return false;
}

/* A tier keeps to its instructions; a library may look at the CPU and use all that there is. */
static bench_bound find_bound(const bench_entry *entry, const bench_counts *counts) {
    const machine_info *m = machine();
    const uint64_t required = entry->provider->required_features;
    const uint64_t measured = ARMQ_FEATURE_NEON | ARMQ_FEATURE_DOTPROD | ARMQ_FEATURE_I8MM |
                              ARMQ_FEATURE_BF16 | ARMQ_FEATURE_FP16;
    const bound_setup setup = {
        .peaks = peak_table_find(run_setup.peaks, entry->kind, entry->c.threads),
        .features = is_builtin(entry->provider) ? required | ARMQ_FEATURE_NEON : m->features,
        .any_extension = (required & ~measured) != 0,
        .cold = entry->cold,
        .l1 = m->l1,
        .l2 = m->l2,
        .llc = run_setup.subject.cores->kinds[entry->kind].llc};
    return setup.peaks != NULL ? bound_of(&entry->c, counts, &setup) : (bench_bound){0, ""};
}

/* --- Interleaved repetitions --------------------------------------------------------------------
 */

static void look(void *ctx) { noise_watch_look(ctx); }

/* A baseline that is faster than the machine is no measure; it will be called invalid when its turn
 * comes. */
static bool baseline_possible(const double *others, int64_t n) {
    const bench_bound bound = find_bound(baseline.entry, &baseline.counts);
    return !bound_invalid(&bound, stats_quantile(others, n, 0.5));
}

/* Times current alone, or in turns with baseline. */
static armq_status time_rounds(bench_entry *entry, double *mine, double *others) {
    rounds_side sides[2] = {{subject_run, &current, mine, 0}, {subject_run, &baseline, others, 0}};
    const int64_t n = run_setup.pairs;
    noise_watch watch;
    const rounds_setup setup = {.rounds = n,
                                .seconds = run_setup.seconds,
                                .now = run_setup.now,
                                .after = look,
                                .ctx = &watch};
    noise_watch_start(&watch, current.cpu);
    const bool paired = baseline.entry != NULL;
    const armq_status status = rounds_time(sides, paired ? 2 : 1, &setup);
    if (status != ARMQ_OK)
        return status;
    noise_watch_stop(&watch, &entry->noise);
    entry->noise.repetitions = n;
    entry->noise.spread = stats_spread(mine, n);
    if (paired && stats_spread(others, n) > entry->noise.spread)
        entry->noise.spread = stats_spread(others, n);
    noise_quiet(&entry->noise, entry->noisy);
    if (paired && (machine()->emulated || baseline_possible(others, n)))
        entry->speedup = stats_paired_ratio(others, mine, n);
    return ARMQ_OK;
}

/* The next best baseline if one cannot be opened or is wrong; it will say so itself when its turn
 * comes. */
static void open_baseline(bench_entry *entry) {
    char why[WORKLOAD_WHY];
    const bench_entry *other = speedup_baseline(run_setup.plan, entry);
    if (other == NULL || !subject_open(&baseline, other, &run_setup.subject, why))
        return;
    entry->baseline_provider = other->provider->name;
    entry->baseline_kernel = other->kernel;
}

static bool compare(bench_entry *entry, char why[WORKLOAD_WHY]) {
    if (run_setup.pairs == 0)
        return true;
    double *times = calloc((size_t)run_setup.pairs * 2, sizeof *times);
    if (times == NULL) {
        snprintf(why, WORKLOAD_WHY, "no memory for %d times", run_setup.pairs * 2);
        return false;
    }
    open_baseline(entry);
    const armq_status status = time_rounds(entry, times, times + run_setup.pairs);
    if (status != ARMQ_OK)
        snprintf(why, WORKLOAD_WHY, "an interleaved run returned %s", armq_status_name(status));
    subject_close(&baseline);
    free(times);
    return status == ARMQ_OK;
}

/* --- Results ------------------------------------------------------------------------------------
 */

/* Under emulation the name says that the rate is no performance, wherever the number ends up. */
static void rate(gbench_state *state, const char *name, double value) {
    char text[64];
    snprintf(text, sizeof text, "%s%s", machine()->emulated ? "emulated " : "", name);
    if (value > 0)
        gbench_rate(state, text, value);
}

/* Only what is not zero: Google Benchmark would write the variation of zeros as NaN, which is no
 * JSON.
 */
static void count(gbench_state *state, const char *name, int64_t value) {
    if (value > 0)
        gbench_counter(state, name, (double)value);
}

/* NaN is no JSON, and says nothing: the interval of a single pair. */
static void if_finite(gbench_state *state, const char *name, double value) {
    if (isfinite(value))
        gbench_counter(state, name, value);
}

/* What follows from times: never from those of an emulator, of which only the number of pairs is
 * told, to show that they were taken. */
static void set_evidence(gbench_state *state, const bench_entry *entry) {
    const stats_ratio *r = &entry->speedup;
    if (machine()->emulated) {
        count(state, "emulated pairs", r->pairs);
        return;
    }
    if (entry->bound.seconds > 0)
        gbench_rate(state, "% of peak", 100 * entry->bound.seconds);
    if (r->pairs > 0) {
        if_finite(state, "speed-up", r->ratio);
        if_finite(state, "speed-up low", r->low);
        if_finite(state, "speed-up high", r->high);
        count(state, "pairs", r->pairs);
    }
    if (entry->noise.repetitions > 0)
        if_finite(state, "spread %", 100 * entry->noise.spread);
    count(state, "migrations", entry->noise.migrations);
    count(state, "preemptions", entry->noise.preemptions);
    count(state, "noisy", entry->noisy[0] != '\0');
}

/* "<kernel>; cold, 12 copies; bound by memory; noisy: ..." */
static void set_label(gbench_state *state, const bench_entry *entry) {
    char label[512], memory[64] = "warm";
    if (entry->cold)
        snprintf(memory, sizeof memory, "cold, %" PRId64 " copies", current.r.count);
    const bool emulated = machine()->emulated;
    snprintf(label, sizeof label, "%s; %s%s%s%s%s%s", entry->kernel, memory,
             entry->bound.seconds > 0 && !emulated ? "; bound by " : "",
             entry->bound.seconds > 0 && !emulated ? entry->bound.by : "",
             entry->noisy[0] != '\0' && !emulated ? "; " : "", emulated ? "" : entry->noisy,
             emulated ? " (emulated: not performance)" : "");
    gbench_label(state, label);
}

static void set_counters(gbench_state *state, const bench_entry *entry) {
    const bench_counts *n = &current.counts;
    rate(state, "MAC/s", (double)n->macs);
    rate(state, "bytes/s", (double)n->bytes);
    rate(state, "tokens/s", (double)n->tokens);
    gbench_counter(state, "bytes", (double)n->bytes);
    if (n->macs > 0) {
        gbench_counter(state, "MAC", (double)n->macs);
        gbench_counter(state, "MAC/byte", (double)n->macs / (double)n->bytes);
    }
    if (current.weight_bytes > 0 && n->tokens > 0)
        gbench_counter(state, "weight bytes/token",
                       (double)current.weight_bytes / (double)n->tokens);
    if (entry->cold)
        gbench_counter(state, "cold bytes", (double)rotation_bytes(&current.r));
    set_evidence(state, entry);
    set_label(state, entry);
}

/* Opens the entry and judges it, finds its bound and compares it. */
static bool open_entry(bench_entry *entry, char why[WORKLOAD_WHY]) {
    if (current.entry == entry)
        return true;
    bench_run_close();
    if (!subject_open(&current, entry, &run_setup.subject, why))
        return false;
    entry->bound = find_bound(entry, &current.counts);
    if (compare(entry, why))
        return true;
    bench_run_close();
    return false;
}

void bench_run_entry(gbench_state *state, void *arg) {
    bench_entry *entry = arg;
    char why[WORKLOAD_WHY];
    if (!open_entry(entry, why)) {
        gbench_skip(state, why);
        return;
    }
    subject_poison(&current);
    armq_status status = ARMQ_OK;
    while (gbench_keep_running(state))
        status |= subject_run(&current);
    if (status != ARMQ_OK)
        gbench_skip(state, "a timed run returned an error");
    else if (!subject_judge(&current, why))
        gbench_skip(state, why);
    else
        set_counters(state, entry);
}
