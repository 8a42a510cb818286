/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/activation_op.h"

#include <stdio.h>

#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "kernels/common/activation.h"
#include "kernels/common/threads.h"

enum { ELEMENTS_PER_STEP = 16, ELEMENTS_PER_JOB = 4096 };

void armq_activation_op_query(armq_support *support) {
    snprintf(support->kernel, sizeof support->kernel, "neon, 16 elements a step");
    support->tile_m = support->tile_n = 1;
    support->tile_k = ELEMENTS_PER_STEP;
}

/* Jobs are pieces of a row, or several rows where those are short. */
typedef struct {
    const armq_desc *desc;
    const armq_args *args;
    armq_gate gate;
    int64_t pieces, rows; /* pieces of a row; rows of a job */
} activation_run;

static void activate_job(void *arg, int64_t job, int32_t thread) {
    (void)thread;
    const activation_run *run = arg;
    const armq_desc *desc = run->desc;
    const size_t x_stride = (size_t)armq_x_stride(desc, run->args) * armq_dtype_bytes(desc->in);
    const size_t y_stride = (size_t)armq_y_stride(desc, run->args) * armq_dtype_bytes(desc->out);
    const int64_t piece = job % run->pieces, row_first = job / run->pieces * run->rows;
    const int64_t first = armq_split(desc->intermediate, piece, run->pieces);
    const int64_t last = armq_split(desc->intermediate, piece + 1, run->pieces);
    for (int64_t row = row_first; row < desc->tokens && row < row_first + run->rows; row++)
        armq_activate(&run->gate, (const char *)run->args->x + (size_t)row * x_stride,
                      desc->intermediate, first, last - first,
                      (char *)run->args->y + (size_t)row * y_stride);
}

void armq_activation_op_run(const armq_desc *desc, const armq_args *args) {
    if (desc->intermediate == 0 || desc->tokens == 0)
        return;
    activation_run run = {
        .desc = desc,
        .args = args,
        .gate = armq_gate_for(&desc->dialect, desc->in, desc->out),
        .pieces = (desc->intermediate - 1) / ELEMENTS_PER_JOB + 1,
    };
    run.gate.work = desc->dialect.work == desc->in ? ARMQ_DTYPE_F32 : desc->dialect.work;
    run.gate.any_nan = desc->in != ARMQ_DTYPE_BF16 &&
                       (desc->dialect.work == ARMQ_DTYPE_BF16 || run.gate.round == ARMQ_DTYPE_BF16);
    run.rows = run.pieces > 1 ? 1 : (ELEMENTS_PER_JOB - 1) / desc->intermediate + 1;
    const int64_t groups = (desc->tokens - 1) / run.rows + 1;
    armq_run_jobs(args->threads, groups * run.pieces, activate_job, &run);
}
