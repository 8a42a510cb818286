/* SPDX-License-Identifier: Apache-2.0 */
/* Where the weights of an expert start is computed in 32 bits. */
#include "conformance/tests/broken/common.h"

naive_packed naive_expert(const naive_call *call, int32_t which, int64_t expert) {
    const uint8_t *packed = call->args->packed[which];
    uint32_t offset = (uint32_t)expert * (uint32_t)naive_packed_bytes(call->desc, which);
    return naive_unpack(call->desc, which, packed + offset);
}

BROKEN_PROVIDER("narrow-expert-offset", NULL)
