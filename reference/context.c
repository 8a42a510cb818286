/* SPDX-License-Identifier: Apache-2.0 */
/* Which op has which reference, and what the ops share. */
#include <stdlib.h>

#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/formats.h"
#include "reference/ops.h"

static const ref_op *const ops[] = {
    &ref_op_quantize,    &ref_op_activation,  &ref_op_gemm_s8s8s32, &ref_op_gemm_s8s4s32,
    &ref_op_linear_w8a8, &ref_op_linear_w4a8, &ref_op_linear_bf16,  &ref_op_moe_w8a8,
    &ref_op_moe_w4a8,    &ref_op_moe_bf16,
};

static const ref_op *find_op(armq_op op) {
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (ops[i]->op == op)
            return ops[i];
    return NULL;
}

ref_context *ref_open(const ref_problem *problem) {
    const ref_op *op = find_op(problem->desc->op);
    ref_context *context = op ? calloc(1, sizeof *context) : NULL;
    if (!context)
        return NULL;
    context->problem = *problem;
    context->op = op;
    context->cache.row = -1;
    if (!op->open(context)) {
        ref_close(context);
        return NULL;
    }
    return context;
}

void ref_close(ref_context *context) {
    if (!context)
        return;
    if (context->op->close)
        context->op->close(context);
    free(context->cache.q);
    free(context->cache.centered);
    free(context->cache.values);
    free(context);
}

void ref_row_intervals(ref_context *context, int64_t row, const int64_t *columns, int64_t count,
                       ref_interval *intervals) {
    context->op->row(context, row, columns, count, intervals);
}

double ref_unquantized(ref_context *context, int64_t row, int64_t column) {
    return context->op->unquantized(context, row, column);
}

int64_t ref_tie_flips(const ref_context *context) { return context->tie_flips; }

bool ref_cache_open(ref_context *context) {
    int64_t k = context->problem.desc->k;
    if (k < 0 || (uint64_t)k > SIZE_MAX / sizeof(double) - 1)
        return false;
    size_t count = (size_t)k + 1; /* never 0 bytes */
    context->cache.q = malloc(count * sizeof *context->cache.q);
    context->cache.centered = malloc(count * sizeof *context->cache.centered);
    context->cache.values = malloc(count * sizeof *context->cache.values);
    return context->cache.q && context->cache.centered && context->cache.values;
}

const ref_row_cache *ref_cache_row(ref_context *context, int64_t row) {
    ref_row_cache *cache = &context->cache;
    const armq_desc *desc = context->problem.desc;
    if (cache->row == row)
        return cache;
    cache->quant =
        ref_quantize_row(&desc->dialect, desc->in, ref_x_row(context, row), desc->k, cache->q);
    for (int64_t i = 0; i < desc->k; i++)
        cache->centered[i] = (int16_t)(cache->q[i] - cache->quant.zero_point);
    cache->row = row;
    return cache;
}

const ref_row_cache *ref_cache_s8_row(ref_context *context, int64_t row) {
    ref_row_cache *cache = &context->cache;
    const int8_t *x = ref_x_row(context, row);
    if (cache->row != row)
        for (int64_t i = 0; i < context->problem.desc->k; i++)
            cache->centered[i] = (int16_t)x[i];
    cache->row = row;
    return cache;
}

const void *ref_x_row(const ref_context *context, int64_t row) {
    const ref_problem *problem = &context->problem;
    int64_t stride = problem->x_stride ? problem->x_stride : armq_x_row(problem->desc);
    int64_t bytes = row * stride * (int64_t)armq_dtype_bytes(problem->desc->in);
    return bytes ? (const char *)problem->x + bytes : problem->x;
}

/* Blocks of a fixed length let the compiler vectorise; 32 products of 255 * 128 fit int32. No
 * longer than the shortest group of int4 weights. */
enum { DOT_BLOCK = 32 };

int64_t ref_dot(const int16_t *a, const int8_t *b, int64_t k) {
    int64_t total = 0, i = 0;
    for (; i + DOT_BLOCK <= k; i += DOT_BLOCK) {
        int32_t block = 0;
        for (int j = 0; j < DOT_BLOCK; j++)
            block += a[i + j] * b[i + j];
        total += block;
    }
    for (; i < k; i++)
        total += (int64_t)a[i] * b[i];
    return total;
}

void ref_exact_row(ref_context *context, int64_t row, const int64_t *columns, int64_t count,
                   ref_interval *intervals) {
    for (int64_t i = 0; i < count; i++)
        intervals[i] = ref_exact(context->op->unquantized(context, row, columns ? columns[i] : i));
}

bool ref_bias(const ref_context *context, int64_t n, double *bias) {
    const armq_desc *desc = context->problem.desc;
    if (!(desc->uses & ARMQ_USES_BIAS))
        return false;
    *bias = armq_load(desc->bias_dtype, context->problem.weights[0]->bias, n);
    return true;
}

ref_interval ref_with_bias(const ref_context *context, int64_t n, ref_interval product) {
    const armq_desc *desc = context->problem.desc;
    double bias;
    if (!ref_bias(context, n, &bias))
        return product;
    if (desc->dialect.linear_round_before_bias)
        product = ref_rounded(product, desc->out);
    return ref_plus_f32(product, bias);
}

ref_interval ref_not_finite_row(const ref_context *context) {
    bool declared = context->problem.claims & ARMQ_CLAIM_NONFINITE_ROW_NAN;
    ref_interval interval = ref_exact(0.0);
    interval.kind = declared ? REF_NAN : REF_ANY;
    return interval;
}
