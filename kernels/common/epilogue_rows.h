/* SPDX-License-Identifier: Apache-2.0 */
/* The epilogue of any source, bias and output dtype, as a template: of kernels/common/epilogue.c,
 * and of tiers with instructions of their own for it. */
#ifndef ARMQ_KERNELS_EPILOGUE_ROWS_H
#define ARMQ_KERNELS_EPILOGUE_ROWS_H

#include "kernels/common/convert.h"
#include "kernels/common/weights.h"

/* FLOATS: the result. SIXTEENTHS: 16 times the integer. GROUPS: f32 sums over groups. */
typedef enum {
    FLOATS,
    INTEGERS,
    INTEGERS_WITH_ZERO,
    SIXTEENTHS,
    SIXTEENTHS_WITH_ZERO,
    GROUPS,
    GROUPS_WITH_ZERO,
    SOURCES
} source;
enum { QUADS = ARMQ_TILE_COLUMNS / 4 };

typedef struct {
    float32x4_t scale, bias;
    int32x4_t sum;
} channel_quad;

INLINE bool takes_zero(const source from) {
    return from == INTEGERS_WITH_ZERO || from == SIXTEENTHS_WITH_ZERO || from == GROUPS_WITH_ZERO;
}

INLINE float32x4_t value_of(const source from, const void *acc, channel_quad c, float row_scale,
                            int32_t row_zero) {
    if (from == FLOATS)
        return vld1q_f32(acc);
    if (from == GROUPS)
        return vmulq_n_f32(vld1q_f32(acc), row_scale);
    if (from == GROUPS_WITH_ZERO)
        return vmulq_n_f32(vfmsq_n_f32(vld1q_f32(acc), c.scale, (float)row_zero), row_scale);
    int32x4_t a = vld1q_s32(acc);
    if (takes_zero(from))
        a = vmlsq_n_s32(a, c.sum, row_zero);
    const bool sixteenths = from == SIXTEENTHS || from == SIXTEENTHS_WITH_ZERO;
    float32x4_t value = sixteenths ? vcvtq_n_f32_s32(a, 4) : vcvtq_f32_s32(a);
    return vmulq_f32(value, vmulq_n_f32(c.scale, row_scale));
}

/* Both rounded to `out` and widened again. */
INLINE void round8(const armq_dtype out, float32x4_t *low, float32x4_t *high) {
    if (out == ARMQ_DTYPE_BF16) {
        uint16x8_t narrow = armq_narrow_bf16_pair(*low, *high);
        *low = armq_widen_bf16_low(narrow);
        *high = armq_widen_bf16_high(narrow);
    } else if (out == ARMQ_DTYPE_F16) {
        uint16x8_t narrow = armq_narrow_f16_pair(*low, *high);
        *low = armq_widen_f16_low(narrow);
        *high = armq_widen_f16_high(narrow);
    }
}

INLINE void store8(const armq_dtype out, void *y, float32x4_t low, float32x4_t high) {
    if (out == ARMQ_DTYPE_F32) {
        vst1q_f32(y, low);
        vst1q_f32((float *)y + 4, high);
    } else if (out == ARMQ_DTYPE_BF16) {
        vst1q_u16(y, armq_narrow_bf16_pair(low, high));
    } else {
        vst1q_u16(y, armq_narrow_f16_pair(low, high));
    }
}

/* Eight columns of one row. */
INLINE void epilogue_row(const source from, const armq_bias_mode bias, const armq_dtype out,
                         const float *acc, const channel_quad *c, float scale, int32_t zero,
                         void *y) {
    /* Keeps the compiler from a broadcasting load, which costs a vector pipe. */
    __asm__("" : "+w"(scale));
    float32x4_t low = value_of(from, acc, c[0], scale, zero);
    float32x4_t high = value_of(from, acc + 4, c[1], scale, zero);
    if (bias == ARMQ_ROUND_THEN_BIAS)
        round8(out, &low, &high);
    if (bias != ARMQ_NO_BIAS) {
        low = vaddq_f32(low, c[0].bias);
        high = vaddq_f32(high, c[1].bias);
    }
    store8(out, y, low, high);
}

/* `turn` rows at a time. */
INLINE void epilogue_rows(const int turn, const source from, const armq_bias_mode bias,
                          const armq_dtype out, const void *acc, const armq_channels *channels,
                          const float *row_scales, const int32_t *row_zeros, int64_t rows, void *y,
                          size_t y_stride) {
    channel_quad c[QUADS];
    UNROLL for (int q = 0; q < QUADS; q++) {
        c[q].scale = vld1q_f32(channels->scale + 4 * q);
        c[q].bias = vld1q_f32(channels->bias + 4 * q);
        c[q].sum = vld1q_s32(channels->sum + 4 * q);
    }
    const float *a = acc;
    char *to = y;
    int64_t r = 0;
    for (; r + turn <= rows;
         r += turn, a += turn * ARMQ_TILE_COLUMNS, to += (size_t)turn * y_stride)
        UNROLL for (int i = 0; i < turn; i++) {
            epilogue_row(from, bias, out, a + i * ARMQ_TILE_COLUMNS, c,
                         from == FLOATS ? 0 : row_scales[r + i],
                         takes_zero(from) ? row_zeros[r + i] : 0, to + (size_t)i * y_stride);
        }
    for (; turn > 1 && r < rows; r++, a += ARMQ_TILE_COLUMNS, to += y_stride)
        epilogue_row(from, bias, out, a, c, from == FLOATS ? 0 : row_scales[r],
                     takes_zero(from) ? row_zeros[r] : 0, to);
}

#endif
