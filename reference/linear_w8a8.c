/* SPDX-License-Identifier: Apache-2.0 */
/* y = f32(acc - zp * rowsum) * (s_x * s_w) (+ bias), per row and channel. */
#include "reference/formats.h"
#include "reference/ops.h"

static bool linear_open(ref_context *context) {
    const armq_desc *desc = context->problem.desc;
    return desc->format == ARMQ_WEIGHT_S8 && desc->group_size == 0 &&
           desc->scale_dtype == ARMQ_DTYPE_F32 && desc->dialect.quant != ARMQ_QUANT_NONE &&
           ref_cache_open(context);
}

static ref_interval product(const ref_context *context, const ref_row_cache *cache, int64_t n) {
    const armq_weights *weights = context->problem.weights[0];
    int64_t k = context->problem.desc->k;
    if (k == 0)
        return ref_exact(0.0);
    int64_t sum = ref_dot(cache->centered, (const int8_t *)weights->w + n * k, k);
    return ref_scaled(sum, cache->quant.scale, ((const float *)weights->scales)[n]);
}

static void linear_row(ref_context *context, int64_t row, const int64_t *columns, int64_t count,
                       ref_interval *intervals) {
    const ref_row_cache *cache = ref_cache_row(context, row);
    for (int64_t i = 0; i < count; i++) {
        int64_t n = columns ? columns[i] : i;
        intervals[i] = cache->quant.finite ? ref_with_bias(context, n, product(context, cache, n))
                                           : ref_not_finite_row(context);
    }
}

static double linear_unquantized(ref_context *context, int64_t row, int64_t column) {
    const armq_desc *desc = context->problem.desc;
    const armq_weights *weights = context->problem.weights[0];
    const void *x = ref_x_row(context, row);
    double sum = 0.0, bias;
    if (desc->k) {
        const int8_t *w = (const int8_t *)weights->w + column * desc->k;
        for (int64_t i = 0; i < desc->k; i++)
            sum += armq_load(desc->in, x, i) * w[i];
        sum *= (double)((const float *)weights->scales)[column];
    }
    return ref_bias(context, column, &bias) ? sum + bias : sum;
}

const ref_op ref_op_linear_w8a8 = {
    .op = ARMQ_OP_LINEAR_W8A8,
    .open = linear_open,
    .row = linear_row,
    .unquantized = linear_unquantized,
};
