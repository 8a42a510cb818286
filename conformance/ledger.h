/* SPDX-License-Identifier: Apache-2.0 */
/* What became of every planned task, and the sums of it. */
#ifndef ARMQ_CONFORMANCE_LEDGER_H
#define ARMQ_CONFORMANCE_LEDGER_H

#include <stdbool.h>
#include <stdio.h>

#include "conformance/plan.h"
#include "conformance/result.h"

/* A task's result as the summaries need it; the whole of it is in the JSON file. */
typedef struct {
    bool done;
    case_status status;
    double seconds;
    uint32_t not_claimed; /* bit i: check i was not run, since the provider does not claim it */
    char *message;        /* why it is not passed; owned, may be NULL */
    char *smallest;       /* text of the smallest case that fails alike; owned, mostly NULL */
} outcome;

typedef struct {
    int64_t planned, passed, failed, skipped, waived, crashed;
} ledger;

void ledger_count(ledger *l, case_status status);

/* Adds up outcomes [0, count) that `keep` accepts (NULL: all). */
ledger ledger_sum(const plan *p, const outcome *outcomes,
                  bool (*keep)(const plan_task *t, int64_t arg), int64_t arg);

/* planned = the sum of the others. */
bool ledger_balances(const ledger *l);
/* Cases on which a provider was called: all but the skipped ones. */
int64_t ledger_executed(const ledger *l);

/* "planned N = passed N + failed N + skipped N + waived N + crashed N" */
const char *ledger_text(const ledger *l, char text[160]);

/* The table provider x op, what was not claimed, what was left out; ends with a blank line. */
void ledger_print_table(FILE *out, const plan *p, const outcome *outcomes);

/* Exit status of a run by its ledger: 0, 1 or 3. */
int ledger_exit_status(const ledger *l);

#endif
