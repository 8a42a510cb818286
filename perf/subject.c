/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/subject.h"

#include "kernels/api/names.h"

/* One core for each thread. A provider with threads of its own gets the cores as a set, which its
 * threads inherit. */
static bool bind(subject *s, const core_list *cores, char why[WORKLOAD_WHY]) {
    const core_kind *kind = &cores->kinds[s->entry->kind];
    const int32_t *cpus = &cores->cpus[kind->first], n = s->w.c.threads;
    const bool own = (s->w.support.claims & ARMQ_CLAIM_OWN_THREADS) != 0;
    s->cpu = own && n > 1 ? -1 : cpus[0];
    if (core_bind_self(cpus, own ? n : 1) &&
        (s->w.pool == NULL || thread_pool_bind(s->w.pool, cpus, n)))
        return true;
    snprintf(why, WORKLOAD_WHY, "%d threads cannot be bound to processors %s", n, kind->cpus);
    return false;
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
    *s = (subject){.entry = NULL};
    if (!workload_open(&s->w, &entry->c, entry->provider, why))
        return false;
    s->entry = entry;
    const int64_t used = bench_experts_used(&entry->c, s->w.data.at[OPERAND_TOPK_IDS]);
    s->counts = bench_count(&entry->c, used);
    s->weight_bytes = bench_weight_bytes(&entry->c, &s->w.support, used);
    if (bind(s, setup->cores, why) &&
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
