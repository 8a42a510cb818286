/* SPDX-License-Identifier: Apache-2.0 */
/* Result files: JSON Lines (conformance/RESULTS.md is the schema) and JUnit XML. */
#ifndef ARMQ_CONFORMANCE_RESULTS_H
#define ARMQ_CONFORMANCE_RESULTS_H

#include <jansson.h>

#include "conformance/ledger.h"
#include "conformance/options.h"
#include "conformance/plan.h"
#include "conformance/reduction.h"

/* --- Records. The caller owns what is returned; NULL without memory. ----------------------------
 */

json_t *results_run_record(const plan *p, int argc, char **argv);
json_t *results_case_record(const plan *p, const plan_task *t, const case_result *result);
/* Adds what smaller cases told. */
void results_set_shrunk(json_t *case_record, const reduced *d);
json_t *results_ledger_record(const ledger *l);

/* Writes one line and flushes it, so that a run that is killed has lost nothing. False: errno. */
bool results_write(FILE *file, const json_t *record);

/* What the summaries keep of a case record; false if it is none. */
bool results_outcome(const json_t *record, outcome *o);

/* --- Files --------------------------------------------------------------------------------------
 */

/* Creates a file. One that exists is an error unless `force` (or it is no regular file). */
FILE *results_create(const char *option, const char *path, bool force, FILE *err);

/* Reads a file that a run of the same plan wrote, up to a last line that may be cut, fills
 * outcomes, removes the cut line and returns the file to append to. NULL with a message in err: not
 * readable, another plan, another machine. *complete: the file holds the ledger of its run. */
FILE *results_resume(const char *path, const plan *p, outcome *outcomes, bool *complete, FILE *err);

/* Test reports for CI systems: a testsuite per provider, a testcase per case; the text of a failure
 * is the command that reproduces it (results_reproduce). */
bool junit_write(FILE *file, const plan *p, const outcome *outcomes, const options *with,
                 const char *program);

/* Writes text with XML's special characters escaped and what XML 1.0 forbids replaced by '?'. */
void junit_escape(FILE *file, const char *text);

/* --- On screen ----------------------------------------------------------------------------------
 */

/* "value: y[3,17] got 1.25, wanted [1.5, 1.5625]: sentence", one per failed check, joined by "; ".
 */
char *results_failure_text(const json_t *case_record);

/* The command line that repeats one case. Owned by the caller. */
char *results_reproduce(const plan *p, const plan_task *t, const options *o, const char *program);

#endif
