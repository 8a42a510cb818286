/* SPDX-License-Identifier: Apache-2.0 */
/* Comparator, its reports, and the propagation of intervals through f32 steps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "reference/formats.h"
#include "reference/interval.h"

static ref_interval between(double lo, double mid, double hi) {
    return (ref_interval){.lo = lo, .mid = mid, .hi = hi, .kind = REF_VALUE};
}

/* One element of any dtype. */
typedef union {
    float f32;
    uint16_t half;
    int32_t s32;
} element;

static bool accepts(ref_interval interval, armq_dtype dtype, double value) {
    element got;
    armq_store(dtype, &got, 0, value);
    return ref_accepts(&interval, dtype, &got);
}

static const armq_dtype floats[] = {ARMQ_DTYPE_F32, ARMQ_DTYPE_BF16, ARMQ_DTYPE_F16};

static void refuses_nan_infinity_and_zero(void **state) {
    (void)state;
    const ref_interval intervals[] = {between(0.9, 1.0, 1.1), between(-1.1, -1.0, -0.9),
                                      between(1.0, 1.0, 1.0), between(6e4, 6.1e4, 6.2e4)};
    for (int t = 0; t < 3; t++)
        for (size_t i = 0; i < sizeof intervals / sizeof intervals[0]; i++) {
            assert_false(accepts(intervals[i], floats[t], NAN));
            assert_false(accepts(intervals[i], floats[t], -NAN));
            assert_false(accepts(intervals[i], floats[t], INFINITY));
            assert_false(accepts(intervals[i], floats[t], -INFINITY));
            assert_false(accepts(intervals[i], floats[t], 0.0));
            assert_true(accepts(intervals[i], floats[t], intervals[i].mid));
        }
    assert_false(accepts(between(-1, 0, 1), ARMQ_DTYPE_F32, NAN));
    assert_false(accepts(between(-INFINITY, 0, INFINITY), ARMQ_DTYPE_F32, NAN));
}

/* A reference that went wrong must not pass anything. */
static void refuses_all_when_an_end_is_nan(void **state) {
    (void)state;
    for (int t = 0; t < 3; t++) {
        assert_false(accepts(between(NAN, 1, 2), floats[t], 1.0));
        assert_false(accepts(between(0, 1, NAN), floats[t], 1.0));
        assert_false(accepts(between(NAN, NAN, NAN), floats[t], NAN));
    }
}

static void one_step_outside_is_refused(void **state) {
    (void)state;
    double lo = 1.0 - 0x1p-23, hi = 1.0 + 0x1p-22;
    assert_true(accepts(between(lo, 1, hi), ARMQ_DTYPE_F32, lo));
    assert_true(accepts(between(lo, 1, hi), ARMQ_DTYPE_F32, hi));
    assert_false(accepts(between(lo, 1, hi), ARMQ_DTYPE_F32, lo - 0x1p-24));
    assert_false(accepts(between(lo, 1, hi), ARMQ_DTYPE_F32, hi + 0x1p-23));
    assert_true(accepts(between(1, 1, 1 + 0x1p-7), ARMQ_DTYPE_BF16, 1 + 0x1p-7));
    assert_false(accepts(between(1, 1, 1 + 0x1p-7), ARMQ_DTYPE_BF16, 1 + 0x1p-6));
    assert_false(accepts(between(1, 1, 1 + 0x1p-7), ARMQ_DTYPE_BF16, 1 - 0x1p-8));
    assert_false(accepts(between(1, 1, 1), ARMQ_DTYPE_F16, 1 + 0x1p-10));
    /* Ends between two values of the dtype round to the nearest, not outwards. */
    assert_false(accepts(between(1, 1, 1 + 0x1p-9), ARMQ_DTYPE_BF16, 1 + 0x1p-7));
    assert_true(accepts(between(1, 1, 1 + 0x1.2p-8), ARMQ_DTYPE_BF16, 1 + 0x1p-7));
}

static void infinities_by_class(void **state) {
    (void)state;
    ref_interval over = between(1e39, 1e39, 1e39), edge = between(3e38, 3.4e38, 3.5e38);
    assert_true(accepts(over, ARMQ_DTYPE_F32, INFINITY));
    assert_false(accepts(over, ARMQ_DTYPE_F32, -INFINITY));
    assert_false(accepts(over, ARMQ_DTYPE_F32, 3.4e38));
    assert_true(accepts(edge, ARMQ_DTYPE_F32, INFINITY));
    assert_true(accepts(edge, ARMQ_DTYPE_F32, 3.4e38));
    assert_true(accepts(between(65519, 65520, 65521), ARMQ_DTYPE_F16, INFINITY));
    assert_false(accepts(between(65500, 65504, 65519), ARMQ_DTYPE_F16, INFINITY));
}

static void kinds(void **state) {
    (void)state;
    ref_interval any = ref_exact(0), nan = ref_exact(0);
    any.kind = REF_ANY;
    nan.kind = REF_NAN;
    for (int t = 0; t < 3; t++) {
        assert_true(accepts(any, floats[t], NAN) && accepts(any, floats[t], 5));
        assert_true(accepts(nan, floats[t], NAN));
        assert_false(accepts(nan, floats[t], 0) || accepts(nan, floats[t], INFINITY));
    }
    int32_t word = 7;
    assert_false(ref_accepts(&nan, ARMQ_DTYPE_S32, &word));
    ref_interval seven = ref_exact(7), huge = ref_exact(2147483648.0);
    assert_true(ref_accepts(&seven, ARMQ_DTYPE_S32, &word));
    word = 8;
    assert_false(ref_accepts(&seven, ARMQ_DTYPE_S32, &word));
    word = INT32_MAX;
    assert_false(ref_accepts(&huge, ARMQ_DTYPE_S32, &word));
    word = INT32_MIN;
    assert_false(ref_accepts(&huge, ARMQ_DTYPE_S32, &word));
    assert_true(accepts(ref_exact(0), ARMQ_DTYPE_F32, -0.0));
}

static double usage(ref_interval interval, armq_dtype dtype, double value) {
    element got;
    armq_store(dtype, &got, 0, value);
    return ref_usage(&interval, dtype, &got);
}

static void usage_counts_from_mid_to_what_rounds_to_got(void **state) {
    (void)state;
    double u = 0x1p-23; /* one step above 1 */
    ref_interval one = between(1 - 4 * u, 1, 1 + 2 * u);
    assert_true(usage(one, ARMQ_DTYPE_F32, 1.0) == 0.0);
    assert_true(usage(one, ARMQ_DTYPE_F32, 1 + u) == 0.25);
    assert_true(usage(one, ARMQ_DTYPE_F32, 1 + 2 * u) == 0.75);
    assert_true(usage(one, ARMQ_DTYPE_F32, 1 + 3 * u) == 1.25);
    assert_true(usage(one, ARMQ_DTYPE_F32, 1 - u / 2) == 0.0625);
    assert_true(usage(between(0.9, 1, 1.1), ARMQ_DTYPE_BF16, 1 + 0x1p-7) ==
                (1 + 0x1p-8 - 1) / (1.1 - 1));
    assert_true(isinf(usage(ref_exact(1), ARMQ_DTYPE_F16, 1 + 0x1p-10)));
    assert_true(usage(ref_exact(3), ARMQ_DTYPE_S32, 3) == 0.0);
    assert_true(isinf(usage(ref_exact(3), ARMQ_DTYPE_S32, 4)));
    assert_true(isnan(usage(one, ARMQ_DTYPE_F32, NAN)));
    one.kind = REF_ANY;
    assert_true(isnan(usage(one, ARMQ_DTYPE_F32, 1)));
}

/* Above 1 exactly when the comparator refuses. */
static void usage_agrees_with_the_comparator(void **state) {
    (void)state;
    const double mids[] = {1.0, -1.37, 65000.0, 3e-8, 1e-40, 0.0, 77.125};
    int inside = 0, outside = 0;
    for (int t = 0; t < 3; t++)
        for (size_t i = 0; i < sizeof mids / sizeof mids[0]; i++)
            for (int step = -40; step <= 40; step++) {
                double mid = mids[i], size = fabs(mid) + 0x1p-20;
                ref_interval y = between(mid - 0.011 * size, mid, mid + 0.007 * size);
                double got = armq_round_to(floats[t], mid + step * 0.0011 * size);
                bool ok = accepts(y, floats[t], got);
                assert_int_equal(ok, usage(y, floats[t], got) <= 1.0);
                ok ? inside++ : outside++;
            }
    assert_true(inside > 300 && outside > 300);
}

static void ambiguity(void **state) {
    (void)state;
    ref_interval y = between(1, 1, 1 + 0x1p-9);
    assert_false(ref_is_ambiguous(&y, ARMQ_DTYPE_BF16));
    assert_true(ref_is_ambiguous(&y, ARMQ_DTYPE_F32));
    y.hi = 1 + 0x1.2p-8;
    assert_true(ref_is_ambiguous(&y, ARMQ_DTYPE_BF16));
    y.kind = REF_NAN;
    assert_false(ref_is_ambiguous(&y, ARMQ_DTYPE_BF16));
}

/* --- Propagation
 * ---------------------------------------------------------------------------------- */

static void scaled_is_exact_where_nothing_rounds(void **state) {
    (void)state;
    ref_interval y = ref_scaled(12345, 0.5f, 0.25f);
    assert_true(y.lo == 12345 * 0.125 && y.hi == y.lo && y.mid == y.lo);
    y = ref_scaled(0, 0.1f, 0.3f);
    assert_true(y.lo == 0 && y.hi == 0 && y.kind == REF_VALUE);
    y = ref_scaled((1 << 24) + 1, 1.0f, 1.0f); /* f32 can not hold it */
    assert_true(y.lo < y.mid && y.mid == 16777217.0 && y.mid < y.hi);
}

static void scaled_has_three_roundings(void **state) {
    (void)state;
    ref_interval y = ref_scaled(-98765, 0.013f, 0.0021f);
    double value = -98765.0 * (double)0.013f * (double)0.0021f;
    assert_true(fabs(y.mid - value) <= 0x1p-50 * fabs(value));
    double half = 3.0 * 0x1p-24 * fabs(value);
    assert_true(y.hi - y.mid >= half && y.hi - y.mid <= 1.0001 * half);
    assert_true(y.mid - y.lo >= half && y.mid - y.lo <= 1.0001 * half);
}

/* s_x * s_w underflows, acc * s_x does not: both results are admitted, and zero is not far off. */
static void scale_product_in_the_subnormal_range(void **state) {
    (void)state;
    float s_x = 0x1.8p-80f, s_w = 0x1.4cp-70f; /* product below 2^-149 */
    int64_t acc = 2000000;
    ref_interval y = ref_scaled(acc, s_x, s_w);
    float one = (float)acc * (s_x * s_w), other = (float)acc * s_x * s_w;
    assert_true(one != other);
    assert_true(ref_accepts(&y, ARMQ_DTYPE_F32, &one));
    assert_true(ref_accepts(&y, ARMQ_DTYPE_F32, &other));
    float far = 4.0f * other;
    assert_false(ref_accepts(&y, ARMQ_DTYPE_F32, &far));
    s_w = 0x1.4cp-51f; /* product subnormal, a few bits left */
    y = ref_scaled(acc, s_x, s_w);
    one = (float)acc * (s_x * s_w);
    assert_true(ref_accepts(&y, ARMQ_DTYPE_F32, &one));
    far = 1.5f * one;
    assert_false(ref_accepts(&y, ARMQ_DTYPE_F32, &far));
}

static void scale_product_overflows_in_one_order(void **state) {
    (void)state;
    float s_x = 0x1p-60f, s_w = 0x1p100f;
    ref_interval y = ref_scaled(3, s_x, s_w);
    assert_true(y.lo == 3 * 0x1p40 && y.hi == y.lo);
    float large = 0x1p100f, infinite = INFINITY, finite = 3 * 0x1p40f;
    y = ref_scaled(1, large, large); /* infinite in every order */
    assert_true(ref_accepts(&y, ARMQ_DTYPE_F32, &infinite));
    assert_false(ref_accepts(&y, ARMQ_DTYPE_F32, &finite));
    y = ref_scaled(1 << 20, 0x1p-20f, 0x1p120f); /* acc * s_w overflows, the value does not */
    assert_true(ref_accepts(&y, ARMQ_DTYPE_F32, &infinite) && y.mid == 0x1p120);
    y = ref_scaled(0, large, large); /* 0 * infinity, or 0 */
    assert_int_equal(y.kind, REF_ANY);
}

static void weight_scales_that_are_not_finite(void **state) {
    (void)state;
    assert_int_equal(ref_scaled(5, 0.1f, NAN).kind, REF_NAN);
    assert_int_equal(ref_scaled(0, 0.1f, INFINITY).kind, REF_NAN);
    ref_interval y = ref_scaled(-5, 0.1f, INFINITY);
    assert_true(y.kind == REF_VALUE && y.lo == -(double)INFINITY && y.hi == -(double)INFINITY);
    y = ref_scaled(5, 0.1f, 0.0f);
    assert_true(y.kind == REF_VALUE && y.lo == 0 && y.hi == 0);
}

static void sums(void **state) {
    (void)state;
    ref_interval y = ref_plus_f32(ref_exact(0), (double)0.1f);
    assert_true(y.lo == (double)0.1f && y.hi == y.lo);
    y = ref_plus_f32(ref_exact(1.0), 0x1p-30); /* f32 gives 1, a wider sum a little more */
    assert_true(y.lo == 1.0 && y.hi == 1.0 + 0x1p-30);
    y = ref_plus_f32(between(0.99, 1.0, 1.01), 2.0);
    assert_true(y.hi == (1.01 + 2.0) + 0x1p-24 * (1.01 + 2.0) && y.mid == 3.0);
    assert_int_equal(ref_plus_f32(between(0, 1, 2), NAN).kind, REF_NAN);
    y = ref_plus_f32(between(0, 1, 2), -(double)INFINITY);
    assert_true(y.kind == REF_VALUE && y.hi == -(double)INFINITY);
    assert_int_equal(ref_plus_f32(ref_exact(INFINITY), -(double)INFINITY).kind, REF_NAN);
    assert_int_equal(ref_plus_f32(between(1, 1, INFINITY), -(double)INFINITY).kind, REF_ANY);
    y = ref_plus_f32(between(3.3e38, 3.4e38, 3.41e38), 1e37);
    assert_true(isfinite(y.lo) == 1 && isinf(y.hi));
}

/* Mixed order: the product just below and just above a bf16 tie are different bf16 values. */
static void declared_rounding_keeps_both_sides_of_a_tie(void **state) {
    (void)state;
    double tie = 1.0 + 0x1p-8;
    ref_interval y = ref_rounded(between(tie - 1e-7, tie, tie + 1e-7), ARMQ_DTYPE_BF16);
    assert_true(y.lo == 1.0 && y.mid == 1.0 && y.hi == 1.0 + 0x1p-7);
    y = ref_plus_f32(y, 8.0);
    assert_true(accepts(y, ARMQ_DTYPE_F32, 9.0) && accepts(y, ARMQ_DTYPE_F32, 9.0 + 0x1p-7));
    y = ref_rounded(between(1.0 + 1e-4, 1.0 + 2e-4, 1.0 + 3e-4), ARMQ_DTYPE_BF16);
    assert_true(y.lo == 1.0 && y.hi == 1.0);
}

/* --- Uncertain operands --------------------------------------------------------------------------
 */

static uint64_t next_random(void) {
    static uint64_t seed = 0x94d049bb133111ebu;
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed >> 16;
}

static float random_float(void) { return (float)(next_random() % 2000001) * 1e-6f - 1.0f; }

/* Whatever acc and s_x are within their intervals, each order of the factors lands inside, and the
 * ends are needed but for the three roundings. */
static void uncertain_factors(void **state) {
    (void)state;
    for (int i = 0; i < 20000; i++) {
        int64_t acc = (int64_t)(next_random() % 60000000) - 30000000,
                more = (int64_t)(next_random() % 500);
        float s_lo = ldexpf(1.5f + 0.4f * random_float(), i % 11 ? 0 : -120),
              s_hi = s_lo * (1 + 1e-6f);
        float s_w = (1.2f + random_float()) * (i % 2 ? 1 : -1);
        if (i % 5 == 0)
            acc = -(int64_t)(next_random() % 500); /* around zero */
        ref_interval a = between((double)acc, (double)acc, (double)(acc + more));
        ref_interval y =
            ref_scaled_interval(a, between((double)s_lo, (double)s_lo, (double)s_hi), (double)s_w);
        double lowest = INFINITY, highest = -INFINITY;
        for (int corner = 0; corner < 4; corner++) {
            float sum = (float)(acc + (corner & 1 ? more : 0)), s_x = corner & 2 ? s_hi : s_lo;
            const float orders[] = {sum * (s_x * s_w), sum * s_x * s_w, sum * s_w * s_x};
            for (int o = 0; o < 3; o++)
                assert_true(ref_accepts(&y, ARMQ_DTYPE_F32, &orders[o]));
            lowest = fmin(lowest, (double)orders[0]);
            highest = fmax(highest, (double)orders[0]);
        }
        assert_true(y.lo <= y.mid && y.mid <= y.hi);
        assert_true(y.lo >= lowest - 6.1 * 0x1p-24 * fabs(lowest) - 0x1p-147);
        assert_true(y.hi <= highest + 6.1 * 0x1p-24 * fabs(highest) + 0x1p-147);
    }
    ref_interval zero = ref_scaled_interval(ref_exact(0), between(1, 1.5, 2), 0.3);
    assert_true(zero.lo == 0 && zero.hi == 0);
}

static void uncertain_sums_and_products(void **state) {
    (void)state;
    ref_interval a = between(1, 1.25, 2), b = between(-3, -1, 4), c = ref_times(a, b);
    assert_true(c.lo == -6 && c.mid == -1.25 && c.hi == 8);
    c = ref_times_f32(a, b);
    assert_true(c.lo == -6 - 6 * 0x1p-24 && c.hi == 8 + 8 * 0x1p-24);
    c = ref_times_f32(a, ref_exact(-0.5)); /* a power of two rounds nothing */
    assert_true(c.lo == -1 && c.mid == -0.625 && c.hi == -0.5);
    c = ref_times_f32(ref_exact(3), ref_exact(0.1)); /* rounded or not */
    assert_true(c.lo == fmin(3 * 0.1, (double)0.3f) && c.hi == fmax(3 * 0.1, (double)0.3f));
    c = ref_sum_f32(a, b);
    assert_true(c.lo == -2 - 2 * 0x1p-24 && c.mid == 0.25 && c.hi == 6 + 6 * 0x1p-24);
    c = ref_sum_f32(ref_exact(1), ref_exact(0x1p-25));
    assert_true(c.lo == 1 && c.hi == 1 + 0x1p-25);
    c = ref_hull(a, b);
    assert_true(c.lo == -3 && c.mid == 1.25 && c.hi == 4);
}

static void undecided_operands(void **state) {
    (void)state;
    ref_interval nan = ref_exact(0), any = ref_exact(0), one = ref_exact(1);
    ref_interval inf = ref_exact(INFINITY), maybe = between(1, 2, INFINITY);
    nan.kind = REF_NAN;
    any.kind = REF_ANY;
    assert_int_equal(ref_sum_f32(nan, any).kind, REF_NAN);
    assert_int_equal(ref_sum_f32(one, any).kind, REF_ANY);
    assert_int_equal(ref_times_f32(any, nan).kind, REF_NAN);
    assert_int_equal(ref_times(one, any).kind, REF_ANY);
    assert_int_equal(ref_hull(one, nan).kind, REF_ANY);
    assert_int_equal(ref_hull(nan, nan).kind, REF_NAN);
    assert_int_equal(ref_sum_f32(inf, ref_exact(-INFINITY)).kind, REF_NAN);
    assert_int_equal(ref_sum_f32(maybe, ref_exact(-INFINITY)).kind, REF_ANY);
    /* Each may be infinite, with another sign: then their sum is NaN. */
    ref_interval below = {-INFINITY, -1.0, 0.0, REF_VALUE}, above = {0.0, 1.0, INFINITY, REF_VALUE};
    assert_int_equal(ref_sum_f32(below, above).kind, REF_ANY);
    assert_int_equal(ref_sum_f32(above, below).kind, REF_ANY);
    assert_int_equal(ref_sum_f32(above, above).kind, REF_VALUE);
    /* A zero between the ends of one, an infinity at an end of the other. */
    ref_interval round_zero = {-1.0, 0.5, 1.0, REF_VALUE};
    assert_int_equal(ref_times(round_zero, above).kind, REF_ANY);
    assert_int_equal(ref_times(below, round_zero).kind, REF_ANY);
    assert_int_equal(ref_times(round_zero, round_zero).kind, REF_VALUE);
    assert_int_equal(ref_times_f32(maybe, ref_exact(0)).kind, REF_ANY);
    assert_int_equal(ref_times_f32(inf, ref_exact(0)).kind, REF_NAN);
    assert_true(ref_times_f32(inf, ref_exact(-2)).hi == -(double)INFINITY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_nan_infinity_and_zero),
        cmocka_unit_test(refuses_all_when_an_end_is_nan),
        cmocka_unit_test(one_step_outside_is_refused),
        cmocka_unit_test(infinities_by_class),
        cmocka_unit_test(kinds),
        cmocka_unit_test(usage_counts_from_mid_to_what_rounds_to_got),
        cmocka_unit_test(usage_agrees_with_the_comparator),
        cmocka_unit_test(ambiguity),
        cmocka_unit_test(scaled_is_exact_where_nothing_rounds),
        cmocka_unit_test(scaled_has_three_roundings),
        cmocka_unit_test(scale_product_in_the_subnormal_range),
        cmocka_unit_test(scale_product_overflows_in_one_order),
        cmocka_unit_test(weight_scales_that_are_not_finite),
        cmocka_unit_test(sums),
        cmocka_unit_test(declared_rounding_keeps_both_sides_of_a_tie),
        cmocka_unit_test(uncertain_factors),
        cmocka_unit_test(uncertain_sums_and_products),
        cmocka_unit_test(undecided_operands),
    };
    return cmocka_run_group_tests_name("interval", tests, NULL, NULL);
}
