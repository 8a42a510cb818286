/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "conformance/check.h"

static bool same(check_failure *failure, const char *name, int number, uint64_t before,
                 uint64_t after) {
    if (before == after)
        return true;
    char digits[4] = "";
    if (number >= 10)
        digits[0] = (char)('0' + number / 10);
    if (number >= 0)
        digits[number >= 10] = (char)('0' + number % 10);
    failure_set(failure, "%s%s was 0x%016" PRIx64 " before the call and is 0x%016" PRIx64 " after",
                name, digits, before, after);
    return false;
}

check_status check_registers(trial *t, check_result *out) {
    call_registers before, after;
    if (t->fp_control.found) { /* noticed in an earlier call, pack and prepare included */
        out->failure = t->fp_control.failure;
        return CHECK_FAILED;
    }
    if (!call_checks_registers())
        return check_skip(out, "AArch64 only");
    if (!trial_runs(t, &(call_options){.before = &before, .after = &after},
                    "run, through the trampoline", &out->failure))
        return CHECK_FAILED;
    bool ok = same(&out->failure, "sp", -1, before.sp, after.sp) &&
              same(&out->failure, "x", 29, before.x29, after.x29) &&
              same(&out->failure, "FPCR", -1, before.fpcr, after.fpcr);
    for (int i = 0; i < 10 && ok; i++)
        ok = same(&out->failure, "x", 19 + i, before.x[i], after.x[i]);
    for (int i = 0; i < 8 && ok; i++)
        ok = same(&out->failure, "d", 8 + i, before.d[i], after.d[i]);
    return check_verdict(ok);
}
