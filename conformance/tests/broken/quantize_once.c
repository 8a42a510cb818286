/* SPDX-License-Identifier: Apache-2.0 */
/* The intermediate is multiplied as it is, without being quantised again. */
#include "conformance/tests/broken/common.h"

void naive_down(const naive_call *call, int64_t expert, const float *h, void *operand, float *y2) {
    (void)operand;
    naive_packed packed = naive_expert(call, 1, expert);
    for (int64_t n = 0; n < packed.n; n++) {
        const int8_t *w = (const int8_t *)packed.w + n * packed.k;
        double sum = 0.0;
        for (int64_t i = 0; i < packed.k; i++)
            sum += (double)h[i] * w[i];
        y2[n] = naive_add_bias((float)sum * packed.scales[n], &packed, n);
    }
}

BROKEN_PROVIDER("quantize-once", NULL)
