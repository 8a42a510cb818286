/* SPDX-License-Identifier: Apache-2.0 */
/* The path for one token has no correction for the activations' zero point. */
#include "conformance/tests/broken/common.h"

static bool one_token;

int32_t naive_row_sum(const naive_packed *packed, int64_t n, int64_t group) {
    return one_token ? 0 : packed->sums[n * packed->groups + group];
}

int64_t naive_dot_s8(const int8_t *q, int32_t zero, const int8_t *w, int64_t k) {
    int64_t sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum += (int64_t)(q[i] - (one_token ? 0 : zero)) * w[i];
    return sum;
}

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    one_token = desc->tokens == 1;
    return naive_provider.run(desc, plan, args);
}

BROKEN_PROVIDER("one-token-no-zero", run)
