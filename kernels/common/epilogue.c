/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/epilogue.h"

#include <string.h>

#include "kernels/common/convert.h"

typedef enum { NO_BIAS, BIAS, ROUND_THEN_BIAS, BIAS_MODES } bias_mode;
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
enum { OUT_DTYPES = 3, QUADS = ARMQ_TILE_COLUMNS / 4 };

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

INLINE void epilogue_rows(const source from, const bias_mode bias, const armq_dtype out,
                          const void *acc, const armq_channels *channels, const float *row_scales,
                          const int32_t *row_zeros, int64_t rows, void *y, size_t y_stride) {
    channel_quad c[QUADS];
    UNROLL for (int q = 0; q < QUADS; q++) {
        c[q].scale = vld1q_f32(channels->scale + 4 * q);
        c[q].bias = vld1q_f32(channels->bias + 4 * q);
        c[q].sum = vld1q_s32(channels->sum + 4 * q);
    }
    const float *a = acc;
    char *to = y;
    for (int64_t r = 0; r < rows; r++) {
        float scale = from == FLOATS ? 0 : row_scales[r];
        /* Keeps the compiler from a broadcasting load, which costs a vector pipe. */
        __asm__("" : "+w"(scale));
        int32_t zero = takes_zero(from) ? row_zeros[r] : 0;
        float32x4_t low = value_of(from, a, c[0], scale, zero);
        float32x4_t high = value_of(from, a + 4, c[1], scale, zero);
        if (bias == ROUND_THEN_BIAS)
            round8(out, &low, &high);
        if (bias != NO_BIAS) {
            low = vaddq_f32(low, c[0].bias);
            high = vaddq_f32(high, c[1].bias);
        }
        store8(out, to, low, high);
        a += ARMQ_TILE_COLUMNS;
        to += y_stride;
    }
}

#define INSTANCE(source, bias, out)                                                                \
    static void epilogue_##source##_##bias##_##out(                                                \
        const void *acc, const armq_channels *channels, const float *row_scales,                   \
        const int32_t *row_zeros, int64_t rows, void *y, size_t y_stride) {                        \
        epilogue_rows(source, bias, ARMQ_DTYPE_##out, acc, channels, row_scales, row_zeros, rows,  \
                      y, y_stride);                                                                \
    }
#define INSTANCES(source, bias)                                                                    \
    INSTANCE(source, bias, F32) INSTANCE(source, bias, BF16) INSTANCE(source, bias, F16)
#define ALL_BIASES(source)                                                                         \
    INSTANCES(source, NO_BIAS) INSTANCES(source, BIAS) INSTANCES(source, ROUND_THEN_BIAS)
ALL_BIASES(FLOATS)
ALL_BIASES(INTEGERS)
ALL_BIASES(INTEGERS_WITH_ZERO)
ALL_BIASES(SIXTEENTHS)
ALL_BIASES(SIXTEENTHS_WITH_ZERO)
ALL_BIASES(GROUPS)
ALL_BIASES(GROUPS_WITH_ZERO)

INLINE void raw_rows(const bool sixteenths, const int32_t *acc, int64_t rows, char *y,
                     size_t y_stride) {
    for (int64_t r = 0; r < rows; r++, acc += ARMQ_TILE_COLUMNS, y += y_stride)
        UNROLL for (int q = 0; q < QUADS; q++) {
            const int32x4_t a = vld1q_s32(acc + 4 * q);
            vst1q_s32((int32_t *)(void *)y + 4 * q, sixteenths ? vshrq_n_s32(a, 4) : a);
        }
}

static void epilogue_raw(const void *acc, const armq_channels *channels, const float *row_scales,
                         const int32_t *row_zeros, int64_t rows, void *y, size_t y_stride) {
    (void)channels, (void)row_scales, (void)row_zeros;
    raw_rows(false, acc, rows, y, y_stride);
}

static void epilogue_raw_sixteenths(const void *acc, const armq_channels *channels,
                                    const float *row_scales, const int32_t *row_zeros, int64_t rows,
                                    void *y, size_t y_stride) {
    (void)channels, (void)row_scales, (void)row_zeros;
    raw_rows(true, acc, rows, y, y_stride);
}

static source source_of(const armq_weight_layout *layout, bool zero_points) {
    if (layout->set->kind != ARMQ_TILE_S8)
        return FLOATS;
    if (layout->group_size)
        return zero_points ? GROUPS_WITH_ZERO : GROUPS;
    if (layout->s4 && !layout->offset)
        return zero_points ? SIXTEENTHS_WITH_ZERO : SIXTEENTHS;
    return zero_points ? INTEGERS_WITH_ZERO : INTEGERS;
}

armq_epilogue armq_epilogue_for(const armq_weight_layout *layout, armq_dtype out, bool zero_points,
                                bool bias, bool round_first) {
#define DTYPES(source, bias)                                                                       \
    {                                                                                              \
        epilogue_##source##_##bias##_F32, epilogue_##source##_##bias##_BF16,                       \
            epilogue_##source##_##bias##_F16                                                       \
    }
#define BIASES(source)                                                                             \
    { DTYPES(source, NO_BIAS), DTYPES(source, BIAS), DTYPES(source, ROUND_THEN_BIAS) }
    static armq_epilogue_fn *const table[SOURCES][BIAS_MODES][OUT_DTYPES] = {
        BIASES(FLOATS),
        BIASES(INTEGERS),
        BIASES(INTEGERS_WITH_ZERO),
        BIASES(SIXTEENTHS),
        BIASES(SIXTEENTHS_WITH_ZERO),
        BIASES(GROUPS),
        BIASES(GROUPS_WITH_ZERO)};

    if (out == ARMQ_DTYPE_S32)
        return (armq_epilogue){layout->s4 && !layout->offset ? epilogue_raw_sixteenths
                                                             : epilogue_raw,
                               sizeof(int32_t)};
    const source from = source_of(layout, zero_points);
    bias_mode mode = !bias ? NO_BIAS : round_first ? ROUND_THEN_BIAS : BIAS;
    int dtype = out == ARMQ_DTYPE_F32 ? 0 : out == ARMQ_DTYPE_BF16 ? 1 : 2;
    return (armq_epilogue){table[from][mode][dtype], out == ARMQ_DTYPE_F32 ? 4 : 2};
}

void armq_epilogue_columns(const armq_epilogue *epilogue, const void *acc,
                           const armq_channels *channels, const float *row_scales,
                           const int32_t *row_zeros, int64_t rows, int64_t columns, void *y,
                           size_t y_stride) {
    float buffer[ARMQ_TILE_MAX_ROWS * ARMQ_TILE_COLUMNS];
    const size_t row_bytes = ARMQ_TILE_COLUMNS * epilogue->out_bytes;
    for (int64_t first = 0; first < rows; first += ARMQ_TILE_MAX_ROWS) {
        const int64_t left = rows - first;
        const int64_t count = left < ARMQ_TILE_MAX_ROWS ? left : ARMQ_TILE_MAX_ROWS;
        epilogue->run((const int32_t *)acc + first * ARMQ_TILE_COLUMNS, channels,
                      row_scales + first, row_zeros + first, count, buffer, row_bytes);
        for (int64_t r = 0; r < count; r++)
            memcpy((char *)y + (size_t)(first + r) * y_stride,
                   (const char *)buffer + (size_t)r * row_bytes,
                   (size_t)columns * epilogue->out_bytes);
    }
}
