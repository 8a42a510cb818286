/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/verdict.h"

#include <inttypes.h>

const char *verdict_vet(void *ctx, const gbench_result *result) {
    const bench_verdict *verdict = ctx;
    bench_entry *entry = bench_plan_find(verdict->plan, result->name);
    if (entry == NULL || verdict->emulated)
        return NULL;
    if (result->repeated == NULL && bound_invalid(&entry->bound, result->seconds))
        snprintf(entry->invalid, sizeof entry->invalid,
                 "invalid: %.0f %% of the measured peak (%s): faster than this machine, so no time",
                 bound_percent(&entry->bound, result->seconds), entry->bound.by);
    return entry->invalid[0] != '\0' ? entry->invalid : NULL;
}

void verdict_note(void *ctx, const gbench_result *result) {
    const bench_verdict *verdict = ctx;
    bench_entry *entry = bench_plan_find(verdict->plan, result->name);
    if (entry == NULL || result->repeated != NULL)
        return;
    if (result->error != NULL)
        entry->failed = true;
    else if (!bench_entry_add(entry, result->seconds))
        fprintf(stderr, "armq-bench: no memory to keep the time of %s\n", result->name);
}

typedef struct {
    int64_t failed, timed, noisy;
    const bench_entry *first_noisy;
} tally;

static tally count(const bench_plan *plan) {
    tally t = {.failed = 0};
    for (int64_t i = 0; i < plan->count; i++) {
        const bench_entry *entry = &plan->entries[i];
        t.failed += entry->failed;
        if (entry->failed || entry->repetitions == 0)
            continue;
        t.timed++;
        if (entry->noisy[0] == '\0')
            continue;
        if (t.noisy++ == 0)
            t.first_noisy = entry;
    }
    return t;
}

int verdict_print(const bench_verdict *verdict, FILE *out) {
    const tally t = count(verdict->plan);
    const bool noisy = !verdict->emulated && (t.noisy > 0 || verdict->load[0] != '\0');
    if (t.failed > 0)
        fprintf(out, "armq-bench: %" PRId64 " without a time, see the errors above\n", t.failed);
    if (verdict->emulated)
        fputs("armq-bench: noise verdict: none, times are those of the emulator\n", out);
    else if (noisy)
        fprintf(out, "armq-bench: noise verdict: too noisy to judge: %" PRId64 " of %" PRId64 "\n",
                t.noisy, t.timed);
    else
        fprintf(out, "armq-bench: noise verdict: quiet, %" PRId64 " timings\n", t.timed);
    if (noisy && t.first_noisy != NULL)
        fprintf(out, "    first: %s: %s\n", t.first_noisy->name, t.first_noisy->noisy);
    if (noisy && verdict->load[0] != '\0')
        fprintf(out, "    the machine: %s\n", verdict->load);
    if (t.failed > 0)
        return EXIT_WRONG;
    return noisy ? EXIT_NOISY : EXIT_TIMED;
}
