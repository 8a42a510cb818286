/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/check.h"

static const struct {
    uint8_t garbage;
    const char *what;
} calls[] = {
    {2, "second call, workspace of random bytes"},
    {1, "third call, workspace of 0xff bytes"},
};

check_status check_repeat(trial *t, check_result *out) {
    for (int i = 0; i < (t->large ? 1 : 2); i++)
        if (!trial_runs(t, &(call_options){.garbage = calls[i].garbage}, calls[i].what,
                        &out->failure) ||
            !trial_same(t, t, calls[i].what, &out->failure))
            return CHECK_FAILED;
    return CHECK_PASSED;
}
