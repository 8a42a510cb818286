/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar reference: what each op computes, and between which bounds a correct kernel must land.
 * Formulas, counts of roundings and their reasons: reference/README.md.
 *
 * Arithmetic is int64 and double on the operands that the dialect prescribes; the quantisation of
 * activations is done in f32 exactly as the dialect says. Nothing here knows a kernel. */
#ifndef ARMQ_REFERENCE_H
#define ARMQ_REFERENCE_H

#include <stdbool.h>

#include "kernels/armq.h"

typedef enum {
    REF_VALUE = 0, /* [lo, hi] holds */
    REF_NAN = 1,   /* must be NaN */
    REF_ANY = 2    /* unspecified: the row holds NaN or Inf and the provider declares nothing */
} ref_kind;

/* What a correct implementation may hold before the last rounding, to the output dtype.
 * mid is the exact value, lo <= mid <= hi; for integer outputs lo = mid = hi. */
typedef struct {
    double lo, mid, hi;
    ref_kind kind;
} ref_interval;

/* One problem as the provider got it. Pointers are the caller's; strides in elements (row length if
 * dense). */
typedef struct {
    const armq_desc *desc;
    uint32_t claims; /* ARMQ_CLAIM_*: NONFINITE_ROW_NAN decides what a NaN row must give */
    const void *x;
    int64_t x_stride;
    const armq_weights *weights[2]; /* all experts; NULL where the op has none */
    const int32_t *topk_ids;
    const float *topk_weights;
} ref_problem;

typedef struct ref_context ref_context;

/* Scratch for one thread. NULL if the op is not implemented or memory is short. Free with
 * ref_close. */
ref_context *ref_open(const ref_problem *problem);
void ref_close(ref_context *context);

/* Intervals of y[row][columns[i]], i in [0, count), in the layout of desc (gemm_s8s4s32: column =
 * n * groups + group; moe: row = token, column in [0, hidden); activation: column in [0,
 * intermediate)). columns NULL: 0, 1, .. count-1. Rows may be asked in any order; what the columns
 * of a row share is kept until another row is asked (moe: all of the first stage, so that further
 * columns cost top_k * intermediate products each). */
void ref_row_intervals(ref_context *context, int64_t row, const int64_t *columns, int64_t count,
                       ref_interval *intervals);

/* Of the last row asked: how many values of the second stage have more than one possible integer
 * (bf16 baseline: value), because their interval holds a rounding boundary. 0 for ops of one stage.
 * Where it is not 0, a right kernel may use all of a half-width. */
int64_t ref_tie_flips(const ref_context *context);

/* The second stage of one slot of a MoE token, for judging recorded stages: the gated activation as
 * it is quantised again (rounded to the intermediate dtype), q - zero_point, and the scale.
 * Arrays of length intermediate; centered and scale are not written by the bf16 baseline. False if
 * the slot is skipped or the token is not finite. The next row asked is computed anew. */
bool ref_moe_second_stage(ref_context *context, int64_t row, int64_t slot, ref_interval *act,
                          ref_interval *centered, ref_interval *scale);

/* Quantisation of one row. */
typedef struct {
    float scale;        /* real value = (q - zero_point) * scale; NaN for a non-finite row */
    int32_t zero_point; /* 0 if symmetric */
    bool finite;        /* no NaN or Inf in the row and no overflow of its range */
} ref_row_quant;

/* Quantises k values of dtype `in` to q as the dialect says. A row that is not finite: q all 0,
 * scale NaN, zero point 0. */
ref_row_quant ref_quantize_row(const armq_dialect *dialect, armq_dtype in, const void *x, int64_t k,
                               int8_t *q);

/* The comparator. got points to one element of `dtype`. True iff RN(lo) <= got <= RN(hi) by class
 * (NaN only where REF_NAN asks for it or anything goes). Written so that a NaN can not slip
 * through. */
bool ref_accepts(const ref_interval *interval, armq_dtype dtype, const void *got);

/* How far `got` is from mid, as a share of the half-width on its side (0 if equal after rounding,
 * above 1 = outside before rounding). For reports; NaN if not applicable. */
double ref_usage(const ref_interval *interval, armq_dtype dtype, const void *got);

/* True if more than one value of dtype lies in [RN(lo), RN(hi)]. */
bool ref_is_ambiguous(const ref_interval *interval, armq_dtype dtype);

/* Exact fidelity target: the unquantised op in double for y[row][column], for SQNR reports. */
double ref_unquantized(ref_context *context, int64_t row, int64_t column);

#endif
