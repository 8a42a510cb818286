/* SPDX-License-Identifier: Apache-2.0 */
/* The loop over the experts ends one too early. */
#include "conformance/tests/broken/common.h"

bool naive_slot_runs(const naive_call *call, int64_t token, int64_t slot) {
    int32_t expert = call->args->topk_ids[token * call->desc->top_k + slot];
    return expert >= 0 && expert < call->desc->experts - 1;
}

BROKEN_PROVIDER("skip-last-expert", NULL)
