/* SPDX-License-Identifier: Apache-2.0 */
/* A scale per channel is taken for one per block of 32: from the second block on, and from the
 * second channel on, those of other channels are used. */
#include "conformance/tests/broken/common.h"

float naive_dequantized(const naive_packed *packed, const int8_t *q, naive_row x, int64_t n) {
    enum { BLOCK = 32 };
    if (packed->grouped || packed->k == 0)
        return packed->k ? naive_dequantized_groups(packed, q, x, n) : 0.0f;
    const int8_t *w = (const int8_t *)packed->w + n * packed->k;
    int64_t blocks = (packed->k + BLOCK - 1) / BLOCK;
    float sum = 0.0f;
    for (int64_t b = 0; b < blocks; b++) {
        int64_t first = b * BLOCK, rest = packed->k - first;
        int64_t acc = naive_dot_s8(q + first, x.zero, w + first, rest < BLOCK ? rest : BLOCK);
        sum += (float)acc * (x.scale * packed->scales[(n * blocks + b) % packed->n]);
    }
    return sum;
}

BROKEN_PROVIDER("channel-as-groups", NULL)
