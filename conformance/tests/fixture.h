/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of a whole run need: options and a plan from a command line, text that was printed. */
#ifndef ARMQ_CONFORMANCE_TESTS_FIXTURE_H
#define ARMQ_CONFORMANCE_TESTS_FIXTURE_H

#include "conformance/options.h"
#include "conformance/plan.h"

/* Parses "armq-conform" followed by up to 14 arguments that end with NULL. Messages go to *said,
 * which the caller frees. */
options_result parse_arguments(options *o, const char *const *arguments, char **said);

/* Options and plan, both of which must come about. */
void make_plan(options *o, plan *p, const char *const *arguments);

/* Path of a new, empty folder; remove_folder removes it with the files in it. */
char *make_folder(void);
void remove_folder(char *folder);

/* Whole content of a file, NUL-terminated. */
char *read_all(const char *path);

#endif
