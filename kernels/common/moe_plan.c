/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/moe_plan.h"

#include "kernels/api/names.h"
#include "kernels/common/route.h"
#include "kernels/common/weigh.h"

enum {
    ROWS_PER_EXPERT = 64, /* of a block, if tokens spread evenly: one chunk */
    MIN_BLOCK_ROWS = 512,
    MAX_BLOCK_ROWS = 16384,
    MIN_CHUNK_ROWS = 32, /* so that a weight is used often enough per load */
    MAX_CHUNK_ROWS = 64,
    SLICE_BYTES = 2 << 20, /* chunks get shorter where a slice would be larger */
    MAX_COLUMN_PANELS = 16,
    ALIGN = 64
};

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* Hands out offsets, each aligned; `fits` stays false once one did not. */
typedef struct {
    size_t used;
    bool fits;
} arena;

static size_t reserve(arena *a, int64_t count, size_t bytes) {
    size_t size = 0, end = 0;
    if (count < 0 || __builtin_mul_overflow((size_t)count, bytes, &size) ||
        __builtin_add_overflow(size, ALIGN - 1, &size) ||
        __builtin_add_overflow(a->used, size / ALIGN * ALIGN, &end) || end > PTRDIFF_MAX) {
        a->fits = false;
        return 0;
    }
    const size_t offset = a->used;
    a->used = end;
    return offset;
}

static bool init_weights(armq_moe_plan *plan, const armq_tile_set *set, const armq_desc *desc) {
    for (int which = 0; which < 2; which++) {
        armq_weight_layout *layout = &plan->layout[which];
        if (!armq_weight_layout_init(layout, set, desc, which))
            return false;
        plan->expert_stride[which] = (size_t)layout->panels * layout->panel_bytes;
        if (__builtin_mul_overflow(plan->expert_stride[which], (size_t)desc->experts,
                                   &plan->packed_bytes[which]) ||
            plan->packed_bytes[which] > PTRDIFF_MAX)
            return false;
        plan->k_block[which] = armq_k_block(layout, desc->l1);
        plan->panel_row_bytes[which] =
            (size_t)(layout->k_steps * set->k_step) * armq_tile_a_bytes(set->kind);
    }
    return true;
}

static void init_blocks(armq_moe_plan *plan, const armq_desc *desc) {
    const int64_t height = plan->set->tiles[0].rows;
    const int64_t wanted = min64(desc->experts, MAX_BLOCK_ROWS) * ROWS_PER_EXPERT;
    const int64_t rows = min64(max64(wanted, MIN_BLOCK_ROWS), MAX_BLOCK_ROWS);
    plan->max_rows = max64(1, min64(rows, desc->tokens * desc->top_k));
    int64_t tokens = plan->max_rows / max64(1, desc->top_k);
    if (desc->uses & ARMQ_USES_SKIP_IDS) /* most slots may belong to other machines */
        tokens = min64(max64(4 * tokens, 64), plan->max_rows);
    plan->max_tokens = max64(1, min64(tokens, desc->tokens));
    const size_t row_bytes = plan->panel_row_bytes[ARMQ_W13] + plan->y13_stride;
    const int64_t fitting = row_bytes ? SLICE_BYTES / (int64_t)row_bytes : MAX_CHUNK_ROWS;
    const int64_t chunk = min64(max64(fitting, MIN_CHUNK_ROWS), MAX_CHUNK_ROWS);
    plan->chunk_rows = min64(chunk / height, divide_up(plan->max_rows, height)) * height;
    plan->max_chunks = min64(desc->experts, plan->max_rows) + plan->max_rows / plan->chunk_rows + 1;
}

int64_t armq_moe_chunk_count(const armq_moe_plan *plan, int64_t rows) {
    return divide_up(rows, plan->chunk_rows);
}

static void place_shared(armq_moe_plan *plan, const armq_desc *desc, arena *a) {
    const int64_t height = plan->set->tiles[0].rows;
    const int64_t quantized = plan->quantizes_tokens ? plan->max_tokens : 0;
    size_t index = 0;
    if (!armq_routed_bytes(desc->experts, plan->max_rows, plan->max_tokens, &index))
        a->fits = false;
    plan->index = reserve(a, 1, index);
    plan->chunks = reserve(a, plan->max_chunks, sizeof(armq_moe_chunk));
    plan->tokens = reserve(a, quantized, (size_t)desc->hidden);
    plan->token_scales = reserve(a, quantized, sizeof(float));
    plan->token_zeros = reserve(a, quantized, sizeof(int32_t));
    plan->panels = reserve(a, plan->max_rows + plan->max_chunks * (height - 1),
                           plan->panel_row_bytes[ARMQ_W2]);
    plan->scales = reserve(a, plan->max_rows, sizeof(float));
    plan->zeros = reserve(a, plan->max_rows, sizeof(int32_t));
    plan->carry = reserve(a, desc->top_k > plan->max_rows ? desc->hidden : 0, sizeof(float));
}

static void place_slices(armq_moe_plan *plan, const armq_desc *desc, arena *a) {
    arena slice = {.fits = true};
    const int64_t rows = plan->chunk_rows;
    reserve(&slice, rows, plan->panel_row_bytes[ARMQ_W13]);
    plan->slice_scales = reserve(&slice, rows, sizeof(float));
    plan->slice_zeros = reserve(&slice, rows, sizeof(int32_t));
    plan->slice_y13 = reserve(&slice, rows, plan->y13_stride);
    plan->slice_bytes = slice.used;
    const int64_t threads = desc->max_threads;
    const int64_t slices =
        threads == 1 ? 1 : min64(ARMQ_SLICES_PER_THREAD * threads, plan->max_chunks);
    a->fits = a->fits && slice.fits;
    plan->slices = reserve(a, slices, plan->slice_bytes);
}

static void place_threads(armq_moe_plan *plan, const armq_desc *desc, arena *a) {
    arena thread = {.fits = true};
    const int64_t tiles = armq_row_tiles(plan->set, plan->chunk_rows);
    const int64_t row = max64(desc->intermediate, plan->weighs_input ? desc->hidden : 0);
    size_t scratch = 0;
    for (int which = 0; which < 2; which++) {
        const size_t bytes =
            armq_multiply_scratch_bytes(&plan->layout[which], plan->k_block[which], tiles);
        scratch = bytes > scratch ? bytes : scratch;
    }
    reserve(&thread, 1, scratch);
    plan->thread_row = reserve(&thread, row, sizeof(float));
    plan->thread_y2 = reserve(&thread, plan->max_rows, plan->y2_stride);
    plan->thread_bytes = thread.used;
    a->fits = a->fits && thread.fits;
    plan->threads = reserve(a, desc->max_threads, plan->thread_bytes);
}

bool armq_moe_plan_init(armq_moe_plan *plan, const armq_tile_set *set, const armq_desc *desc) {
    *plan = (armq_moe_plan){.set = set};
    if (!init_weights(plan, set, desc))
        return false;
    plan->weighs_input = (desc->uses & ARMQ_USES_WEIGHT_ON_INPUT) != 0;
    plan->quantizes_tokens = set->kind == ARMQ_TILE_S8 && !plan->weighs_input;
    plan->y13_stride = (size_t)(2 * desc->intermediate) * armq_dtype_bytes(desc->dialect.y13_round);
    const int64_t share = divide_up(plan->layout[ARMQ_W2].panels, desc->max_threads);
    plan->column_panels = max64(1, min64(share, MAX_COLUMN_PANELS));
    const int64_t columns =
        divide_up(plan->column_panels * ARMQ_TILE_COLUMNS, ARMQ_SUM_STEP) * ARMQ_SUM_STEP;
    plan->y2_stride = (size_t)columns * armq_dtype_bytes(desc->dialect.y2_round);
    init_blocks(plan, desc);
    if (desc->tokens == 0 || desc->hidden == 0)
        return true;
    arena a = {.fits = true};
    place_shared(plan, desc, &a);
    place_slices(plan, desc, &a);
    place_threads(plan, desc, &a);
    plan->workspace_bytes = a.used;
    return a.fits;
}
