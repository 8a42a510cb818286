/* SPDX-License-Identifier: Apache-2.0 */
/* The alpha of swigluoai is accepted, and 1 is used. */
#include "conformance/tests/broken/common.h"

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    armq_desc plain = *desc;
    if (desc->dialect.activation == ARMQ_ACT_SWIGLUOAI)
        plain.dialect.alpha = 1.0f;
    return naive_provider.run(&plain, plan, args);
}

BROKEN_PROVIDER("ignore-alpha", run)
