/* SPDX-License-Identifier: Apache-2.0 */
/* y[m][n] = sum over k of x[m][k] * w[n][k], exact. A sum outside int32 can not be matched. */
#include "reference/ops.h"

static bool gemm_open(ref_context *context) {
    const armq_desc *desc = context->problem.desc;
    return desc->in == ARMQ_DTYPE_S8 && desc->format == ARMQ_WEIGHT_S8 && ref_cache_open(context);
}

static double sum_at(ref_context *context, int64_t row, int64_t column) {
    int64_t k = context->problem.desc->k;
    const int8_t *w = context->problem.weights[0]->w;
    return k ? (double)ref_dot(ref_cache_s8_row(context, row)->centered, w + column * k, k) : 0.0;
}

const ref_op ref_op_gemm_s8s8s32 = {
    .op = ARMQ_OP_GEMM_S8S8S32,
    .open = gemm_open,
    .row = ref_exact_row,
    .unquantized = sum_at,
};
