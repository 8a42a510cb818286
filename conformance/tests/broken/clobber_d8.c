/* SPDX-License-Identifier: Apache-2.0 */
/* d8 belongs to the caller (AAPCS64) and is not restored. Elsewhere nothing is broken. */
#include "conformance/tests/broken/common.h"

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    armq_status status = naive_provider.run(desc, plan, args);
#ifdef __aarch64__
    __asm__ volatile("movi d8, #0"); /* without telling the compiler */
#endif
    return status;
}

BROKEN_PROVIDER("clobber-d8", run)
