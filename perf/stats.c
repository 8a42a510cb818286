/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stats_quantile(const double *values, int64_t n, double q) {
    double *sorted = n > 0 ? malloc((size_t)n * sizeof *sorted) : NULL;
    if (sorted == NULL)
        return NAN;
    memcpy(sorted, values, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    const double at = (double)(n - 1) * q;
    const int64_t below = (int64_t)at;
    double value = sorted[below];
    if (below + 1 < n)
        value += (at - (double)below) * (sorted[below + 1] - sorted[below]);
    free(sorted);
    return value;
}

double stats_spread(const double *values, int64_t n) {
    if (n < 2)
        return NAN;
    return (stats_quantile(values, n, 0.75) - stats_quantile(values, n, 0.25)) /
           stats_quantile(values, n, 0.5);
}

double stats_t_cdf(double t, int64_t df) {
    const double angle = atan(t / sqrt((double)df)), sine = sin(angle), cosine = cos(angle);
    const double square = cosine * cosine;
    const int64_t odd = df % 2;
    double term = odd ? cosine : 1, sum = df > 1 ? term : 0;
    for (int64_t j = 2 + odd; j < df; j += 2) {
        term *= square * (double)(j - 1) / (double)j;
        sum += term;
    }
    const double inside = odd ? M_2_PI * (angle + sine * sum) : sine * sum; /* P(|T| <= t) */
    return 0.5 + inside / 2;
}

double stats_t_quantile(double p, int64_t df) {
    double low = 0, high = 1;
    while (stats_t_cdf(high, df) < p && high < 1e12)
        high *= 2;
    for (int i = 0; i < 200 && low < high; i++) {
        const double middle = low + (high - low) / 2;
        if (stats_t_cdf(middle, df) < p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

stats_ratio stats_paired_ratio(const double *base, const double *other, int64_t n) {
    stats_ratio r = {.ratio = NAN, .low = NAN, .high = NAN, .pairs = n};
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += log(base[i] / other[i]);
    if (n < 1)
        return r;
    const double mean = sum / (double)n;
    r.ratio = exp(mean);
    if (n < 2)
        return r;
    for (int64_t i = 0; i < n; i++) {
        const double off = log(base[i] / other[i]) - mean;
        squares += off * off;
    }
    const double error = sqrt(squares / (double)(n - 1) / (double)n);
    const double half = stats_t_quantile(0.975, n - 1) * error;
    r.low = exp(mean - half);
    r.high = exp(mean + half);
    return r;
}
