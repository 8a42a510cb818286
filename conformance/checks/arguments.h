/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the check `arguments`, one file each. */
#ifndef ARMQ_CONFORMANCE_CHECKS_ARGUMENTS_H
#define ARMQ_CONFORMANCE_CHECKS_ARGUMENTS_H

#include "conformance/check.h"

/* query refuses every description that contradicts the contract, with a reason. */
bool arguments_of_query(trial *t, check_failure *failure);

/* pack and run refuse every argument that contradicts the description, and write nothing. */
bool arguments_of_pack(trial *t, check_failure *failure);
bool arguments_of_run(trial *t, check_failure *failure);

/* With or without an optional operand, the result is the reference's; refusing is allowed. */
check_status arguments_optional(trial *t, check_result *out);

#endif
