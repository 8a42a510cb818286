/* SPDX-License-Identifier: Apache-2.0 */
/* The activation of the gate goes on without being multiplied by the up projection. */
#include <math.h>

#include "conformance/tests/broken/common.h"

float naive_activate(const armq_dialect *dialect, float gate, float up) {
    (void)dialect, (void)up;
    return gate / (1.0f + expf(-gate));
}

BROKEN_PROVIDER("forget-up", NULL)
