/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of repeated times: medians, spread, and the confidence interval of a paired ratio. */
#ifndef ARMQ_PERF_STATS_H
#define ARMQ_PERF_STATS_H

#include <stdint.h>

/* Quantile q in [0, 1], linear between the order statistics: that at (n-1)*q of the sorted values
 * (Hyndman and Fan's type 7). NAN for n = 0. values stay as they are. */
double stats_quantile(const double *values, int64_t n, double q);

/* (third quartile - first quartile) / median; NAN for fewer than two values. */
double stats_spread(const double *values, int64_t n);

/* P(T <= t) of Student's t with df >= 1 degrees of freedom, by the finite series for integer df
 * (Abramowitz and Stegun, 26.7.3 and 26.7.4). */
double stats_t_cdf(double t, int64_t df);

/* The t with P(T <= t) = p, for 0.5 <= p < 1. */
double stats_t_quantile(double p, int64_t df);

typedef struct {
    double ratio, low, high; /* geometric mean; 95 % confidence interval */
    int64_t pairs;
} stats_ratio;

/* base[i] / other[i], paired. With d = ln(base[i] / other[i]), mean m and standard deviation s
 * (n-1): ratio = exp(m), interval = exp(m +- t(0.975, n-1) * s / sqrt(n)). Fewer than two pairs:
 * low and high are NAN. Every time must be positive. */
stats_ratio stats_paired_ratio(const double *base, const double *other, int64_t n);

#endif
