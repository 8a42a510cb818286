/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/interval.h"

#include <math.h>

#include "reference/formats.h"

/* Largest relative and absolute error of one f32 rounding to nearest, and the smallest magnitude
 * that it takes to infinity. */
static const double relative = 0x1p-24;
static const double absolute = 0x1p-150;
static const double overflow = 0x1.ffffffp127;

static const double smallest_normal = 0x1p-126;

ref_interval ref_exact(double value) {
    return (ref_interval){.lo = value, .mid = value, .hi = value, .kind = REF_VALUE};
}

double ref_f32_error(double value) {
    return value == 0.0 || isinf(value) ? 0.0 : fmax(relative * fabs(value), absolute);
}

bool ref_is_f32(double value) { return armq_round_to(ARMQ_DTYPE_F32, value) == value; }

/* --- f32(acc) * s_x * s_w ------------------------------------------------------------------------
 */

typedef struct {
    double lo, hi;
    bool some_nan, all_nan; /* NaN for some, for all values of the factors */
} range;

static range point(double value) { return (range){value, value, isnan(value), isnan(value)}; }

static void extend(range *to, double value) {
    if (isnan(value)) {
        to->some_nan = true;
        return;
    }
    to->lo = to->all_nan ? value : fmin(to->lo, value);
    to->hi = to->all_nan ? value : fmax(to->hi, value);
    to->all_nan = false;
}

/* Ends alone do not show a zero between them. */
static bool zero_meets_infinity(range a, range b) {
    return a.lo < 0.0 && a.hi > 0.0 && (isinf(b.lo) || isinf(b.hi));
}

static range multiply(range a, range b) {
    range product = {0.0, 0.0, a.some_nan || b.some_nan, true};
    if (a.all_nan || b.all_nan)
        return product;
    extend(&product, a.lo * b.lo);
    extend(&product, a.lo * b.hi);
    extend(&product, a.hi * b.lo);
    extend(&product, a.hi * b.hi);
    product.some_nan |= zero_meets_infinity(a, b) || zero_meets_infinity(b, a);
    return product;
}

/* One rounding. An end beyond the largest f32 may become infinite or, inside a fused operation,
 * not: the outer end moves to infinity, the inner one stays. */
static range rounded(range a) {
    a.lo -= ref_f32_error(a.lo);
    a.hi += ref_f32_error(a.hi);
    a.lo = a.lo <= -overflow ? -(double)INFINITY : a.lo;
    a.hi = a.hi >= overflow ? (double)INFINITY : a.hi;
    return a;
}

static range hull(range a, range b) {
    bool some = a.some_nan || b.some_nan, all = a.all_nan && b.all_nan;
    if (a.all_nan || b.all_nan) {
        range other = a.all_nan ? b : a;
        return (range){other.lo, other.hi, some, all};
    }
    return (range){fmin(a.lo, b.lo), fmax(a.hi, b.hi), some, all};
}

static ref_kind kind_of(range r) { return r.all_nan ? REF_NAN : r.some_nan ? REF_ANY : REF_VALUE; }

static ref_interval around(range r, double mid) {
    return (ref_interval){fmin(r.lo, mid), mid, fmax(r.hi, mid), kind_of(r)};
}

static range range_of(ref_interval y) {
    return (range){y.lo, y.hi, isnan(y.lo) || isnan(y.hi), isnan(y.lo) && isnan(y.hi)};
}

/* All three orders, step by step: for factors whose products leave the normal range of f32 in one
 * of them, and for sums that may be zero or not. */
static ref_interval scaled_extreme(ref_interval acc, ref_interval s_x, double s_w) {
    bool exact =
        fmax(fabs(acc.lo), fabs(acc.hi)) <= 0x1p24 || (acc.lo == acc.hi && ref_is_f32(acc.lo));
    range a = exact ? range_of(acc) : rounded(range_of(acc));
    range x = range_of(s_x), w = point(s_w);
    range r = rounded(multiply(a, rounded(multiply(x, w))));
    r = hull(r, rounded(multiply(rounded(multiply(a, x)), w)));
    r = hull(r, rounded(multiply(rounded(multiply(a, w)), x)));
    return around(r, acc.mid * s_x.mid * s_w);
}

static bool is_normal(double value) {
    return fabs(value) >= smallest_normal && fabs(value) < 0.5 * overflow;
}

/* No order of the three factors leaves the normal range. */
static bool all_normal(double a, double sx, double sw) {
    return is_normal(sx * sw) && is_normal(a * sx) && is_normal(a * sw) && is_normal(a * sx * sw);
}

/* 2^-50: double arithmetic on the reference's side, one part in 10^8 of the width. */
static const double three_roundings = 3.0 * 0x1p-24 + 0x1p-50;

static ref_interval scaled_certain(double a, double sx, double sw) {
    double scale = sx * sw, value = a * scale;
    if (a == 0.0 && is_normal(scale))
        return ref_exact(0.0);
    if (!all_normal(a, sx, sw))
        return scaled_extreme(ref_exact(a), ref_exact(sx), sw);
    if (ref_is_f32(a) && ref_is_f32(scale) && ref_is_f32(a * sx) && ref_is_f32(a * sw) &&
        ref_is_f32(value))
        return ref_exact(value); /* nothing to round in any order */
    double half = three_roundings * fabs(value);
    return (ref_interval){value - half, value, value + half, REF_VALUE};
}

ref_interval ref_scaled_interval(ref_interval acc, ref_interval s_x, double s_w) {
    if (acc.lo == acc.hi && s_x.lo == s_x.hi)
        return scaled_certain(acc.mid, s_x.mid, s_w);
    bool one_sign = acc.lo > 0.0 || acc.hi < 0.0;
    if (!one_sign || !all_normal(acc.lo, s_x.lo, s_w) || !all_normal(acc.hi, s_x.hi, s_w) ||
        !all_normal(acc.lo, s_x.hi, s_w) || !all_normal(acc.hi, s_x.lo, s_w))
        return scaled_extreme(acc, s_x, s_w);
    range r = multiply(multiply(range_of(acc), range_of(s_x)), point(s_w));
    r.lo -= three_roundings * fabs(r.lo);
    r.hi += three_roundings * fabs(r.hi);
    return around(r, acc.mid * s_x.mid * s_w);
}

ref_interval ref_scaled(int64_t acc, float s_x, float s_w) {
    return scaled_certain((double)acc, (double)s_x, (double)s_w);
}

/* --- Sums, products and declared roundings -------------------------------------------------------
 */

/* What two operands leave undecided; REF_VALUE if both are values. A NaN swallows all else. */
static ref_kind worse(ref_kind a, ref_kind b) {
    return a == REF_NAN || b == REF_NAN   ? REF_NAN
           : a == REF_ANY || b == REF_ANY ? REF_ANY
                                          : REF_VALUE;
}

static ref_interval undecided(ref_kind kind) {
    ref_interval y = ref_exact(0.0);
    y.kind = kind;
    return y;
}

/* The result of one f32 operation on operands that are certain, or not: rounded, or handed on
 * unrounded by a fused operation. */
static ref_interval result_f32(range r, double mid, bool certain) {
    if (certain && isfinite(mid)) { /* exact, or rounded this one way */
        double once = armq_round_to(ARMQ_DTYPE_F32, mid);
        return (ref_interval){fmin(mid, once), mid, fmax(mid, once), REF_VALUE};
    }
    return around(rounded(r), mid);
}

static bool is_point(ref_interval y) { return y.lo == y.hi; }

ref_interval ref_sum_f32(ref_interval a, ref_interval b) {
    if (worse(a.kind, b.kind) != REF_VALUE)
        return undecided(worse(a.kind, b.kind));
    range sum = {0.0, 0.0, false, true};
    extend(&sum, a.lo + b.lo);
    extend(&sum, a.hi + b.hi);
    sum.some_nan |= isnan(a.lo + b.hi) || isnan(a.hi + b.lo); /* infinities of both signs */
    return result_f32(sum, a.mid + b.mid, is_point(a) && is_point(b));
}

ref_interval ref_plus_f32(ref_interval y, double addend) {
    return ref_sum_f32(y, ref_exact(addend));
}

ref_interval ref_times(ref_interval a, ref_interval b) {
    if (worse(a.kind, b.kind) != REF_VALUE)
        return undecided(worse(a.kind, b.kind));
    return around(multiply(range_of(a), range_of(b)), a.mid * b.mid);
}

static bool is_power_of_two(double value) {
    int exponent;
    return isfinite(value) && fabs(frexp(value, &exponent)) == 0.5;
}

ref_interval ref_times_f32(ref_interval a, ref_interval b) {
    if (worse(a.kind, b.kind) != REF_VALUE)
        return undecided(worse(a.kind, b.kind));
    if (is_point(b) && is_power_of_two(b.mid) && is_normal(a.lo * b.mid) && is_normal(a.hi * b.mid))
        return ref_times(a, b); /* what is an f32 stays one */
    return result_f32(multiply(range_of(a), range_of(b)), a.mid * b.mid,
                      is_point(a) && is_point(b));
}

ref_interval ref_hull(ref_interval a, ref_interval b) {
    if (a.kind != REF_VALUE || b.kind != REF_VALUE)
        return a.kind == b.kind ? a : undecided(REF_ANY);
    return (ref_interval){fmin(a.lo, b.lo), a.mid, fmax(a.hi, b.hi), REF_VALUE};
}

ref_interval ref_rounded(ref_interval y, armq_dtype dtype) {
    y.lo = armq_round_to(dtype, y.lo);
    y.mid = armq_round_to(dtype, y.mid);
    y.hi = armq_round_to(dtype, y.hi);
    return y;
}

/* --- Comparator ----------------------------------------------------------------------------------
 */

bool ref_accepts(const ref_interval *interval, armq_dtype dtype, const void *got) {
    double value = armq_load(dtype, got, 0);
    if (interval->kind == REF_ANY)
        return true;
    if (interval->kind == REF_NAN)
        return isnan(value);
    if (interval->lo <= value && value <= interval->hi)
        return true; /* so it is after the ends are rounded: rounding keeps the order */
    return armq_round_to(dtype, interval->lo) <= value &&
           value <= armq_round_to(dtype, interval->hi);
}

/* The value of dtype next to *got, away from zero (step 1) or towards it (step -1). */
static double neighbour(armq_dtype dtype, const void *got, int step) {
    if (dtype == ARMQ_DTYPE_F32) {
        float value = *(const float *)got;
        return (double)nextafterf(value, step > 0 ? copysignf(INFINITY, value) : 0.0f);
    }
    uint16_t bits = (uint16_t)(*(const uint16_t *)got + step);
    return armq_load(dtype, &bits, 0);
}

static double least_subnormal(armq_dtype dtype) {
    return dtype == ARMQ_DTYPE_F32 ? 0x1p-149 : dtype == ARMQ_DTYPE_F16 ? 0x1p-24 : 0x1p-133;
}

/* Of the reals that round to value = *got, the end towards mid. Infinity stands for the first power
 * of two that dtype does not have. */
static double nearest_preimage(armq_dtype dtype, const void *got, double value, double mid) {
    double beyond = dtype == ARMQ_DTYPE_F16 ? 0x1p16 : 0x1p128;
    if (value == 0.0)
        return copysign(0.5 * least_subnormal(dtype), mid);
    bool mid_is_inside = fabs(mid) < fabs(value) || signbit(mid) != signbit(value);
    double other = neighbour(dtype, got, mid_is_inside ? -1 : 1);
    value = isinf(value) ? copysign(beyond, value) : value;
    other = isinf(other) ? copysign(beyond, other) : other;
    return 0.5 * (value + other);
}

double ref_usage(const ref_interval *interval, armq_dtype dtype, const void *got) {
    double value = armq_load(dtype, got, 0), mid = interval->mid;
    if (interval->kind != REF_VALUE || isnan(value) || isnan(mid))
        return (double)NAN;
    if (value == armq_round_to(dtype, mid))
        return 0.0;
    if (dtype != ARMQ_DTYPE_F32 && dtype != ARMQ_DTYPE_BF16 && dtype != ARMQ_DTYPE_F16)
        return (double)INFINITY;
    double distance = fabs(nearest_preimage(dtype, got, value, mid) - mid);
    double half = value > mid ? interval->hi - mid : mid - interval->lo;
    return isinf(half) ? 0.0 : half > 0.0 ? distance / half : (double)INFINITY;
}

bool ref_is_ambiguous(const ref_interval *interval, armq_dtype dtype) {
    if (interval->kind != REF_VALUE)
        return interval->kind == REF_ANY;
    return armq_round_to(dtype, interval->lo) != armq_round_to(dtype, interval->hi);
}
