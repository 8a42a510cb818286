/* SPDX-License-Identifier: Apache-2.0 */
/* Mixture of experts, one token and one slot after the other: route, gather, gate/up product,
 * activation, quantise again, down product, weighted sum. */
#include <string.h>

#include "conformance/naive/naive.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

/* --- Scratch of one thread ----------------------------------------------------------------------
 */

typedef struct {
    float *x;      /* [hidden] */
    float *y13;    /* [2*intermediate] */
    float *h;      /* [intermediate] */
    float *y2;     /* [hidden] */
    float *sum;    /* [hidden] */
    void *operand; /* [max(hidden, intermediate)], int8 or bf16 */
} moe_scratch;

size_t naive_moe_scratch_bytes(const armq_desc *desc) {
    size_t hidden = (size_t)desc->hidden, intermediate = (size_t)desc->intermediate;
    size_t operand = (hidden > intermediate ? hidden : intermediate) *
                     (armq_op_is_bf16(desc->op) ? sizeof(uint16_t) : sizeof(int8_t));
    size_t bytes = (3 * hidden + 3 * intermediate) * sizeof(float) + operand;
    return (bytes + 63) / 64 * 64;
}

static moe_scratch divide(const armq_desc *desc, void *scratch) {
    moe_scratch s;
    s.x = scratch;
    s.y13 = s.x + desc->hidden;
    s.h = s.y13 + 2 * desc->intermediate;
    s.y2 = s.h + desc->intermediate;
    s.sum = s.y2 + desc->hidden;
    s.operand = s.sum + desc->hidden;
    return s;
}

/* --- Routing ------------------------------------------------------------------------------------
 */

static int64_t expert_of(const naive_call *call, int64_t token, int64_t slot) {
    return call->args->topk_ids[token * call->desc->top_k + slot];
}

/* Whole blocks of skipped slots are passed over: a token may have 2^32 of them. */
enum { BLOCK = 64 };

static bool are_skipped(const int32_t ids[BLOCK]) {
    int32_t all = -1;
    for (int i = 0; i < BLOCK; i++)
        all &= ids[i];
    return all == -1;
}

/* The first of `count` ids, from `at` on, that is not in such a block. */
static int64_t pass_skipped(const int32_t *ids, int64_t count, int64_t at) {
    while (count - at >= BLOCK && ids[at] == -1 && are_skipped(ids + at))
        at += BLOCK;
    return at;
}

bool naive_ids_are_valid(const naive_call *call) {
    const armq_desc *desc = call->desc;
    const int32_t *ids = call->args->topk_ids;
    bool skips = (desc->uses & ARMQ_USES_SKIP_IDS) != 0;
    int64_t count = desc->tokens * desc->top_k;
    for (int64_t i = 0; i < count; i++) {
        if (skips)
            i = pass_skipped(ids, count, i);
        if (i < count && (ids[i] < (skips ? -1 : 0) || ids[i] >= desc->experts))
            return false;
    }
    return true;
}

bool naive_slot_runs(const naive_call *call, int64_t token, int64_t slot) {
    return expert_of(call, token, slot) >= 0;
}

/* Whether slot a is added before slot b. */
static bool is_before(const naive_call *call, int64_t token, int64_t a, int64_t b) {
    if (call->desc->dialect.combine_order == ARMQ_COMBINE_EXPERT_ORDER) {
        int64_t of_a = expert_of(call, token, a), of_b = expert_of(call, token, b);
        if (of_a != of_b)
            return of_a < of_b;
    }
    return a < b;
}

int64_t naive_next_slot(const naive_call *call, int64_t token, int64_t previous) {
    bool in_slot_order = call->desc->dialect.combine_order == ARMQ_COMBINE_SLOT_ORDER;
    int64_t next = -1, top_k = call->desc->top_k, slot = in_slot_order ? previous + 1 : 0;
    const int32_t *ids = top_k ? call->args->topk_ids + token * top_k : NULL;
    for (; (slot = pass_skipped(ids, top_k, slot)) < top_k; slot++) {
        bool follows = previous < 0 || is_before(call, token, previous, slot);
        if (!naive_slot_runs(call, token, slot) || !follows)
            continue;
        if (in_slot_order)
            return slot;
        if (next < 0 || is_before(call, token, slot, next))
            next = slot;
    }
    return next;
}

float naive_router_weight(const naive_call *call, int64_t token, int64_t slot) {
    if (call->desc->uses & ARMQ_USES_NO_ROUTER_WEIGHT)
        return 1.0f;
    float weight = call->args->topk_weights[token * call->desc->top_k + slot];
    return naive_round(call->desc->dialect.combine_round, weight);
}

/* --- Products -----------------------------------------------------------------------------------
 */

naive_packed naive_expert(const naive_call *call, int32_t which, int64_t expert) {
    const uint8_t *packed = call->args->packed[which];
    size_t stride = naive_packed_bytes(call->desc, which);
    return naive_unpack(call->desc, which, packed ? packed + (size_t)expert * stride : NULL);
}

/* y [n] = w * values + bias, each rounded to a dtype. */
static void product(const armq_desc *desc, const naive_packed *packed, const float *values,
                    void *operand, armq_dtype round, float *y) {
    naive_values x = {values, ARMQ_DTYPE_F32, ARMQ_DTYPE_F32, packed->k};
    naive_row row = {0};
    bool bf16 = armq_op_is_bf16(desc->op);
    if (!bf16)
        row = naive_quantize_row(&desc->dialect, &x, operand);
    for (int64_t i = 0; bf16 && i < packed->k; i++)
        ((uint16_t *)operand)[i] = armq_f32_to_bf16(values[i]);
    for (int64_t n = 0; n < packed->n; n++) {
        float sum = bf16 ? naive_product_bf16(packed, operand, n)
                         : naive_dequantized(packed, operand, row, n);
        y[n] = naive_round(round, naive_add_bias(sum, packed, n));
    }
}

void naive_gather(const naive_call *call, int64_t token, int64_t slot, float *x) {
    naive_values row = naive_x_row(call, token);
    bool weighted = (call->desc->uses & ARMQ_USES_WEIGHT_ON_INPUT) != 0;
    float weight = weighted ? naive_router_weight(call, token, slot) : 1.0f;
    for (int64_t i = 0; i < row.count; i++)
        x[i] = weighted ? naive_round(row.work, naive_load(&row, i) * weight) : naive_load(&row, i);
}

void naive_gate_up(const naive_call *call, int64_t expert, const float *x, void *operand,
                   float *y13) {
    naive_packed packed = naive_expert(call, 0, expert);
    product(call->desc, &packed, x, operand, call->desc->dialect.y13_round, y13);
}

void naive_down(const naive_call *call, int64_t expert, const float *h, void *operand, float *y2) {
    naive_packed packed = naive_expert(call, 1, expert);
    product(call->desc, &packed, h, operand, call->desc->dialect.y2_round, y2);
}

void naive_combine(const naive_call *call, int64_t token, int64_t slot, const float *y2,
                   float *sum) {
    armq_dtype round = call->desc->dialect.combine_round;
    bool weighted = !(call->desc->uses & (ARMQ_USES_WEIGHT_ON_INPUT | ARMQ_USES_NO_ROUTER_WEIGHT));
    float weight = weighted ? naive_router_weight(call, token, slot) : 1.0f;
    for (int64_t i = 0; i < call->desc->hidden; i++) {
        float term = naive_round(round, y2[i] * weight);
        sum[i] = naive_round(round, sum[i] + term);
    }
}

/* --- The op -------------------------------------------------------------------------------------
 */

void naive_moe(const naive_call *call, int64_t token, void *scratch) {
    const armq_desc *desc = call->desc;
    moe_scratch s = divide(desc, scratch);
    naive_values x = naive_x_row(call, token);
    if (!naive_is_finite(&x)) {
        naive_store_nan_row(call, token);
        return;
    }
    for (int64_t i = 0; i < desc->hidden; i++)
        s.sum[i] = 0.0f;
    for (int64_t slot = naive_next_slot(call, token, -1); slot >= 0;
         slot = naive_next_slot(call, token, slot)) {
        int64_t expert = expert_of(call, token, slot);
        naive_gather(call, token, slot, s.x);
        naive_gate_up(call, expert, s.x, s.operand, s.y13);
        naive_intermediate(call, s.y13, s.h);
        naive_down(call, expert, s.h, s.operand, s.y2);
        naive_combine(call, token, slot, s.y2, s.sum);
    }
    for (int64_t i = 0; i < desc->hidden; i++)
        naive_store(desc, naive_y_row(call, token), i, s.sum[i]);
}
