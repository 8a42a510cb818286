/* SPDX-License-Identifier: Apache-2.0 */
/* All groups of a channel have the scale of its first. */
#include "conformance/tests/broken/common.h"

float naive_group_scale(const naive_packed *packed, int64_t n, int64_t group) {
    (void)group;
    return packed->scales[n * packed->groups];
}

BROKEN_PROVIDER("first-group-scale", NULL)
