/* SPDX-License-Identifier: Apache-2.0 */
/* Mixture of experts with int8 weights: f32(acc - zp * rowsum) * (s_x * s_w) in both stages. */
#include "kernels/api/describe.h"
#include "reference/moe.h"

static bool accepts(const armq_desc *desc) {
    return desc->format == ARMQ_WEIGHT_S8 && desc->group_size == 0 &&
           desc->scale_dtype == ARMQ_DTYPE_F32 && desc->dialect.quant != ARMQ_QUANT_NONE;
}

static const int8_t *weight_row(const ref_context *context, int which, int64_t expert, int64_t n,
                                float *scale) {
    const armq_desc *desc = context->problem.desc;
    const armq_weights *weights = context->problem.weights[which];
    int64_t row = expert * armq_weight_n(desc, which) + n;
    *scale = ((const float *)weights->scales)[row];
    return (const int8_t *)weights->w + row * armq_weight_k(desc, which);
}

static ref_interval product(const ref_context *context, const ref_operand *operand, int which,
                            int64_t expert, int64_t n) {
    int64_t k = armq_weight_k(context->problem.desc, which);
    if (k == 0)
        return ref_exact(0.0);
    float scale;
    const int8_t *w = weight_row(context, which, expert, n, &scale);
    ref_interval y = ref_exact(0.0);
    for (int i = 0; i < operand->quantized.count; i++) {
        const ref_variant *variant = &operand->quantized.variants[i];
        ref_interval sum = ref_dot_variant(variant, w, k);
        ref_interval one = ref_scaled_interval(sum, variant->scale, (double)scale);
        y = i == 0 ? one : ref_hull(y, one);
    }
    return y;
}

static double exact(const ref_context *context, const double *values, int which, int64_t expert,
                    int64_t n) {
    int64_t k = armq_weight_k(context->problem.desc, which);
    if (k == 0)
        return 0.0;
    float scale;
    const int8_t *w = weight_row(context, which, expert, n, &scale);
    double sum = 0.0;
    for (int64_t i = 0; i < k; i++)
        sum += values[i] * w[i];
    return sum * (double)scale;
}

static bool moe_open(ref_context *context) {
    static const ref_moe_arithmetic arithmetic = {
        .accepts = accepts,
        .reserve = ref_integers_reserve,
        .release = ref_integers_release,
        .first = ref_integers_first,
        .second = ref_integers_second,
        .product = product,
        .exact = exact,
    };
    return ref_moe_open(context, &arithmetic);
}

const ref_op ref_op_moe_w8a8 = {
    .op = ARMQ_OP_MOE_W8A8,
    .open = moe_open,
    .close = ref_moe_close,
    .row = ref_moe_row,
    .unquantized = ref_moe_unquantized,
};
