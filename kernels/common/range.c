/* SPDX-License-Identifier: Apache-2.0 */
/* The range of a row, found on the bits alone: as signed integers the positive floats are in order
 * and above all negative ones; as unsigned integers the negative ones are above all positive ones,
 * the most negative highest. Infinities and NaNs are the extremes of both. */
#include "kernels/common/range.h"

#include "kernels/common/convert.h"

/* Extremes of 16-bit elements; at least 8 of them. The last, overlapping vector takes the rest. */
static void extremes16(const uint16_t *x, int64_t k, uint32_t *positive, uint32_t *negative) {
    int16x8_t high[2] = {vdupq_n_s16(0), vdupq_n_s16(0)};
    uint16x8_t low[2] = {vdupq_n_u16(0), vdupq_n_u16(0)};
    int64_t i = 0;
    for (; i + 16 <= k; i += 16)
        UNROLL for (int j = 0; j < 2; j++) {
            uint16x8_t v = vld1q_u16(x + i + 8 * j);
            high[j] = vmaxq_s16(high[j], vreinterpretq_s16_u16(v));
            low[j] = vmaxq_u16(low[j], v);
        }
    for (; i < k; i += 8) {
        uint16x8_t v = vld1q_u16(x + (i + 8 <= k ? i : k - 8));
        high[0] = vmaxq_s16(high[0], vreinterpretq_s16_u16(v));
        low[0] = vmaxq_u16(low[0], v);
    }
    *positive = (uint32_t)vmaxvq_s16(vmaxq_s16(high[0], high[1]));
    *negative = vmaxvq_u16(vmaxq_u16(low[0], low[1]));
}

static void extremes32(const uint32_t *x, int64_t k, uint32_t *positive, uint32_t *negative) {
    int32x4_t high[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
    uint32x4_t low[2] = {vdupq_n_u32(0), vdupq_n_u32(0)};
    int64_t i = 0;
    for (; i + 8 <= k; i += 8)
        UNROLL for (int j = 0; j < 2; j++) {
            uint32x4_t v = vld1q_u32(x + i + 4 * j);
            high[j] = vmaxq_s32(high[j], vreinterpretq_s32_u32(v));
            low[j] = vmaxq_u32(low[j], v);
        }
    for (; i < k; i += 4) {
        uint32x4_t v = vld1q_u32(x + (i + 4 <= k ? i : k - 4));
        high[0] = vmaxq_s32(high[0], vreinterpretq_s32_u32(v));
        low[0] = vmaxq_u32(low[0], v);
    }
    *positive = (uint32_t)vmaxvq_s32(vmaxq_s32(high[0], high[1]));
    *negative = vmaxvq_u32(vmaxq_u32(low[0], low[1]));
}

armq_range armq_row_range(armq_dtype dtype, const void *x, int64_t k) {
    const int wide = dtype == ARMQ_DTYPE_F32;
    uint32_t positive, negative, short_row[8] = {0};
    if (k < 8) {
        if (k > 0)
            memcpy(short_row, x, (size_t)k * (wide ? 4 : 2));
        x = short_row;
        k = 8;
    }
    if (wide)
        extremes32(x, k, &positive, &negative);
    else
        extremes16(x, k, &positive, &negative);
    armq_range range = {0, armq_float_of(dtype, positive)};
    if (negative >> (wide ? 31 : 15))
        range.min = armq_float_of(dtype, negative);
    return range;
}
