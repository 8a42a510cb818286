/* SPDX-License-Identifier: Apache-2.0 */
/* Number formats in Armv8.0 instructions, and to bf16 in those of the file's tier: widening to f32
 * is exact, narrowing rounds to nearest even. */
#ifndef ARMQ_KERNELS_CONVERT_H
#define ARMQ_KERNELS_CONVERT_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#include "kernels/armq.h"
#include "kernels/common/inline.h"

/* Interleaving with zeros is the shift by 16 that bf16 needs, on either vector pipe. */
INLINE float32x4_t armq_widen_bf16_low(uint16x8_t x) {
    return vreinterpretq_f32_u16(vzip1q_u16(vdupq_n_u16(0), x));
}

INLINE float32x4_t armq_widen_bf16_high(uint16x8_t x) {
    return vreinterpretq_f32_u16(vzip2q_u16(vdupq_n_u16(0), x));
}

/* Elements 2 * pair and the next one, twice: [a b a b]. */
INLINE float32x4_t armq_widen_bf16_pair(uint16x8_t eight, const int pair) {
    const uint8_t low = (uint8_t)(4 * pair), high = (uint8_t)(4 * pair + 2), none = 255;
    const uint8x16_t places = {none, none, low, low + 1, none, none, high, high + 1,
                               none, none, low, low + 1, none, none, high, high + 1};
    return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_u16(eight), places));
}

INLINE float32x4_t armq_widen_f16_low(uint16x8_t x) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(x)));
}

INLINE float32x4_t armq_widen_f16_high(uint16x8_t x) {
    return vcvt_high_f32_f16(vreinterpretq_f16_u16(x));
}

/* x, or the default NaN for any NaN. */
INLINE float armq_default_nan(float x) { return x == x ? x : __builtin_nanf(""); }

INLINE float32x4_t armq_default_nan4(float32x4_t x) {
    return vbslq_f32(vceqq_f32(x, x), x, vdupq_n_f32(__builtin_nanf("")));
}

/* A NaN must have the low half clear (the default NaN, or a bf16 widened); pairs of others are for
 * armq_narrow_bf16_pair_any. */
#ifdef __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
INLINE uint16x4_t armq_narrow_bf16(float32x4_t x) {
    return vreinterpret_u16_bf16(vcvt_bf16_f32(x));
}

INLINE uint16x8_t armq_narrow_bf16_pair(float32x4_t low, float32x4_t high) {
    return vreinterpretq_u16_bf16(vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(low), high));
}

INLINE uint16x8_t armq_narrow_bf16_pair_any(float32x4_t low, float32x4_t high) {
    return armq_narrow_bf16_pair(low, high);
}
#else
/* The subtraction rounds half up; taking one off where the kept part is even makes it half to even.
 * The payload of a NaN could carry into the exponent. */
INLINE uint16x4_t armq_narrow_bf16(float32x4_t x) {
    uint32x4_t bits = vreinterpretq_u32_f32(x);
    uint32x4_t even = vshrq_n_u32(vbicq_u32(vdupq_n_u32(UINT32_C(1) << 16), bits), 16);
    return vrsubhn_u32(bits, even);
}

INLINE uint16x8_t armq_narrow_bf16_pair(float32x4_t low, float32x4_t high) {
    uint32x4_t bits = vreinterpretq_u32_f32(high);
    uint32x4_t even = vshrq_n_u32(vbicq_u32(vdupq_n_u32(UINT32_C(1) << 16), bits), 16);
    return vrsubhn_high_u32(armq_narrow_bf16(low), bits, even);
}

INLINE uint16x8_t armq_narrow_bf16_pair_any(float32x4_t low, float32x4_t high) {
    return armq_narrow_bf16_pair(armq_default_nan4(low), armq_default_nan4(high));
}
#endif

INLINE uint16x8_t armq_narrow_f16_pair(float32x4_t low, float32x4_t high) {
    return vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(low), high));
}

INLINE float armq_float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* One value of F32, BF16 or F16 whose bits stand in the low end of `bits`. */
INLINE float armq_float_of(armq_dtype dtype, uint32_t bits) {
    if (dtype == ARMQ_DTYPE_BF16)
        return armq_float_of_bits(bits << 16);
    if (dtype == ARMQ_DTYPE_F16)
        return vgetq_lane_f32(armq_widen_f16_low(vdupq_n_u16((uint16_t)bits)), 0);
    return armq_float_of_bits(bits);
}

/* Element `index` of an array of F32, BF16 or F16. */
INLINE float armq_float_at(armq_dtype dtype, const void *array, int64_t index) {
    if (dtype == ARMQ_DTYPE_F32)
        return ((const float *)array)[index];
    return armq_float_of(dtype, ((const uint16_t *)array)[index]);
}

/* Sixteen consecutive values as f32. */
INLINE float32x4x4_t armq_load16(armq_dtype dtype, const void *x) {
    float32x4x4_t v;
    if (dtype == ARMQ_DTYPE_F32) {
        const float *f = x;
        UNROLL for (int i = 0; i < 4; i++) v.val[i] = vld1q_f32(f + 4 * i);
        return v;
    }
    const uint16_t *h = x;
    UNROLL for (int i = 0; i < 2; i++) {
        uint16x8_t packed = vld1q_u16(h + 8 * i);
        int bf16 = dtype == ARMQ_DTYPE_BF16;
        v.val[2 * i] = bf16 ? armq_widen_bf16_low(packed) : armq_widen_f16_low(packed);
        v.val[2 * i + 1] = bf16 ? armq_widen_bf16_high(packed) : armq_widen_f16_high(packed);
    }
    return v;
}

/* Values rounded to dtype and widened again. No NaN other than those armq_narrow_bf16 takes. */
INLINE float32x4_t armq_round4(armq_dtype dtype, float32x4_t x) {
    if (dtype == ARMQ_DTYPE_BF16)
        return vreinterpretq_f32_u32(vshll_n_u16(armq_narrow_bf16(x), 16));
    if (dtype == ARMQ_DTYPE_F16)
        return vcvt_f32_f16(vcvt_f16_f32(x));
    return x;
}

/* Sixteen consecutive values rounded to dtype. The same of NaNs. */
INLINE void armq_store16(armq_dtype dtype, void *y, float32x4x4_t v) {
    if (dtype == ARMQ_DTYPE_F32) {
        UNROLL for (int i = 0; i < 4; i++) vst1q_f32((float *)y + 4 * i, v.val[i]);
        return;
    }
    UNROLL for (int i = 0; i < 2; i++) {
        uint16x8_t narrow = dtype == ARMQ_DTYPE_BF16
                                ? armq_narrow_bf16_pair(v.val[2 * i], v.val[2 * i + 1])
                                : armq_narrow_f16_pair(v.val[2 * i], v.val[2 * i + 1]);
        vst1q_u16((uint16_t *)y + 8 * i, narrow);
    }
}

INLINE float armq_round1(armq_dtype dtype, float x) {
    return vgetq_lane_f32(armq_round4(dtype, vdupq_n_f32(armq_default_nan(x))), 0);
}

#endif
