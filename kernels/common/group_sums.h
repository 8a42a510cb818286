/* SPDX-License-Identifier: Apache-2.0 */
/* From a group's integer sums to f32, without a conversion where the sums are small enough: they
 * start at the bits of a float whose last bit is worth one unit, and one subtraction takes it away
 * again. Exact. */
#ifndef ARMQ_KERNELS_GROUP_SUMS_H
#define ARMQ_KERNELS_GROUP_SUMS_H

#include <arm_neon.h>

#include "kernels/common/inline.h"
#include "kernels/common/tile.h"

/* Comes from memory each time: a load is cheaper than a vector instruction, as a copy would be. */
INLINE int32x4_t armq_group_start(const int32x4_t *start) {
    int32x4_t sum;
    __asm__ volatile("ldr %q0, %1" : "=w"(sum) : "m"(*start));
    return sum;
}

/* total + (sum - start) * scale; wide: sums that start at 0 and are converted. */
INLINE float32x4_t armq_group_add(const bool wide, float32x4_t total, int32x4_t sum,
                                  float32x4_t start, float32x4_t scale) {
    const float32x4_t value =
        wide ? vcvtq_f32_s32(sum) : vsubq_f32(vreinterpretq_f32_s32(sum), start);
    return vfmaq_f32(total, value, scale);
}

#endif
