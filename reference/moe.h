/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the reference: the two-stage pipeline of a mixture of experts, generic over the dialect
 * and over what the weights are. reference/README.md, "Mixture of experts". */
#ifndef ARMQ_REFERENCE_MOE_H
#define ARMQ_REFERENCE_MOE_H

#include "reference/bf16_dot.h"
#include "reference/ops.h"
#include "reference/requantize.h"

/* A row of activations as its multiply takes it. Which part is used is the op's business. */
typedef struct {
    ref_kind kind;     /* not REF_VALUE: what every product with it must be */
    int64_t uncertain; /* integers, or bf16 values, with more than one possible value */
    int8_t *q;         /* scratch of the quantiser, then of a row of weights */
    ref_quantized quantized;
    ref_bf16_row bf16;
} ref_operand;

/* What an op adds to the pipeline. which: 0 = w13, 1 = w2; n: row of one expert's weights. */
typedef struct {
    bool (*accepts)(const armq_desc *desc);
    /* Room for k values. False without memory; `release` takes it either way. */
    bool (*reserve)(ref_operand *operand, int64_t k);
    void (*release)(ref_operand *operand);
    /* First stage: from certain values in the working dtype. Second stage: from intervals, already
     * rounded to the intermediate dtype. */
    void (*first)(const ref_context *context, const float *values, ref_operand *operand);
    void (*second)(const ref_context *context, const ref_interval *values, ref_operand *operand);
    /* operand times one weight row, dequantised, before any bias. */
    ref_interval (*product)(const ref_context *context, const ref_operand *operand, int which,
                            int64_t expert, int64_t n);
    /* The same on unquantised values, in double. */
    double (*exact)(const ref_context *context, const double *values, int which, int64_t expert,
                    int64_t n);
} ref_moe_arithmetic;

/* The members reserve to second where activations are quantised, whatever the weights are. */
bool ref_integers_reserve(ref_operand *operand, int64_t k);
void ref_integers_release(ref_operand *operand);
void ref_integers_first(const ref_context *context, const float *values, ref_operand *operand);
void ref_integers_second(const ref_context *context, const ref_interval *values,
                         ref_operand *operand);

/* The members of ref_op of every MoE op, but for open, which names the arithmetic. */
bool ref_moe_open(ref_context *context, const ref_moe_arithmetic *arithmetic);
void ref_moe_close(ref_context *context);
void ref_moe_row(ref_context *context, int64_t row, const int64_t *columns, int64_t count,
                 ref_interval *intervals);
double ref_moe_unquantized(ref_context *context, int64_t row, int64_t column);

#endif
