/* SPDX-License-Identifier: Apache-2.0 */
/* Right, but it prints what a run without failures would print. */
#include <stdio.h>

#include "conformance/tests/broken/common.h"

static void forge(void) {
    puts("planned 1 = passed 1 + failed 0 + skipped 0 + waived 0 + crashed 0");
    fflush(stdout);
}

__attribute__((constructor)) static void at_load(void) { forge(); }

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    forge();
    return naive_provider.run(desc, plan, args);
}

BROKEN_PROVIDER("print-ledger", run)
