/* SPDX-License-Identifier: Apache-2.0 */
/* Int8 tiles with SDOT: four k of four columns times four k of one row, which is broadcast by lane.
 */
#include <arm_neon.h>

#include "kernels/common/inline.h"
#include "kernels/common/tile.h"

enum { STEP = 4, QUADS = ARMQ_TILE_COLUMNS / 4, VECTOR = 16 };

/* Rows 0 to 3 and 4 to 7 of one k step. Even heights only. */
INLINE void load_rows(const int rows, const int8_t *a, int8x16_t row[2]) {
    UNROLL for (int q = 0; q < (rows + 3) / 4; q++) {
        if (rows - 4 * q >= 4)
            row[q] = vld1q_s8(a + VECTOR * q);
        else
            row[q] = vcombine_s8(vld1_s8(a + VECTOR * q), vdup_n_s8(0));
    }
}

INLINE int32x4_t dot_lane(int32x4_t sum, int8x16_t column, int8x16_t row, const int lane) {
    switch (lane) {
    case 0:
        return vdotq_laneq_s32(sum, column, row, 0);
    case 1:
        return vdotq_laneq_s32(sum, column, row, 1);
    case 2:
        return vdotq_laneq_s32(sum, column, row, 2);
    default:
        return vdotq_laneq_s32(sum, column, row, 3);
    }
}

INLINE void store(int32_t *acc, int32x4_t sum, bool accumulate) {
    vst1q_s32(acc, accumulate ? vaddq_s32(sum, vld1q_s32(acc)) : sum);
}

INLINE void sdot_tile(const int rows, const int panels, int64_t k_steps, const int8_t *a,
                      const int8_t *b, size_t b_stride, int32_t *acc, bool accumulate) {
    const int width = QUADS * panels;
    int32x4_t sum[16];
    UNROLL for (int i = 0; i < rows * width; i++) sum[i] = vdupq_n_s32(0);

    for (; k_steps > 0; k_steps--) {
        int8x16_t row[2];
        load_rows(rows, a, row);
        a += STEP * rows;
        UNROLL for (int p = 0; p < panels; p++) {
            int8x16x2_t column = vld1q_s8_x2(b + (size_t)p * b_stride);
            UNROLL for (int r = 0; r < rows; r++) UNROLL for (int q = 0; q < QUADS; q++) {
                int32x4_t *to = &sum[r * width + p * QUADS + q];
                *to = dot_lane(*to, column.val[q], row[r / 4], r % 4);
            }
        }
        b += STEP * ARMQ_TILE_COLUMNS;
    }
    UNROLL for (int p = 0; p < panels; p++) UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int q = 0; q < QUADS; q++)
            store(acc + (p * rows + r) * ARMQ_TILE_COLUMNS + 4 * q, sum[r * width + p * QUADS + q],
                  accumulate);
}

/* One row: a register of it holds four k steps. */
INLINE void sdot_row(const int panels, int64_t k_steps, const int8_t *a, const int8_t *b,
                     size_t b_stride, int32_t *acc, bool accumulate) {
    const int width = QUADS * panels;
    int32x4_t sum[16];
    UNROLL for (int i = 0; i < 2 * width; i++) sum[i] = vdupq_n_s32(0);

    for (; k_steps >= 4; k_steps -= 4) {
        int8x16_t row = vld1q_s8(a);
        a += VECTOR;
        UNROLL for (int p = 0; p < panels; p++) UNROLL for (int half = 0; half < 2; half++) {
            int8x16x4_t column = vld1q_s8_x4(b + (size_t)p * b_stride + 4 * VECTOR * half);
            UNROLL for (int i = 0; i < 4; i++) {
                int32x4_t *to = &sum[(i / QUADS) * width + p * QUADS + i % QUADS];
                *to = dot_lane(*to, column.val[i], row, 2 * half + i / QUADS);
            }
        }
        b += 4 * STEP * ARMQ_TILE_COLUMNS;
    }
    for (; k_steps > 0; k_steps--) {
        int8x16_t row = vreinterpretq_s8_s32(vld1q_dup_s32((const int32_t *)(const void *)a));
        a += STEP;
        UNROLL for (int p = 0; p < panels; p++) UNROLL for (int q = 0; q < QUADS; q++) {
            int32x4_t *to = &sum[p * QUADS + q];
            *to = vdotq_s32(*to, vld1q_s8(b + (size_t)p * b_stride + VECTOR * q), row);
        }
        b += STEP * ARMQ_TILE_COLUMNS;
    }
    UNROLL for (int i = 0; i < width; i++)
        store(acc + 4 * i, vaddq_s32(sum[i], sum[width + i]), accumulate);
}

#define TILE(name, template, ...)                                                                  \
    static void name(int64_t k_steps, const void *a, const void *b, size_t b_stride, void *acc,    \
                     bool accumulate) {                                                            \
        template(__VA_ARGS__, k_steps, a, b, b_stride, acc, accumulate);                           \
    }

TILE(sdot_8x8, sdot_tile, 8, 1)
TILE(sdot_6x8, sdot_tile, 6, 1)
TILE(sdot_4x16, sdot_tile, 4, 2)
TILE(sdot_4x8, sdot_tile, 4, 1)
TILE(sdot_2x32, sdot_tile, 2, 4)
TILE(sdot_2x8, sdot_tile, 2, 1)
TILE(sdot_1x32, sdot_row, 4)
TILE(sdot_1x8, sdot_row, 1)

const armq_tile_set armq_tiles_dotprod_s8 = {
    .name = "dotprod 8x8, SDOT",
    .kind = ARMQ_TILE_S8,
    .k_step = STEP,
    .tiles = {{8, 1, 1, sdot_8x8},
              {6, 1, 1, sdot_6x8},
              {4, 1, 2, sdot_4x16},
              {4, 1, 1, sdot_4x8},
              {2, 1, 4, sdot_2x32},
              {2, 1, 1, sdot_2x8},
              {1, 1, 4, sdot_1x32},
              {1, 1, 1, sdot_1x8}},
};
