/* SPDX-License-Identifier: Apache-2.0 */
/* Reading outside a buffer faults, which ends the worker: its parent then reports this check, with
 * the words of guard_describe. Writing between buffer and inaccessible page is noticed after every
 * call. The calls so far had the page behind the buffers; this one has it before them. */
#include "conformance/check.h"

check_status check_memory(trial *t, check_result *out) {
    if (!t->large && !trial_runs(t, &(call_options){.side = GUARD_START},
                                 "buffers at the start of a page", &out->failure))
        return CHECK_FAILED;
    if (t->trampled.found)
        out->failure = t->trampled.failure;
    return check_verdict(!t->trampled.found);
}
