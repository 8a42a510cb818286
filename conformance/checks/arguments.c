/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/checks/arguments.h"

#include <stdlib.h>

#include "kernels/api/names.h"

enum { TOKENS = 2 };

/* The case with a bias if it has none, and without if it has one. */
static check_status toggled_bias(trial *t, check_result *out) {
    static const int64_t rows[TOKENS] = {0, 1};
    bool has = t->c.desc.uses & ARMQ_USES_BIAS;
    const char *what = has ? "without bias" : "with bias";
    armq_case c = t->c;
    trial d;
    c.desc.uses ^= ARMQ_USES_BIAS;
    c.desc.bias_dtype = has ? ARMQ_DTYPE_NONE : ARMQ_DTYPE_F32;
    if (c.desc.tokens > TOKENS)
        c.desc.tokens = TOKENS;
    trial_state state =
        trial_derive(&d, t, &c, inputs_rows(t->in, &c, rows), GUARD_END, &out->failure);
    check_status status = state == TRIAL_READY ? check_verdict(check_judge(&d, what, &out->failure))
                                               : check_not_ready(&d, state, what, out);
    trial_close(&d);
    return status;
}

check_status arguments_optional(trial *t, check_result *out) {
    return armq_op_is_linear(t->c.desc.op) ? toggled_bias(t, out) : CHECK_PASSED;
}

check_status check_arguments(trial *t, check_result *out) {
    /* Odd placement: a call that is wrongly accepted still finds memory all around. */
    if (!trial_place(t, GUARD_ODD, &out->failure) || !arguments_of_query(t, &out->failure) ||
        !arguments_of_pack(t, &out->failure) || !arguments_of_run(t, &out->failure))
        return CHECK_FAILED;
    check_status status = arguments_optional(t, out);
    /* Refusing an optional operand is as good as honouring it. */
    return status == CHECK_SKIPPED ? CHECK_PASSED : status;
}
