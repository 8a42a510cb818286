/* SPDX-License-Identifier: Apache-2.0 */
/* Products with router weights, and their sums, stay in f32 whatever the dialect says. */
#include "conformance/tests/broken/common.h"

void naive_combine(const naive_call *call, int64_t token, int64_t slot, const float *y2,
                   float *sum) {
    bool weighted = !(call->desc->uses & (ARMQ_USES_WEIGHT_ON_INPUT | ARMQ_USES_NO_ROUTER_WEIGHT));
    float weight = weighted ? naive_router_weight(call, token, slot) : 1.0f;
    for (int64_t i = 0; i < call->desc->hidden; i++)
        sum[i] += y2[i] * weight;
}

BROKEN_PROVIDER("sum-slots-in-f32", NULL)
