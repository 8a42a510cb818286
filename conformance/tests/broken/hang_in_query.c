/* SPDX-License-Identifier: Apache-2.0 */
/* Asked about three tokens, it never answers. */
#include "conformance/tests/broken/common.h"

static volatile int again = 1;

static armq_status query(const armq_desc *desc, armq_support *support) {
    while (desc->tokens == 3 && again)
        continue;
    return naive_provider.query(desc, support);
}

const armq_provider *armq_provider_get(void) {
    static armq_provider provider;
    provider = naive_provider;
    provider.name = "hang-in-query";
    provider.query = query;
    return &provider;
}
