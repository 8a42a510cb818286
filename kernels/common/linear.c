/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/linear.h"

#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "kernels/common/threads.h"

/* Where the caller knows none: the smallest of current server and mobile cores. */
enum { DEFAULT_L2 = 512 << 10 };

enum {
    MIN_BLOCK_ROWS = 32, /* so that a weight is used several times per load */
    MAX_BLOCK_ROWS = 256,
    JOBS_PER_THREAD = 4 /* so that a slow thread does not hold up the rest */
};

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

static size_t align_up(size_t value) {
    return (value + ARMQ_WORKSPACE_ALIGN - 1) / ARMQ_WORKSPACE_ALIGN * ARMQ_WORKSPACE_ALIGN;
}

/* Rows whose panels fill half of the second-level cache: they are read once per column panel. */
static int64_t block_rows_of(const armq_tile_set *set, size_t row_bytes, int64_t l2,
                             int64_t tokens) {
    const int64_t height = set->tiles[0].rows;
    const int64_t bytes = (l2 > 0 ? l2 : DEFAULT_L2) / 2;
    int64_t rows = row_bytes ? bytes / (int64_t)row_bytes : MAX_BLOCK_ROWS;
    rows = min64(max64(rows, MIN_BLOCK_ROWS), MAX_BLOCK_ROWS) / height * height;
    return min64(rows, tokens);
}

bool armq_linear_plan_init(armq_linear_plan *plan, const armq_tile_set *set,
                           const armq_desc *desc) {
    *plan = (armq_linear_plan){0};
    if (!armq_weight_layout_init(&plan->layout, set, desc, 0))
        return false;
    plan->k_block = armq_k_block(&plan->layout, desc->l1);
    if (desc->n == 0 || desc->tokens == 0)
        return true;
    const int64_t k_steps = plan->layout.k_steps;
    size_t row_bytes, total;
    if (__builtin_mul_overflow((size_t)k_steps, (size_t)set->k_step * armq_tile_a_bytes(set->kind),
                               &row_bytes) ||
        __builtin_mul_overflow(row_bytes, (size_t)MAX_BLOCK_ROWS, &total) || total > PTRDIFF_MAX)
        return false;
    plan->block_rows = block_rows_of(set, row_bytes, desc->l2, desc->tokens);
    const size_t per_row = align_up((size_t)plan->block_rows * sizeof(float));
    plan->scales_offset = align_up(armq_row_block_bytes(set, k_steps, plan->block_rows));
    plan->zeros_offset = plan->scales_offset + per_row;
    plan->scratch_offset = plan->zeros_offset + per_row;
    plan->scratch_bytes = align_up(armq_multiply_scratch_bytes(
        &plan->layout, plan->k_block, armq_row_tiles(set, plan->block_rows)));
    return !__builtin_mul_overflow(plan->scratch_bytes, (size_t)desc->max_threads, &total) &&
           !__builtin_add_overflow(total, plan->scratch_offset, &plan->workspace_bytes);
}

/* One run; the block's fields change from block to block. */
typedef struct {
    const armq_linear_plan *plan;
    const armq_args *args;
    armq_row_packer packer;
    armq_row_block block;
    armq_multiply multiply;
    const void *x; /* the block's first row */
    size_t x_stride;
    char *scratch;
    int64_t pack_jobs, row_jobs, panel_jobs;
} linear_run;

static void pack_job(void *arg, int64_t job, int32_t thread) {
    (void)thread;
    const linear_run *run = arg;
    armq_pack_rows(&run->block, &run->packer, run->x, run->x_stride, NULL, run->plan->layout.k,
                   armq_split(run->block.rows, job, run->pack_jobs),
                   armq_split(run->block.rows, job + 1, run->pack_jobs));
}

static void multiply_job(void *arg, int64_t job, int32_t thread) {
    const linear_run *run = arg;
    const int64_t tiles = armq_row_tiles(run->block.set, run->block.rows);
    const int64_t panels = run->plan->layout.panels;
    const int64_t row_job = job / run->panel_jobs, panel_job = job % run->panel_jobs;
    armq_multiply_range(&run->multiply, armq_split(tiles, row_job, run->row_jobs),
                        armq_split(tiles, row_job + 1, run->row_jobs),
                        armq_split(panels, panel_job, run->panel_jobs),
                        armq_split(panels, panel_job + 1, run->panel_jobs),
                        run->scratch + (size_t)thread * run->plan->scratch_bytes);
}

/* Panels are split first, since each then stays with one core; row tiles only when there are too
 * few. */
static void split_jobs(linear_run *run) {
    const int64_t threads = armq_thread_count(run->args->threads);
    const int64_t jobs = threads == 1 ? 1 : threads * JOBS_PER_THREAD;
    const int64_t tiles = armq_row_tiles(run->block.set, run->block.rows);
    run->pack_jobs = min64(run->block.rows, jobs);
    run->panel_jobs = min64(run->plan->layout.panels, jobs);
    run->row_jobs = 1;
    if (run->panel_jobs < threads)
        run->row_jobs = min64(tiles, (threads + run->panel_jobs - 1) / run->panel_jobs);
}

static void init_run(linear_run *run, const armq_linear_plan *plan, const armq_tile_set *set,
                     const armq_desc *desc, const armq_args *args) {
    char *workspace = args->workspace;
    *run = (linear_run){
        .plan = plan,
        .args = args,
        .packer = armq_row_packer_for(set, &desc->dialect, desc->in),
        .x_stride = (size_t)armq_x_stride(desc, args) * armq_dtype_bytes(desc->in),
        .scratch = workspace + plan->scratch_offset,
    };
    run->block = (armq_row_block){
        .set = set,
        .k_steps = plan->layout.k_steps,
        .row_bytes = (size_t)(plan->layout.k_steps * set->k_step) * armq_tile_a_bytes(set->kind),
        .panels = workspace,
        .scales = (float *)(void *)(workspace + plan->scales_offset),
        .zeros = (int32_t *)(void *)(workspace + plan->zeros_offset),
    };
    run->multiply = (armq_multiply){
        .rows = &run->block,
        .layout = &plan->layout,
        .packed = args->packed[0],
        .epilogue = armq_epilogue_for(
            &plan->layout, desc->out, desc->dialect.quant == ARMQ_QUANT_ASYMMETRIC,
            (desc->uses & ARMQ_USES_BIAS) != 0, desc->dialect.linear_round_before_bias != 0),
        .k_block = plan->k_block,
        .y_stride = (size_t)armq_y_stride(desc, args) * armq_dtype_bytes(desc->out),
    };
}

void armq_linear_run(const armq_tile_set *set, const armq_desc *desc, const armq_args *args) {
    armq_linear_plan plan;
    if (!armq_linear_plan_init(&plan, set, desc) || plan.block_rows == 0)
        return;
    linear_run run;
    init_run(&run, &plan, set, desc, args);
    for (int64_t row = 0; row < desc->tokens; row += plan.block_rows) {
        run.block.rows = min64(plan.block_rows, desc->tokens - row);
        run.x = (const char *)args->x + (size_t)row * run.x_stride;
        run.multiply.y = (char *)args->y + (size_t)row * run.multiply.y_stride;
        split_jobs(&run);
        armq_run_jobs(args->threads, run.pack_jobs, pack_job, &run);
        armq_run_jobs(args->threads, run.row_jobs * run.panel_jobs, multiply_job, &run);
    }
}
