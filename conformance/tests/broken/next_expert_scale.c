/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of one expert with the scales of the next. */
#include "conformance/tests/broken/common.h"

naive_packed naive_expert(const naive_call *call, int32_t which, int64_t expert) {
    const uint8_t *packed = call->args->packed[which];
    size_t stride = naive_packed_bytes(call->desc, which);
    int64_t next = (expert + 1) % call->desc->experts;
    naive_packed result = naive_unpack(call->desc, which, packed + (size_t)expert * stride);
    result.scales = naive_unpack(call->desc, which, packed + (size_t)next * stride).scales;
    return result;
}

BROKEN_PROVIDER("next-expert-scale", NULL)
