/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles for weights with a scale per group: int32 inside a group, f32 across them. Tall tiles take
 * the panel's columns in two halves, so that integer and float accumulators leave registers for the
 * operands. */
#include "kernels/dotprod/groups.h"

#include "kernels/common/convert.h"
#include "kernels/common/group_sums.h"
#include "kernels/dotprod/panels.h"

/* Scales of a group for columns [4 * q, 4 * q + 4). */
INLINE float32x4_t load_scales(const bool s4, const int q, const void *scales) {
    if (!s4)
        return vld1q_f32((const float *)scales + 4 * q);
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16((const uint16_t *)scales + 4 * q), 16));
}

/* Bytes of a group's scales. */
INLINE size_t scale_bytes(const bool s4) {
    return ARMQ_TILE_COLUMNS * (s4 ? sizeof(uint16_t) : sizeof(float));
}

/* Columns [4 * q, 4 * q + 4) of a panel's k step. */
INLINE int8x16_t load_quad(const bool s4, const int q, const int8_t *b) {
    if (!s4)
        return vld1q_s8(b + VECTOR * q);
    int8x16_t packed = vld1q_s8(b);
    return q ? armq_high_nibbles(packed) : armq_low_nibbles(packed);
}

/* Columns [4 * q, 4 * q + 4) for all groups; acc is the first of them. */
INLINE void sdot_columns(const bool s4, const int rows, const int q, const armq_groups *groups,
                         const int8_t *a, const int8_t *b, float *acc, bool accumulate) {
    const float32x4_t start = vdupq_n_f32(groups->start);
    const int32x4_t start_bits = vreinterpretq_s32_f32(start);
    const char *scales = groups->scales;
    float32x4_t total[ARMQ_TILE_MAX_ROWS];
    UNROLL for (int r = 0; r < rows; r++) {
        total[r] = accumulate ? vld1q_f32(acc + r * ARMQ_TILE_COLUMNS) : vdupq_n_f32(0);
    }
    for (int64_t g = 0; g < groups->count; g++) {
        int32x4_t sum[ARMQ_TILE_MAX_ROWS];
        UNROLL for (int r = 0; r < rows; r++) sum[r] = armq_group_start(&start_bits);
        for (int64_t step = 0; step < groups->steps; step++) {
            int8x16_t row[2], column = load_quad(s4, q, b);
            load_rows(rows, a, row);
            a += STEP * rows;
            b += step_bytes(s4);
            UNROLL for (int r = 0; r < rows; r++) {
                sum[r] = dot_lane(sum[r], column, row[r / 4], r % 4);
            }
        }
        if (groups->start == 0)
            armq_group_convert(sum, rows);
        const float32x4_t scale = load_scales(s4, q, scales);
        scales += scale_bytes(s4);
        UNROLL for (int r = 0; r < rows; r++) {
            total[r] = armq_group_add(total[r], sum[r], start, scale);
        }
    }
    UNROLL for (int r = 0; r < rows; r++) vst1q_f32(acc + r * ARMQ_TILE_COLUMNS, total[r]);
}

INLINE void sdot_groups(const bool s4, const int rows, const armq_groups *groups, const int8_t *a,
                        const int8_t *b, float *acc, bool accumulate) {
    UNROLL for (int q = 0; q < QUADS; q++) {
        sdot_columns(s4, rows, q, groups, a, b, acc + 4 * q, accumulate);
    }
}

/* One row: a register of it holds four k steps, of which a group has a multiple of eight. Two
 * accumulators a quad, one of which starts at 0. */
INLINE void sdot_row_groups(const bool s4, const armq_groups *groups, const int8_t *a,
                            const int8_t *b, float *acc, bool accumulate) {
    const float32x4_t start = vdupq_n_f32(groups->start);
    const char *scales = groups->scales;
    float32x4_t total[QUADS];
    UNROLL for (int q = 0; q < QUADS; q++) {
        total[q] = accumulate ? vld1q_f32(acc + 4 * q) : vdupq_n_f32(0);
    }
    for (int64_t g = 0; g < groups->count; g++) {
        int32x4_t sum[2 * QUADS];
        UNROLL for (int i = 0; i < QUADS; i++) {
            sum[i] = vreinterpretq_s32_f32(start);
            sum[QUADS + i] = vdupq_n_s32(0);
        }
        for (int64_t step = 0; step < groups->steps; step += 4) {
            int8x16_t row = vld1q_s8(a);
            a += VECTOR;
            UNROLL for (int i = 0; i < 4; i++) {
                int8x16_t column[QUADS];
                load_columns(s4, b, column);
                b += step_bytes(s4);
                UNROLL for (int q = 0; q < QUADS; q++) {
                    int32x4_t *to = &sum[i % 2 * QUADS + q];
                    *to = dot_lane(*to, column[q], row, i);
                }
            }
        }
        UNROLL for (int q = 0; q < QUADS; q++) sum[q] = vaddq_s32(sum[q], sum[QUADS + q]);
        if (groups->start == 0)
            armq_group_convert(sum, QUADS);
        UNROLL for (int q = 0; q < QUADS; q++) {
            total[q] = armq_group_add(total[q], sum[q], start, load_scales(s4, q, scales));
        }
        scales += scale_bytes(s4);
    }
    UNROLL for (int q = 0; q < QUADS; q++) vst1q_f32(acc + 4 * q, total[q]);
}

#define INSTANCE(name, template, ...)                                                              \
    void armq_dotprod_##name(const armq_groups *groups, const void *a, const void *b, void *acc,   \
                             bool accumulate) {                                                    \
        template(__VA_ARGS__, groups, a, b, acc, accumulate);                                      \
    }

INSTANCE(sdot_8x8_groups, sdot_groups, false, 8)
INSTANCE(sdot_6x8_groups, sdot_groups, false, 6)
INSTANCE(sdot_4x8_groups, sdot_groups, false, 4)
INSTANCE(sdot_2x8_groups, sdot_groups, false, 2)
INSTANCE(sdot_1x8_groups, sdot_row_groups, false)
INSTANCE(sdot_8x8_groups_s4, sdot_groups, true, 8)
INSTANCE(sdot_6x8_groups_s4, sdot_groups, true, 6)
INSTANCE(sdot_4x8_groups_s4, sdot_groups, true, 4)
INSTANCE(sdot_2x8_groups_s4, sdot_groups, true, 2)
INSTANCE(sdot_1x8_groups_s4, sdot_row_groups, true)
