/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "conformance/allocations.h"
#include "conformance/check.h"

/* A call of run with nothing of the harness in between; and those before it, of which the first may
 * have allocated what later ones use again. */
check_status check_alloc(trial *t, check_result *out) {
    if (!(t->support.claims & ARMQ_CLAIM_NO_ALLOC))
        return check_skip(out, "not claimed");
    if (!allocations_are_counted())
        return check_skip(out, "this build does not count allocations");
    armq_threads threads = threads_serial(t->c.threads);
    armq_args args;
    trial_args(t, &threads, &args);
    trial_enter(t);
    int64_t before = allocations_count();
    armq_status status = call_run_safely(t->provider, &t->c.desc, t->plan, &args);
    int64_t after = allocations_count(), earlier = t->root->allocations;
    trial_leave(t);
    if (status != ARMQ_OK)
        failure_set(&out->failure, "another call returned %d", (int)status);
    else
        failure_set(&out->failure,
                    "run allocated memory %" PRId64 " times, and %" PRId64
                    " times in calls before, though it claims not to",
                    after - before, earlier);
    return check_verdict(status == ARMQ_OK && after == before && earlier == 0);
}
