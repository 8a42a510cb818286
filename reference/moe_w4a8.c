/* SPDX-License-Identifier: Apache-2.0 */
/* Mixture of experts with int4 weights: in both stages the product of linear_w4a8. */
#include "kernels/api/describe.h"
#include "reference/int4.h"
#include "reference/moe.h"

static bool accepts(const armq_desc *desc) {
    return ref_int4_accepts(desc, desc->hidden) && ref_int4_accepts(desc, desc->intermediate) &&
           desc->dialect.quant != ARMQ_QUANT_NONE;
}

static ref_interval product(const ref_context *context, const ref_operand *operand, int which,
                            int64_t expert, int64_t n) {
    const armq_desc *desc = context->problem.desc;
    int64_t row = expert * armq_weight_n(desc, which) + n;
    return ref_int4_product(desc, context->problem.weights[which], row, armq_weight_k(desc, which),
                            operand->quantized.variants, operand->quantized.count, operand->q);
}

static double exact(const ref_context *context, const double *values, int which, int64_t expert,
                    int64_t n) {
    const armq_desc *desc = context->problem.desc;
    return ref_int4_exact(desc, context->problem.weights[which],
                          expert * armq_weight_n(desc, which) + n, armq_weight_k(desc, which),
                          values);
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

const ref_op ref_op_moe_w4a8 = {
    .op = ARMQ_OP_MOE_W4A8,
    .open = moe_open,
    .close = ref_moe_close,
    .row = ref_moe_row,
    .unquantized = ref_moe_unquantized,
};
