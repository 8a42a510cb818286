/* SPDX-License-Identifier: Apache-2.0 */
/* How the tiles of this tier read their panels. */
#ifndef ARMQ_KERNELS_DOTPROD_PANELS_H
#define ARMQ_KERNELS_DOTPROD_PANELS_H

#include <arm_neon.h>

#include "kernels/common/inline.h"
#include "kernels/common/nibbles.h"
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

/* A panel's k step; an int4 one as 16 times its values. */
INLINE void load_columns(const bool s4, const int8_t *b, int8x16_t column[QUADS]) {
    if (s4) {
        int8x16_t packed = vld1q_s8(b);
        column[0] = armq_low_nibbles(packed);
        column[1] = armq_high_nibbles(packed);
    } else {
        int8x16x2_t two = vld1q_s8_x2(b);
        column[0] = two.val[0];
        column[1] = two.val[1];
    }
}

/* One or two k steps of a panel, each QUADS vectors. */
INLINE void load_steps(const bool s4, const int steps, const int8_t *b, int8x16_t *column) {
    if (s4 || steps == 1) {
        UNROLL for (int i = 0; i < steps; i++)
            load_columns(s4, b + i * (s4 ? VECTOR : QUADS * VECTOR), column + i * QUADS);
        return;
    }
    const int8x16x4_t four = vld1q_s8_x4(b);
    UNROLL for (int i = 0; i < 2 * QUADS; i++) column[i] = four.val[i];
}

/* Four k steps of a panel, each QUADS vectors. */
INLINE void load_four_steps(const bool s4, const int8_t *b, int8x16_t column[4 * QUADS]) {
    int8x16x4_t four = vld1q_s8_x4(b);
    if (s4) {
        UNROLL for (int i = 0; i < 4; i++) {
            column[2 * i] = armq_low_nibbles(four.val[i]);
            column[2 * i + 1] = armq_high_nibbles(four.val[i]);
        }
        return;
    }
    int8x16x4_t rest = vld1q_s8_x4(b + 4 * VECTOR);
    UNROLL for (int i = 0; i < 4; i++) {
        column[i] = four.val[i];
        column[4 + i] = rest.val[i];
    }
}

/* Bytes of a panel's k step. */
INLINE int64_t step_bytes(const bool s4) { return s4 ? VECTOR : QUADS * VECTOR; }

#endif
