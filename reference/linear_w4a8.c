/* SPDX-License-Identifier: Apache-2.0 */
/* Per channel y = f32(acc - zp * rowsum) * (s_x * s_w) (+ bias); per group
 * y = (sum_g f32(acc_g) * s_g - zp * sum_g s_g * rowsum_g) * s_x (+ bias). */
#include <stdlib.h>

#include "reference/formats.h"
#include "reference/int4.h"
#include "reference/ops.h"

static bool linear_open(ref_context *context) {
    const armq_desc *desc = context->problem.desc;
    if (!ref_int4_accepts(desc, desc->k) || desc->dialect.quant == ARMQ_QUANT_NONE ||
        !ref_cache_open(context))
        return false;
    context->state = malloc((size_t)desc->k + 1); /* a row of weights */
    return context->state != NULL;
}

static void linear_close(ref_context *context) { free(context->state); }

static void linear_row(ref_context *context, int64_t row, const int64_t *columns, int64_t count,
                       ref_interval *intervals) {
    const armq_desc *desc = context->problem.desc;
    const armq_weights *weights = context->problem.weights[0];
    const ref_row_cache *cache = ref_cache_row(context, row);
    const ref_variant x = {.centered = cache->centered,
                           .scale = ref_exact((double)cache->quant.scale),
                           .zero_point = ref_exact((double)cache->quant.zero_point)};
    for (int64_t i = 0; i < count; i++) {
        int64_t n = columns ? columns[i] : i;
        intervals[i] =
            cache->quant.finite
                ? ref_with_bias(context, n,
                                ref_int4_product(desc, weights, n, desc->k, &x, 1, context->state))
                : ref_not_finite_row(context);
    }
}

static double linear_unquantized(ref_context *context, int64_t row, int64_t column) {
    const armq_desc *desc = context->problem.desc;
    double *x = context->cache.values, bias;
    for (int64_t i = 0; i < desc->k; i++)
        x[i] = armq_load(desc->in, ref_x_row(context, row), i);
    double y = ref_int4_exact(desc, context->problem.weights[0], column, desc->k, x);
    return ref_bias(context, column, &bias) ? y + bias : y;
}

const ref_op ref_op_linear_w4a8 = {
    .op = ARMQ_OP_LINEAR_W4A8,
    .open = linear_open,
    .close = linear_close,
    .row = linear_row,
    .unquantized = linear_unquantized,
};
