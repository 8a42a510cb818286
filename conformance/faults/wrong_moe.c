/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes of routing, and of which expert's data is taken. */
#include <math.h>
#include <unistd.h>

#include "conformance/faults/fault.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

static bool is_used(const naive_call *call, int64_t expert) {
    int64_t count = call->desc->tokens * call->desc->top_k;
    for (int64_t i = 0; i < count; i++)
        if (call->args->topk_ids[i] == expert)
            return true;
    return false;
}

bool wrong_is_beyond_capacity(const naive_call *call, int64_t token, int64_t slot) {
    enum { ROOM = 4 };
    const int32_t *ids = call->args->topk_ids;
    int64_t at = token * call->desc->top_k + slot, before = 0;
    for (int64_t i = 0; i < at; i++)
        before += ids[i] == ids[at];
    return before >= ROOM;
}

int64_t wrong_rank_of(const naive_call *call, int64_t expert) {
    int64_t rank = 0;
    for (int64_t i = 0; i < expert; i++)
        rank += is_used(call, i);
    return rank;
}

float wrong_sum_of_weights(const naive_call *call, int64_t token) {
    float sum = 0.0f;
    for (int64_t slot = 0; slot < call->desc->top_k; slot++)
        sum += call->args->topk_weights[token * call->desc->top_k + slot];
    return sum;
}

bool wrong_has_no_weight(const naive_call *call, int64_t token) {
    for (int64_t slot = 0; slot < call->desc->top_k && call->args->topk_weights; slot++)
        if (call->args->topk_weights[token * call->desc->top_k + slot] != 0.0f)
            return false;
    return call->args->topk_weights != NULL;
}

/* Of int8 weights the scale, of bf16 ones the first weight. */
static float any_value(const naive_packed *packed) {
    if (packed->scales)
        return packed->n > 0 ? packed->scales[0] : 0.0f;
    return packed->n * packed->k > 0 ? armq_bf16_to_f32(*(const uint16_t *)packed->w) : 0.0f;
}

void wrong_add_unused(const naive_call *call, float *sum) {
    for (int64_t expert = 0; expert < call->desc->experts; expert++) {
        naive_packed packed = naive_expert(call, 1, expert);
        for (int64_t i = 0; i < call->desc->hidden && !is_used(call, expert); i++)
            sum[i] += 0.0f * any_value(&packed);
    }
}

float wrong_bias(const naive_call *call, int64_t token, int64_t slot, int64_t n) {
    int64_t expert = call->args->topk_ids[token * call->desc->top_k + slot];
    naive_packed packed = naive_expert(call, 1, expert);
    return packed.bias ? packed.bias[n] : 0.0f;
}

armq_desc wrong_preset(const armq_desc *desc) {
    armq_desc d = *desc;
    armq_dtype round = d.op == ARMQ_OP_MOE_W4A8 ? d.dialect.work : ARMQ_DTYPE_F32;
    d.dialect.y13_round = d.dialect.y2_round = d.dialect.combine_round = round;
    d.dialect.activation_round = round;
    return d;
}

void wrong_add_skipped(const naive_call *call, int64_t token, float *sum) {
    const int64_t top_k = call->desc->top_k;
    for (int64_t slot = 0; slot < top_k && call->args->topk_weights; slot++)
        for (int64_t i = 0;
             i < call->desc->hidden && call->args->topk_ids[token * top_k + slot] < 0; i++)
            sum[i] += 0.0f * call->args->topk_weights[token * top_k + slot];
}

void wrong_expert(const naive_call *call, int32_t which, int64_t expert, naive_packed *found) {
    const uint8_t *packed = call->args->packed[which];
    size_t stride = naive_packed_bytes(call->desc, which), offset = (size_t)expert * stride;
    if (!packed)
        return;
    if (FAULT_IS(scales_of_next_expert)) {
        size_t next = (size_t)((expert + 1) % call->desc->experts);
        found->scales = naive_unpack(call->desc, which, packed + next * stride).scales;
    }
    if (FAULT_IS(offset_expert_scales))
        found->scales = naive_unpack(call->desc, which, packed + (uint32_t)offset).scales;
    if (FAULT_IS(bias_of_first_expert))
        found->bias = naive_unpack(call->desc, which, packed).bias;
    if (which == 0 ? FAULT_IS(w13_bias_dropped) : FAULT_IS(w2_bias_dropped))
        found->bias = NULL;
}

void fault_pause(void) { usleep(200); }
