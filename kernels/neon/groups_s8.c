/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles for weights with a scale per group: int32 inside a group, f32 across them. */
#include "kernels/neon/groups_s8.h"

#include "kernels/common/group_sums.h"
#include "kernels/neon/panels_s8.h"

/* Scales of a group for four columns; the panel's are eight. */
INLINE float32x4_t load_scales(const bool s4, const char *scales) {
    if (!s4)
        return vld1q_f32((const float *)(const void *)scales);
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16((const uint16_t *)(const void *)scales), 16));
}

/* Zero points of a group for four columns, from the first or the fifth on. */
INLINE int16x4_t load_zeros(int first, const int8_t *zeros) {
    const int16x8_t eight = vmovl_s8(vld1_s8(zeros));
    return first ? vget_high_s16(eight) : vget_low_s16(eight);
}

/* Four of the panel's columns, from `first` on, for all groups; b and acc are the first of them. */
INLINE void smull_columns(const bool s4, const bool wide, const bool zero_points, const int rows,
                          int first, const armq_groups *groups, const int8_t *a, const int8_t *b,
                          float *acc, bool accumulate) {
    const size_t scale_bytes = s4 ? sizeof(uint16_t) : sizeof(float);
    const char *scales = (const char *)groups->scales + (size_t)first * scale_bytes;
    const int8_t *zeros = groups->zeros;
    const int16_t *row_sums = groups->row_sums;
    const float32x4_t start = vdupq_n_f32(groups->start);
    /* The four lanes of a sum are added: one of them starts. */
    const int32x4_t start_bits =
        vsetq_lane_s32(vgetq_lane_s32(vreinterpretq_s32_f32(start), 0), vdupq_n_s32(0), 0);
    const armq_group_starts starts = {{start_bits, start_bits}};
    float32x4_t total[4];
    UNROLL for (int r = 0; r < rows; r++) {
        total[r] = accumulate ? vld1q_f32(acc + r * ARMQ_TILE_COLUMNS) : vdupq_n_f32(0);
    }
    for (int64_t g = 0; g < groups->count; g++) {
        int32x4_t sum[4 * COLUMNS];
        armq_start_sums(rows * COLUMNS, &starts, sum);
        for (int64_t step = 0; step < groups->steps; step++) {
            multiply_step(s4, rows, a, b, sum);
            a += STEP * rows;
            b += column_bytes(s4) * ARMQ_TILE_COLUMNS;
        }
        const float32x4_t scale = load_scales(s4, scales);
        scales += ARMQ_TILE_COLUMNS * scale_bytes;
        UNROLL for (int r = 0; r < rows; r++) {
            int32x4_t whole = whole_columns(sum + r * COLUMNS);
            if (zero_points)
                whole = armq_take_zeros(whole, load_zeros(first, zeros), row_sums[2 * r]);
            total[r] = armq_group_add(wide, total[r], whole, start, scale);
        }
        if (zero_points) {
            zeros += ARMQ_TILE_COLUMNS;
            row_sums += 2 * rows;
        }
    }
    UNROLL for (int r = 0; r < rows; r++) vst1q_f32(acc + r * ARMQ_TILE_COLUMNS, total[r]);
}

INLINE void smull_halves(const bool s4, const bool wide, const bool zero_points, const int rows,
                         const armq_groups *groups, const int8_t *a, const int8_t *b, float *acc,
                         bool accumulate) {
    for (int c = 0; c < ARMQ_TILE_COLUMNS; c += COLUMNS)
        smull_columns(s4, wide, zero_points, rows, c, groups, a, b + column_bytes(s4) * c, acc + c,
                      accumulate);
}

INLINE void smull_groups(const bool s4, const int rows, const armq_groups *groups, const int8_t *a,
                         const int8_t *b, float *acc, bool accumulate) {
    if (!s4 && groups->start == 0)
        smull_halves(s4, true, false, rows, groups, a, b, acc, accumulate);
    else if (s4 && groups->zeros)
        smull_halves(s4, false, true, rows, groups, a, b, acc, accumulate);
    else
        smull_halves(s4, false, false, rows, groups, a, b, acc, accumulate);
}

#define INSTANCE(name, s4, rows)                                                                   \
    void armq_neon_##name(const armq_groups *groups, const void *a, const void *b,                 \
                          size_t b_stride, void *acc, bool accumulate) {                           \
        (void)b_stride;                                                                            \
        smull_groups(s4, rows, groups, a, b, acc, accumulate);                                     \
    }

INSTANCE(smull_4x8_groups, false, 4)
INSTANCE(smull_3x8_groups, false, 3)
INSTANCE(smull_2x8_groups, false, 2)
INSTANCE(smull_1x8_groups, false, 1)
INSTANCE(smull_4x8_groups_s4, true, 4)
INSTANCE(smull_3x8_groups_s4, true, 3)
INSTANCE(smull_2x8_groups_s4, true, 2)
INSTANCE(smull_1x8_groups_s4, true, 1)
