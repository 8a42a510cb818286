/* SPDX-License-Identifier: Apache-2.0 */
/* The bf16 baseline on CPUs without BF16 instructions: bf16 weights are widened to f32 by a shift
 * and multiplied by rows that were rounded to bf16 and widened when they were packed. Each output
 * is one chain of FMAs in the order of k, whatever the height of the tile. */
#include <arm_neon.h>

#include "kernels/common/inline.h"
#include "kernels/common/tile.h"
#include "kernels/neon/pack_bf16.h"

enum { QUADS = ARMQ_TILE_COLUMNS / 4 };

INLINE float32x4_t widen_low(uint16x8_t bf16) {
    return vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(bf16), 16));
}

INLINE float32x4_t widen_high(uint16x8_t bf16) {
    return vreinterpretq_f32_u32(vshll_high_n_u16(bf16, 16));
}

INLINE void fma_tile(const int rows, const int panels, int64_t k_steps, const float *a,
                     const uint16_t *b, size_t b_stride, float *acc, bool accumulate) {
    const int width = QUADS * panels;
    const size_t stride = b_stride / sizeof *b;
    float32x4_t sum[16];
    UNROLL for (int p = 0; p < panels; p++) UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int q = 0; q < QUADS; q++) sum[r * width + p * QUADS + q] =
            accumulate ? vld1q_f32(acc + (p * rows + r) * ARMQ_TILE_COLUMNS + 4 * q)
                       : vdupq_n_f32(0);

    for (; k_steps > 0; k_steps--) {
        UNROLL for (int p = 0; p < panels; p++) {
            uint16x8_t packed = vld1q_u16(b + (size_t)p * stride);
            float32x4_t column[QUADS] = {widen_low(packed), widen_high(packed)};
            UNROLL for (int r = 0; r < rows; r++) UNROLL for (int q = 0; q < QUADS; q++) {
                float32x4_t *to = &sum[r * width + p * QUADS + q];
                *to = vfmaq_n_f32(*to, column[q], a[r]);
            }
        }
        a += rows;
        b += ARMQ_TILE_COLUMNS;
    }
    UNROLL for (int p = 0; p < panels; p++) UNROLL for (int r = 0; r < rows;
                                                        r++) UNROLL for (int q = 0; q < QUADS; q++)
        vst1q_f32(acc + (p * rows + r) * ARMQ_TILE_COLUMNS + 4 * q, sum[r * width + p * QUADS + q]);
}

#define TILE(name, rows, panels)                                                                   \
    static void name(int64_t k_steps, const void *a, const void *b, size_t b_stride, void *acc,    \
                     bool accumulate) {                                                            \
        fma_tile(rows, panels, k_steps, a, b, b_stride, acc, accumulate);                          \
    }

TILE(fma_8x8, 8, 1)
TILE(fma_6x8, 6, 1)
TILE(fma_4x16, 4, 2)
TILE(fma_4x8, 4, 1)
TILE(fma_2x32, 2, 4)
TILE(fma_2x8, 2, 1)
TILE(fma_1x32, 1, 4)
TILE(fma_1x8, 1, 1)

const armq_tile_set armq_tiles_neon_bf16 = {
    .name = "neon 8x8, bf16 baseline, f32 FMA fallback",
    .kind = ARMQ_TILE_F32,
    .k_step = 1,
    .pack_row = armq_neon_pack_bf16,
    .tiles = {{8, 1, 1, .run = fma_8x8},
              {6, 1, 1, .run = fma_6x8},
              {4, 1, 2, .run = fma_4x16},
              {4, 1, 1, .run = fma_4x8},
              {2, 1, 4, .run = fma_2x32},
              {2, 1, 1, .run = fma_2x8},
              {1, 1, 4, .run = fma_1x32},
              {1, 1, 1, .run = fma_1x8}},
};
