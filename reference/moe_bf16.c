/* SPDX-License-Identifier: Apache-2.0 */
/* Mixture of experts with bf16 weights, the baseline: bf16 dot products in both stages. */
#include <math.h>
#include <stdlib.h>

#include "kernels/api/describe.h"
#include "reference/formats.h"
#include "reference/moe.h"

static const double smallest_normal = 0x1p-126;

/* Both operands of a product are bf16, so x and the intermediate have to be. */
static bool accepts(const armq_desc *desc) {
    return desc->format == ARMQ_WEIGHT_BF16 && desc->dialect.quant == ARMQ_QUANT_NONE &&
           desc->dialect.work == ARMQ_DTYPE_BF16 && desc->dialect.intermediate == ARMQ_DTYPE_BF16;
}

static bool reserve(ref_operand *operand, int64_t k) {
    if (k < 0 || (uint64_t)k > SIZE_MAX / sizeof(ref_spread) - 1)
        return false;
    operand->bf16.values = malloc(((size_t)k + 1) * sizeof *operand->bf16.values);
    operand->bf16.spreads = malloc(((size_t)k + 1) * sizeof *operand->bf16.spreads);
    return operand->bf16.values && operand->bf16.spreads;
}

static void release(ref_operand *operand) {
    free(operand->bf16.values);
    free(operand->bf16.spreads);
}

static void set_value(ref_bf16_row *row, int64_t i, double value) {
    row->values[i] = value;
    row->tiny = row->tiny || (value != 0.0 && fabs(value) < smallest_normal);
}

static void first(const ref_context *context, const float *values, ref_operand *operand) {
    operand->kind = REF_VALUE;
    operand->bf16.tiny = false;
    operand->bf16.spread_count = 0;
    for (int64_t i = 0; i < context->problem.desc->hidden; i++) {
        set_value(&operand->bf16, i, (double)values[i]);
        if (!isfinite(values[i]))
            operand->kind = ref_not_finite_row(context).kind;
    }
}

/* An intermediate that overflows is nobody's row with Inf: what it gives is not declared. */
static void second(const ref_context *context, const ref_interval *values, ref_operand *operand) {
    ref_bf16_row *row = &operand->bf16;
    operand->kind = REF_VALUE;
    row->tiny = false;
    row->spread_count = 0;
    for (int64_t i = 0; i < context->problem.desc->intermediate; i++) {
        const ref_interval *v = &values[i];
        set_value(row, i, v->mid);
        if (v->kind != REF_VALUE || !isfinite(v->lo) || !isfinite(v->hi))
            operand->kind = REF_ANY;
        if (v->lo != v->hi)
            row->spreads[row->spread_count++] = (ref_spread){i, v->lo, v->hi};
    }
    operand->uncertain = row->spread_count;
}

static const uint16_t *weight_row(const ref_context *context, int which, int64_t expert,
                                  int64_t n) {
    const armq_desc *desc = context->problem.desc;
    int64_t row = expert * armq_weight_n(desc, which) + n;
    return (const uint16_t *)context->problem.weights[which]->w + row * armq_weight_k(desc, which);
}

static ref_interval product(const ref_context *context, const ref_operand *operand, int which,
                            int64_t expert, int64_t n) {
    int64_t k = armq_weight_k(context->problem.desc, which);
    return k ? ref_dot_bf16(&operand->bf16, weight_row(context, which, expert, n), k)
             : ref_exact(0.0);
}

static double exact(const ref_context *context, const double *values, int which, int64_t expert,
                    int64_t n) {
    int64_t k = armq_weight_k(context->problem.desc, which);
    const uint16_t *w = k ? weight_row(context, which, expert, n) : NULL;
    double sum = 0.0;
    for (int64_t i = 0; i < k; i++)
        sum += values[i] * armq_load(ARMQ_DTYPE_BF16, w, i);
    return sum;
}

static bool moe_open(ref_context *context) {
    static const ref_moe_arithmetic arithmetic = {
        .accepts = accepts,
        .reserve = reserve,
        .release = release,
        .first = first,
        .second = second,
        .product = product,
        .exact = exact,
    };
    return ref_moe_open(context, &arithmetic);
}

const ref_op ref_op_moe_bf16 = {
    .op = ARMQ_OP_MOE_BF16,
    .open = moe_open,
    .close = ref_moe_close,
    .row = ref_moe_row,
    .unquantized = ref_moe_unquantized,
};
