/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/subject.h"

#include "kernels/api/names.h"

static bool cannot_bind(const subject *s, const core_list *cores, char why[WORKLOAD_WHY]) {
    snprintf(why, WORKLOAD_WHY, "%d threads cannot be bound to processors %s", s->entry->c.threads,
             cores->kinds[s->entry->kind].cpus);
    return false;
}

/* The calling thread's core. A provider with threads of its own gets the cores as a set, which its
 * threads inherit; they may start in any of its calls, so this comes before all of them. */
static bool bind_caller(subject *s, const core_list *cores, char why[WORKLOAD_WHY]) {
    const int32_t *cpus = &cores->cpus[cores->kinds[s->entry->kind].first];
    const int32_t n = s->entry->c.threads;
    armq_support support = {.size = sizeof support};
    const bool own = s->entry->provider->query(&s->entry->c.desc, &support) == ARMQ_OK &&
                     (support.claims & ARMQ_CLAIM_OWN_THREADS) != 0;
    s->cpu = own && n > 1 ? -1 : cpus[0];
    return core_bind_self(cpus, own ? n : 1) || cannot_bind(s, cores, why);
}

/* One core for each thread. */
static bool bind_pool(const subject *s, const core_list *cores, char why[WORKLOAD_WHY]) {
    const int32_t *cpus = &cores->cpus[cores->kinds[s->entry->kind].first];
    return s->w.pool == NULL || thread_pool_bind(s->w.pool, cpus, s->w.c.threads) ||
           cannot_bind(s, cores, why);
}

armq_status subject_run(void *arg) {
    subject *s = arg;
    return s->entry->cold ? rotation_run(&s->r) : workload_run(&s->w);
}

void subject_poison(subject *s) { workload_poison(&s->w); }

bool subject_judge(const subject *s, char why[WORKLOAD_WHY]) { return workload_judge(&s->w, why); }

/* The copies are equal, so a few are judged: the first, the last and some between. */
static bool judge_copies(subject *s, char why[WORKLOAD_WHY]) {
    enum { JUDGED = 8 };
    const int64_t copies = s->entry->cold ? s->r.count : 1;
    const int64_t judged = copies < JUDGED ? copies : JUDGED;
    for (int64_t i = 0; i < judged; i++) {
        if (s->entry->cold)
            s->r.next = judged > 1 ? (copies - 1) * i / (judged - 1) : 0;
        subject_poison(s);
        const armq_status status = subject_run(s);
        if (status != ARMQ_OK)
            snprintf(why, WORKLOAD_WHY, "run returned %s", armq_status_name(status));
        if (status != ARMQ_OK || !subject_judge(s, why))
            return false;
    }
    return true;
}

bool subject_open(subject *s, const bench_entry *entry, const subject_setup *setup,
                  char why[WORKLOAD_WHY]) {
    *s = (subject){.entry = entry};
    if (!bind_caller(s, setup->cores, why) ||
        !workload_open(&s->w, &entry->c, entry->provider, why)) {
        s->entry = NULL;
        return false;
    }
    const int64_t used = bench_experts_used(&entry->c, s->w.data.at[OPERAND_TOPK_IDS]);
    s->counts = bench_count(&entry->c, used);
    s->weight_bytes = bench_weight_bytes(&entry->c, &s->w.support, used);
    if (bind_pool(s, setup->cores, why) &&
        (!entry->cold || rotation_open(&s->r, &s->w, setup->cold_bytes, why)) &&
        judge_copies(s, why))
        return true;
    subject_close(s);
    return false;
}

void subject_close(subject *s) {
    if (s->entry == NULL)
        return;
    rotation_close(&s->r);
    workload_close(&s->w);
    *s = (subject){.entry = NULL};
}
