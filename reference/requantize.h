/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the reference: a row of integers that are not all certain, because they were quantised
 * from values that are not. reference/README.md, "The second stage". */
#ifndef ARMQ_REFERENCE_REQUANTIZE_H
#define ARMQ_REFERENCE_REQUANTIZE_H

#include "reference/reference.h"

/* One integer with more than one possible value, as q - zero_point. */
typedef struct {
    int64_t at;
    int16_t lo, hi;
} ref_flip;

/* One possibility for the row's largest value, and with it for everything else. */
typedef struct {
    int16_t *centered; /* [k] q - zero_point */
    ref_flip *flips;
    int64_t flip_count;
    ref_interval scale, zero_point;
} ref_variant;

enum { REF_VARIANTS = 4 };

/* kind: REF_VALUE, or what every product with the row must be. variants[0] holds the exact values.
 */
typedef struct {
    ref_kind kind;
    int count;
    ref_variant variants[REF_VARIANTS];
} ref_quantized;

/* Room for k integers. False without memory; ref_quantized_free takes it either way. */
bool ref_quantized_alloc(ref_quantized *row, int64_t k);
void ref_quantized_free(ref_quantized *row);

/* Quantises certain values as ref_quantize_row. q: scratch [k]. if_not_finite: kind of such a row.
 */
void ref_quantize_certain(const armq_dialect *dialect, const float *values, int64_t k,
                          ref_kind if_not_finite, int8_t *q, ref_quantized *row);

/* Quantises values known within intervals whose ends are of `dtype` (already rounded to it). */
void ref_requantize(const armq_dialect *dialect, armq_dtype dtype, const ref_interval *values,
                    int64_t k, ref_kind if_not_finite, ref_quantized *row);

/* Interval of sum (q - zero_point) * w for one variant; whole numbers, w int8. */
ref_interval ref_dot_variant(const ref_variant *variant, const int8_t *w, int64_t k);

/* The same over elements [first, last) only, w still of the whole row. *flip: how many flips stand
 * before `first`; is moved on to `last`. */
ref_interval ref_dot_slice(const ref_variant *variant, const int8_t *w, int64_t first, int64_t last,
                           int64_t *flip);

/* Integers with more than one possible value, over all variants. */
int64_t ref_flips(const ref_quantized *row);

#endif
