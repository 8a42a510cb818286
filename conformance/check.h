/* SPDX-License-Identifier: Apache-2.0 */
/* A check: one property that a case is judged on. A new check is one file in conformance/checks/
 * and one row in the table of conformance/checks.c. Names never change once published. */
#ifndef ARMQ_CONFORMANCE_CHECK_H
#define ARMQ_CONFORMANCE_CHECK_H

#include "conformance/judge.h"
#include "conformance/trial.h"

typedef struct {
    const char *name; /* as --check and results have it */
    const char *help; /* the property, one line */
    bool on_large;    /* also run on large cases */
    /* PASSED: the property holds. FAILED: out->failure says where not. SKIPPED: out->note says why.
     */
    check_status (*run)(trial *t, check_result *out);
} check;

extern const check check_table[]; /* in order of execution; ends with name NULL */
int check_count(void);
int check_index(const char *name); /* -1 if there is none */

/* Runs the selected checks (bit i = check_table[i]) on a case and fills *result. The base run is
 * counted as part of `value`. */
void checks_run(const armq_case *c, const armq_provider *provider, uint64_t selected,
                case_result *result, watch *w);

/* --- For check authors; failure_set is in trial.h ----------------------------------------------
 */

/* Writes the note and returns CHECK_SKIPPED. */
__attribute__((format(printf, 2, 3))) check_status check_skip(check_result *out, const char *format,
                                                              ...);

/* PASSED if ok, else FAILED (out->failure is already filled). */
static inline check_status check_verdict(bool ok) { return ok ? CHECK_PASSED : CHECK_FAILED; }

/* What a derived trial that did not come about means: refusing is allowed (skipped, with the
 * reason); not doing what was accepted is a failure. `what` names the derived case. */
check_status check_not_ready(const trial *d, trial_state state, const char *what,
                             check_result *out);

/* Judges a base run by the reference, all elements; `what` is put before the failure's detail. */
bool check_judge(trial *t, const char *what, check_failure *failure);

/* The same for some tokens only. */
bool check_judge_rows(trial *t, const int64_t *rows, int64_t count, const char *what,
                      check_failure *failure);

/* All elements of the last call. */
bool check_judge_last(trial *t, const char *what, check_failure *failure);

/* Puts "what: " before failure->detail. */
void failure_prefix(check_failure *failure, const char *what);

check_status check_value(trial *t, check_result *out);
check_status check_written(trial *t, check_result *out);
check_status check_repeat(trial *t, check_result *out);
check_status check_threads(trial *t, check_result *out);
check_status check_batch(trial *t, check_result *out);
check_status check_permute(trial *t, check_result *out);
check_status check_scale(trial *t, check_result *out);
check_status check_split(trial *t, check_result *out);
check_status check_reentrant(trial *t, check_result *out);
check_status check_align(trial *t, check_result *out);
check_status check_alloc(trial *t, check_result *out);
check_status check_registers(trial *t, check_result *out);
check_status check_arguments(trial *t, check_result *out);
check_status check_extremes(trial *t, check_result *out);
check_status check_poison(trial *t, check_result *out);
check_status check_overflow(trial *t, check_result *out);
/* Of memory, for tests; at the start 2 GiB. INT64_MAX: none, and nothing is measured. */
void check_overflow_limit(int64_t bytes);
check_status check_memory(trial *t, check_result *out);
check_status check_inputs(trial *t, check_result *out);
check_status check_crash(trial *t, check_result *out);

#endif
