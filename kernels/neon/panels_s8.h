/* SPDX-License-Identifier: Apache-2.0 */
/* How the int8 tiles of this tier read their panels, and multiply. */
#ifndef ARMQ_KERNELS_NEON_PANELS_S8_H
#define ARMQ_KERNELS_NEON_PANELS_S8_H

#include <arm_neon.h>

#include "kernels/common/inline.h"
#include "kernels/common/nibbles.h"
#include "kernels/common/tile.h"

enum { STEP = 16, COLUMNS = 4 };

INLINE int32x4_t multiply_add(int32x4_t sum, int8x16_t x, int8x16_t y) {
    sum = vpadalq_s16(sum, vmull_s8(vget_low_s8(x), vget_low_s8(y)));
    return vpadalq_s16(sum, vmull_high_s8(x, y));
}

/* Bytes of a column's k step. */
INLINE int64_t column_bytes(const bool s4) { return s4 ? STEP / 2 : STEP; }

/* One k step of COLUMNS columns times `rows` rows; b is the first column. */
INLINE void multiply_step(const bool s4, const int rows, const int8_t *a, const int8_t *b,
                          int32x4_t *sum) {
    int8x16_t row[4], packed = vdupq_n_s8(0);
    UNROLL for (int r = 0; r < rows; r++) row[r] = vld1q_s8(a + STEP * r);
    UNROLL for (int c = 0; c < COLUMNS; c++) {
        int8x16_t column;
        if (!s4)
            column = vld1q_s8(b + STEP * c);
        else if (c % 2 == 0)
            column = armq_low_nibbles(packed = vld1q_s8(b + STEP / 2 * c));
        else
            column = armq_high_nibbles(packed);
        UNROLL for (int r = 0; r < rows; r++) {
            int32x4_t *to = &sum[r * COLUMNS + c];
            *to = multiply_add(*to, row[r], column);
            /* One after the other, or the compiler's scheduler runs out of registers. */
            __asm__("" : "+w"(column), "+r"(b) : "w"(*to));
        }
    }
}

/* The sums of four columns, one row. */
INLINE int32x4_t whole_columns(const int32x4_t s[COLUMNS]) {
    return vpaddq_s32(vpaddq_s32(s[0], s[1]), vpaddq_s32(s[2], s[3]));
}

#endif
