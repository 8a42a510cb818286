/* SPDX-License-Identifier: Apache-2.0 */
/* A check: one property that a case is judged on. A new check is one file in conformance/checks/
 * and one row in the table of conformance/checks.c. Names never change once published. */
#ifndef ARMQ_CONFORMANCE_CHECK_H
#define ARMQ_CONFORMANCE_CHECK_H

#include "conformance/trial.h"

typedef struct {
    const char *name; /* as --check and results have it */
    const char *help; /* the property, one line */
    bool on_large;    /* also run on large cases */
    /* NULL: always. Else: does the check make sense here? If not, writes why to note. */
    bool (*applies)(const trial *t, char *note, size_t note_bytes);
    /* True = the property holds; else fills *failure. */
    bool (*run)(trial *t, check_failure *failure);
} check;

extern const check check_table[]; /* in order of execution; ends with name NULL */
int check_count(void);
int check_index(const char *name); /* -1 if there is none */

/* Runs the selected checks (bit i = check_table[i]) on a case and fills *result. */
void checks_run(const armq_case *c, const armq_provider *provider, uint64_t selected,
                case_result *result, watch *w);

/* For check authors: formats failure->detail. */
__attribute__((format(printf, 2, 3))) void failure_set(check_failure *failure, const char *format,
                                                       ...);

#endif
