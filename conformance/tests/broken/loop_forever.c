/* SPDX-License-Identifier: Apache-2.0 */
/* Three tokens never come to an end. */
#include "conformance/tests/broken/common.h"

static volatile int again = 1;

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    while (desc->tokens == 3 && again)
        continue;
    return naive_provider.run(desc, plan, args);
}

BROKEN_PROVIDER("loop-forever", run)
