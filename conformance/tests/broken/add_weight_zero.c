/* SPDX-License-Identifier: Apache-2.0 */
/* The zero points of weights are added where they must be subtracted. */
#include "conformance/tests/broken/common.h"

int32_t naive_weight_zero(const armq_weights *weights, int64_t groups, int64_t row, int64_t group) {
    return -weights->zero_points[row * groups + group];
}

BROKEN_PROVIDER("add-weight-zero", NULL)
