/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/speedup.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/api/names.h"

static bool baseline_op(armq_op op, armq_op *baseline) {
    switch (op) {
    case ARMQ_OP_LINEAR_W8A8:
    case ARMQ_OP_LINEAR_W4A8:
        *baseline = ARMQ_OP_LINEAR_BF16;
        return true;
    case ARMQ_OP_MOE_W8A8:
    case ARMQ_OP_MOE_W4A8:
        *baseline = ARMQ_OP_MOE_BF16;
        return true;
    default:
        return false;
    }
}

static bool same_problem(const armq_case *a, const armq_case *b) {
    const armq_desc *x = &a->desc, *y = &b->desc;
    return x->tokens == y->tokens && x->n == y->n && x->k == y->k && x->hidden == y->hidden &&
           x->intermediate == y->intermediate && x->experts == y->experts && x->top_k == y->top_k &&
           x->in == y->in && x->out == y->out && a->threads == b->threads;
}

static bool timed(const bench_entry *entry) { return !entry->failed && entry->median > 0; }

const bench_entry *speedup_baseline(const bench_plan *plan, const bench_entry *entry) {
    static const char *const providers[] = {"bf16", "neon"};
    armq_op op;
    if (!timed(entry) || !baseline_op(entry->c.desc.op, &op))
        return NULL;
    for (size_t p = 0; p < sizeof providers / sizeof *providers; p++)
        for (int64_t i = 0; i < plan->count; i++) {
            const bench_entry *other = &plan->entries[i];
            if (timed(other) && other->c.desc.op == op &&
                strcmp(other->provider->name, providers[p]) == 0 &&
                same_problem(&entry->c, &other->c))
                return other;
        }
    return NULL;
}

int64_t speedup_print(const bench_plan *plan, FILE *out) {
    int64_t shown = 0;
    for (int64_t i = 0; i < plan->count; i++) {
        const bench_entry *entry = &plan->entries[i];
        const bench_entry *base = speedup_baseline(plan, entry);
        if (base == NULL)
            continue;
        if (shown++ == 0)
            fputs("\nSpeed-up over bf16: ratio of median times, not paired, no confidence interval "
                  "(repetitions: --benchmark_repetitions)\n",
                  out);
        fprintf(out,
                "  %6.2fx  %s: %.6g us (%" PRId64
                " repetitions); bf16 op on %s (%s): %.6g us (%" PRId64 " repetitions)\n",
                base->median / entry->median, entry->name, entry->median * 1e6, entry->repetitions,
                base->provider->name, base->kernel, base->median * 1e6, base->repetitions);
    }
    return shown;
}
