/* SPDX-License-Identifier: Apache-2.0 */
/* Its plan of three tokens is never given back. */
#include <stdlib.h>

#include "conformance/tests/broken/common.h"

static volatile int again = 1;

static armq_status prepare(const armq_desc *desc, const void *const packed[2], void **plan) {
    int64_t *tokens = malloc(sizeof *tokens);
    (void)packed;
    if (!tokens)
        return ARMQ_NO_MEMORY;
    *tokens = desc->tokens;
    *plan = tokens;
    return ARMQ_OK;
}

static void release(void *plan) {
    const int64_t *tokens = plan;
    while (*tokens == 3 && again)
        continue;
    free(plan);
}

const armq_provider *armq_provider_get(void) {
    static armq_provider provider;
    provider = naive_provider;
    provider.name = "hang-in-release";
    provider.prepare = prepare;
    provider.release = release;
    return &provider;
}
