/* SPDX-License-Identifier: Apache-2.0 */
/* From a group's integer sums to f32, without a conversion where the sums are small enough: they
 * start at the bits of a float whose last bit is worth one unit, and one subtraction takes it away
 * again. Exact. */
#ifndef ARMQ_KERNELS_GROUP_SUMS_H
#define ARMQ_KERNELS_GROUP_SUMS_H

#include <arm_neon.h>

#include "kernels/common/inline.h"
#include "kernels/common/tile.h"

/* What sums start at; two of them, which one load brings. */
typedef struct {
    int32x4_t value[2];
} armq_group_starts;

/* Comes from memory each time: a load is cheaper than a vector instruction, as a copy would be. */
INLINE void armq_group_start(const armq_group_starts *start, int32x4_t *first, int32x4_t *second) {
    __asm__ volatile("ldp %q0, %q1, %2" : "=w"(*first), "=w"(*second) : "Q"(*start));
}

/* Of the panel `bytes` further on. */
INLINE void armq_next_groups(armq_groups *groups, size_t bytes) {
    groups->scales = (const char *)groups->scales + bytes;
    if (groups->zeros)
        groups->zeros += bytes;
}

/* An even number of sums. */
INLINE void armq_start_sums(const int count, const armq_group_starts *start, int32x4_t *sum) {
    UNROLL for (int i = 0; i < count; i += 2) armq_group_start(start, &sum[i], &sum[i + 1]);
}

/* sum - zeros * row_sum: four columns of one row. */
INLINE int32x4_t armq_take_zeros(int32x4_t sum, int16x4_t zeros, int16_t row_sum) {
    return vmlsl_n_s16(sum, zeros, row_sum);
}

/* total + (sum - start) * scale; wide: sums that start at 0 and are converted. */
INLINE float32x4_t armq_group_add(const bool wide, float32x4_t total, int32x4_t sum,
                                  float32x4_t start, float32x4_t scale) {
    const float32x4_t value =
        wide ? vcvtq_f32_s32(sum) : vsubq_f32(vreinterpretq_f32_s32(sum), start);
    return vfmaq_f32(total, value, scale);
}

/* Here the sums stand in registers of their own; ordered: one such place after the other. */
INLINE void armq_settle_sums(const bool ordered, const int count, int32x4_t *sum) {
    UNROLL for (int i = 0; i < count; i++) {
        if (ordered)
            __asm__ volatile("" : "+w"(sum[i]));
        else
            __asm__("" : "+w"(sum[i]));
    }
}

#endif
