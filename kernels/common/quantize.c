/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/quantize.h"

#include <math.h>

#include "kernels/common/convert.h"
#include "kernels/common/range.h"

enum { CHUNK = 16 };

/* x * multiplier, rounded to an integer below 2^9 in magnitude.
 * Ties to even: adding 1.5 * 2^23 leaves the integer in the low bits of the f32, cheaper than a
 * conversion. The product is rounded first, as the dialects say. */
INLINE int16x8_t round8(float32x4_t low, float32x4_t high, float32x4_t multiplier,
                        const armq_rounding rounding) {
    const float32x4_t magic = vdupq_n_f32(12582912.0f);
    low = vmulq_f32(low, multiplier);
    high = vmulq_f32(high, multiplier);
    if (rounding == ARMQ_ROUND_TIES_EVEN)
        return vuzp1q_s16(vreinterpretq_s16_f32(vaddq_f32(low, magic)),
                          vreinterpretq_s16_f32(vaddq_f32(high, magic)));
    return vuzp1q_s16(vreinterpretq_s16_s32(vcvtaq_s32_f32(low)),
                      vreinterpretq_s16_s32(vcvtaq_s32_f32(high)));
}

/* Sixteen int8 as groups of k_step. */
INLINE void scatter(int8x16_t q, const int32_t k_step, int8_t *out, size_t step_bytes) {
    if (k_step == 16) {
        vst1q_s8(out, q);
    } else if (k_step == 8) {
        int64x2_t halves = vreinterpretq_s64_s8(q);
        vst1q_lane_s64((int64_t *)(void *)out, halves, 0);
        vst1q_lane_s64((int64_t *)(void *)(out + step_bytes), halves, 1);
    } else {
        int32x4_t words = vreinterpretq_s32_s8(q);
        vst1q_lane_s32((int32_t *)(void *)out, words, 0);
        vst1q_lane_s32((int32_t *)(void *)(out + step_bytes), words, 1);
        vst1q_lane_s32((int32_t *)(void *)(out + 2 * step_bytes), words, 2);
        vst1q_lane_s32((int32_t *)(void *)(out + 3 * step_bytes), words, 3);
    }
}

typedef struct {
    float multiplier;
    int16_t zero_point;
    bool asymmetric;
    armq_rounding rounding;
    armq_dtype work; /* rounded to before anything else; F32 for nothing to do */
} row_map;

/* Whole chunks of 16 elements. Symmetric q is within [-127, 127] by construction; with a zero point
 * it saturates. */
INLINE void quantize_chunks(const armq_dtype in, const armq_rounding rounding,
                            const bool asymmetric, const int32_t k_step, const row_map *map,
                            const void *x, int64_t chunks, int8_t *out, size_t step_bytes) {
    const size_t in_bytes = in == ARMQ_DTYPE_F32 ? 4 : 2;
    const float32x4_t multiplier = vdupq_n_f32(map->multiplier);
    const int16x8_t zero_point = vdupq_n_s16(map->zero_point);
    const char *from = x;
    for (int64_t i = 0; i < chunks; i++) {
        float32x4x4_t v = armq_load16(in, from);
        int16x8_t low = round8(v.val[0], v.val[1], multiplier, rounding);
        int16x8_t high = round8(v.val[2], v.val[3], multiplier, rounding);
        int8x16_t q;
        if (asymmetric)
            q = vqmovn_high_s16(vqmovn_s16(vaddq_s16(low, zero_point)),
                                vaddq_s16(high, zero_point));
        else
            q = vuzp1q_s8(vreinterpretq_s8_s16(low), vreinterpretq_s8_s16(high));
        scatter(q, k_step, out, step_bytes);
        from += CHUNK * in_bytes;
        out += (size_t)(CHUNK / k_step) * step_bytes;
    }
}

typedef void quantize_fn(const row_map *map, const void *x, int64_t chunks, int8_t *out,
                         size_t step_bytes);

#define INSTANCE(in, rounding, asymmetric, k_step)                                                 \
    static void quantize_##in##_##rounding##_##asymmetric##_##k_step(                              \
        const row_map *map, const void *x, int64_t chunks, int8_t *out, size_t step_bytes) {       \
        quantize_chunks(ARMQ_DTYPE_##in, ARMQ_ROUND_TIES_##rounding, asymmetric, k_step, map, x,   \
                        chunks, out, step_bytes);                                                  \
    }
#define K_STEPS(M, ...) M(__VA_ARGS__, 4) M(__VA_ARGS__, 8) M(__VA_ARGS__, 16)
#define INSTANCES(in, rounding)                                                                    \
    K_STEPS(INSTANCE, in, rounding, 0)                                                             \
    K_STEPS(INSTANCE, in, rounding, 1)
INSTANCES(F32, EVEN)
INSTANCES(F32, AWAY)
INSTANCES(BF16, EVEN)
INSTANCES(BF16, AWAY)
INSTANCES(F16, EVEN)
INSTANCES(F16, AWAY)

static quantize_fn *select_quantize(armq_dtype in, const row_map *map, int32_t k_step) {
#define NAME(in, rounding, asymmetric, k_step) quantize_##in##_##rounding##_##asymmetric##_##k_step,
#define ROW(in, rounding)                                                                          \
    {                                                                                              \
        {K_STEPS(NAME, in, rounding, 0)}, { K_STEPS(NAME, in, rounding, 1) }                       \
    }
    static quantize_fn *const table[3][2][2][3] = {
        {ROW(F32, EVEN), ROW(F32, AWAY)},
        {ROW(BF16, EVEN), ROW(BF16, AWAY)},
        {ROW(F16, EVEN), ROW(F16, AWAY)},
    };
    int row = in == ARMQ_DTYPE_F32 ? 0 : in == ARMQ_DTYPE_BF16 ? 1 : 2;
    return table[row][map->rounding == ARMQ_ROUND_TIES_AWAY][map->asymmetric][k_step == 4   ? 0
                                                                              : k_step == 8 ? 1
                                                                                            : 2];
}

static size_t in_bytes_of(armq_dtype in) { return in == ARMQ_DTYPE_F32 ? 4 : 2; }

static void load_chunk(armq_dtype in, const void *x, float *chunk) {
    float32x4x4_t v = in == ARMQ_DTYPE_F32    ? armq_load16(ARMQ_DTYPE_F32, x)
                      : in == ARMQ_DTYPE_BF16 ? armq_load16(ARMQ_DTYPE_BF16, x)
                                              : armq_load16(ARMQ_DTYPE_F16, x);
    UNROLL for (int i = 0; i < 4; i++) vst1q_f32(chunk + 4 * i, v.val[i]);
}

/* Quantises whole chunks; a working dtype that is not f32 or the input's takes the long way. */
static void quantize_whole(armq_dtype in, const row_map *map, int32_t k_step, const void *x,
                           int64_t chunks, int8_t *out, size_t step_bytes) {
    if (map->work == ARMQ_DTYPE_F32) {
        select_quantize(in, map, k_step)(map, x, chunks, out, step_bytes);
        return;
    }
    for (int64_t i = 0; i < chunks; i++) {
        float chunk[CHUNK];
        load_chunk(in, (const char *)x + (size_t)(i * CHUNK) * in_bytes_of(in), chunk);
        for (int j = 0; j < CHUNK; j += 4)
            vst1q_f32(chunk + j, map->work == ARMQ_DTYPE_BF16
                                     ? armq_round4(ARMQ_DTYPE_BF16, vld1q_f32(chunk + j))
                                     : armq_round4(ARMQ_DTYPE_F16, vld1q_f32(chunk + j)));
        select_quantize(ARMQ_DTYPE_F32, map, k_step)(map, chunk, 1, out, step_bytes);
        out += (size_t)(CHUNK / k_step) * step_bytes;
    }
}

/* Scale, multiplier and zero point from the range of a row; the formulas of the dialects, in f32.
 */
static armq_row_quant symmetric(float min, float max, row_map *map) {
    float amax = fmaxf(fmaxf(max, -min), 1e-7f);
    map->multiplier = 127.0f / amax;
    map->zero_point = 0;
    return (armq_row_quant){amax / 127.0f, 0};
}

static armq_row_quant asymmetric(float min, float max, row_map *map) {
    float range = max - min;
    if (range < 0x1p-120f)
        min = max = range = 0;
    float multiplier = range > 0 ? 255.0f / range : 1.0f;
    float low = min * multiplier, high = max * multiplier;
    float error = (-128.0f + low) + (127.0f + high);
    float zero = error > 0 ? -128.0f - low : 127.0f - high;
    zero = fminf(fmaxf(zero, -128.0f), 127.0f);
    map->multiplier = multiplier;
    map->zero_point = (int16_t)vcvtns_s32_f32(zero);
    return (armq_row_quant){1.0f / multiplier, map->zero_point};
}

/* False for a row that has no finite range. */
static bool map_row(const armq_dialect *dialect, armq_dtype in, const void *x, int64_t k,
                    row_map *map, armq_row_quant *quant) {
    armq_range range = armq_row_range(in, x, k);
    float min = armq_round1(dialect->work, range.min), max = armq_round1(dialect->work, range.max);
    bool is_asymmetric = dialect->quant == ARMQ_QUANT_ASYMMETRIC;
    if (!isfinite(min) || !isfinite(max) || (is_asymmetric && !isfinite(max - min))) {
        *quant = (armq_row_quant){__builtin_nanf(""), 0};
        return false;
    }
    map->asymmetric = is_asymmetric;
    map->rounding = dialect->q_rounding;
    map->work = in == dialect->work ? ARMQ_DTYPE_F32 : dialect->work;
    *quant = is_asymmetric ? asymmetric(min, max, map) : symmetric(min, max, map);
    return true;
}

/* The elements that are left after whole chunks, through a buffer: q[16], zeros behind them. */
static void quantize_rest(armq_dtype in, const row_map *map, const void *x, int64_t k, int8_t *q) {
    const size_t in_bytes = in_bytes_of(in);
    const int64_t rest = k % CHUNK;
    char buffer[CHUNK * sizeof(float)] = {0};
    memcpy(buffer, (const char *)x + (size_t)(k - rest) * in_bytes, (size_t)rest * in_bytes);
    quantize_whole(in, map, CHUNK, buffer, 1, q, CHUNK);
    memset(q + rest, 0, (size_t)(CHUNK - rest));
}

static armq_row_quant pack_quantized(const armq_row_packer *packer, const void *x, int64_t k,
                                     void *out, size_t step_bytes) {
    const int32_t k_step = packer->k_step;
    row_map map;
    armq_row_quant quant;
    if (!map_row(&packer->dialect, packer->in, x, k, &map, &quant)) {
        for (int64_t i = 0; i < (k + k_step - 1) / k_step; i++)
            memset((char *)out + (size_t)i * step_bytes, 0, (size_t)k_step);
        return quant;
    }
    const int64_t chunks = k / CHUNK;
    quantize_whole(packer->in, &map, k_step, x, chunks, out, step_bytes);
    if (k % CHUNK) {
        int8_t q[CHUNK];
        quantize_rest(packer->in, &map, x, k, q);
        int8_t *to = (int8_t *)out + (size_t)(chunks * (CHUNK / k_step)) * step_bytes;
        for (int64_t i = 0; i < k % CHUNK; i += k_step, to += step_bytes)
            memcpy(to, q + i, (size_t)k_step);
    }
    return quant;
}

armq_row_quant armq_quantize_row(const armq_dialect *dialect, armq_dtype in, const void *x,
                                 int64_t k, int8_t *q) {
    row_map map;
    armq_row_quant quant;
    if (!map_row(dialect, in, x, k, &map, &quant)) {
        if (k > 0)
            memset(q, 0, (size_t)k);
        return quant;
    }
    quantize_whole(in, &map, CHUNK, x, k / CHUNK, q, CHUNK);
    if (k % CHUNK) {
        int8_t rest[CHUNK];
        quantize_rest(in, &map, x, k, rest);
        memcpy(q + k / CHUNK * CHUNK, rest, (size_t)(k % CHUNK));
    }
    return quant;
}

/* --- Rows that are not quantised ------------------------------------------------------------- */

static armq_row_quant copy_s8(const armq_row_packer *packer, const void *x, int64_t k, void *out,
                              size_t step_bytes) {
    const int8_t *from = x;
    int8_t *to = out;
    const int32_t k_step = packer->k_step;
    const int64_t chunks = k / CHUNK;
    for (int64_t i = 0; i < chunks; i++) {
        int8x16_t q = vld1q_s8(from);
        if (k_step == 4)
            scatter(q, 4, to, step_bytes);
        else if (k_step == 8)
            scatter(q, 8, to, step_bytes);
        else
            scatter(q, 16, to, step_bytes);
        from += CHUNK;
        to += (size_t)(CHUNK / k_step) * step_bytes;
    }
    int8_t rest[CHUNK] = {0};
    const int64_t left = k % CHUNK;
    if (left)
        memcpy(rest, from, (size_t)left);
    for (int64_t i = 0; i < left; i += k_step, to += step_bytes)
        memcpy(to, rest + i, (size_t)k_step);
    return (armq_row_quant){1.0f, 0};
}

/* --- Panels ---------------------------------------------------------------------------------- */

armq_row_packer armq_row_packer_for(const armq_tile_set *set, const armq_dialect *dialect,
                                    armq_dtype in) {
    armq_row_packer packer = {
        .run = set->pack_row         ? set->pack_row
               : in == ARMQ_DTYPE_S8 ? copy_s8
                                     : pack_quantized,
        .dialect = *dialect,
        .in = in,
        .k_step = set->k_step,
        .group_bytes = (size_t)set->k_step * armq_tile_a_bytes(set->kind),
    };
    return packer;
}

/* The row's group of each k step, again behind itself. */
static void duplicate(char *out, int64_t steps, size_t step_bytes, int32_t copies, size_t group) {
    for (int64_t i = 0; i < steps; i++, out += step_bytes)
        for (int32_t copy = 1; copy < copies; copy++)
            if (group == 8) /* a constant size is two instructions, not a call */
                memcpy(out + 8 * (size_t)copy, out, 8);
            else
                memcpy(out + group * (size_t)copy, out, group);
}

armq_row_quant armq_pack_tile_row(const armq_row_packer *packer, const armq_tile *tile, int32_t row,
                                  const void *x, int64_t k, void *panel) {
    const size_t group = packer->group_bytes;
    const size_t step_bytes = (size_t)tile->rows * (size_t)tile->copies * group;
    char *out = (char *)panel + (size_t)row * (size_t)tile->copies * group;
    armq_row_quant quant = packer->run(packer, x, k, out, step_bytes);
    if (tile->copies > 1)
        duplicate(out, (k + packer->k_step - 1) / packer->k_step, step_bytes, tile->copies, group);
    return quant;
}

void armq_clear_tile_rows(const armq_row_packer *packer, const armq_tile *tile, int32_t first,
                          int64_t k_steps, void *panel) {
    const size_t row_bytes = (size_t)tile->copies * packer->group_bytes;
    const size_t step_bytes = (size_t)tile->rows * row_bytes;
    const size_t clear = (size_t)(tile->rows - first) * row_bytes;
    char *out = (char *)panel + (size_t)first * row_bytes;
    for (int64_t i = 0; clear && i < k_steps; i++, out += step_bytes)
        memset(out, 0, clear);
}
