/* SPDX-License-Identifier: Apache-2.0 */
/* Three tokens abort, and leave a child behind that holds on to everything it has inherited. */
#include <stdlib.h>
#include <unistd.h>

#include "conformance/tests/broken/common.h"

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    if (desc->tokens == 3) {
        if (fork() == 0)
            for (;;)
                pause();
        abort();
    }
    return naive_provider.run(desc, plan, args);
}

BROKEN_PROVIDER("fork-and-abort", run)
