/* SPDX-License-Identifier: Apache-2.0 */
/* Each group has the scale of the one before. */
#include "conformance/tests/broken/common.h"

float naive_group_scale(const naive_packed *packed, int64_t n, int64_t group) {
    return packed->scales[n * packed->groups + (group > 0 ? group - 1 : 0)];
}

BROKEN_PROVIDER("previous-group-scale", NULL)
