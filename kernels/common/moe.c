/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/moe.h"

#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "kernels/common/activation.h"
#include "kernels/common/route.h"
#include "kernels/common/threads.h"
#include "kernels/common/weigh.h"

enum { JOBS_PER_THREAD = 4 }; /* so that a slow thread does not hold up the rest */

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* One run; the block and what depends on it change from block to block. */
typedef struct {
    const armq_moe_plan *plan;
    const armq_desc *desc;
    const armq_args *args;
    char *workspace;
    size_t x_stride, y_stride;              /* bytes */
    armq_row_packer token_packer, repacker; /* rows for w13, for w2 */
    armq_gate gate;
    armq_epilogue epilogue[2];
    armq_routed block;
    armq_moe_chunk *chunks;
    int64_t chunk_count;
    int64_t parts; /* of a chunk, or of the block's tokens, or of the columns, by the phase */
} moe_run;

static const char *token_x(const moe_run *run, int64_t token) {
    return (const char *)run->args->x + (size_t)(run->block.token + token) * run->x_stride;
}

static char *thread_memory(const moe_run *run, int32_t thread) {
    return run->workspace + run->plan->threads + (size_t)thread * run->plan->thread_bytes;
}

static void *thread_row(const moe_run *run, int32_t thread) {
    return thread_memory(run, thread) + run->plan->thread_row;
}

static char *slice_memory(const moe_run *run, int64_t slice) {
    return run->workspace + run->plan->slices + (size_t)slice * run->plan->slice_bytes;
}

/* --- Parts of the pipeline -----------------------------------------------------------------------
 */

/* The chunk's rows as A panels for w13. */
static armq_row_block first_block(const moe_run *run, const armq_moe_chunk *chunk, int64_t slice) {
    const armq_moe_plan *plan = run->plan;
    char *memory = slice_memory(run, slice);
    return (armq_row_block){
        .set = plan->set,
        .rows = chunk->rows,
        .k_steps = plan->layout[ARMQ_W13].k_steps,
        .row_bytes = plan->panel_row_bytes[ARMQ_W13],
        .panels = memory,
        .scales = (float *)(void *)(memory + plan->slice_scales),
        .zeros = (int32_t *)(void *)(memory + plan->slice_zeros),
    };
}

/* And for w2, where they stay until the whole block is ready. */
static armq_row_block second_block(const moe_run *run, const armq_moe_chunk *chunk) {
    const armq_moe_plan *plan = run->plan;
    const size_t row_bytes = plan->panel_row_bytes[ARMQ_W2];
    return (armq_row_block){
        .set = plan->set,
        .rows = chunk->rows,
        .k_steps = plan->layout[ARMQ_W2].k_steps,
        .row_bytes = row_bytes,
        .panels = run->workspace + plan->panels + (size_t)chunk->panel_row * row_bytes,
        .scales = (float *)(void *)(run->workspace + plan->scales) + chunk->row,
        .zeros = (int32_t *)(void *)(run->workspace + plan->zeros) + chunk->row,
    };
}

static void quantize_tokens(const moe_run *run, int64_t first, int64_t last) {
    const armq_moe_plan *plan = run->plan;
    const size_t hidden = (size_t)run->desc->hidden;
    int8_t *rows = (int8_t *)(run->workspace + plan->tokens);
    float *scales = (float *)(void *)(run->workspace + plan->token_scales);
    int32_t *zeros = (int32_t *)(void *)(run->workspace + plan->token_zeros);
    for (int64_t t = first; t < last; t++) {
        if (run->block.sum_begin[t] == run->block.sum_begin[t + 1])
            continue;
        armq_row_quant quant =
            armq_quantize_row(&run->desc->dialect, run->desc->in, token_x(run, t),
                              run->desc->hidden, rows + (size_t)t * hidden);
        scales[t] = quant.scale;
        zeros[t] = quant.zero_point;
    }
}

static void gather_quantized(const moe_run *run, const armq_row_block *to, const int64_t *tokens,
                             int64_t first, int64_t last) {
    const armq_moe_plan *plan = run->plan;
    const float *scales = (const float *)(const void *)(run->workspace + plan->token_scales);
    const int32_t *zeros = (const int32_t *)(const void *)(run->workspace + plan->token_zeros);
    armq_pack_rows(to, &run->token_packer, run->workspace + plan->tokens, (size_t)run->desc->hidden,
                   tokens, run->desc->hidden, first, last);
    for (int64_t row = first; row < last; row++) {
        to->scales[row] = scales[tokens[row]];
        to->zeros[row] = zeros[tokens[row]];
    }
}

static void gather_weighed(const moe_run *run, const armq_row_block *to, const int64_t *tokens,
                           const float *weights, float *x, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row++) {
        armq_weigh_row(run->desc->in, run->desc->dialect.work, token_x(run, tokens[row]),
                       run->desc->hidden, weights[row], x);
        armq_pack_rows(to, &run->token_packer, x, 0, NULL, run->desc->hidden, row, row + 1);
    }
}

static void gather(const moe_run *run, const armq_moe_chunk *chunk, int64_t slice, int64_t first,
                   int64_t last, int32_t thread) {
    const armq_row_block to = first_block(run, chunk, slice);
    const int64_t *tokens = run->block.row_token + chunk->row;
    if (run->plan->weighs_input)
        gather_weighed(run, &to, tokens, run->block.row_weight + chunk->row,
                       thread_row(run, thread), first, last);
    else if (run->plan->quantizes_tokens)
        gather_quantized(run, &to, tokens, first, last);
    else
        armq_pack_rows(&to, &run->token_packer, token_x(run, 0), run->x_stride, tokens,
                       run->desc->hidden, first, last);
}

/* Panels [first, last) of y13 = rows * w13. */
static void gate_up(const moe_run *run, const armq_moe_chunk *chunk, int64_t slice, int64_t first,
                    int64_t last, int32_t thread) {
    const armq_moe_plan *plan = run->plan;
    const armq_row_block rows = first_block(run, chunk, slice);
    const armq_multiply multiply = {
        .rows = &rows,
        .layout = &plan->layout[ARMQ_W13],
        .packed = (const char *)run->args->packed[ARMQ_W13] +
                  (size_t)chunk->expert * plan->expert_stride[ARMQ_W13],
        .epilogue = run->epilogue[ARMQ_W13],
        .k_block = plan->k_block[ARMQ_W13],
        .y = slice_memory(run, slice) + plan->slice_y13,
        .y_stride = plan->y13_stride,
    };
    armq_multiply_range(&multiply, 0, armq_row_tiles(plan->set, chunk->rows), first, last,
                        thread_memory(run, thread));
}

/* Rows of y13 through the activation into A panels for w2. */
static void activate(const moe_run *run, const armq_moe_chunk *chunk, int64_t slice, int64_t first,
                     int64_t last, int32_t thread) {
    const int64_t intermediate = run->desc->intermediate;
    const armq_row_block from = first_block(run, chunk, slice), to = second_block(run, chunk);
    const char *y13 = slice_memory(run, slice) + run->plan->slice_y13;
    float *weights = run->block.row_weight + chunk->row;
    void *row = thread_row(run, thread);
    for (int64_t r = first; r < last; r++) {
        armq_activate(&run->gate, y13 + (size_t)r * run->plan->y13_stride, intermediate, 0,
                      intermediate, row);
        armq_pack_rows(&to, &run->repacker, row, 0, NULL, intermediate, r, r + 1);
        if (run->plan->weighs_input) /* done with */
            weights[r] = 1.0f;
        if (from.scales[r] != from.scales[r]) /* NaN for the token, also if w13 has no columns */
            weights[r] = from.scales[r];
    }
}

/* Panels [first, last) of the chunk's rows times w2, to its rows of y2. */
static void down(const moe_run *run, const armq_moe_chunk *chunk, int64_t first, int64_t last,
                 int32_t thread) {
    const armq_moe_plan *plan = run->plan;
    const armq_row_block rows = second_block(run, chunk);
    armq_weight_layout columns = plan->layout[ARMQ_W2];
    columns.n -= first * ARMQ_TILE_COLUMNS;
    const armq_multiply multiply = {
        .rows = &rows,
        .layout = &columns,
        .packed = (const char *)run->args->packed[ARMQ_W2] +
                  (size_t)chunk->expert * plan->expert_stride[ARMQ_W2] +
                  (size_t)first * columns.panel_bytes,
        .epilogue = run->epilogue[ARMQ_W2],
        .k_block = plan->k_block[ARMQ_W2],
        .y = thread_memory(run, thread) + plan->thread_y2 + (size_t)chunk->row * plan->y2_stride,
        .y_stride = plan->y2_stride,
    };
    armq_multiply_range(&multiply, 0, armq_row_tiles(plan->set, chunk->rows), 0, last - first,
                        thread_memory(run, thread));
}

/* Columns [first, last) of y for the block's tokens. */
static void combine(const moe_run *run, int64_t first, int64_t last, int32_t thread) {
    const armq_moe_plan *plan = run->plan;
    const armq_routed *block = &run->block;
    const armq_dialect *dialect = &run->desc->dialect;
    const armq_sum sum = {
        .y2 = thread_memory(run, thread) + plan->thread_y2,
        .y2_stride = plan->y2_stride,
        .y2_dtype = dialect->y2_round,
        .weights = block->row_weight,
        .round = dialect->combine_round,
        .out = run->desc->out,
        .carry = (float *)(void *)(run->workspace + plan->carry) + first,
        .begins = block->begins,
        .ends = block->ends,
    };
    char *y = (char *)run->args->y + (size_t)block->token * run->y_stride +
              (size_t)first * armq_dtype_bytes(run->desc->out);
    for (int64_t t = 0; t < block->tokens; t++, y += run->y_stride)
        armq_sum_rows(&sum, block->sum_row + block->sum_begin[t],
                      block->sum_begin[t + 1] - block->sum_begin[t], last - first, y);
}

/* --- Jobs ----------------------------------------------------------------------------------------
 */

static void tokens_job(void *arg, int64_t job, int32_t thread) {
    (void)thread;
    const moe_run *run = arg;
    quantize_tokens(run, armq_split(run->block.tokens, job, run->parts),
                    armq_split(run->block.tokens, job + 1, run->parts));
}

/* A whole chunk; the thread's slice. */
static void chunk_job(void *arg, int64_t job, int32_t thread) {
    const moe_run *run = arg;
    const armq_moe_chunk *chunk = &run->chunks[job];
    gather(run, chunk, thread, 0, chunk->rows, thread);
    gate_up(run, chunk, thread, 0, run->plan->layout[ARMQ_W13].panels, thread);
    activate(run, chunk, thread, 0, chunk->rows, thread);
}

/* The same in three phases, for few chunks: each has a slice of its own. */
static void gather_job(void *arg, int64_t job, int32_t thread) {
    const moe_run *run = arg;
    const int64_t slice = job / run->parts, part = job % run->parts;
    const armq_moe_chunk *chunk = &run->chunks[slice];
    gather(run, chunk, slice, armq_split(chunk->rows, part, run->parts),
           armq_split(chunk->rows, part + 1, run->parts), thread);
}

static void gate_up_job(void *arg, int64_t job, int32_t thread) {
    const moe_run *run = arg;
    const int64_t slice = job / run->parts, part = job % run->parts;
    const int64_t panels = run->plan->layout[ARMQ_W13].panels;
    gate_up(run, &run->chunks[slice], slice, armq_split(panels, part, run->parts),
            armq_split(panels, part + 1, run->parts), thread);
}

static void activate_job(void *arg, int64_t job, int32_t thread) {
    const moe_run *run = arg;
    const int64_t slice = job / run->parts, part = job % run->parts;
    const armq_moe_chunk *chunk = &run->chunks[slice];
    activate(run, chunk, slice, armq_split(chunk->rows, part, run->parts),
             armq_split(chunk->rows, part + 1, run->parts), thread);
}

/* Some columns of y2 for all rows, and of y for all tokens: no other job is waited for. */
static void columns_job(void *arg, int64_t job, int32_t thread) {
    const moe_run *run = arg;
    const armq_weight_layout *layout = &run->plan->layout[ARMQ_W2];
    const int64_t first = armq_split(layout->panels, job, run->parts);
    const int64_t last = armq_split(layout->panels, job + 1, run->parts);
    for (int64_t c = 0; c < run->chunk_count; c++)
        down(run, &run->chunks[c], first, last, thread);
    combine(run, first * ARMQ_TILE_COLUMNS, min64(last * ARMQ_TILE_COLUMNS, layout->n), thread);
}

/* --- The op --------------------------------------------------------------------------------------
 */

/* Each expert's rows in chunks of about equal numbers of full row tiles. */
static void cut_chunks(moe_run *run) {
    const armq_routed *block = &run->block;
    const int64_t height = run->plan->set->tiles[0].rows;
    int64_t panel_row = 0;
    run->chunk_count = 0;
    for (int64_t e = 0; e < run->desc->experts; e++) {
        const int64_t first = block->row_begin[e], rows = block->row_begin[e + 1] - first;
        const int64_t tiles = divide_up(rows, height);
        const int64_t count = armq_moe_chunk_count(run->plan, rows);
        for (int64_t c = 0; c < count; c++) {
            const int64_t begin = armq_split(tiles, c, count) * height;
            const int64_t end = min64(armq_split(tiles, c + 1, count) * height, rows);
            run->chunks[run->chunk_count++] = (armq_moe_chunk){
                .expert = e,
                .row = first + begin,
                .rows = end - begin,
                .panel_row = panel_row,
            };
            panel_row += divide_up(end - begin, height) * height;
        }
    }
}

static void run_parts(moe_run *run, int64_t wanted, armq_job_fn *job) {
    run->parts = wanted > 1 ? wanted : 1;
    armq_run_jobs(run->args->threads, run->chunk_count * run->parts, job, run);
}

/* From tokens to A panels for w2. Chunks are independent; where they are too few for the threads,
 * each is split in turn by rows, by columns and by rows. */
static void run_chunks(moe_run *run, int64_t threads) {
    if (threads == 1 || run->chunk_count >= ARMQ_SLICES_PER_THREAD * threads) {
        armq_run_jobs(run->args->threads, run->chunk_count, chunk_job, run);
        return;
    }
    if (run->chunk_count == 0)
        return;
    const int64_t share = divide_up(JOBS_PER_THREAD * threads, run->chunk_count);
    const int64_t by_rows = min64(share, run->plan->chunk_rows);
    run_parts(run, by_rows, gather_job);
    run_parts(run, min64(share, run->plan->layout[ARMQ_W13].panels), gate_up_job);
    run_parts(run, by_rows, activate_job);
}

static void run_block(moe_run *run) {
    const int64_t threads = armq_thread_count(run->args->threads);
    cut_chunks(run);
    if (run->plan->quantizes_tokens) {
        run->parts = threads == 1 ? 1 : min64(run->block.tokens, JOBS_PER_THREAD * threads);
        armq_run_jobs(run->args->threads, run->parts, tokens_job, run);
    }
    run_chunks(run, threads);
    const int64_t panels = run->plan->layout[ARMQ_W2].panels;
    run->parts = min64(panels, threads * divide_up(panels, run->plan->column_panels * threads));
    armq_run_jobs(run->args->threads, run->parts, columns_job, run);
}

static void init_run(moe_run *run, const armq_moe_plan *plan, const armq_desc *desc,
                     const armq_args *args) {
    const armq_dialect *dialect = &desc->dialect;
    const bool zero_points = dialect->quant == ARMQ_QUANT_ASYMMETRIC;
    armq_dialect widened = *dialect; /* for rows that are rounded to their dtype already */
    widened.work = ARMQ_DTYPE_F32;
    const armq_dtype token_dtype = plan->weighs_input       ? ARMQ_DTYPE_F32
                                   : plan->quantizes_tokens ? ARMQ_DTYPE_S8
                                                            : desc->in;
    *run = (moe_run){
        .plan = plan,
        .desc = desc,
        .args = args,
        .workspace = args->workspace,
        .x_stride = (size_t)armq_x_stride(desc, args) * armq_dtype_bytes(desc->in),
        .y_stride = (size_t)armq_y_stride(desc, args) * armq_dtype_bytes(desc->out),
        .token_packer = armq_row_packer_for(plan->set, &widened, token_dtype),
        .repacker = armq_row_packer_for(plan->set, &widened, dialect->intermediate),
        .gate = armq_gate_for(dialect, dialect->y13_round, dialect->intermediate),
        .epilogue = {armq_epilogue_for(&plan->layout[ARMQ_W13], dialect->y13_round, zero_points,
                                       (desc->uses & ARMQ_USES_W13_BIAS) != 0, false),
                     armq_epilogue_for(&plan->layout[ARMQ_W2], dialect->y2_round, zero_points,
                                       (desc->uses & ARMQ_USES_W2_BIAS) != 0, false)},
        .chunks = (armq_moe_chunk *)(void *)((char *)args->workspace + plan->chunks),
    };
}

armq_status armq_moe_run(const armq_tile_set *set, const armq_desc *desc, const armq_args *args) {
    armq_moe_plan plan;
    if (!armq_ids_are_valid(desc, args->topk_ids) || !armq_moe_plan_init(&plan, set, desc))
        return ARMQ_INVALID_ARGUMENT;
    if (desc->tokens == 0 || desc->hidden == 0)
        return ARMQ_OK;
    moe_run run;
    init_run(&run, &plan, desc, args);
    armq_router router = {
        .ids = args->topk_ids,
        .weights = args->topk_weights,
        .tokens = desc->tokens,
        .top_k = desc->top_k,
        .experts = desc->experts,
        .skips = (desc->uses & ARMQ_USES_SKIP_IDS) != 0,
        .order = desc->dialect.combine_order,
        .weight_round = desc->dialect.combine_round,
        .max_rows = plan.max_rows,
        .max_tokens = plan.max_tokens,
    };
    armq_routed_place(&run.block, &router, run.workspace + plan.index);
    while (armq_route_next(&router, &run.block))
        run_block(&run);
    return ARMQ_OK;
}

void armq_moe_pack(const armq_moe_plan *plan, const armq_desc *desc, int32_t which, int64_t experts,
                   const armq_weights *weights, void *packed) {
    const armq_weight_layout *layout = &plan->layout[which];
    armq_weights next = *weights;
    char *to = packed;
    for (int64_t e = 0; e < experts; e++, to += plan->expert_stride[which]) {
        armq_pack_weights(layout, desc, &next, to);
        next = armq_next_weights(layout, desc, &next);
    }
}
