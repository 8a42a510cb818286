/* SPDX-License-Identifier: Apache-2.0 */
/* The bf16 baseline: y = sum of bf16(x) * w in f32 (+ bias in f32), per row and channel. */
#include <math.h>

#include "reference/bf16_dot.h"
#include "reference/formats.h"
#include "reference/ops.h"

static const double smallest_normal = 0x1p-126;

static bool linear_open(ref_context *context) {
    return context->problem.desc->format == ARMQ_WEIGHT_BF16 && ref_cache_open(context);
}

static const ref_row_cache *rounded_row(ref_context *context, int64_t row) {
    ref_row_cache *cache = &context->cache;
    const armq_desc *desc = context->problem.desc;
    if (cache->row == row)
        return cache;
    const void *x = ref_x_row(context, row);
    cache->quant.finite = true;
    cache->tiny = false;
    for (int64_t i = 0; i < desc->k; i++) {
        double value = armq_round_to(ARMQ_DTYPE_BF16, armq_load(desc->in, x, i));
        cache->values[i] = value;
        cache->quant.finite = cache->quant.finite && isfinite(value);
        cache->tiny = cache->tiny || (value != 0.0 && fabs(value) < smallest_normal);
    }
    cache->row = row;
    return cache;
}

static void linear_row(ref_context *context, int64_t row, const int64_t *columns, int64_t count,
                       ref_interval *intervals) {
    const ref_row_cache *cache = rounded_row(context, row);
    const ref_bf16_row values = {.values = context->cache.values, .tiny = cache->tiny};
    const uint16_t *w = context->problem.weights[0]->w;
    int64_t k = context->problem.desc->k;
    for (int64_t i = 0; i < count; i++) {
        int64_t n = columns ? columns[i] : i;
        if (!cache->quant.finite) {
            intervals[i] = ref_not_finite_row(context);
            continue;
        }
        intervals[i] = ref_with_bias(context, n, ref_dot_bf16(&values, k ? w + n * k : w, k));
    }
}

static double linear_unquantized(ref_context *context, int64_t row, int64_t column) {
    const armq_desc *desc = context->problem.desc;
    const uint16_t *w = context->problem.weights[0]->w;
    const void *x = ref_x_row(context, row);
    double sum = 0.0, bias;
    for (int64_t i = 0; i < desc->k; i++)
        sum += armq_load(desc->in, x, i) * armq_load(ARMQ_DTYPE_BF16, w, column * desc->k + i);
    return ref_bias(context, column, &bias) ? sum + bias : sum;
}

const ref_op ref_op_linear_bf16 = {
    .op = ARMQ_OP_LINEAR_BF16,
    .open = linear_open,
    .row = linear_row,
    .unquantized = linear_unquantized,
};
