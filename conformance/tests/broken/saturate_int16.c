/* SPDX-License-Identifier: Apache-2.0 */
/* Two products are added in an int16 lane that saturates. */
#include "conformance/tests/broken/common.h"

static int32_t saturated(int32_t value) {
    return value > INT16_MAX ? INT16_MAX : value < INT16_MIN ? INT16_MIN : value;
}

int64_t naive_dot_s8(const int8_t *q, int32_t zero, const int8_t *w, int64_t k) {
    int64_t sum = 0;
    for (int64_t i = 0; i < k; i += 2) {
        int32_t pair = (q[i] - zero) * w[i];
        if (i + 1 < k)
            pair += (q[i + 1] - zero) * w[i + 1];
        sum += saturated(pair);
    }
    return sum;
}

BROKEN_PROVIDER("saturate-int16", NULL)
