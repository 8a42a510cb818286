/* SPDX-License-Identifier: Apache-2.0 */
/* The bias is accepted and not added. */
#include "conformance/tests/broken/common.h"

float naive_add_bias(float y, const naive_packed *packed, int64_t n) {
    (void)packed, (void)n;
    return y;
}

BROKEN_PROVIDER("forget-bias", NULL)
