/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/grouped.h"

#include <math.h>

#include "reference/formats.h"
#include "reference/interval.h"

static const double unit = 0x1p-24; /* relative error of one f32 rounding */

/* Magnitudes below it round to a finite f32, and so do sums of roundings of them. */
static const double near_overflow = 0x1p126;

typedef struct {
    double lo, hi;
} span;

/* Most spans are points: shortcuts for those, as fmin and fmax cost calls. */
static bool is_point(span a) { return a.lo == a.hi; }

static span exactly(double value) { return (span){value, value}; }

static span product_of(span a, span b) {
    if (is_point(a) && is_point(b))
        return exactly(a.lo * b.lo);
    double p = a.lo * b.lo, q = a.lo * b.hi, r = a.hi * b.lo, s = a.hi * b.hi;
    return (span){fmin(fmin(p, q), fmin(r, s)), fmax(fmax(p, q), fmax(r, s))};
}

static span sum_of(span a, span b) { return (span){a.lo + b.lo, a.hi + b.hi}; }

static double larger(double a, double b) { return a > b ? a : b; }

static double size_of(span a) { return larger(fabs(a.lo), fabs(a.hi)); }

static span span_of(ref_interval y) { return (span){y.lo, y.hi}; }

/* --- One group -----------------------------------------------------------------------------------
 */

/* What f32 arithmetic meets of a group. */
typedef struct {
    ref_interval centered; /* sum (q - zp) * w: acc - zp * rowsum */
    span acc;              /* sum q * w */
    span correction;       /* zp * rowsum */
    double rowsum, scale;
} group;

/* Blocks of a fixed length let the compiler vectorise. */
enum { BLOCK = 32 };

static int64_t sum_of_weights(const int8_t *w, int64_t k) {
    int64_t total = 0, i = 0;
    for (; i + BLOCK <= k; i += BLOCK) {
        int32_t block = 0;
        for (int j = 0; j < BLOCK; j++)
            block += w[i + j];
        total += block;
    }
    for (; i < k; i++)
        total += w[i];
    return total;
}

static group group_of(const ref_variant *x, const int8_t *w, int64_t first, int64_t last,
                      int64_t *flip) {
    group g = {.centered = ref_dot_slice(x, w, first, last, flip)};
    g.rowsum = (double)sum_of_weights(w + first, last - first);
    g.correction = product_of(span_of(x->zero_point), exactly(g.rowsum));
    g.acc = sum_of(span_of(g.centered), g.correction);
    return g;
}

/* Largest error of f32(acc) * s_g * s_x, whichever factors are multiplied first. */
static double acc_error(double acc, double s_g, double s_x) {
    double first = larger(ref_f32_error(acc * s_g) * s_x, ref_f32_error(acc * s_x) * s_g);
    first = larger(first, ref_f32_error(s_g * s_x) * acc);
    return first + ref_f32_error(acc * s_g * s_x);
}

/* The same of s_g * rowsum * zp * s_x, s_x last or together with s_g. */
static double correction_error(double rowsum, double zp, double s_g, double s_x) {
    double last = ref_f32_error(s_g * rowsum) * zp * s_x + ref_f32_error(s_g * rowsum * zp) * s_x;
    double early = ref_f32_error(s_g * s_x) * rowsum * zp + ref_f32_error(s_g * s_x * rowsum) * zp;
    return larger(last, early) + ref_f32_error(s_g * rowsum * zp * s_x);
}

/* Errors of all products of a group. acc, rowsum and zp are whole: where the scales alone are
 * normal numbers, all products are, and each rounding is off by at most one unit. */
static double product_errors(double acc, double rowsum, double zp, double s_g, double s_x) {
    const double normal = 0x1p-126;
    double conversion = acc > 0x1p24 ? unit * acc * s_g * s_x : 0.0;
    if (s_g >= normal && s_x >= normal && s_g * s_x >= normal)
        return conversion + unit * (2.0 * acc + 3.0 * rowsum * zp) * s_g * s_x;
    return conversion + acc_error(acc, s_g, s_x) +
           (zp != 0.0 ? correction_error(rowsum, zp, s_g, s_x) : 0.0);
}

/* --- Sums that are exact in any order ------------------------------------------------------------
 */

/* Terms that all are multiples of step: no order of adding them rounds if f32 holds the sum of
 * their magnitudes at that step. */
typedef struct {
    double step, magnitude;
} grid;

static double lowest_bit(double value) {
    int exponent;
    int64_t mantissa = (int64_t)ldexp(frexp(value, &exponent), 53);
    return ldexp((double)(mantissa & -mantissa), exponent - 53);
}

static void add_to_grid(grid *g, double term) {
    if (term == 0.0)
        return;
    g->step = fmin(g->step, fabs(lowest_bit(term)));
    g->magnitude += fabs(term);
}

static bool is_exact(const grid *g) {
    return g->magnitude == 0.0 || (g->magnitude <= 0x1p24 * g->step && g->step >= 0x1p-149 &&
                                   g->magnitude < near_overflow);
}

/* Both sides together, and the correction before its zero point; s_x last, and s_x first. */
typedef struct {
    bool factors; /* each product is an f32 */
    grid last, last_correction, first, first_correction;
} exactness;

static void add_exactness(exactness *e, const group *g, double s_x, double zp) {
    if (!e->factors)
        return;
    double acc = g->acc.lo, correction = g->correction.lo, both = g->scale * s_x;
    bool certain = acc == g->acc.hi && g->centered.lo == g->centered.hi;
    if (certain && acc == 0.0 && correction == 0.0)
        return;
    e->factors = certain && fabs(acc) <= 0x1p24 && fabs(correction) <= 0x1p24 && ref_is_f32(both) &&
                 ref_is_f32(acc * s_x);
    if (!e->factors)
        return;
    add_to_grid(&e->last, acc * g->scale);
    add_to_grid(&e->first, acc * both);
    add_to_grid(&e->last, correction * g->scale);
    add_to_grid(&e->first, correction * both);
    add_to_grid(&e->last_correction, zp == 0.0 ? 0.0 : g->rowsum * g->scale);
    add_to_grid(&e->first_correction, zp == 0.0 ? 0.0 : g->rowsum * both);
}

/* --- Additions of one side -----------------------------------------------------------------------
 */

/* Terms in ascending order. */
typedef struct {
    bool plus, minus;                 /* one may be positive, negative */
    double sum, squares;              /* of the exact ones */
    double spread;                    /* of all: what they may be off by */
    double partials, partial_squares; /* sums of the partial sums of 1, 2 .. terms */
    double first, last;
    int64_t terms; /* that are not zero: adding a zero is exact */
} side;

static void add_term(side *a, double mid, span term) {
    if (term.lo == 0.0 && term.hi == 0.0)
        return;
    a->plus = a->plus || term.hi > 0.0;
    a->minus = a->minus || term.lo < 0.0;
    a->sum += mid;
    a->squares += mid * mid;
    a->spread += is_point(term) ? 0.0 : larger(term.hi - mid, mid - term.lo);
    a->partials += a->sum;
    a->partial_squares += a->sum * a->sum;
    a->first = a->terms == 0 ? mid : a->first;
    a->last = mid;
    a->terms++;
}

/* The magnitudes of the results of all n additions: by Cauchy and Schwarz at most the root of n
 * times the sum of their squares; forwards, backwards, or in the mean over all orders. */
static double partial_sums(const side *a) {
    double terms = (double)a->terms, n = fmax(terms - 1.0, 0.0), total = a->sum * a->sum;
    double forwards = a->partial_squares - a->first * a->first;
    double backwards =
        (terms + 1.0) * total - 2.0 * a->sum * a->partials + a->partial_squares - a->last * a->last;
    double mean =
        n == 0.0 ? 0.0 : (terms + 1.0) * (a->squares / 6.0 + total / 3.0) - a->squares / terms;
    return sqrt(n * fmax(fmax(forwards, backwards), fmax(mean, 0.0))) + n * a->spread;
}

/* --- All groups ----------------------------------------------------------------------------------
 */

typedef struct {
    span value; /* sum of s_g * centered */
    double mid;
    side acc, correction; /* terms without s_x */
    double products;      /* errors of all products, with s_x */
    bool asymmetric;
    double peak;           /* largest magnitude of a product in any order */
    bool zero_times_large; /* acc may be 0 where s_g * s_x overflows */
    exactness exact;
} sums;

static void add_group(sums *s, const group *g, const ref_variant *x) {
    double s_g = fabs(g->scale), s_x = x->scale.hi, zp = size_of(span_of(x->zero_point));
    double acc = size_of(g->acc), rowsum = fabs(g->rowsum);
    double correction = x->zero_point.mid * g->rowsum;
    s->value = sum_of(s->value, product_of(span_of(g->centered), exactly(g->scale)));
    s->mid += g->centered.mid * g->scale;
    add_term(&s->acc, (g->centered.mid + correction) * g->scale,
             product_of(g->acc, exactly(g->scale)));
    add_term(&s->correction, correction * g->scale, product_of(g->correction, exactly(g->scale)));
    s->products += product_errors(acc, rowsum, zp, s_g, s_x);
    double most = larger(s->asymmetric ? rowsum * larger(zp, 1.0) : 0.0, acc);
    s->peak = larger(s->peak, most * larger(s_x, larger(s_g, s_g * s_x)));
    bool may_be_zero = g->acc.lo <= 0.0 && g->acc.hi >= 0.0;
    s->zero_times_large = s->zero_times_large || (may_be_zero && s_g * s_x >= near_overflow);
    add_exactness(&s->exact, g, x->scale.lo == s_x ? s_x : (double)NAN, zp);
}

static int64_t most_terms(const sums *s) {
    return s->acc.terms > s->correction.terms ? s->acc.terms : s->correction.terms;
}

/* First order; the factor covers products of errors, and the double arithmetic here. */
static double half_width(const sums *s, const ref_variant *x) {
    double additions = partial_sums(&s->acc) + partial_sums(&s->correction);
    if (s->correction.terms)
        additions += size_of(s->value);
    double half = s->products + unit * additions * x->scale.hi;
    return half * (1.0 + (4.0 * (double)most_terms(s) + 8.0) * unit);
}

static bool nothing_rounds(const sums *s, double value) {
    const exactness *e = &s->exact;
    return e->factors && is_exact(&e->last) && is_exact(&e->last_correction) &&
           is_exact(&e->first) && is_exact(&e->first_correction) && ref_is_f32(value);
}

/* No order overflows on its way. */
static bool stays_finite(const sums *s) {
    return !s->zero_times_large && s->peak * (double)most_terms(s) < near_overflow;
}

/* The ends that an order may reach become infinite. With both of them, or with a correction, or
 * where zero meets an infinite factor, NaN is possible as well. */
static ref_interval overflowing(ref_interval y, const sums *s) {
    if (s->asymmetric || (s->acc.plus && s->acc.minus) || s->zero_times_large)
        y.kind = REF_ANY;
    if (s->acc.plus)
        y.hi = (double)INFINITY;
    if (s->acc.minus)
        y.lo = -(double)INFINITY;
    return y;
}

static ref_interval finish(const sums *s, const ref_variant *x) {
    double mid = s->mid * x->scale.mid;
    if (stays_finite(s) && nothing_rounds(s, mid))
        return ref_exact(mid);
    span value = product_of(s->value, span_of(x->scale));
    double half = half_width(s, x);
    ref_interval y = {fmin(value.lo - half, mid), mid, fmax(value.hi + half, mid), REF_VALUE};
    return stays_finite(s) ? y : overflowing(y, s);
}

/* --- Scales that are infinite or NaN -------------------------------------------------------------
 */

typedef struct {
    bool nan, open, plus, minus;
} beyond;

/* A sum of zero times infinity is NaN in any order. With a zero point infinities of both sides may
 * cancel or, if acc - zp * rowsum is formed first, may not. */
static void add_beyond(beyond *b, const group *g, bool asymmetric, double s_x) {
    span c = span_of(g->centered);
    bool zero = c.lo == 0.0 && c.hi == 0.0, one_sign = c.lo > 0.0 || c.hi < 0.0;
    if (!isinf(g->scale)) {
        double most = fmax(size_of(g->acc), fabs(g->rowsum)) * fabs(g->scale) * fmax(1.0, s_x);
        b->nan = b->nan || isnan(g->scale);
        b->open = b->open || !(most < near_overflow);
        return;
    }
    b->nan = b->nan || zero;
    b->open = b->open || asymmetric || !one_sign;
    if (one_sign && (c.lo > 0.0) == (g->scale > 0.0))
        b->plus = true;
    else if (one_sign)
        b->minus = true;
}

static ref_interval finish_beyond(const beyond *b) {
    ref_interval y = ref_exact(b->minus ? -(double)INFINITY : (double)INFINITY);
    y.kind = b->nan ? REF_NAN : b->open ? REF_ANY : (b->plus && b->minus) ? REF_NAN : REF_VALUE;
    return y;
}

ref_interval ref_grouped_product(const armq_dialect *dialect, const ref_variant *x, const int8_t *w,
                                 int64_t k, int64_t group_size, const uint16_t *scales) {
    bool asymmetric = dialect->quant == ARMQ_QUANT_ASYMMETRIC, finite = true;
    const grid empty = {(double)INFINITY, 0.0};
    sums s = {.asymmetric = asymmetric, .exact = {true, empty, empty, empty, empty}};
    beyond b = {false, false, false, false};
    int64_t groups = k / group_size, flip = 0;
    for (int64_t i = 0; i < groups && finite; i++)
        finite = isfinite(armq_load(ARMQ_DTYPE_BF16, scales, i));
    for (int64_t i = 0; i < groups; i++) {
        group g = group_of(x, w, i * group_size, (i + 1) * group_size, &flip);
        g.scale = armq_load(ARMQ_DTYPE_BF16, scales, i);
        if (finite)
            add_group(&s, &g, x);
        else
            add_beyond(&b, &g, asymmetric, x->scale.hi);
    }
    return finite ? finish(&s, x) : finish_beyond(&b);
}
