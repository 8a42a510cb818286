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

/* Sums of groups too large for that, in place. */
INLINE void armq_group_convert(int32x4_t *sum, const int count) {
    UNROLL for (int i = 0; i < count; i++) {
        sum[i] = vreinterpretq_s32_f32(vcvtq_f32_s32(sum[i]));
    }
}

/* total + (sum - start) * scale */
INLINE float32x4_t armq_group_add(float32x4_t total, int32x4_t sum, float32x4_t start,
                                  float32x4_t scale) {
    return vfmaq_f32(total, vsubq_f32(vreinterpretq_f32_s32(sum), start), scale);
}

#endif
