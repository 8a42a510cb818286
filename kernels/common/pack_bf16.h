/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of activations into A panels of the bf16 baseline, as a template: each element rounded to
 * bf16, in panels of bf16 or, widened again, of f32. */
#ifndef ARMQ_KERNELS_PACK_BF16_H
#define ARMQ_KERNELS_PACK_BF16_H

#include "kernels/common/convert.h"
#include "kernels/common/tile.h"

/* Eight consecutive elements rounded to bf16; the largest exponent and mantissa seen so far is
 * kept, by which NaN and Inf are told. */
INLINE uint16x8_t load_bf16(const armq_dtype in, const void *x, uint16x8_t *largest) {
    uint16x8_t v;
    if (in == ARMQ_DTYPE_BF16) {
        v = vld1q_u16(x);
    } else if (in == ARMQ_DTYPE_F16) {
        uint16x8_t h = vld1q_u16(x);
        v = armq_narrow_bf16_pair_any(armq_widen_f16_low(h), armq_widen_f16_high(h));
    } else {
        v = armq_narrow_bf16_pair_any(vld1q_f32(x), vld1q_f32((const float *)x + 4));
    }
    *largest = vmaxq_u16(*largest, vandq_u16(v, vdupq_n_u16(0x7fff)));
    return v;
}

/* Eight bf16 into the panel: two k steps of four, or eight of one, widened. */
INLINE void scatter_bf16(const armq_tile_kind kind, uint16x8_t v, char *out, size_t step_bytes) {
    if (kind == ARMQ_TILE_BF16) {
        vst1_u16((uint16_t *)(void *)out, vget_low_u16(v));
        vst1_u16((uint16_t *)(void *)(out + step_bytes), vget_high_u16(v));
        return;
    }
    float32x4_t half[2] = {armq_widen_bf16_low(v), armq_widen_bf16_high(v)};
    UNROLL for (int h = 0; h < 2; h++) {
        vst1q_lane_f32((float *)(void *)(out + (size_t)(4 * h) * step_bytes), half[h], 0);
        vst1q_lane_f32((float *)(void *)(out + (size_t)(4 * h + 1) * step_bytes), half[h], 1);
        vst1q_lane_f32((float *)(void *)(out + (size_t)(4 * h + 2) * step_bytes), half[h], 2);
        vst1q_lane_f32((float *)(void *)(out + (size_t)(4 * h + 3) * step_bytes), half[h], 3);
    }
}

enum { OCTET = 8, TURN = 2 /* octets in a turn of the loop */ };

INLINE armq_row_quant pack_bf16_as(const armq_tile_kind kind, const armq_dtype in, const void *x,
                                   int64_t k, void *out, size_t step_bytes) {
    const size_t in_bytes = in == ARMQ_DTYPE_F32 ? 4 : 2;
    const size_t element = kind == ARMQ_TILE_BF16 ? 2 : 4;
    const int64_t k_step = kind == ARMQ_TILE_BF16 ? 4 : 1;
    const size_t to_octet = (size_t)(OCTET / k_step) * step_bytes;
    const char *from = x;
    char *to = out;
    uint16x8_t largest = vdupq_n_u16(0);
    int64_t octets = k / OCTET;
    for (; octets >= TURN; octets -= TURN) {
        UNROLL for (size_t i = 0; i < TURN; i++)
            scatter_bf16(kind, load_bf16(in, from + i * OCTET * in_bytes, &largest),
                         to + i * to_octet, step_bytes);
        from += TURN * OCTET * in_bytes;
        to += TURN * to_octet;
    }
    for (; octets > 0; octets--) {
        scatter_bf16(kind, load_bf16(in, from, &largest), to, step_bytes);
        from += OCTET * in_bytes;
        to += to_octet;
    }
    const int64_t left = k % OCTET;
    if (left) {
        float buffer[OCTET] = {0}, rest[OCTET];
        memcpy(buffer, from, (size_t)left * in_bytes);
        scatter_bf16(kind, load_bf16(in, buffer, &largest), (char *)rest, (size_t)k_step * element);
        const char *r = (const char *)rest;
        for (int64_t i = 0; i < left; i += k_step, to += step_bytes, r += (size_t)k_step * element)
            memcpy(to, r, (size_t)k_step * element);
    }
    if (vmaxvq_u16(largest) < 0x7f80)
        return (armq_row_quant){1.0f, 0};
    /* One NaN makes every output of the row NaN, whatever the weights. */
    const uint32_t bits = kind == ARMQ_TILE_BF16 ? 0x7fc0u : 0x7fc00000u;
    memcpy(out, &bits, element);
    return (armq_row_quant){__builtin_nanf(""), 0};
}

INLINE armq_row_quant pack_bf16(const armq_tile_kind kind, const armq_dtype in, const void *x,
                                int64_t k, void *out, size_t step_bytes) {
    if (in == ARMQ_DTYPE_BF16)
        return pack_bf16_as(kind, ARMQ_DTYPE_BF16, x, k, out, step_bytes);
    if (in == ARMQ_DTYPE_F16)
        return pack_bf16_as(kind, ARMQ_DTYPE_F16, x, k, out, step_bytes);
    return pack_bf16_as(kind, ARMQ_DTYPE_F32, x, k, out, step_bytes);
}

#endif
