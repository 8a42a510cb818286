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

/* Routing decides how many experts are read, the activation what is done between the products; both
 * are the same for all ops without experts. */
static bool same_problem(const armq_case *a, const armq_case *b) {
    const armq_desc *x = &a->desc, *y = &b->desc;
    return x->tokens == y->tokens && x->n == y->n && x->k == y->k && x->hidden == y->hidden &&
           x->intermediate == y->intermediate && x->experts == y->experts && x->top_k == y->top_k &&
           x->in == y->in && x->out == y->out && a->threads == b->threads &&
           a->routing == b->routing && a->seed == b->seed &&
           x->dialect.activation == y->dialect.activation;
}

const bench_entry *speedup_baseline(const bench_plan *plan, const bench_entry *entry) {
    static const char *const providers[] = {"bf16", "neon"};
    armq_op op;
    if (!baseline_op(entry->c.desc.op, &op))
        return NULL;
    for (size_t p = 0; p < sizeof providers / sizeof *providers; p++)
        for (int64_t i = 0; i < plan->count; i++) {
            const bench_entry *other = &plan->entries[i];
            if (!other->failed && other->c.desc.op == op && other->cold == entry->cold &&
                other->kind == entry->kind && strcmp(other->provider->name, providers[p]) == 0 &&
                same_problem(&entry->c, &other->c))
                return other;
        }
    return NULL;
}

int64_t speedup_print(const bench_plan *plan, FILE *out) {
    int64_t shown = 0;
    for (int64_t i = 0; i < plan->count; i++) {
        const bench_entry *entry = &plan->entries[i];
        const stats_ratio *r = &entry->speedup;
        if (r->pairs == 0 || entry->failed)
            continue;
        if (shown++ == 0)
            fputs(
                "\nSpeed-up over bf16: interleaved pairs of repetitions in one process, geometric "
                "mean and 95 % confidence interval\n",
                out);
        if (entry->noisy[0] != '\0')
            fprintf(out, "  too noisy to judge  %s: %s\n", entry->name, entry->noisy);
        else
            fprintf(out, "  %6.2fx [%.2f, %.2f]  %s over %s (%s), %" PRId64 " pairs\n", r->ratio,
                    r->low, r->high, entry->name, entry->baseline_provider, entry->baseline_kernel,
                    r->pairs);
    }
    return shown;
}
