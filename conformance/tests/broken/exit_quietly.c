/* SPDX-License-Identifier: Apache-2.0 */
/* Three tokens end the process as if all were well. */
#include <stdlib.h>

#include "conformance/tests/broken/common.h"

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    if (desc->tokens == 3)
        exit(0);
    return naive_provider.run(desc, plan, args);
}

BROKEN_PROVIDER("exit-quietly", run)
