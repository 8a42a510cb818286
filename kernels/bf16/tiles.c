/* SPDX-License-Identifier: Apache-2.0 */
/* The bf16 baseline with BFMMLA: two rows by two columns over four k, as two BFDOT one after the
 * other would compute it.
 *
 * One row also takes BFMMLA, with the row standing in both halves of the register. BFDOT would give
 * the same bits, but needs each pair of columns unzipped first, twice the vector instructions of
 * BFMMLA with half of its result thrown away: a slower baseline would flatter the int8 kernels. */
#include <arm_neon.h>

#include "kernels/bf16/stages.h"
#include "kernels/common/inline.h"
#include "kernels/common/tile.h"

enum { STEP = 4, PAIR = 2 * STEP, COLUMN_PAIRS = ARMQ_TILE_COLUMNS / 2 };

INLINE float32x4_t low_halves(float32x4_t x, float32x4_t y) {
    return vreinterpretq_f32_f64(vzip1q_f64(vreinterpretq_f64_f32(x), vreinterpretq_f64_f32(y)));
}

INLINE float32x4_t high_halves(float32x4_t x, float32x4_t y) {
    return vreinterpretq_f32_f64(vzip2q_f64(vreinterpretq_f64_f32(x), vreinterpretq_f64_f32(y)));
}

/* The accumulator of BFMMLA is [r0c0 r0c1 r1c0 r1c1]; two of them exchange halves with two rows.
 * rows = 1: both rows of the pair are the same, one is kept. */
INLINE void load_sums(const int rows, const int panels, const float *acc, float32x4_t *sum) {
    const int width = COLUMN_PAIRS * panels;
    UNROLL for (int p = 0; p < panels; p++) UNROLL for (int r = 0; r < (rows + 1) / 2; r++) {
        const float *upper = acc + (p * rows + 2 * r) * ARMQ_TILE_COLUMNS;
        const float *lower = rows > 1 ? upper + ARMQ_TILE_COLUMNS : upper;
        float32x4_t *s = sum + r * width + p * COLUMN_PAIRS;
        UNROLL for (int half = 0; half < 2; half++) {
            float32x4_t u = vld1q_f32(upper + 4 * half), l = vld1q_f32(lower + 4 * half);
            s[2 * half] = low_halves(u, l);
            s[2 * half + 1] = high_halves(u, l);
        }
    }
}

INLINE void store_sums(const int rows, const int panels, float *acc, const float32x4_t *sum) {
    const int width = COLUMN_PAIRS * panels;
    UNROLL for (int p = 0; p < panels; p++) UNROLL for (int r = 0; r < (rows + 1) / 2; r++) {
        float *upper = acc + (p * rows + 2 * r) * ARMQ_TILE_COLUMNS;
        const float32x4_t *s = sum + r * width + p * COLUMN_PAIRS;
        UNROLL for (int half = 0; half < 2; half++) {
            vst1q_f32(upper + 4 * half, low_halves(s[2 * half], s[2 * half + 1]));
            if (rows > 1)
                vst1q_f32(upper + ARMQ_TILE_COLUMNS + 4 * half,
                          high_halves(s[2 * half], s[2 * half + 1]));
        }
    }
}

/* A panel's k step. LD1 of four registers wants four neighbours, which costs copies where two
 * panels and two row pairs leave few registers free. */
INLINE bfloat16x8x4_t load_columns(const int panels, const bfloat16_t *b) {
    if (panels != 2)
        return vld1q_bf16_x4(b);
    bfloat16x8x4_t columns;
    UNROLL for (int c = 0; c < COLUMN_PAIRS; c++) { columns.val[c] = vld1q_bf16(b + PAIR * c); }
    return columns;
}

INLINE void bfmmla_tile(const int rows, const int panels, int64_t k_steps, const bfloat16_t *a,
                        const bfloat16_t *b, size_t b_stride, float *acc, bool accumulate) {
    const int pairs = (rows + 1) / 2, width = COLUMN_PAIRS * panels;
    const size_t stride = b_stride / sizeof(uint16_t);
    float32x4_t sum[16];
    if (accumulate)
        load_sums(rows, panels, acc, sum);
    else
        UNROLL for (int i = 0; i < pairs * width; i++) sum[i] = vdupq_n_f32(0);

    for (; k_steps > 0; k_steps--) {
        bfloat16x8_t row[4];
        UNROLL for (int r = 0; r < pairs; r++) row[r] = vld1q_bf16(a + PAIR * r);
        a += PAIR * pairs;
        UNROLL for (int p = 0; p < panels; p++) {
            bfloat16x8x4_t column = load_columns(panels, b + (size_t)p * stride);
            UNROLL for (int c = 0; c < COLUMN_PAIRS; c++) UNROLL for (int r = 0; r < pairs; r++) {
                float32x4_t *to = &sum[r * width + p * COLUMN_PAIRS + c];
                *to = vbfmmlaq_f32(*to, row[r], column.val[c]);
            }
            /* One panel after the other, or the compiler's scheduler runs out of registers. */
            if (panels > 1)
                __asm__("" : "+r"(b) : "w"(sum[p * COLUMN_PAIRS]));
        }
        b += PAIR * COLUMN_PAIRS;
    }
    store_sums(rows, panels, acc, sum);
}

#define TILE(name, rows, panels)                                                                   \
    static void name(int64_t k_steps, const void *a, const void *b, size_t b_stride, void *acc,    \
                     bool accumulate) {                                                            \
        bfmmla_tile(rows, panels, k_steps, a, b, b_stride, acc, accumulate);                       \
    }

TILE(bfmmla_8x8, 8, 1)
TILE(bfmmla_6x8, 6, 1)
TILE(bfmmla_4x16, 4, 2)
TILE(bfmmla_4x8, 4, 1)
TILE(bfmmla_2x32, 2, 4)
TILE(bfmmla_2x8, 2, 1)
TILE(bfmmla_1x32, 1, 4)
TILE(bfmmla_1x8, 1, 1)

const armq_tile_set armq_tiles_bf16 = {
    .name = "bf16 8x8, BFMMLA",
    .kind = ARMQ_TILE_BF16,
    .k_step = STEP,
    .pack_row = armq_bf16_pack_row,
    .to_bf16 = armq_bf16_to_bf16,
    .tiles = {{8, 1, 1, .run = bfmmla_8x8},
              {6, 1, 1, .run = bfmmla_6x8},
              {4, 1, 2, .run = bfmmla_4x16},
              {4, 1, 1, .run = bfmmla_4x8},
              {2, 1, 4, .run = bfmmla_2x32},
              {2, 1, 1, .run = bfmmla_2x8},
              {1, 2, 4, .run = bfmmla_1x32},
              {1, 2, 1, .run = bfmmla_1x8}},
};
