/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/route.h"

#include <string.h>

#include "kernels/common/convert.h"

enum { LANES = 16 };

/* --- Ids ---------------------------------------------------------------------------------------
 */

/* As unsigned numbers after adding 1 (with skips), or 0, all valid ids are below a limit. */
bool armq_ids_are_valid(const armq_desc *desc, const int32_t *ids) {
    const int64_t count = desc->tokens * desc->top_k;
    const uint32_t shift = desc->uses & ARMQ_USES_SKIP_IDS ? 1 : 0;
    const int64_t limit =
        desc->experts < INT32_MAX ? desc->experts + shift : (INT64_C(1) << 31) + shift;
    uint32x4_t largest = vdupq_n_u32(0);
    const uint32x4_t add = vdupq_n_u32(shift);
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int j = 0; j < LANES; j += 4)
            largest =
                vmaxq_u32(largest, vaddq_u32(vreinterpretq_u32_s32(vld1q_s32(ids + i + j)), add));
    uint32_t most = vmaxvq_u32(largest);
    for (; i < count; i++)
        most = most > (uint32_t)ids[i] + shift ? most : (uint32_t)ids[i] + shift;
    return count == 0 || (int64_t)most < limit;
}

/* The first slot from `slot` on that is not skipped, or top_k. */
static int64_t next_slot(const armq_router *router, const int32_t *ids, int64_t slot) {
    if (!router->skips)
        return slot;
    for (; slot + LANES <= router->top_k; slot += LANES) {
        int32x4_t largest =
            vmaxq_s32(vmaxq_s32(vld1q_s32(ids + slot), vld1q_s32(ids + slot + 4)),
                      vmaxq_s32(vld1q_s32(ids + slot + 8), vld1q_s32(ids + slot + 12)));
        if (vmaxvq_s32(largest) >= 0)
            break;
    }
    while (slot < router->top_k && ids[slot] < 0)
        slot++;
    return slot;
}

static const int32_t *ids_of(const armq_router *router, int64_t token) {
    return router->ids + token * router->top_k;
}

/* --- Memory of a block --------------------------------------------------------------------------
 */

bool armq_routed_bytes(int64_t experts, int64_t max_rows, int64_t max_tokens, size_t *bytes) {
    const int64_t most = INT64_C(1) << 56; /* so that the sum cannot overflow */
    if (experts > most || max_rows > most || max_tokens > most)
        return false;
    *bytes = sizeof(int64_t) * (size_t)((experts + 1) + (max_tokens + 1) + 3 * max_rows);
    return true;
}

void armq_routed_place(armq_routed *block, const armq_router *router, void *memory) {
    block->row_begin = memory;
    block->sum_begin = block->row_begin + router->experts + 1;
    block->row_token = block->sum_begin + router->max_tokens + 1;
    block->sum_row = block->row_token + router->max_rows;
    block->row_weight = (float *)(void *)(block->sum_row + router->max_rows);
}

/* --- Rows of a block ----------------------------------------------------------------------------
 */

/* Which rows of its tokens a block takes: those that are not done, of experts up to `last_expert`,
 * the first `rows` of them in the order of slots. */
typedef struct {
    int64_t last_expert, rows;
} selection;

/* Whether a row was in an earlier block of its token. */
static bool is_done(const armq_router *router, int64_t expert, int64_t slot) {
    if (!router->inside)
        return false;
    if (router->order == ARMQ_COMBINE_SLOT_ORDER || expert == router->expert)
        return slot <= router->slot;
    return expert < router->expert;
}

/* The next slot from `slot` on that the block takes, or top_k. */
static int64_t next_row(const armq_router *router, const int32_t *ids, int64_t last_expert,
                        int64_t slot) {
    slot = next_slot(router, ids, slot);
    while (slot < router->top_k && (ids[slot] > last_expert || is_done(router, ids[slot], slot)))
        slot = next_slot(router, ids, slot + 1);
    return slot;
}

/* Rows per expert, at most select.rows; returns their number. */
static int64_t count_rows(const armq_router *router, const armq_routed *block, selection select,
                          int64_t *counts) {
    int64_t rows = 0;
    memset(counts, 0, (size_t)(router->experts + 1) * sizeof *counts);
    for (int64_t t = 0; t < block->tokens; t++) {
        const int32_t *ids = ids_of(router, block->token + t);
        for (int64_t slot = next_row(router, ids, select.last_expert, 0);
             slot < router->top_k && rows < select.rows;
             slot = next_row(router, ids, select.last_expert, slot + 1), rows++)
            counts[ids[slot]]++;
    }
    return rows;
}

/* Counts to where each one's entries begin, one after the other. */
static void begin_of_counts(int64_t *counts, int64_t n) {
    int64_t begin = 0;
    for (int64_t i = 0; i <= n; i++) {
        const int64_t count = counts[i];
        counts[i] = begin;
        begin += count;
    }
}

/* Undoes the advance of each begin to its end, which is the begin of the next. */
static void rewind_begins(int64_t *begin, int64_t n) {
    memmove(begin + 1, begin, (size_t)n * sizeof *begin);
    begin[0] = 0;
}

static float weight_of(const armq_router *router, int64_t token, int64_t slot) {
    if (!router->weights)
        return 1.0f;
    return armq_round1(router->weight_round, router->weights[token * router->top_k + slot]);
}

/* Puts every row at its place; returns the slot of the last one. */
static int64_t place_rows(const armq_router *router, armq_routed *block, selection select) {
    int64_t placed = 0, last = -1;
    for (int64_t t = 0; t < block->tokens; t++) {
        const int32_t *ids = ids_of(router, block->token + t);
        block->sum_begin[t] = placed;
        for (int64_t slot = next_row(router, ids, select.last_expert, 0);
             slot < router->top_k && placed < select.rows;
             slot = next_row(router, ids, select.last_expert, slot + 1)) {
            const int64_t row = block->row_begin[ids[slot]]++;
            block->row_token[row] = t;
            block->row_weight[row] = weight_of(router, block->token + t, slot);
            block->sum_row[placed++] = row;
            last = slot;
        }
    }
    block->sum_begin[block->tokens] = placed;
    rewind_begins(block->row_begin, router->experts);
    return last;
}

/* Rows in ascending order are each token's rows in the order (expert, slot). */
static void sum_in_row_order(armq_routed *block) {
    for (int64_t row = 0; row < block->rows; row++)
        block->sum_row[block->sum_begin[block->row_token[row]]++] = row;
    rewind_begins(block->sum_begin, block->tokens);
}

static int64_t fill(const armq_router *router, armq_routed *block, selection select) {
    block->rows = count_rows(router, block, select, block->row_begin);
    begin_of_counts(block->row_begin, router->experts);
    const int64_t last_slot = place_rows(router, block, select);
    if (router->order == ARMQ_COMBINE_EXPERT_ORDER)
        sum_in_row_order(block);
    return last_slot;
}

/* --- Blocks --------------------------------------------------------------------------------------
 */

static int64_t rows_of_token(const armq_router *router, int64_t token) {
    const int32_t *ids = ids_of(router, token);
    if (!router->skips)
        return router->top_k;
    int64_t rows = 0;
    for (int64_t slot = next_slot(router, ids, 0); slot < router->top_k;
         slot = next_slot(router, ids, slot + 1))
        rows++;
    return rows;
}

/* As many whole tokens as there is room for; perhaps none. */
static int64_t whole_tokens(const armq_router *router) {
    int64_t tokens = 0, rows = 0;
    while (tokens < router->max_tokens && router->token + tokens < router->tokens) {
        rows += rows_of_token(router, router->token + tokens);
        if (rows > router->max_rows)
            break;
        tokens++;
    }
    return tokens;
}

/* As many experts as there is room for, or a part of one, from the rows per expert to come. */
static selection select_experts(const armq_router *router, const int64_t *counts) {
    selection select = {-1, 0};
    for (int64_t e = 0; e < router->experts; e++) {
        if (select.rows + counts[e] > router->max_rows) {
            if (select.rows == 0)
                select = (selection){e, router->max_rows};
            break;
        }
        select.last_expert = e;
        select.rows += counts[e];
    }
    return select;
}

/* A part of one token that has too many rows. */
static void fill_part(armq_router *router, armq_routed *block) {
    const bool in_expert_order = router->order == ARMQ_COMBINE_EXPERT_ORDER;
    const int64_t all =
        count_rows(router, block, (selection){INT32_MAX, INT64_MAX}, block->row_begin);
    selection select = {INT32_MAX, router->max_rows};
    if (in_expert_order)
        select = select_experts(router, block->row_begin);
    block->begins = !router->inside;
    const int64_t last_slot = fill(router, block, select);
    block->ends = block->rows == all;
    router->inside = !block->ends;
    router->expert = select.last_expert;
    /* Of whole experts, all slots are done; of a part, those up to the last one. */
    router->slot =
        in_expert_order && block->row_begin[select.last_expert] > 0 ? router->top_k : last_slot;
}

bool armq_route_next(armq_router *router, armq_routed *block) {
    if (router->token >= router->tokens)
        return false;
    block->token = router->token;
    block->tokens = router->inside ? 0 : whole_tokens(router);
    if (block->tokens > 0) {
        block->begins = block->ends = true;
        fill(router, block, (selection){INT32_MAX, router->max_rows});
        router->token += block->tokens;
        return true;
    }
    block->tokens = 1;
    fill_part(router, block);
    router->token += block->ends;
    return true;
}
