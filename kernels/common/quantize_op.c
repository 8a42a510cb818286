/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/quantize_op.h"

#include <stdio.h>

#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "kernels/common/quantize.h"
#include "kernels/common/threads.h"

enum { ROWS_PER_JOB = 8, ELEMENTS_PER_STEP = 16 };

void armq_quantize_op_query(armq_support *support) {
    snprintf(support->kernel, sizeof support->kernel, "neon, per row");
    support->tile_m = support->tile_n = 1;
    support->tile_k = ELEMENTS_PER_STEP;
}

typedef struct {
    const armq_desc *desc;
    const armq_args *args;
} quantize_run;

static void quantize_rows(void *arg, int64_t job, int32_t thread) {
    (void)thread;
    const quantize_run *run = arg;
    const armq_desc *desc = run->desc;
    const armq_args *args = run->args;
    const size_t x_stride = (size_t)armq_x_stride(desc, args) * armq_dtype_bytes(desc->in);
    const size_t y_stride = (size_t)armq_y_stride(desc, args);
    const int64_t first = job * ROWS_PER_JOB;
    for (int64_t row = first; row < desc->tokens && row < first + ROWS_PER_JOB; row++) {
        const void *x = desc->k ? (const char *)args->x + (size_t)row * x_stride : NULL;
        int8_t *y = desc->k ? (int8_t *)args->y + (size_t)row * y_stride : NULL;
        armq_row_quant quant = armq_quantize_row(&desc->dialect, desc->in, x, desc->k, y);
        args->y_scales[row] = quant.scale;
        if (args->y_zero_points)
            args->y_zero_points[row] = quant.zero_point;
    }
}

void armq_quantize_op_run(const armq_desc *desc, const armq_args *args) {
    quantize_run run = {desc, args};
    const int64_t jobs = desc->tokens / ROWS_PER_JOB + (desc->tokens % ROWS_PER_JOB != 0);
    armq_run_jobs(args->threads, jobs, quantize_rows, &run);
}
