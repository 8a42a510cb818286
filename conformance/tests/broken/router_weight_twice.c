/* SPDX-License-Identifier: Apache-2.0 */
/* The router weight is applied twice. */
#include "conformance/tests/broken/common.h"

float naive_router_weight(const naive_call *call, int64_t token, int64_t slot) {
    float weight = call->args->topk_weights[token * call->desc->top_k + slot];
    return weight * weight;
}

BROKEN_PROVIDER("router-weight-twice", NULL)
