/* SPDX-License-Identifier: Apache-2.0 */
/* The naive provider under the name of the order that it was built with (soak.mk). */
#include "conformance/providers.h"

const armq_provider *armq_provider_get(void) {
    static armq_provider provider;
    provider = naive_provider;
    provider.name = ORDER_NAME;
    return &provider;
}
