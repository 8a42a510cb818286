/* SPDX-License-Identifier: Apache-2.0 */
/* Three tokens are written through a pointer that is NULL. */
#include "conformance/tests/broken/common.h"

static int *volatile nowhere = NULL;

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    if (desc->tokens == 3)
        *nowhere = 1;
    return naive_provider.run(desc, plan, args);
}

BROKEN_PROVIDER("null-deref", run)
