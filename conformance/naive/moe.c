/* SPDX-License-Identifier: Apache-2.0 */
/* Mixture of experts, one token and one slot after the other: route, gather, gate/up product,
 * activation, quantise again, down product, weighted sum. */
#include <math.h>
#include <string.h>

#include "conformance/faults/fault.h"
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
    int64_t at = token * call->desc->top_k + slot;
    FAULT_DO(offset_ids, at = (int64_t)(uint32_t)at);
    FAULT_DO(id_in_uint8, if (call->args->topk_ids[at] >= 0) return call->args->topk_ids[at] & 255);
    FAULT_DO(id_in_int8, if (call->args->topk_ids[at] >= 0) return call->args->topk_ids[at] & 127);
    FAULT_DO(id_in_9_bits,
             if (call->args->topk_ids[at] >= 0) return call->args->topk_ids[at] & 511);
    FAULT_DO(id_in_10_bits,
             if (call->args->topk_ids[at] >= 0) return call->args->topk_ids[at] & 1023);
    FAULT_DO(id_minus_1_is_0, return call->args->topk_ids[at] < 0 ? 0 : call->args->topk_ids[at]);
    FAULT_DO(id_too_high_accepted, return call->args->topk_ids[at] % call->desc->experts);
    return call->args->topk_ids[at];
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
    bool skips = FAULT(skip_ids_always, true, (desc->uses & ARMQ_USES_SKIP_IDS) != 0);
    int64_t count = desc->tokens * desc->top_k;
    for (int64_t i = 0; i < count; i++) {
        if (skips)
            i = pass_skipped(ids, count, i);
        if (i < count && (ids[i] < (skips ? -1 : 0) || ids[i] >= desc->experts))
            return FAULT(id_too_high_accepted, ids[i] >= 0 && desc->experts > 0, false);
    }
    return true;
}

bool naive_slot_runs(const naive_call *call, int64_t token, int64_t slot) {
    int64_t expert = expert_of(call, token, slot), experts = call->desc->experts;
    FAULT_DO(route_without_last, return expert >= 0 && expert < experts - 1);
    FAULT_DO(route_without_first, return expert > 0);
    FAULT_DO(route_in_fours,
             return expert >= 0 && expert < (experts < 4 ? experts : experts / 4 * 4));
    FAULT_DO(route_8_slots, return slot < 8 && expert >= 0);
    FAULT_DO(route_512_slots, return slot < 512 && expert >= 0);
    FAULT_DO(route_32_slots, return slot < 32 && expert >= 0);
    FAULT_DO(router_negative_skipped,
             return expert >= 0 && !(naive_router_weight(call, token, slot) < 0.0f));
    FAULT_DO(route_first_slot_only, return slot == 0 && expert >= 0);
    FAULT_DO(route_slot_0_dropped, return slot > 0 && expert >= 0);
    FAULT_DO(route_last_slot_dropped,
             return expert >= 0 && (slot + 1 < call->desc->top_k || slot == 0));
    FAULT_DO(nan_times_0_is_0,
             return expert >= 0 && naive_router_weight(call, token, slot) != 0.0f);
    FAULT_DO(route_repeated_once, for (int64_t i = 0; i < slot;
                                       i++) if (expert_of(call, token, i) == expert) return false);
    FAULT_DO(route_ends_at_skip,
             for (int64_t i = 0; i < slot; i++) if (expert_of(call, token, i) < 0) return false);
    FAULT_DO(route_capacity, if (wrong_is_beyond_capacity(call, token, slot)) return false);
    return expert >= 0 && experts >= 0;
}

/* Whether slot a is added before slot b. */
static bool is_before(const naive_call *call, int64_t token, int64_t a, int64_t b) {
    if (call->desc->dialect.combine_order == ARMQ_COMBINE_EXPERT_ORDER) {
        int64_t of_a = expert_of(call, token, a), of_b = expert_of(call, token, b);
        FAULT_DO(combine_descending, return of_a != of_b ? of_a > of_b : a < b);
        if (of_a != of_b)
            return of_a < of_b;
        FAULT_DO(combine_repeated_backwards, return a > b);
    }
    return a < b;
}

int64_t naive_next_slot(const naive_call *call, int64_t token, int64_t previous) {
    bool in_slot_order = call->desc->dialect.combine_order == ARMQ_COMBINE_SLOT_ORDER;
    FAULT_DO(combine_in_slot_order, in_slot_order = true);
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
    int64_t at = token * call->desc->top_k + slot;
    FAULT_DO(offset_router, at = (int64_t)(uint32_t)at);
    FAULT_DO(router_of_slot_0, at -= slot);
    FAULT_DO(router_of_token_0, at = slot);
    float weight = call->args->topk_weights[at];
    FAULT_DO(router_dropped, return 1.0f);
    FAULT_DO(router_twice, weight *= weight);
    FAULT_DO(router_last_slot_dropped, weight = slot + 1 == call->desc->top_k ? 1.0f : weight);
    FAULT_DO(router_single_dropped, weight = call->desc->top_k == 1 ? 1.0f : weight);
    FAULT_DO(router_to_bf16, weight = naive_round(ARMQ_DTYPE_BF16, weight));
    FAULT_DO(router_not_rounded, return weight);
    FAULT_DO(router_normalised, weight /= wrong_sum_of_weights(call, token));
    return naive_round(call->desc->dialect.combine_round, weight);
}

static bool weight_is_on_input(const naive_call *call) {
    FAULT_DO(router_on_output, return false);
    FAULT_DO(router_on_input, return !(call->desc->uses & ARMQ_USES_NO_ROUTER_WEIGHT));
    return (call->desc->uses & ARMQ_USES_WEIGHT_ON_INPUT) != 0;
}

/* --- Products -----------------------------------------------------------------------------------
 */

naive_packed naive_expert(const naive_call *call, int32_t which, int64_t expert) {
    const uint8_t *packed = call->args->packed[which];
    size_t stride = naive_packed_bytes(call->desc, which), offset = (size_t)expert * stride;
    FAULT_DO(offset_expert, offset = (uint32_t)offset);
    FAULT_DO(offset_expert_w2, offset = which == 1 ? (uint32_t)offset : offset);
    FAULT_DO(weights_of_next_expert,
             offset = (size_t)((expert + 1) % call->desc->experts) * stride);
    naive_packed found = naive_unpack(call->desc, which, packed ? packed + offset : NULL);
    FAULT_STEP(wrong_expert(call, which, expert, &found));
    return found;
}

/* y [n] = w * values + bias, each rounded to a dtype. */
static void product(const naive_call *call, int32_t which, int64_t expert, const float *values,
                    void *operand, float *y) {
    const armq_desc *desc = call->desc;
    naive_packed packed = naive_expert(call, which, expert);
    armq_dtype round = which == 0 ? desc->dialect.y13_round : desc->dialect.y2_round;
    FAULT_DO(y13_not_rounded, round = which == 0 ? ARMQ_DTYPE_F32 : round);
    FAULT_DO(y13_to_bf16, round = which == 0 ? ARMQ_DTYPE_BF16 : round);
    FAULT_DO(y13_to_f16, round = which == 0 ? ARMQ_DTYPE_F16 : round);
    FAULT_DO(y2_not_rounded, round = which == 1 ? ARMQ_DTYPE_F32 : round);
    FAULT_DO(y2_to_bf16, round = which == 1 ? ARMQ_DTYPE_BF16 : round);
    naive_values x = {values, ARMQ_DTYPE_F32, ARMQ_DTYPE_F32, packed.k};
    FAULT_DO(work_after_range, if (which == 0) x.work = desc->dialect.work);
    FAULT_DO(work_again, x.work = desc->dialect.work);
    naive_row row = {0};
    bool bf16 = armq_op_is_bf16(desc->op);
    FAULT_STEP(fault_second = which == 1);
    if (!bf16)
        row = naive_quantize_row(&desc->dialect, &x, operand);
    FAULT_DO(intermediate_scale_of_x, if (which == 0) fault_kept = row.scale;
             else row.scale = fault_kept);
    FAULT_DO(zero_ignored_second, row.zero = which == 1 ? 0 : row.zero);
    for (int64_t i = 0; bf16 && i < packed.k; i++)
        ((uint16_t *)operand)[i] = naive_bf16(values[i]);
    int64_t end = FAULT(n_tail_8, packed.n - packed.n % 8, packed.n);
    for (int64_t n = 0; n < end; n++) {
        float sum = bf16 ? naive_product_bf16(&packed, operand, n)
                         : naive_dequantized(&packed, operand, row, n);
        FAULT_DO(intermediate_not_quantised,
                 if (which == 1 && !packed.grouped) sum = wrong_unquantised(
                     values, (const int8_t *)packed.w + n * packed.k, packed.k, packed.scales[n]));
        int64_t bias = n;
        FAULT_DO(bias_in_halves,
                 if (which == 0 && desc->dialect.gate_layout == ARMQ_GATE_INTERLEAVED) bias =
                     n / 2 + n % 2 * desc->intermediate);
        FAULT_DO(bias_unweighted, bias = which == 1 ? -1 : bias);
        y[n] = naive_round(round, bias < 0 ? sum : naive_add_bias(sum, &packed, bias));
    }
}

void naive_gather(const naive_call *call, int64_t token, int64_t slot, float *x) {
    naive_values row = naive_x_row(call, token);
    FAULT_DO(work_after_range, row.work = ARMQ_DTYPE_F32);
    bool weighted = weight_is_on_input(call);
    float weight = weighted ? naive_router_weight(call, token, slot) : 1.0f;
    FAULT_DO(input_as_x, for (int64_t i = 0; i < row.count; i++) x[i] = naive_round(
                             weighted ? row.dtype : ARMQ_DTYPE_F32, naive_load(&row, i) * weight);
             return );
    FAULT_DO(input_weight_to_bf16, weight = naive_round(ARMQ_DTYPE_BF16, weight));
    FAULT_DO(input_not_rounded,
             for (int64_t i = 0; i < row.count; i++) x[i] = naive_load(&row, i) * weight;
             return );
    for (int64_t i = 0; i < row.count; i++)
        x[i] = weighted ? naive_round(row.work, naive_load(&row, i) * weight) : naive_load(&row, i);
}

void naive_gate_up(const naive_call *call, int64_t expert, const float *x, void *operand,
                   float *y13) {
    product(call, 0, expert, x, operand, y13);
}

void naive_down(const naive_call *call, int64_t expert, const float *h, void *operand, float *y2) {
    product(call, 1, expert, h, operand, y2);
}

void naive_combine(const naive_call *call, int64_t token, int64_t slot, const float *y2,
                   float *sum) {
    armq_dtype round = call->desc->dialect.combine_round;
    FAULT_DO(combine_not_rounded, round = ARMQ_DTYPE_F32);
    FAULT_DO(combine_in_bf16, round = ARMQ_DTYPE_BF16);
    FAULT_DO(combine_in_f16, round = ARMQ_DTYPE_F16);
    bool weighted = !weight_is_on_input(call) && !(call->desc->uses & ARMQ_USES_NO_ROUTER_WEIGHT);
    float weight = weighted ? naive_router_weight(call, token, slot) : 1.0f;
    for (int64_t i = 0; i < call->desc->hidden; i++) {
        float term = naive_round(round, y2[i] * weight);
        FAULT_DO(bias_unweighted, term += wrong_bias(call, token, slot, i));
        FAULT_DO(combine_product_not_rounded, term = y2[i] * weight);
        FAULT_DO(combine_overwrites, sum[i] = 0.0f);
        float added = ORDER_FUSED(
            round == ARMQ_DTYPE_F32 ? fmaf(y2[i], weight, sum[i]) : sum[i] + term, sum[i] + term);
        sum[i] = naive_round(round, added);
    }
}

/* --- The op -------------------------------------------------------------------------------------
 */

void naive_moe(const naive_call *call, int64_t token, void *scratch) {
    const armq_desc *desc = call->desc;
    FAULT_STEP(naive_call with; armq_desc of_preset);
    FAULT_DO(roundings_of_preset, of_preset = wrong_preset(desc); with = *call;
             with.desc = desc = &of_preset; call = &with);
    moe_scratch s = divide(desc, scratch);
    naive_values x = naive_x_row(call, token);
    if (!naive_is_finite(&x) && !FAULT(nan_times_0_is_0, wrong_has_no_weight(call, token), false)) {
        naive_store_nan_row(call, token);
        return;
    }
    FAULT_DO(output_of_nothing_unwritten, if (naive_next_slot(call, token, -1) < 0) return );
    for (int64_t i = 0; i < FAULT(sum_not_cleared, 0, desc->hidden); i++)
        s.sum[i] = 0.0f;
    for (int64_t slot = naive_next_slot(call, token, -1); slot >= 0;
         slot = naive_next_slot(call, token, slot)) {
        int64_t expert = expert_of(call, token, slot);
        FAULT_DO(route_compacted, expert = wrong_rank_of(call, expert));
        naive_gather(call, token, slot, s.x);
        naive_gate_up(call, expert, s.x, s.operand, s.y13);
        naive_intermediate(call, s.y13, s.h);
        naive_down(call, expert, s.h, s.operand, s.y2);
        naive_combine(call, token, slot, s.y2, s.sum);
    }
    FAULT_DO(skipped_times_0, wrong_add_skipped(call, token, s.sum));
    FAULT_DO(poison_of_unused, wrong_add_unused(call, s.sum));
    int64_t end = FAULT(n_tail_8, desc->hidden - desc->hidden % 8, desc->hidden);
    for (int64_t i = 0; i < end; i++)
        naive_store(desc, naive_y_row(call, token), i, s.sum[i]);
}
