/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/peak_table.h"

#include <inttypes.h>
#include <stdlib.h>

#include "harness/threads.h"
#include "kernels/api/features.h"

const peaks *peak_table_find(const peak_table *table, int32_t kind, int32_t threads) {
    for (int64_t i = 0; i < table->count; i++)
        if (table->items[i].kind == kind && table->items[i].threads == threads)
            return &table->items[i];
    return NULL;
}

static bool add(peak_table *table, int32_t kind, int32_t threads) {
    if (peak_table_find(table, kind, threads) != NULL)
        return true;
    peaks *grown = realloc(table->items, (size_t)(table->count + 1) * sizeof *grown);
    if (grown == NULL)
        return false;
    table->items = grown;
    grown[table->count++] = (peaks){.kind = kind, .threads = threads};
    return true;
}

static bool measure(peaks *p, const peak_table_setup *setup, char why[PEAKS_WHY]) {
    const core_kind *kind = &setup->cores->kinds[p->kind];
    const int32_t *cpus = &setup->cores->cpus[kind->first];
    thread_pool *pool = thread_pool_open(p->threads);
    bool ok = pool != NULL && core_bind_self(cpus, 1) && thread_pool_bind(pool, cpus, p->threads);
    if (ok) {
        const armq_threads threads = thread_pool_threads(pool, p->threads);
        const peaks_setup one = {.threads = &threads,
                                 .features = setup->features,
                                 .l1 = setup->l1,
                                 .l2 = setup->l2,
                                 .llc = kind->llc,
                                 .memory = setup->memory,
                                 .seconds = setup->seconds,
                                 .repeats = setup->repeats};
        ok = threads.run != NULL && peaks_measure(p, &one, why);
    } else {
        snprintf(why, PEAKS_WHY, "%" PRId32 " threads cannot be started and bound to %s",
                 p->threads, kind->cpus);
    }
    thread_pool_close(pool);
    return ok;
}

bool peak_table_measure(peak_table *table, const bench_plan *plan, const peak_table_setup *setup,
                        char why[PEAKS_WHY]) {
    *table = (peak_table){.count = 0};
    bool ok = true;
    for (int64_t i = 0; ok && i < plan->count; i++) {
        const bench_entry *entry = &plan->entries[i];
        ok = add(table, entry->kind, 1) && add(table, entry->kind, entry->c.threads) &&
             add(table, entry->kind, bench_threads_most(setup->cores, entry->kind));
    }
    if (!ok)
        snprintf(why, PEAKS_WHY, "no memory for the peaks");
    for (int64_t i = 0; ok && i < table->count; i++)
        ok = measure(&table->items[i], setup, why);
    return ok;
}

void peak_table_free(peak_table *table) {
    free(table->items);
    *table = (peak_table){.count = 0};
}

json_t *peak_table_json(const peak_table *table, const char *prefix) {
    json_t *all = json_array();
    char name[80];
    for (int64_t i = 0; i < table->count; i++) {
        const peaks *p = &table->items[i];
        json_t *one = json_pack("{s:i, s:i}", "kind", (int)p->kind, "threads", (int)p->threads);
        for (int id = 0; id < PEAK_COUNT; id++) {
            snprintf(name, sizeof name, "%s%s MAC/s", prefix, peak_kinds[id].name);
            if (p->mac[id] > 0)
                json_object_set_new(one, name, json_real(p->mac[id]));
        }
        for (int level = 0; level < READ_COUNT; level++) {
            snprintf(name, sizeof name, "%sread %s bytes/s", prefix, read_level_names[level]);
            if (p->bytes[level] > 0)
                json_object_set_new(one, name, json_real(p->bytes[level]));
        }
        json_array_append_new(all, one);
    }
    return all;
}

void peak_table_print(const peak_table *table, const char *prefix, uint64_t features, FILE *out) {
    for (int64_t i = 0; i < table->count; i++) {
        const peaks *p = &table->items[i];
        fprintf(out, "armq-bench: %speaks, kind %" PRId32 ", %" PRId32 " thread%s:", prefix,
                p->kind, p->threads, p->threads == 1 ? "" : "s");
        for (int id = 0; id < PEAK_COUNT; id++)
            if (p->mac[id] > 0)
                fprintf(out, " %s %.2f", peak_kinds[id].name, p->mac[id] / 1e9);
        fputs(" GMAC/s; reads from", out);
        for (int level = 0; level < READ_COUNT; level++)
            if (p->bytes[level] > 0)
                fprintf(out, " %s %.2f", read_level_names[level], p->bytes[level] / 1e9);
        fputs(" GB/s\n", out);
    }
    for (int id = 0; id < PEAK_COUNT; id++)
        if (!(features & peak_kinds[id].feature))
            fprintf(out, "armq-bench: peak of %s skipped: the CPU lacks %s\n", peak_kinds[id].name,
                    armq_feature_name(peak_kinds[id].feature));
}
