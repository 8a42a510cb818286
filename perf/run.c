/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/run.h"

#include <string.h>

#include "harness/machine.h"
#include "kernels/api/names.h"
#include "perf/counts.h"
#include "perf/workload.h"

static struct {
    const bench_entry *entry; /* NULL: none open */
    workload w;
    bench_counts counts;
    int64_t weight_bytes;
} current;

void bench_run_close(void) {
    if (current.entry != NULL)
        workload_close(&current.w);
    current.entry = NULL;
}

/* Opens the entry and judges one run of it. */
static bool open_entry(const bench_entry *entry, char why[WORKLOAD_WHY]) {
    if (current.entry == entry)
        return true;
    bench_run_close();
    if (!workload_open(&current.w, &entry->c, entry->provider, why))
        return false;
    current.entry = entry;
    workload_poison(&current.w);
    const armq_status status = workload_run(&current.w);
    if (status != ARMQ_OK)
        snprintf(why, WORKLOAD_WHY, "run returned %s", armq_status_name(status));
    if (status != ARMQ_OK || !workload_judge(&current.w, why)) {
        bench_run_close();
        return false;
    }
    const int32_t *ids = current.w.data.at[OPERAND_TOPK_IDS];
    int64_t used = bench_experts_used(&entry->c, ids);
    current.counts = bench_count(&entry->c, used);
    current.weight_bytes = bench_weight_bytes(&entry->c, &current.w.support, used);
    return true;
}

/* Under emulation the name says that the rate is no performance, wherever the number ends up. */
static void rate(gbench_state *state, const char *name, int64_t value) {
    char text[64];
    snprintf(text, sizeof text, "%s%s", machine()->emulated ? "emulated " : "", name);
    if (value > 0)
        gbench_rate(state, text, (double)value);
}

static void set_counters(gbench_state *state, const bench_entry *entry) {
    const bench_counts *n = &current.counts;
    rate(state, "MAC/s", n->macs);
    rate(state, "bytes/s", n->bytes);
    rate(state, "tokens/s", n->tokens);
    gbench_counter(state, "bytes", (double)n->bytes);
    if (n->macs > 0) {
        gbench_counter(state, "MAC", (double)n->macs);
        gbench_counter(state, "MAC/byte", (double)n->macs / (double)n->bytes);
    }
    if (current.weight_bytes > 0 && n->tokens > 0)
        gbench_counter(state, "weight bytes/token",
                       (double)current.weight_bytes / (double)n->tokens);
    char label[160];
    snprintf(label, sizeof label, "%s%s", entry->kernel,
             machine()->emulated ? " (emulated: not performance)" : "");
    gbench_label(state, label);
}

void bench_run_entry(gbench_state *state, void *arg) {
    const bench_entry *entry = arg;
    char why[WORKLOAD_WHY];
    if (!open_entry(entry, why)) {
        gbench_skip(state, why);
        return;
    }
    workload_poison(&current.w);
    armq_status status = ARMQ_OK;
    while (gbench_keep_running(state))
        status |= workload_run(&current.w);
    if (status != ARMQ_OK)
        gbench_skip(state, "a timed run returned an error");
    else if (!workload_judge(&current.w, why))
        gbench_skip(state, why);
    else
        set_counters(state, entry);
}
