/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded waivers: failures that are known and accepted, each with its reason. A file of lines
 *     waive PROVIDER CHECK REGEX # reason
 * PROVIDER and CHECK may be `*`; REGEX (POSIX extended, may hold spaces) must match in the text of
 * the case. `#` at the start of a line is a comment. */
#ifndef ARMQ_CONFORMANCE_PROFILE_H
#define ARMQ_CONFORMANCE_PROFILE_H

#include <stdio.h>

#include "conformance/result.h"

typedef struct profile profile;

/* NULL with file, line and what is allowed in err. */
profile *profile_load(const char *path, FILE *err);
void profile_free(profile *p);

/* A failed or crashed result whose every failed check is waived becomes WAIVED, with the reasons.
 */
void profile_apply(const profile *p, const char *provider, const char *case_text,
                   case_result *result);

#endif
