/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/weights_s4.h"

#include "kernels/common/convert.h"
#include "kernels/common/nibbles.h"

enum { CHUNK = 32, VECTOR = 16, PAIR = 2 * VECTOR }; /* CHUNK: elements unpacked at a time */

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

size_t armq_s4_row_bytes(const armq_weight_layout *layout) {
    const size_t k = (size_t)layout->k;
    return layout->word8 ? (k + 7) / 8 * sizeof(int32_t) : (k + 1) / 2;
}

/* --- Packing -------------------------------------------------------------------------------------
 */

/* Elements [k, k + CHUNK) of a channel's row as nibbles 0 to 15 of weight + 8; those beyond K are
 * `padding`. An int32 word of eight is four bytes of two on a little-endian machine. */
static void load_codes(const armq_weight_layout *layout, const uint8_t *row, int64_t k,
                       uint8_t padding, uint8_t *codes) {
    const int64_t count = min64(CHUNK, layout->k - k);
    uint8x16_t packed;
    if (count == CHUNK) {
        packed = vld1q_u8(row + k / 2);
    } else {
        uint8_t bytes[VECTOR] = {0};
        memcpy(bytes, row + k / 2, (size_t)(count + 1) / 2);
        packed = vld1q_u8(bytes);
    }
    if (!layout->word8)
        packed = veorq_u8(packed, vdupq_n_u8(0x88));
    const uint8x16_t low = vandq_u8(packed, vdupq_n_u8(15)), high = vshrq_n_u8(packed, 4);
    vst1q_u8(codes, vzip1q_u8(low, high));
    vst1q_u8(codes + VECTOR, vzip2q_u8(low, high));
    for (int64_t i = count; i < CHUNK; i++)
        codes[i] = padding;
}

static int32_t sum_codes(const uint8_t *codes) {
    return vaddlvq_u8(vld1q_u8(codes)) + vaddlvq_u8(vld1q_u8(codes + VECTOR));
}

/* Adds `bytes` nibbles to those that stand there, shifted to the low or high half. */
INLINE void put_nibbles(const int bytes, const uint8_t *nibbles, int shift, char *out) {
    for (int i = 0; i < bytes; i += 4) {
        uint32_t add, there;
        memcpy(&add, nibbles + i, sizeof add);
        memcpy(&there, out + i, sizeof there);
        there |= add << shift;
        memcpy(out + i, &there, sizeof there);
    }
}

/* A chunk to column c of the panel, from element k on. */
static void put_chunk(const armq_weight_layout *layout, const uint8_t *nibbles, int64_t k,
                      int64_t c, char *panel) {
    const int64_t k_step = layout->set->k_step, place = c * k_step;
    char *out = panel + (size_t)(k / k_step) * layout->step_bytes +
                (size_t)(place / PAIR * VECTOR + place % VECTOR);
    const int shift = place % PAIR < VECTOR ? 0 : 4;
    const int64_t steps = min64(CHUNK / k_step, layout->k_steps - k / k_step);
    for (int64_t i = 0; i < steps; i++, out += layout->step_bytes, nibbles += k_step) {
        if (k_step == 4)
            put_nibbles(4, nibbles, shift, out);
        else if (k_step == 8)
            put_nibbles(8, nibbles, shift, out);
        else
            put_nibbles(16, nibbles, shift, out);
    }
}

/* Elements [first, last) of a channel whose zero point is zero; their sum. */
static int32_t pack_elements(const armq_weight_layout *layout, const uint8_t *row, int64_t first,
                             int64_t last, int32_t zero, int64_t c, char *panel) {
    int32_t sum = 0;
    for (int64_t k = first; k < last; k += CHUNK) {
        uint8_t codes[CHUNK];
        load_codes(layout, row, k, (uint8_t)(zero + 8), codes);
        sum += sum_codes(codes) - CHUNK * (zero + 8);
        for (int i = 0; i < CHUNK; i++)
            codes[i] ^= 8; /* two's complement */
        put_chunk(layout, codes, k, c, panel);
    }
    return sum;
}

/* Of a group, or the channel. */
static void put_zero(const armq_weight_layout *layout, int64_t group, int32_t zero, int64_t c,
                     char *panel) {
    if (layout->offset)
        ((int8_t *)panel)[layout->zeros_offset + (size_t)(group * ARMQ_TILE_COLUMNS + c)] =
            (int8_t)(16 * zero);
}

/* The sum of scale * sum of weights is exact in each product and nearly so in the sum: one rounding
 * to f32. */
static float pack_groups(const armq_weight_layout *layout, const armq_weights *weights, int64_t n,
                         int64_t c, char *panel) {
    const uint8_t *row = (const uint8_t *)weights->w + (size_t)n * armq_s4_row_bytes(layout);
    uint16_t *scales = (uint16_t *)(void *)(panel + layout->scales_offset);
    double total = 0;
    for (int64_t g = 0; g < layout->groups; g++) {
        const int64_t at = n * layout->groups + g, first = g * layout->group_size;
        const int32_t zero = weights->zero_points ? weights->zero_points[at] : 0;
        put_zero(layout, g, zero, c, panel);
        const int32_t sum =
            pack_elements(layout, row, first, first + layout->group_size, zero, c, panel);
        if (!layout->scaled)
            continue;
        const uint16_t bits = ((const uint16_t *)weights->scales)[at];
        const float scale = armq_float_of(ARMQ_DTYPE_BF16, bits);
        scales[g * ARMQ_TILE_COLUMNS + c] = scale == scale ? bits : 0x7fc0;
        total += (double)scale * sum;
    }
    return armq_default_nan((float)total);
}

void armq_pack_s4_channel(const armq_weight_layout *layout, const armq_weights *weights, int64_t n,
                          int64_t c, char *panel) {
    armq_channels *channels = (armq_channels *)(void *)(panel + layout->channels_offset);
    if (layout->group_size) {
        channels->scale[c] = pack_groups(layout, weights, n, c, panel);
        return;
    }
    const int32_t zero = weights->zero_points ? weights->zero_points[n] : 0;
    put_zero(layout, 0, zero, c, panel);
    if (layout->k > 0) {
        const uint8_t *row = (const uint8_t *)weights->w + (size_t)n * armq_s4_row_bytes(layout);
        channels->sum[c] =
            pack_elements(layout, row, 0, layout->k, zero, c, panel) * (layout->offset ? 1 : 16);
    }
    if (weights->scales)
        channels->scale[c] = armq_default_nan(((const float *)weights->scales)[n]);
}

/* --- Unpacking -----------------------------------------------------------------------------------
 */

INLINE void unpack_vector(const int8_t *in, int8_t *out) {
    const int8x16_t packed = vld1q_s8(in);
    vst1q_s8(out, armq_low_nibbles(packed));
    vst1q_s8(out + VECTOR, armq_high_nibbles(packed));
}

/* The same in general registers. */
INLINE void unpack_words(const int8_t *in, int8_t *out) {
    const uint64_t mask = UINT64_C(0xf0f0f0f0f0f0f0f0);
    uint64_t packed[2], value[4]; /* low, high */
    memcpy(packed, in, sizeof packed);
    UNROLL for (int i = 0; i < 2; i++) {
        value[i] = packed[i] << 4 & mask;
        value[2 + i] = packed[i] & mask;
        /* Or the compiler makes vectors of them. */
        __asm__("" : "+r"(value[i]), "+r"(value[2 + i]));
    }
    UNROLL for (int i = 0; i < 4; i++) memcpy(out + 8 * i, &value[i], sizeof value[i]);
}

/* Half in vectors, whose stores take a vector pipe too, and half beside them. */
static void unpack_times_16(const int8_t *in, int64_t vectors, int8_t *out) {
    for (; vectors >= 4; vectors -= 4, in += 4 * VECTOR, out += 4 * PAIR)
        UNROLL for (int i = 0; i < 4; i += 2) {
            unpack_vector(in + VECTOR * i, out + PAIR * i);
            unpack_words(in + VECTOR * (i + 1), out + PAIR * (i + 1));
        }
    for (; vectors > 0; vectors--, in += VECTOR, out += PAIR)
        unpack_vector(in, out);
}

/* k steps with the same eight zero points, each repeated k_step times along a k step. eighths: half
 * of what 16 times both differ by; else from nibbles plus 8, without sign, 8 + zero point is taken.
 */
INLINE void unpack_offset(const bool eighths, const int32_t k_step, const int8_t *zeros,
                          const int8_t *in, int64_t steps, int8_t *out) {
    const int pairs = k_step / 4;
    const int8x8_t times_16 = vld1_s8(zeros);
    const int8x8_t offsets = vadd_s8(vshr_n_s8(times_16, 4), vdup_n_s8(8));
    const int8x16_t eight = vcombine_s8(eighths ? times_16 : offsets, vdup_n_s8(0));
    const int8x16_t fifteen = vdupq_n_s8(15), signs = vdupq_n_s8((int8_t)0x88);
    uint8x16_t lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    int8x16_t zero[8];
    UNROLL for (int i = 0; i < 2 * pairs; i++) {
        const int8x16_t shift = vdupq_n_s8((int8_t)-__builtin_ctz((unsigned)k_step));
        zero[i] = vqtbl1q_s8(eight, vshlq_u8(lane, shift));
        lane = vaddq_u8(lane, vdupq_n_u8(VECTOR));
    }
    for (; steps > 0; steps--) {
        UNROLL for (int i = 0; i < pairs; i++) {
            const int8x16_t packed = vld1q_s8(in + VECTOR * i);
            const int8x16_t plus_8 = veorq_s8(packed, signs);
            const uint8x16_t high = vshrq_n_u8(vreinterpretq_u8_s8(plus_8), 4);
            int8x16_t *to = (int8x16_t *)(void *)(out + PAIR * i);
            if (eighths) {
                to[0] = vhsubq_s8(armq_low_nibbles(packed), zero[2 * i]);
                to[1] = vhsubq_s8(armq_high_nibbles(packed), zero[2 * i + 1]);
            } else {
                to[0] = vsubq_s8(vandq_s8(plus_8, fifteen), zero[2 * i]);
                to[1] = vsubq_s8(vreinterpretq_s8_u8(high), zero[2 * i + 1]);
            }
        }
        in += VECTOR * pairs;
        out += PAIR * pairs;
    }
}

INLINE void unpack_run(const bool eighths, int32_t k_step, const int8_t *zeros, const int8_t *in,
                       int64_t steps, int8_t *out) {
    if (k_step == 4)
        unpack_offset(eighths, 4, zeros, in, steps, out);
    else if (k_step == 8)
        unpack_offset(eighths, 8, zeros, in, steps, out);
    else
        unpack_offset(eighths, 16, zeros, in, steps, out);
}

void armq_unpack_panel(const armq_weight_layout *layout, const char *panel, int64_t step,
                       int64_t steps, int8_t *out) {
    const int8_t *in = (const int8_t *)panel + (size_t)step * layout->step_bytes;
    if (!layout->offset) {
        unpack_times_16(in, steps * (int64_t)(layout->step_bytes / VECTOR), out);
        return;
    }
    const int64_t run = layout->group_size ? layout->group_steps : steps;
    const int8_t *zeros = (const int8_t *)panel + layout->zeros_offset;
    if (layout->group_size)
        zeros += step / run * ARMQ_TILE_COLUMNS;
    for (; steps > 0; steps -= run) {
        if (layout->eighths)
            unpack_run(true, layout->set->k_step, zeros, in, run, out);
        else
            unpack_run(false, layout->set->k_step, zeros, in, run, out);
        zeros += ARMQ_TILE_COLUMNS;
        in += (size_t)run * layout->step_bytes;
        out += (size_t)run * layout->step_bytes * 2;
    }
}

int64_t armq_group_scale_count(const armq_weight_layout *layout) {
    return ARMQ_TILE_COLUMNS * (layout->set->scale_pairs ? 2 : 1);
}

INLINE void unpack_scales(const bool pairs, const uint16_t *in, int64_t count, float *out) {
    _Pragma("GCC unroll 2") for (int64_t i = 0; i < count; i++) {
        const uint16x8_t eight = vld1q_u16(in + i * ARMQ_TILE_COLUMNS);
        if (pairs) {
            UNROLL for (int c = 0; c < ARMQ_TILE_COLUMNS / 2; c++) {
                vst1q_f32(out + 4 * c, armq_widen_bf16_pair(eight, c));
            }
        } else {
            vst1q_f32(out, armq_widen_bf16_low(eight));
            vst1q_f32(out + 4, armq_widen_bf16_high(eight));
        }
        out += ARMQ_TILE_COLUMNS * (pairs ? 2 : 1);
    }
}

void armq_unpack_scales(const armq_weight_layout *layout, const char *panel, int64_t group,
                        int64_t count, float *out) {
    const uint16_t *in =
        (const uint16_t *)(const void *)(panel + layout->scales_offset) + group * ARMQ_TILE_COLUMNS;
    if (layout->set->scale_pairs)
        unpack_scales(true, in, count, out);
    else
        unpack_scales(false, in, count, out);
}
