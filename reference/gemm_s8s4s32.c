/* SPDX-License-Identifier: Apache-2.0 */
/* y[m][n][g] = sum over k of group g of x[m][k] * (w[n][k] - zero point), exact. A sum outside
 * int32 can not be matched. */
#include <stdlib.h>

#include "reference/int4.h"
#include "reference/ops.h"

/* The last row of weights: its groups are asked for one after the other. */
typedef struct {
    int64_t row; /* -1: none yet */
    int8_t w[];
} unpacked;

static bool gemm_open(ref_context *context) {
    const armq_desc *desc = context->problem.desc;
    if (desc->in != ARMQ_DTYPE_S8 || !ref_int4_accepts(desc, desc->k) || !ref_cache_open(context))
        return false;
    unpacked *last = context->state = malloc(sizeof *last + (size_t)desc->k);
    if (last)
        last->row = -1;
    return last != NULL;
}

static void gemm_close(ref_context *context) { free(context->state); }

static double sum_at(ref_context *context, int64_t row, int64_t column) {
    const armq_desc *desc = context->problem.desc;
    int64_t groups = ref_groups(desc, desc->k), length = groups ? desc->k / groups : 0;
    unpacked *last = context->state;
    if (length == 0)
        return 0.0;
    if (last->row != column / groups)
        ref_int4_row(desc, context->problem.weights[0], column / groups, desc->k, last->w);
    last->row = column / groups;
    int64_t first = column % groups * length;
    return (double)ref_dot(ref_cache_s8_row(context, row)->centered + first, last->w + first,
                           length);
}

const ref_op ref_op_gemm_s8s4s32 = {
    .op = ARMQ_OP_GEMM_S8S4S32,
    .open = gemm_open,
    .close = gemm_close,
    .row = ref_exact_row,
    .unquantized = sum_at,
};
