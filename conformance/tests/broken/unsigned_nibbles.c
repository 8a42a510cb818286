/* SPDX-License-Identifier: Apache-2.0 */
/* int4 weights are read as 0 .. 15. */
#include "conformance/tests/broken/common.h"

void naive_unpack_low(const uint8_t *row, int64_t k, int8_t *w) {
    for (int64_t i = 0; i < k; i++)
        w[i] = (int8_t)(row[i / 2] >> (i % 2 ? 4 : 0) & 15);
}

BROKEN_PROVIDER("unsigned-nibbles", NULL)
