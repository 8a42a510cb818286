/* SPDX-License-Identifier: Apache-2.0 */
/* The activations' zero point is added where it must be subtracted. */
#include "conformance/tests/broken/common.h"

int64_t naive_dot_s8(const int8_t *q, int32_t zero, const int8_t *w, int64_t k) {
    int64_t sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum += (int64_t)(q[i] + zero) * w[i];
    return sum;
}

int32_t naive_row_sum(const naive_packed *packed, int64_t n, int64_t group) {
    return -packed->sums[n * packed->groups + group];
}

BROKEN_PROVIDER("add-activation-zero", NULL)
