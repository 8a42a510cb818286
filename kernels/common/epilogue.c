/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/epilogue.h"

#include <string.h>

#include "kernels/common/epilogue_rows.h"

enum { OUT_DTYPES = 3 };

#define INSTANCE(source, bias, out)                                                                \
    static void epilogue_##source##_##bias##_##out(                                                \
        const void *acc, const armq_channels *channels, const float *row_scales,                   \
        const int32_t *row_zeros, int64_t rows, void *y, size_t y_stride) {                        \
        epilogue_rows(1, source, ARMQ_##bias, ARMQ_DTYPE_##out, acc, channels, row_scales,         \
                      row_zeros, rows, y, y_stride);                                               \
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
    static armq_epilogue_fn *const table[SOURCES][ARMQ_BIAS_MODES][OUT_DTYPES] = {
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
    armq_bias_mode mode = !bias ? ARMQ_NO_BIAS : round_first ? ARMQ_ROUND_THEN_BIAS : ARMQ_BIAS;
    if (out == ARMQ_DTYPE_BF16 && from == FLOATS && layout->set->to_bf16)
        return (armq_epilogue){layout->set->to_bf16[mode], sizeof(uint16_t)};
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
