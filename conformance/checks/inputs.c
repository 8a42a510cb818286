/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs are compared with their originals after every pack and run, packed weights after every
 * run. */
#include "conformance/check.h"

check_status check_inputs(trial *t, check_result *out) {
    if (t->changed.found)
        out->failure = t->changed.failure;
    return check_verdict(!t->changed.found);
}
