/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/ledger.h"

#include <inttypes.h>

#include "conformance/check.h"
#include "kernels/api/names.h"

void ledger_count(ledger *l, case_status status) {
    switch (status) {
    case CASE_PASSED:
        l->passed++;
        return;
    case CASE_FAILED:
        l->failed++;
        return;
    case CASE_SKIPPED:
        l->skipped++;
        return;
    case CASE_WAIVED:
        l->waived++;
        return;
    case CASE_CRASHED:
        l->crashed++;
        return;
    }
}

ledger ledger_sum(const plan *p, const outcome *outcomes,
                  bool (*keep)(const plan_task *t, int64_t arg), int64_t arg) {
    ledger l = {0};
    for (int64_t i = 0; i < p->count; i++) {
        if (keep && !keep(&p->tasks[i], arg))
            continue;
        l.planned++;
        if (outcomes[i].done)
            ledger_count(&l, outcomes[i].status);
    }
    return l;
}

bool ledger_balances(const ledger *l) {
    return l->planned == l->passed + l->failed + l->skipped + l->waived + l->crashed;
}

int64_t ledger_executed(const ledger *l) { return l->passed + l->failed + l->waived + l->crashed; }

const char *ledger_text(const ledger *l, char text[160]) {
    snprintf(text, 160,
             "planned %" PRId64 " = passed %" PRId64 " + failed %" PRId64 " + skipped %" PRId64
             " + waived %" PRId64 " + crashed %" PRId64,
             l->planned, l->passed, l->failed, l->skipped, l->waived, l->crashed);
    return text;
}

int ledger_exit_status(const ledger *l) {
    if (l->failed + l->crashed > 0 || !ledger_balances(l))
        return EXIT_FAILURES;
    return ledger_executed(l) > 0 ? EXIT_ALL_PASSED : EXIT_NOTHING_RAN;
}

/* --- The table -----------------------------------------------------------------------------------
 */

static bool is_cell(const plan_task *t, int64_t cell) {
    return t->provider == cell / ARMQ_OP_COUNT && (int64_t)t->c.desc.op == cell % ARMQ_OP_COUNT;
}

static void print_rows(FILE *out, const plan *p, const outcome *outcomes) {
    fprintf(out, "%-20s %-16s %8s %8s %8s %8s %8s\n", "provider", "op", "passed", "failed",
            "skipped", "waived", "crashed");
    for (int64_t cell = 0; cell < p->provider_count * ARMQ_OP_COUNT; cell++) {
        ledger l = ledger_sum(p, outcomes, is_cell, cell);
        if (l.planned > 0)
            fprintf(out,
                    "%-20s %-16s %8" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64
                    "\n",
                    p->providers[cell / ARMQ_OP_COUNT].name,
                    armq_op_name((armq_op)(cell % ARMQ_OP_COUNT)), l.passed, l.failed, l.skipped,
                    l.waived, l.crashed);
    }
}

static void print_not_claimed(FILE *out, const plan *p, const outcome *outcomes, int64_t provider) {
    bool any = false;
    for (int k = 0; k < check_count(); k++) {
        int64_t count = 0;
        for (int64_t i = 0; i < p->count; i++)
            count += p->tasks[i].provider == provider && outcomes[i].done &&
                     (outcomes[i].not_claimed >> k & 1);
        if (count == 0)
            continue;
        if (!any)
            fprintf(out, "not claimed by %s, so not judged:", p->providers[provider].name);
        fprintf(out, "%s %s on %" PRId64, any ? "," : "", check_table[k].name, count);
        any = true;
    }
    if (any)
        fprintf(out, " case(s)\n");
}

/* Why the first case of a cell was skipped, for providers that do run here. */
static void print_refusals(FILE *out, const plan *p, const outcome *outcomes) {
    for (int64_t cell = 0; cell < p->provider_count * ARMQ_OP_COUNT; cell++) {
        const provider_info *info = &p->providers[cell / ARMQ_OP_COUNT];
        ledger l = ledger_sum(p, outcomes, is_cell, cell);
        for (int64_t i = 0; info->runs_here && l.skipped > 0 && i < p->count; i++) {
            if (!is_cell(&p->tasks[i], cell) || !outcomes[i].done ||
                outcomes[i].status != CASE_SKIPPED)
                continue;
            fprintf(out, "%s: %" PRId64 " of %s skipped, %s%s\n", info->name, l.skipped,
                    armq_op_name(p->tasks[i].c.desc.op),
                    l.skipped > 1 ? "the first because: " : "because: ",
                    outcomes[i].message ? outcomes[i].message : "");
            break;
        }
    }
}

void ledger_print_table(FILE *out, const plan *p, const outcome *outcomes) {
    print_rows(out, p, outcomes);
    for (int64_t i = 0; i < p->provider_count; i++)
        print_not_claimed(out, p, outcomes, i);
    for (int64_t i = 0; i < p->provider_count; i++)
        if (!p->providers[i].runs_here && !p->providers[i].broken)
            fprintf(out, "%s: skipped, %s\n", p->providers[i].name, p->providers[i].why);
    print_refusals(out, p, outcomes);
    if (p->dropped)
        fprintf(out,
                "%" PRId64
                " combination(s) left out: no dialect defines them, or no provider takes them\n",
                p->dropped);
    if (p->filtered)
        fprintf(out, "%" PRId64 " case(s) were left out by --filter\n", p->filtered);
    fputs("\n", out);
}
