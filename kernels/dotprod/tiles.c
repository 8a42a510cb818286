/* SPDX-License-Identifier: Apache-2.0 */
/* Int8 tiles with SDOT: four k of four columns times four k of one row, which is broadcast by lane.
 */
#include "kernels/dotprod/groups.h"
#include "kernels/dotprod/panels.h"

enum { MAX_TURN = 2 };

INLINE void store(int32_t *acc, int32x4_t sum, bool accumulate) {
    vst1q_s32(acc, accumulate ? vaddq_s32(sum, vld1q_s32(acc)) : sum);
}

/* `turn` k steps. */
INLINE void sdot_steps(const bool s4, const int turn, const int rows, const int panels,
                       const int8_t *a, const int8_t *b, size_t b_stride, int32x4_t *sum) {
    const int width = QUADS * panels;
    int8x16_t row[MAX_TURN][2];
    UNROLL for (int i = 0; i < turn; i++) load_rows(rows, a + i * STEP * rows, row[i]);
    UNROLL for (int p = 0; p < panels; p++) {
        int8x16_t column[MAX_TURN * QUADS];
        load_steps(s4, turn, b + (size_t)p * b_stride, column);
        UNROLL for (int i = 0; i < turn; i++) UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int q = 0; q < QUADS; q++) {
            int32x4_t *to = &sum[r * width + p * QUADS + q];
            *to = dot_lane(*to, column[i * QUADS + q], row[i][r / 4], r % 4);
        }
    }
}

/* `turn` k steps at a time, 1 or MAX_TURN. */
INLINE void sdot_tile(const bool s4, const int turn, const int rows, const int panels,
                      int64_t k_steps, const int8_t *a, const int8_t *b, size_t b_stride,
                      int32_t *acc, bool accumulate) {
    const int width = QUADS * panels;
    int32x4_t sum[16];
    UNROLL for (int i = 0; i < rows * width; i++) sum[i] = vdupq_n_s32(0);

    for (int64_t turns = k_steps / turn; turns > 0; turns--) {
        sdot_steps(s4, turn, rows, panels, a, b, b_stride, sum);
        a += turn * STEP * rows;
        b += turn * step_bytes(s4);
    }
    if (k_steps % turn)
        sdot_steps(s4, 1, rows, panels, a, b, b_stride, sum);
    UNROLL for (int p = 0; p < panels; p++) UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int q = 0; q < QUADS; q++)
            store(acc + (p * rows + r) * ARMQ_TILE_COLUMNS + 4 * q, sum[r * width + p * QUADS + q],
                  accumulate);
}

/* One row: a register of it holds four k steps. */
INLINE void sdot_row(const bool s4, const int panels, int64_t k_steps, const int8_t *a,
                     const int8_t *b, size_t b_stride, int32_t *acc, bool accumulate) {
    const int width = QUADS * panels;
    int32x4_t sum[16];
    UNROLL for (int i = 0; i < 2 * width; i++) sum[i] = vdupq_n_s32(0);

    const int8_t *from[4];
    UNROLL for (int p = 0; p < panels; p++) from[p] = b + (size_t)p * b_stride;
    b += k_steps / 4 * 4 * step_bytes(s4);
    for (; k_steps >= 4; k_steps -= 4) {
        int8x16_t row = vld1q_s8(a);
        a += VECTOR;
        UNROLL for (int p = 0; p < panels; p++) {
            int8x16_t column[4 * QUADS];
            load_four_steps(s4, from[p], column);
            from[p] += 4 * step_bytes(s4);
            /* Each its own register, or the compiler adds one offset to all of them. */
            __asm__("" : "+r"(from[p]));
            UNROLL for (int i = 0; i < 4 * QUADS; i++) {
                int32x4_t *to = &sum[(i / QUADS % 2) * width + p * QUADS + i % QUADS];
                *to = dot_lane(*to, column[i], row, i / QUADS);
            }
        }
    }
    for (; k_steps > 0; k_steps--) {
        int8x16_t row = vreinterpretq_s8_s32(vld1q_dup_s32((const int32_t *)(const void *)a));
        a += STEP;
        UNROLL for (int p = 0; p < panels; p++) {
            int8x16_t column[QUADS];
            load_columns(s4, b + (size_t)p * b_stride, column);
            UNROLL for (int q = 0; q < QUADS; q++) {
                int32x4_t *to = &sum[p * QUADS + q];
                *to = vdotq_s32(*to, column[q], row);
            }
        }
        b += step_bytes(s4);
    }
    UNROLL for (int i = 0; i < width; i++)
        store(acc + 4 * i, vaddq_s32(sum[i], sum[width + i]), accumulate);
}

#define INSTANCE(name, template, ...)                                                              \
    static void name(int64_t k_steps, const void *a, const void *b, size_t b_stride, void *acc,    \
                     bool accumulate) {                                                            \
        template(__VA_ARGS__, k_steps, a, b, b_stride, acc, accumulate);                           \
    }
#define TILE(name, template, ...)                                                                  \
    INSTANCE(name, template, false, __VA_ARGS__)                                                   \
    INSTANCE(name##_s4, template, true, __VA_ARGS__)

TILE(sdot_8x8, sdot_tile, 2, 8, 1)
TILE(sdot_6x8, sdot_tile, 1, 6, 1)
TILE(sdot_4x16, sdot_tile, 1, 4, 2)
TILE(sdot_4x8, sdot_tile, 1, 4, 1)
TILE(sdot_2x32, sdot_tile, 1, 2, 4)
TILE(sdot_2x8, sdot_tile, 1, 2, 1)
TILE(sdot_1x32, sdot_row, 4)
TILE(sdot_1x8, sdot_row, 1)

#define WIDE(name) name, name##_s4, NULL, armq_dotprod_##name##_groups_s4
#define NARROW(name) name, name##_s4, armq_dotprod_##name##_groups, armq_dotprod_##name##_groups_s4

const armq_tile_set armq_tiles_dotprod_s8 = {
    .name = "dotprod 8x8, SDOT",
    .kind = ARMQ_TILE_S8,
    .k_step = STEP,
    .tiles = {{8, 1, 1, NARROW(sdot_8x8)},
              {6, 1, 1, NARROW(sdot_6x8)},
              {4, 1, 2, WIDE(sdot_4x16)},
              {4, 1, 1, NARROW(sdot_4x8)},
              {2, 1, 4, WIDE(sdot_2x32)},
              {2, 1, 1, NARROW(sdot_2x8)},
              {1, 1, 4, WIDE(sdot_1x32)},
              {1, 1, 1, NARROW(sdot_1x8)}},
};
