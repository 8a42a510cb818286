/* SPDX-License-Identifier: Apache-2.0 */
/* How the tiles of this tier read their panels. */
#ifndef ARMQ_KERNELS_I8MM_PANELS_H
#define ARMQ_KERNELS_I8MM_PANELS_H

#include <arm_neon.h>

#include "kernels/common/inline.h"
#include "kernels/common/nibbles.h"
#include "kernels/common/tile.h"

enum { STEP = 8, PAIR = 2 * STEP, COLUMN_PAIRS = ARMQ_TILE_COLUMNS / 2 };

/* The accumulator of SMMLA is [r0c0 r0c1 r1c0 r1c1]; two of them exchange halves with two rows. */
INLINE int32x4_t low_halves(int32x4_t x, int32x4_t y) {
    return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(x), vreinterpretq_s64_s32(y)));
}

INLINE int32x4_t high_halves(int32x4_t x, int32x4_t y) {
    return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(x), vreinterpretq_s64_s32(y)));
}

/* A panel's k step; an int4 one as 16 times its values. */
INLINE void load_columns(const bool s4, const int8_t *b, int8x16_t columns[COLUMN_PAIRS]) {
    if (s4) {
        UNROLL for (int i = 0; i < COLUMN_PAIRS / 2; i++) {
            int8x16_t packed = vld1q_s8(b + PAIR * i);
            columns[2 * i] = armq_low_nibbles(packed);
            columns[2 * i + 1] = armq_high_nibbles(packed);
        }
    } else {
        int8x16x4_t four = vld1q_s8_x4(b);
        UNROLL for (int c = 0; c < COLUMN_PAIRS; c++) { columns[c] = four.val[c]; }
    }
}

/* Bytes of a panel's k step. */
INLINE int64_t step_bytes(const bool s4) {
    return s4 ? PAIR * COLUMN_PAIRS / 2 : PAIR * COLUMN_PAIRS;
}

#endif
