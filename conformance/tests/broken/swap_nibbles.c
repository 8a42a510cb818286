/* SPDX-License-Identifier: Apache-2.0 */
/* The even index of int4 weights is taken to be in the high nibble. */
#include "conformance/tests/broken/common.h"

void naive_unpack_low(const uint8_t *row, int64_t k, int8_t *w) {
    for (int64_t i = 0; i < k; i++) {
        int32_t code = row[i / 2] >> (i % 2 ? 0 : 4) & 15;
        w[i] = (int8_t)(code >= 8 ? code - 16 : code);
    }
}

BROKEN_PROVIDER("swap-nibbles", NULL)
