/* SPDX-License-Identifier: Apache-2.0 */
/* Only the first of the top_k experts of a token contributes. */
#include "conformance/tests/broken/common.h"

bool naive_slot_runs(const naive_call *call, int64_t token, int64_t slot) {
    return slot == 0 && call->args->topk_ids[token * call->desc->top_k] >= 0;
}

BROKEN_PROVIDER("first-slot-only", NULL)
