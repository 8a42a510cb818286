/* SPDX-License-Identifier: Apache-2.0 */
/* Int8 tiles for Armv8.0: SMULL multiplies eight pairs to int16, SADALP adds them pairwise to
 * int32. Each product is widened before anything is added to it: two products of -128 * -128 do not
 * fit in int16, which is why there is no SMLAL here. */
#include "kernels/neon/groups_s8.h"
#include "kernels/neon/panels_s8.h"

/* Four of the panel's columns; acc is the first of them. */
INLINE void smull_columns(const bool s4, const int rows, int64_t k_steps, const int8_t *a,
                          const int8_t *b, int32_t *acc, bool accumulate) {
    int32x4_t sum[4 * COLUMNS];
    UNROLL for (int i = 0; i < rows * COLUMNS; i++) sum[i] = vdupq_n_s32(0);

    for (; k_steps > 0; k_steps--) {
        multiply_step(s4, rows, a, b, sum);
        a += STEP * rows;
        b += column_bytes(s4) * ARMQ_TILE_COLUMNS;
    }
    UNROLL for (int r = 0; r < rows; r++) {
        int32x4_t total = whole_columns(sum + r * COLUMNS);
        int32_t *to = acc + r * ARMQ_TILE_COLUMNS;
        vst1q_s32(to, accumulate ? vaddq_s32(total, vld1q_s32(to)) : total);
    }
}

INLINE void smull_tile(const bool s4, const int rows, int64_t k_steps, const int8_t *a,
                       const int8_t *b, int32_t *acc, bool accumulate) {
    for (int c = 0; c < ARMQ_TILE_COLUMNS; c += COLUMNS)
        smull_columns(s4, rows, k_steps, a, b + column_bytes(s4) * c, acc + c, accumulate);
}

#define INSTANCE(name, s4, rows)                                                                   \
    static void name(int64_t k_steps, const void *a, const void *b, size_t b_stride, void *acc,    \
                     bool accumulate) {                                                            \
        (void)b_stride;                                                                            \
        smull_tile(s4, rows, k_steps, a, b, acc, accumulate);                                      \
    }
#define TILE(name, rows)                                                                           \
    INSTANCE(name, false, rows)                                                                    \
    INSTANCE(name##_s4, true, rows)

TILE(smull_4x8, 4)
TILE(smull_3x8, 3)
TILE(smull_2x8, 2)
TILE(smull_1x8, 1)

#define ROW(name) name, name##_s4, armq_neon_##name##_groups, armq_neon_##name##_groups_s4

const armq_tile_set armq_tiles_neon_s8 = {
    .name = "neon 4x8, SMULL and SADALP",
    .kind = ARMQ_TILE_S8,
    .k_step = STEP,
    .tiles = {{4, 1, 1, ROW(smull_4x8)},
              {3, 1, 1, ROW(smull_3x8)},
              {2, 1, 1, ROW(smull_2x8)},
              {1, 1, 1, ROW(smull_1x8)}},
};
