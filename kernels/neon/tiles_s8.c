/* SPDX-License-Identifier: Apache-2.0 */
/* Int8 tiles for Armv8.0: SMULL multiplies eight pairs to int16, SADALP adds them pairwise to
 * int32. Each product is widened before anything is added to it: two products of -128 * -128 do not
 * fit in int16, which is why there is no SMLAL here. */
#include <arm_neon.h>

#include "kernels/common/inline.h"
#include "kernels/common/tile.h"

enum { STEP = 16, COLUMNS = 4 };

INLINE int32x4_t multiply_add(int32x4_t sum, int8x16_t x, int8x16_t y) {
    sum = vpadalq_s16(sum, vmull_s8(vget_low_s8(x), vget_low_s8(y)));
    return vpadalq_s16(sum, vmull_high_s8(x, y));
}

/* Four of the panel's columns; acc is the first of them. */
INLINE void smull_columns(const int rows, int64_t k_steps, const int8_t *a, const int8_t *b,
                          int32_t *acc, bool accumulate) {
    int32x4_t sum[4 * COLUMNS];
    UNROLL for (int i = 0; i < rows * COLUMNS; i++) sum[i] = vdupq_n_s32(0);

    for (; k_steps > 0; k_steps--) {
        int8x16_t row[4];
        UNROLL for (int r = 0; r < rows; r++) row[r] = vld1q_s8(a + STEP * r);
        a += STEP * rows;
        UNROLL for (int c = 0; c < COLUMNS; c++) {
            int8x16_t column = vld1q_s8(b + STEP * c);
            UNROLL for (int r = 0; r < rows; r++) {
                int32x4_t *to = &sum[r * COLUMNS + c];
                *to = multiply_add(*to, row[r], column);
                /* One after the other, or the compiler's scheduler runs out of registers. */
                __asm__("" : "+w"(column), "+r"(b) : "w"(*to));
            }
        }
        b += STEP * ARMQ_TILE_COLUMNS;
    }
    UNROLL for (int r = 0; r < rows; r++) {
        int32x4_t *s = sum + r * COLUMNS;
        int32x4_t total = vpaddq_s32(vpaddq_s32(s[0], s[1]), vpaddq_s32(s[2], s[3]));
        int32_t *to = acc + r * ARMQ_TILE_COLUMNS;
        vst1q_s32(to, accumulate ? vaddq_s32(total, vld1q_s32(to)) : total);
    }
}

INLINE void smull_tile(const int rows, int64_t k_steps, const int8_t *a, const int8_t *b,
                       int32_t *acc, bool accumulate) {
    for (int c = 0; c < ARMQ_TILE_COLUMNS; c += COLUMNS)
        smull_columns(rows, k_steps, a, b + STEP * c, acc + c, accumulate);
}

#define TILE(name, rows)                                                                           \
    static void name(int64_t k_steps, const void *a, const void *b, size_t b_stride, void *acc,    \
                     bool accumulate) {                                                            \
        (void)b_stride;                                                                            \
        smull_tile(rows, k_steps, a, b, acc, accumulate);                                          \
    }

TILE(smull_4x8, 4)
TILE(smull_3x8, 3)
TILE(smull_2x8, 2)
TILE(smull_1x8, 1)

const armq_tile_set armq_tiles_neon_s8 = {
    .name = "neon 4x8, SMULL and SADALP",
    .kind = ARMQ_TILE_S8,
    .k_step = STEP,
    .tiles = {{4, 1, 1, smull_4x8},
              {3, 1, 1, smull_3x8},
              {2, 1, 1, smull_2x8},
              {1, 1, 1, smull_1x8}},
};
