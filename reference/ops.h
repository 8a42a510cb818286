/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the reference: what an op is made of, and what the ops share. A new op is a file that
 * defines a ref_op, and its row in the table of context.c. */
#ifndef ARMQ_REFERENCE_OPS_H
#define ARMQ_REFERENCE_OPS_H

#include "reference/interval.h"
#include "reference/reference.h"

typedef struct {
    armq_op op;
    /* Allocates what the op needs; false: not this description, or no memory. */
    bool (*open)(ref_context *context);
    void (*close)(
        ref_context *context); /* NULL: nothing beyond the cache; also after a failed open */
    /* As ref_row_intervals and ref_unquantized. */
    void (*row)(ref_context *context, int64_t row, const int64_t *columns, int64_t count,
                ref_interval *intervals);
    double (*unquantized)(ref_context *context, int64_t row, int64_t column);
} ref_op;

extern const ref_op ref_op_quantize, ref_op_activation, ref_op_gemm_s8s8s32, ref_op_gemm_s8s4s32,
    ref_op_linear_w8a8, ref_op_linear_w4a8, ref_op_linear_bf16, ref_op_moe_w8a8, ref_op_moe_w4a8,
    ref_op_moe_bf16;

/* The last row that was asked for, ready for dot products: columns of a row share it. */
typedef struct {
    int64_t row; /* -1: none yet */
    ref_row_quant quant;
    int8_t *q;         /* [k] quantised */
    int16_t *centered; /* [k] q - zero_point: sum of centered * w is acc - zp * rowsum */
    double *values;    /* [k] linear_bf16: x rounded to bf16 */
    bool tiny;         /* values hold subnormals of bf16 */
} ref_row_cache;

struct ref_context {
    ref_problem problem;
    const ref_op *op;
    ref_row_cache cache;
    void *state;       /* what else the op keeps; moe.c */
    int64_t tie_flips; /* of the last row, see ref_tie_flips */
};

/* Allocates q, centered and values for rows of armq_desc.k. False without memory. */
bool ref_cache_open(ref_context *context);

/* Zero point of the asymmetric rule for a row within [rmin, rmax]; factor = 255 / (rmax - rmin). */
float ref_zero_point(float rmin, float rmax, float factor);

/* Whole number next to value, ties as the dialect says. */
float ref_whole(armq_rounding rounding, float value);

/* max|x| and rmax - rmin: smaller ones count as this and as 0. */
#define REF_SMALLEST_AMAX 1e-7f
#define REF_SMALLEST_RANGE 0x1p-120f

/* The cache, filled by the activation quantiser of the dialect. */
const ref_row_cache *ref_cache_row(ref_context *context, int64_t row);

/* The same where x is int8 already: `centered` is x, nothing else is filled. */
const ref_row_cache *ref_cache_s8_row(ref_context *context, int64_t row);

const void *ref_x_row(const ref_context *context, int64_t row);

/* Exact sum of a[i] * b[i]. */
int64_t ref_dot(const int16_t *a, const int8_t *b, int64_t k);

/* The row of an op without roundings: intervals that hold what its `unquantized` answers. */
void ref_exact_row(ref_context *context, int64_t row, const int64_t *columns, int64_t count,
                   ref_interval *intervals);

/* True if the problem has a bias; then *bias is its element n, exactly. */
bool ref_bias(const ref_context *context, int64_t n, double *bias);

/* What a linear layer makes of product n: bias and the rounding before it, if there are any. */
ref_interval ref_with_bias(const ref_context *context, int64_t n, ref_interval product);

/* What every column of a row that is not finite must hold. */
ref_interval ref_not_finite_row(const ref_context *context);

#endif
