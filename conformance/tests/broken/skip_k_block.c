/* SPDX-License-Identifier: Apache-2.0 */
/* The last block of 16 along K is never multiplied. */
#include "conformance/tests/broken/common.h"

int64_t naive_dot_s8(const int8_t *q, int32_t zero, const int8_t *w, int64_t k) {
    int64_t sum = 0, end = k > 16 ? (k - 1) / 16 * 16 : k;
    for (int64_t i = 0; i < end; i++)
        sum += (int64_t)(q[i] - zero) * w[i];
    return sum;
}

BROKEN_PROVIDER("skip-k-block", NULL)
