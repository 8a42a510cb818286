/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics against values from tables and from hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "perf/stats.h"

#define ASSERT_NEAR(got, wanted, slack)                                                            \
    do {                                                                                           \
        const double got_ = (got), wanted_ = (wanted);                                             \
        if (!(fabs(got_ - wanted_) <= (slack)))                                                    \
            fail_msg("%s is %.9g, wanted %.9g", #got, got_, wanted_);                              \
    } while (0)

static void quantiles(void **state) {
    (void)state;
    const double values[] = {4, 1, 3, 2, 10};
    assert_true(stats_quantile(values, 5, 0) == 1);
    assert_true(stats_quantile(values, 5, 0.5) == 3);
    assert_true(stats_quantile(values, 5, 1) == 10);
    assert_true(stats_quantile(values, 4, 0.25) == 1.75); /* of 1 2 3 4: 0.75 of the way to 2 */
    assert_true(isnan(stats_quantile(values, 0, 0.5)));
    assert_true(values[0] == 4); /* not sorted in place */
}

/* Quartiles 2 and 4 around 3. */
static void spread(void **state) {
    (void)state;
    const double values[] = {4, 1, 3, 2, 10}, same[] = {7, 7, 7};
    ASSERT_NEAR(stats_spread(values, 5), 2.0 / 3.0, 1e-15);
    assert_true(stats_spread(same, 3) == 0);
    assert_true(isnan(stats_spread(values, 1)));
}

/* Of any table of Student's t, two-sided 95 % and 99 %. */
static void student(void **state) {
    (void)state;
    static const struct {
        int64_t df;
        double p975, p995;
    } table[] = {{1, 12.7062, 63.6567}, {2, 4.3027, 9.9248},  {3, 3.1824, 5.8409},
                 {4, 2.7764, 4.6041},   {10, 2.2281, 3.1693}, {29, 2.0452, 2.7564},
                 {120, 1.9799, 2.6174}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        ASSERT_NEAR(stats_t_quantile(0.975, table[i].df), table[i].p975, 5e-5);
        ASSERT_NEAR(stats_t_quantile(0.995, table[i].df), table[i].p995, 5e-5);
    }
    assert_true(stats_t_cdf(0, 5) == 0.5);
    ASSERT_NEAR(stats_t_cdf(1, 1), 0.75, 1e-15); /* Cauchy: 1/2 + atan(1)/pi */
    ASSERT_NEAR(stats_t_cdf(-1, 1), 0.25, 1e-15);
    ASSERT_NEAR(stats_t_cdf(M_SQRT2, 2), 0.5 + M_SQRT2 / 4, 1e-15); /* 1/2 + t / (2 sqrt(2+t^2)) */
}

/* Logarithms ln 2 - 0.1, ln 2, ln 2 + 0.1: mean ln 2, s = 0.1, t(0.975, 2) = 4.302653, so the half
 * width is 4.302653 * 0.1 / sqrt(3) = 0.2484139; 2*exp(-+0.2484139) = 1.560074 and 2.563980. */
static void paired(void **state) {
    (void)state;
    const double other[] = {1, 5, 0.25};
    const double base[] = {2 * exp(-0.1), 10, 0.5 * exp(0.1)};
    const stats_ratio r = stats_paired_ratio(base, other, 3);
    assert_int_equal(r.pairs, 3);
    ASSERT_NEAR(r.ratio, 2, 1e-14);
    ASSERT_NEAR(r.low, 1.560074, 2e-6);
    ASSERT_NEAR(r.high, 2.563980, 2e-6);
}

/* A machine that slows to a half in the middle changes both of a pair, and the ratio not at all. */
static void drift_cancels(void **state) {
    (void)state;
    const double base[] = {3, 3, 6, 6}, other[] = {2, 2, 4, 4};
    const stats_ratio r = stats_paired_ratio(base, other, 4);
    ASSERT_NEAR(r.ratio, 1.5, 1e-14);
    ASSERT_NEAR(r.low, 1.5, 1e-12);
    ASSERT_NEAR(r.high, 1.5, 1e-12);
}

static void too_few(void **state) {
    (void)state;
    const double base[] = {3}, other[] = {2};
    const stats_ratio one = stats_paired_ratio(base, other, 1),
                      none = stats_paired_ratio(base, other, 0);
    ASSERT_NEAR(one.ratio, 1.5, 1e-15);
    assert_true(isnan(one.low) && isnan(one.high));
    assert_true(isnan(none.ratio));
}

int main(void) {
    const struct CMUnitTest stats[] = {
        cmocka_unit_test(quantiles), cmocka_unit_test(spread),        cmocka_unit_test(student),
        cmocka_unit_test(paired),    cmocka_unit_test(drift_cancels), cmocka_unit_test(too_few),
    };
    return cmocka_run_group_tests(stats, NULL, NULL);
}
