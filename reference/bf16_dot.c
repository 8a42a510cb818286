/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/bf16_dot.h"

#include <math.h>
#include <string.h>

#include "reference/interval.h"

static const double smallest_normal = 0x1p-126;
static const double f32_overflow = 0x1.ffffffp127; /* rounds to infinity */

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

/* The sums for the largest magnitude that each uncertain value may have. */
static void add_spreads(dot_sums *s, const ref_bf16_row *row, const uint16_t *w) {
    for (int64_t i = 0; i < row->spread_count; i++) {
        const ref_spread *spread = &row->spreads[i];
        double weight = fabs(bf16_value(w[spread->at]));
        double mid = fabs(row->values[spread->at]) * weight;
        double most = fmax(fabs(spread->lo), fabs(spread->hi)) * weight;
        s->magnitude += most - mid;
        s->squares += most * most - mid * mid;
        s->terms += mid == 0.0 && most > 0.0;
        bool tiny = spread->lo < smallest_normal && spread->hi > -smallest_normal;
        if (is_subnormal_bf16(w[spread->at]))
            s->subnormal += most;
        else if (tiny)
            s->subnormal += smallest_normal * weight;
    }
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

/* What the uncertain values add on either side. */
static ref_interval widened(ref_interval y, const ref_bf16_row *row, const uint16_t *w) {
    double below = 0.0, above = 0.0;
    for (int64_t i = 0; i < row->spread_count; i++) {
        const ref_spread *spread = &row->spreads[i];
        double weight = bf16_value(w[spread->at]), mid = row->values[spread->at];
        double a = (spread->lo - mid) * weight, b = (spread->hi - mid) * weight;
        below += fmin(a, b);
        above += fmax(a, b);
    }
    y.lo += below;
    y.hi += above;
    if (!isfinite(below) || !isfinite(above))
        y.kind = REF_ANY; /* an infinite weight, whose sign or NaN is uncertain */
    return y;
}

ref_interval ref_dot_bf16(const ref_bf16_row *row, const uint16_t *w, int64_t k) {
    dot_sums sums = dot_bf16(row->values, row->tiny, w, k);
    if (row->spread_count == 0)
        return dot_interval(&sums);
    add_spreads(&sums, row, w);
    ref_interval y = dot_interval(&sums);
    return y.kind == REF_VALUE ? widened(y, row, w) : y;
}
