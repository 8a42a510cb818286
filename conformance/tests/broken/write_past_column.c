/* SPDX-License-Identifier: Apache-2.0 */
/* A row of y is written one column too far; the next row repairs it, but behind the last there is
 * none. */
#include "conformance/tests/broken/common.h"
#include "reference/formats.h"

void naive_store(const armq_desc *desc, void *y_row, int64_t n, float y) {
    armq_store(desc->out, y_row, n, (double)y);
    if (n + 1 == desc->n)
        armq_store(desc->out, y_row, n + 1, (double)y);
}

BROKEN_PROVIDER("write-past-column", NULL)
