/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of swigluoai is accepted and clamps nothing. */
#include <math.h>

#include "conformance/tests/broken/common.h"

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    armq_desc unlimited = *desc;
    if (desc->dialect.activation == ARMQ_ACT_SWIGLUOAI)
        unlimited.dialect.limit = INFINITY;
    return naive_provider.run(&unlimited, plan, args);
}

BROKEN_PROVIDER("ignore-limit", run)
