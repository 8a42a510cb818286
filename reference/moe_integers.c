/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of the mixtures of experts whose activations are quantised. */
#include <stdlib.h>

#include "reference/moe.h"

bool ref_integers_reserve(ref_operand *operand, int64_t k) {
    operand->q = k >= 0 ? malloc((size_t)k + 1) : NULL;
    return ref_quantized_alloc(&operand->quantized, k) && operand->q;
}

void ref_integers_release(ref_operand *operand) {
    ref_quantized_free(&operand->quantized);
    free(operand->q);
}

void ref_integers_first(const ref_context *context, const float *values, ref_operand *operand) {
    const armq_desc *desc = context->problem.desc;
    ref_quantize_certain(&desc->dialect, values, desc->hidden, ref_not_finite_row(context).kind,
                         operand->q, &operand->quantized);
    operand->kind = operand->quantized.kind;
}

void ref_integers_second(const ref_context *context, const ref_interval *values,
                         ref_operand *operand) {
    const armq_desc *desc = context->problem.desc;
    ref_requantize(&desc->dialect, desc->dialect.intermediate, values, desc->intermediate,
                   ref_not_finite_row(context).kind, &operand->quantized);
    operand->kind = operand->quantized.kind;
    operand->uncertain = ref_flips(&operand->quantized);
}
