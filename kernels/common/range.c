/* SPDX-License-Identifier: Apache-2.0 */
/* The range of a row, found on the bits alone: as signed integers the positive floats are in order
 * and above all negative ones; as unsigned integers the negative ones are above all positive ones,
 * the most negative highest. Infinities and NaNs are the extremes of both. */
#include "kernels/common/range.h"

#include "kernels/common/convert.h"

/* Extremes of a row of at least one vector, whose overlapping last vector takes the rest. Two pairs
 * of accumulators, since a maximum takes two cycles. */
#define EXTREMES(bits, lanes, int_vector, uint_vector)                                             \
    static void extremes##bits(const uint##bits##_t *x, int64_t k, uint32_t *positive,             \
                               uint32_t *negative) {                                               \
        int_vector high0 = vdupq_n_s##bits(0), high1 = high0;                                      \
        uint_vector low0 = vld1q_u##bits(x), low1 = low0;                                          \
        int64_t i = 0;                                                                             \
        for (; i + 2 * (lanes) <= k; i += 2 * (lanes)) {                                           \
            uint_vector v0 = vld1q_u##bits(x + i), v1 = vld1q_u##bits(x + i + (lanes));            \
            high0 = vmaxq_s##bits(high0, vreinterpretq_s##bits##_u##bits(v0));                     \
            high1 = vmaxq_s##bits(high1, vreinterpretq_s##bits##_u##bits(v1));                     \
            low0 = vmaxq_u##bits(low0, v0);                                                        \
            low1 = vmaxq_u##bits(low1, v1);                                                        \
        }                                                                                          \
        high0 = vmaxq_s##bits(high0, high1);                                                       \
        low0 = vmaxq_u##bits(low0, low1);                                                          \
        for (; i < k; i += (lanes)) {                                                              \
            uint_vector v = vld1q_u##bits(x + (i + (lanes) <= k ? i : k - (lanes)));               \
            high0 = vmaxq_s##bits(high0, vreinterpretq_s##bits##_u##bits(v));                      \
            low0 = vmaxq_u##bits(low0, v);                                                         \
        }                                                                                          \
        *positive = (uint32_t)vmaxvq_s##bits(high0);                                               \
        *negative = vmaxvq_u##bits(low0);                                                          \
    }

EXTREMES(16, 8, int16x8_t, uint16x8_t)
EXTREMES(32, 4, int32x4_t, uint32x4_t)

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
