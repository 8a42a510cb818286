/* SPDX-License-Identifier: Apache-2.0 */
/* Int8 tiles with SMMLA: one instruction multiplies two rows by two columns over eight k.
 * A single row takes SDOT on the same B panels; its A panel holds the row twice, so that one plain
 * load gives both halves of the register (a broadcasting load would cost a vector pipe). */
#include <arm_neon.h>

#include "kernels/common/inline.h"
#include "kernels/common/tile.h"

enum { STEP = 8, PAIR = 2 * STEP, COLUMN_PAIRS = ARMQ_TILE_COLUMNS / 2 };

/* The accumulator of SMMLA is [r0c0 r0c1 r1c0 r1c1]; two of them exchange halves with two rows. */
INLINE int32x4_t low_halves(int32x4_t x, int32x4_t y) {
    return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(x), vreinterpretq_s64_s32(y)));
}

INLINE int32x4_t high_halves(int32x4_t x, int32x4_t y) {
    return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(x), vreinterpretq_s64_s32(y)));
}

INLINE void store(int32_t *acc, int32x4_t sum, bool accumulate) {
    vst1q_s32(acc, accumulate ? vaddq_s32(sum, vld1q_s32(acc)) : sum);
}

/* Two rows and one panel: four accumulators to 2 x 8. */
INLINE void store_pair(int32_t *acc, const int32x4_t *sum, bool accumulate) {
    store(acc, low_halves(sum[0], sum[1]), accumulate);
    store(acc + 4, low_halves(sum[2], sum[3]), accumulate);
    store(acc + ARMQ_TILE_COLUMNS, high_halves(sum[0], sum[1]), accumulate);
    store(acc + ARMQ_TILE_COLUMNS + 4, high_halves(sum[2], sum[3]), accumulate);
}

INLINE void smmla_tile(const int row_pairs, const int panels, int64_t k_steps, const int8_t *a,
                       const int8_t *b, size_t b_stride, int32_t *acc, bool accumulate) {
    const int width = COLUMN_PAIRS * panels;
    int32x4_t sum[4 * 4];
    UNROLL for (int i = 0; i < row_pairs * width; i++) { sum[i] = vdupq_n_s32(0); }

    for (; k_steps > 0; k_steps--) {
        int8x16_t rows[4];
        UNROLL for (int r = 0; r < row_pairs; r++) { rows[r] = vld1q_s8(a + PAIR * r); }
        a += PAIR * row_pairs;
        UNROLL for (int p = 0; p < panels; p++) {
            int8x16x4_t columns = vld1q_s8_x4(b + (size_t)p * b_stride);
            UNROLL for (int c = 0; c < COLUMN_PAIRS; c++) {
                UNROLL for (int r = 0; r < row_pairs; r++) {
                    int32x4_t *to = &sum[r * width + p * COLUMN_PAIRS + c];
                    *to = vmmlaq_s32(*to, rows[r], columns.val[c]);
                }
            }
        }
        b += PAIR * COLUMN_PAIRS;
    }
    UNROLL for (int p = 0; p < panels; p++) {
        UNROLL for (int r = 0; r < row_pairs; r++) {
            store_pair(acc + (p * row_pairs + r) * 2 * ARMQ_TILE_COLUMNS,
                       sum + r * width + p * COLUMN_PAIRS, accumulate);
        }
    }
}

INLINE void sdot_row(const int panels, int64_t k_steps, const int8_t *a, const int8_t *b,
                     size_t b_stride, int32_t *acc, bool accumulate) {
    const int width = COLUMN_PAIRS * panels;
    int32x4_t sum[4 * 4];
    UNROLL for (int i = 0; i < width; i++) { sum[i] = vdupq_n_s32(0); }

    for (; k_steps > 0; k_steps--) {
        int8x16_t row = vld1q_s8(a);
        a += PAIR;
        UNROLL for (int p = 0; p < panels; p++) {
            int8x16x4_t columns = vld1q_s8_x4(b + (size_t)p * b_stride);
            UNROLL for (int c = 0; c < COLUMN_PAIRS; c++) {
                int32x4_t *to = &sum[p * COLUMN_PAIRS + c];
                *to = vdotq_s32(*to, row, columns.val[c]);
            }
        }
        b += PAIR * COLUMN_PAIRS;
    }
    UNROLL for (int i = 0; i < width / 2; i++) {
        store(acc + 4 * i, vpaddq_s32(sum[2 * i], sum[2 * i + 1]), accumulate);
    }
}

#define TILE(name, template, ...)                                                                  \
    static void name(int64_t k_steps, const void *a, const void *b, size_t b_stride, void *acc,    \
                     bool accumulate) {                                                            \
        template(__VA_ARGS__, k_steps, a, b, b_stride, acc, accumulate);                           \
    }

TILE(smmla_8x8, smmla_tile, 4, 1)
TILE(smmla_6x8, smmla_tile, 3, 1)
TILE(smmla_4x16, smmla_tile, 2, 2)
TILE(smmla_4x8, smmla_tile, 2, 1)
TILE(smmla_2x32, smmla_tile, 1, 4)
TILE(smmla_2x8, smmla_tile, 1, 1)
TILE(sdot_1x32, sdot_row, 4)
TILE(sdot_1x8, sdot_row, 1)

const armq_tile_set armq_tiles_i8mm_s8 = {
    .name = "i8mm 8x8, SMMLA; SDOT for one row",
    .kind = ARMQ_TILE_S8,
    .k_step = STEP,
    .tiles = {{8, 1, 1, smmla_8x8},
              {6, 1, 1, smmla_6x8},
              {4, 1, 2, smmla_4x16},
              {4, 1, 1, smmla_4x8},
              {2, 1, 4, smmla_2x32},
              {2, 1, 1, smmla_2x8},
              {1, 2, 4, sdot_1x32},
              {1, 2, 1, sdot_1x8}},
};
