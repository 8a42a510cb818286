/* SPDX-License-Identifier: Apache-2.0 */
/* The bf16 baseline: y = sum of bf16(x) * w in f32, in any order and with any of the accumulation
 * rules of real hardware, + bias in f32. Bounds: reference/README.md, "bf16 dot products". */
#include <math.h>
#include <string.h>

#include "reference/formats.h"
#include "reference/ops.h"

static const double smallest_normal = 0x1p-126;
static const double f32_overflow = 0x1.ffffffp127; /* rounds to infinity */

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

/* Inline: the function of formats.h costs a call per product. */
static inline double bf16_value(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

typedef struct {
    double sum;       /* of the products, each exact in double */
    double magnitude; /* of their absolute values */
    double squares;
    double subnormal; /* of absolute values of products with a subnormal factor */
    int64_t terms;    /* number of products that are not zero: adding a zero is exact */
} dot_sums;

static bool is_subnormal_bf16(uint16_t bits) {
    return (bits & 0x7f80u) == 0 && (bits & 0x7fu) != 0;
}

/* tiny: x holds subnormal values. */
static dot_sums dot_bf16(const double *x, bool tiny, const uint16_t *w, int64_t k) {
    dot_sums s = {0.0, 0.0, 0.0, 0.0, 0};
    for (int64_t i = 0; i < k; i++) {
        double p = x[i] * bf16_value(w[i]);
        if (p == 0.0)
            continue;
        double size = fabs(p);
        s.sum += p;
        s.magnitude += size;
        s.squares += p * p;
        s.terms++;
        if (is_subnormal_bf16(w[i]) || (tiny && fabs(x[i]) < smallest_normal))
            s.subnormal += size;
    }
    return s;
}

/* Largest error of the terms - 1 additions that hardware may do in any order, each off by less than
 * one unit in the last place (rounding to odd): the certain bound where it is small, else the
 * probabilistic one. */
static double accumulation_error(const dot_sums *s) {
    double terms = (double)s->terms, ulp = 0x1p-23;
    double certain = (terms - 1.0) * ulp * (1.0 + terms * ulp) * s->magnitude;
    double probable = 8.0 * ulp * sqrt(terms / 2.0) * sqrt(s->squares);
    return fmin(certain, probable);
}

static ref_interval dot_interval(const dot_sums *s) {
    ref_interval y = ref_exact(s->sum);
    if (!isfinite(s->subnormal))
        y.kind = REF_ANY; /* flushed or not, times infinity */
    else if (isnan(s->sum))
        y.kind = REF_NAN;
    else if (isfinite(s->sum) && s->magnitude >= f32_overflow && fabs(s->sum) < s->magnitude)
        y.kind = REF_ANY; /* a partial sum may overflow or not, depending on the order */
    if (y.kind != REF_VALUE || s->magnitude == 0.0 || isinf(s->sum))
        return y;
    bool flushes = s->terms > 1 || s->magnitude < smallest_normal;
    double half =
        accumulation_error(s) + s->subnormal + (flushes ? (double)s->terms * smallest_normal : 0.0);
    y.lo = s->sum - half;
    y.hi = s->sum + half;
    return y;
}

static void linear_row(ref_context *context, int64_t row, const int64_t *columns, int64_t count,
                       ref_interval *intervals) {
    const ref_row_cache *cache = rounded_row(context, row);
    const uint16_t *w = context->problem.weights[0]->w;
    int64_t k = context->problem.desc->k;
    for (int64_t i = 0; i < count; i++) {
        int64_t n = columns ? columns[i] : i;
        double bias;
        if (!cache->quant.finite) {
            intervals[i] = ref_not_finite_row(context);
            continue;
        }
        dot_sums sums = dot_bf16(cache->values, cache->tiny, k ? w + n * k : w, k);
        intervals[i] = dot_interval(&sums);
        if (ref_bias(context, n, &bias))
            intervals[i] = ref_plus_f32(intervals[i], bias);
    }
}

static double linear_unquantized(ref_context *context, int64_t row, int64_t column) {
    const armq_desc *desc = context->problem.desc;
    const uint16_t *w = context->problem.weights[0]->w;
    const void *x = ref_x_row(context, row);
    double sum = 0.0, bias;
    for (int64_t i = 0; i < desc->k; i++)
        sum += armq_load(desc->in, x, i) * bf16_value(w[column * desc->k + i]);
    return ref_bias(context, column, &bias) ? sum + bias : sum;
}

const ref_op ref_op_linear_bf16 = {
    .op = ARMQ_OP_LINEAR_BF16,
    .open = linear_open,
    .row = linear_row,
    .unquantized = linear_unquantized,
};
