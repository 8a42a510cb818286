/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses three tokens with a status that is no refusal. */
#include <stdio.h>

#include "conformance/tests/broken/common.h"

static armq_status query(const armq_desc *desc, armq_support *support) {
    armq_status status = naive_provider.query(desc, support);
    if (status != ARMQ_OK || desc->tokens != 3)
        return status;
    snprintf(support->reason, sizeof support->reason, "three is too many");
    return (armq_status)77;
}

const armq_provider *armq_provider_get(void) {
    static armq_provider provider;
    provider = naive_provider;
    provider.name = "odd-status";
    provider.query = query;
    return &provider;
}
