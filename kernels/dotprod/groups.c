/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles for weights with a scale per group: int32 inside a group, f32 across them. Tall tiles take
 * the panel's columns in two halves, so that integer and float accumulators leave registers for the
 * operands. */
#include "kernels/dotprod/groups.h"

#include "kernels/common/convert.h"
#include "kernels/common/group_sums.h"
#include "kernels/dotprod/panels.h"

enum { WHOLE = 8 }; /* k steps of a group of 32 elements */

/* Scales of a group for columns [4 * q, 4 * q + 4). */
INLINE float32x4_t load_scales(const bool s4, const int q, const void *scales) {
    if (!s4)
        return vld1q_f32((const float *)scales + 4 * q);
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16((const uint16_t *)scales + 4 * q), 16));
}

/* Bytes of a group's scales. */
INLINE size_t scale_bytes(const bool s4) {
    return ARMQ_TILE_COLUMNS * (s4 ? sizeof(uint16_t) : sizeof(float));
}

/* Quads [first, first + width) of a panel's k step. */
INLINE void load_some_columns(const bool s4, const int width, const int first, const int8_t *b,
                              int8x16_t *column) {
    if (width == QUADS)
        load_columns(s4, b, column);
    else if (!s4)
        column[0] = vld1q_s8(b + VECTOR * first);
    else
        column[0] = first ? armq_high_nibbles(vld1q_s8(b)) : armq_low_nibbles(vld1q_s8(b));
}

/* k steps of one group, an even number: rows of a times quads [first, first + width). whole: they
 * are WHOLE, and no loop is needed. Left alone, the compiler mixes steps until it has to copy
 * accumulators. */
INLINE void sdot_steps(const bool s4, const bool whole, const int rows, const int width,
                       const int first, int64_t steps, const int8_t *a, const int8_t *b,
                       int32x4_t *sum) {
    const int count = rows * width, unroll = whole ? WHOLE : s4 ? 2 : 1;
    do {
        UNROLL for (int i = 0; i < unroll; i++) {
            int8x16_t row[2], column[QUADS];
            load_some_columns(s4, width, first, b, column);
            load_rows(rows, a, row);
            a += STEP * rows;
            b += step_bytes(s4);
            UNROLL for (int j = 0; j < count; j++) {
                const int r = j / width;
                sum[j] = dot_lane(sum[j], column[j % width], row[r / 4], r % 4);
            }
            if (whole ? i < unroll - 1 : i == unroll - 1)
                armq_settle_sums(whole && !s4, count, sum);
        }
        steps -= unroll;
    } while (!whole && steps > 0);
}

/* Zero points of a group for columns [4 * q, 4 * q + 4). */
INLINE int16x4_t load_zeros(const int q, const int8_t *zeros) {
    const int16x8_t eight = vmovl_s8(vld1_s8(zeros));
    return q ? vget_high_s16(eight) : vget_low_s16(eight);
}

/* Sums less what zero points add: zeros of the whole panel times sums of rows. */
INLINE void take_zeros(const int rows, const int width, const int first, const int8_t *zeros,
                       const int16_t *row_sums, int32x4_t *sum) {
    UNROLL for (int q = 0; q < width; q++) {
        const int16x4_t quad = load_zeros(first + q, zeros);
        UNROLL for (int r = 0; r < rows; r++) {
            int32x4_t *to = &sum[r * width + q];
            *to = armq_take_zeros(*to, quad, row_sums[2 * r]);
        }
    }
}

/* Quads [first, first + width) for all groups; acc is the first of their columns. whole: groups of
 * WHOLE k steps. Sums start anew beside arithmetic that needs no loads: where the last ones are
 * used up, if a loop follows. */
INLINE void sdot_columns(const bool s4, const bool wide, const bool whole, const bool zero_points,
                         const int rows, const int width, const int first,
                         const armq_groups *groups, const int8_t *a, const int8_t *b, float *acc,
                         bool accumulate) {
    const int64_t steps = whole ? WHOLE : groups->steps;
    const int count = rows * width;
    const float32x4_t start = vdupq_n_f32(groups->start);
    const int32x4_t start_bits = vreinterpretq_s32_f32(start);
    const armq_group_starts starts = {{start_bits, start_bits}};
    const char *scales = groups->scales;
    const int8_t *zeros = groups->zeros;
    const int16_t *row_sums = groups->row_sums;
    float32x4_t total[8];
    UNROLL for (int i = 0; i < count; i++) {
        const float *from = acc + i / width * ARMQ_TILE_COLUMNS + i % width * 4;
        total[i] = accumulate ? vld1q_f32(from) : vdupq_n_f32(0);
    }
    for (int64_t g = groups->count; g > 0; g--) {
        int32x4_t sum[8];
        armq_start_sums(count, &starts, sum);
        sdot_steps(s4, whole, rows, width, first, steps, a, b, sum);
        a += steps * STEP * rows;
        b += steps * step_bytes(s4);
        if (zero_points) {
            armq_settle_sums(false, count, sum);
            take_zeros(rows, width, first, zeros, row_sums, sum);
            zeros += ARMQ_TILE_COLUMNS;
            row_sums += 2 * rows;
        }
        float32x4_t scale[QUADS];
        UNROLL for (int q = 0; q < width; q++) scale[q] = load_scales(s4, first + q, scales);
        scales += scale_bytes(s4);
        UNROLL for (int i = 0; i < count; i++) {
            total[i] = armq_group_add(wide, total[i], sum[i], start, scale[i % width]);
        }
    }
    UNROLL for (int i = 0; i < count; i++) {
        vst1q_f32(acc + i / width * ARMQ_TILE_COLUMNS + i % width * 4, total[i]);
    }
}

INLINE void sdot_panel(const bool s4, const bool zero_points, const int rows, const int width,
                       const armq_groups *groups, const int8_t *a, const int8_t *b, float *acc,
                       bool accumulate) {
    const bool wide = !s4 && groups->start == 0;
    /* Low tiles of two quads have more nibbles to hold: a loop takes fewer registers. */
    const bool whole = groups->steps == WHOLE && (!s4 || rows > 4);
#define COLUMNS(wide, whole)                                                                       \
    sdot_columns(s4, wide, whole, zero_points, rows, width, first, groups, a, b, acc + 4 * first,  \
                 accumulate)
    UNROLL for (int first = 0; first < QUADS; first += width) {
        if (wide)
            COLUMNS(true, false);
        else if (whole)
            COLUMNS(false, true);
        else
            COLUMNS(false, false);
    }
#undef COLUMNS
}

INLINE void sdot_groups(const bool s4, const bool zero_points, const int panels, const int rows,
                        const int width, const armq_groups *groups, const int8_t *a,
                        const int8_t *b, size_t b_stride, float *acc, bool accumulate) {
    armq_groups of_panel = *groups;
    for (int p = 0; p < panels; p++) {
        sdot_panel(s4, zero_points, rows, width, &of_panel, a, b, acc, accumulate);
        armq_next_groups(&of_panel, b_stride);
        b += b_stride;
        acc += rows * ARMQ_TILE_COLUMNS;
    }
}

/* One row, at most two panels. A register of it holds four k steps, of which a group has a multiple
 * of eight. Two accumulators a quad, one of which starts at 0. */
INLINE void sdot_row_columns(const bool s4, const bool wide, const bool zero_points,
                             const int panels, const armq_groups *groups, const int8_t *a,
                             const int8_t *b, size_t b_stride, float *acc, bool accumulate) {
    const int width = QUADS * panels;
    const float32x4_t start = vdupq_n_f32(groups->start);
    const armq_group_starts starts = {{vreinterpretq_s32_f32(start), vdupq_n_s32(0)}};
    const char *scales = groups->scales;
    const int8_t *zeros = groups->zeros;
    const int16_t *row_sums = groups->row_sums;
    float32x4_t total[2 * QUADS];
    int32x4_t sum[4 * QUADS];
    UNROLL for (int q = 0; q < width; q++) {
        total[q] = accumulate ? vld1q_f32(acc + 4 * q) : vdupq_n_f32(0);
        armq_group_start(&starts, &sum[q], &sum[width + q]);
    }
    for (int64_t g = 0; g < groups->count; g++) {
        for (int64_t steps = groups->steps; steps > 0; steps -= 4) {
            const int8x16_t row = vld1q_s8(a);
            a += VECTOR;
            UNROLL for (int p = 0; p < panels; p++) {
                int8x16_t column[4 * QUADS];
                load_four_steps(s4, b + (size_t)p * b_stride, column);
                UNROLL for (int i = 0; i < 4 * QUADS; i++) {
                    int32x4_t *to = &sum[i / QUADS % 2 * width + p * QUADS + i % QUADS];
                    *to = dot_lane(*to, column[i], row, i / QUADS);
                }
            }
            b += 4 * step_bytes(s4);
        }
        UNROLL for (int q = 0; q < width; q++) {
            int32x4_t whole = vaddq_s32(sum[q], sum[width + q]);
            const size_t panel = (size_t)(q / QUADS) * b_stride;
            if (zero_points)
                whole = armq_take_zeros(whole, load_zeros(q % QUADS, zeros + panel), *row_sums);
            total[q] = armq_group_add(wide, total[q], whole, start,
                                      load_scales(s4, q % QUADS, scales + panel));
            armq_group_start(&starts, &sum[q], &sum[width + q]);
        }
        scales += scale_bytes(s4);
        if (zero_points) {
            zeros += ARMQ_TILE_COLUMNS;
            row_sums += 2;
        }
    }
    UNROLL for (int q = 0; q < width; q++) vst1q_f32(acc + 4 * q, total[q]);
}

INLINE void sdot_row_groups(const bool s4, const bool zero_points, const int panels,
                            const armq_groups *groups, const int8_t *a, const int8_t *b,
                            size_t b_stride, float *acc, bool accumulate) {
    const int width = panels > 1 ? 2 : 1;
    armq_groups of_panel = *groups;
    for (int p = 0; p < panels; p += width) {
        if (!s4 && groups->start == 0)
            sdot_row_columns(s4, true, false, width, &of_panel, a, b, b_stride, acc, accumulate);
        else
            sdot_row_columns(s4, false, zero_points, width, &of_panel, a, b, b_stride, acc,
                             accumulate);
        armq_next_groups(&of_panel, (size_t)width * b_stride);
        b += (size_t)width * b_stride;
        acc += width * ARMQ_TILE_COLUMNS;
    }
}

#define FUNCTION(name, template, ...)                                                              \
    void name(const armq_groups *groups, const void *a, const void *b, size_t b_stride, void *acc, \
              bool accumulate) {                                                                   \
        template(__VA_ARGS__, groups, a, b, b_stride, acc, accumulate);                            \
    }
#define INSTANCE(name, template, ...)                                                              \
    FUNCTION(armq_dotprod_##name, template, false, false, __VA_ARGS__)
/* Two functions, so that zero points cost the one without them no registers. */
#define INSTANCE_S4(name, template, ...)                                                           \
    static FUNCTION(name##_plain, template, true, false, __VA_ARGS__) static FUNCTION(             \
        name##_zeros, template, true, true,                                                        \
        __VA_ARGS__) void armq_dotprod_##name(const armq_groups *groups, const void *a,            \
                                              const void *b, size_t b_stride, void *acc,           \
                                              bool accumulate) {                                   \
        (groups->zeros ? name##_zeros : name##_plain)(groups, a, b, b_stride, acc, accumulate);    \
    }

INSTANCE(sdot_8x8_groups, sdot_groups, 1, 8, 1)
INSTANCE(sdot_6x8_groups, sdot_groups, 1, 6, 1)
INSTANCE(sdot_4x8_groups, sdot_groups, 1, 4, 2)
INSTANCE(sdot_2x8_groups, sdot_groups, 1, 2, 2)
INSTANCE(sdot_1x8_groups, sdot_row_groups, 1)
INSTANCE_S4(sdot_8x8_groups_s4, sdot_groups, 1, 8, 1)
INSTANCE_S4(sdot_6x8_groups_s4, sdot_groups, 1, 6, 1)
INSTANCE_S4(sdot_4x16_groups_s4, sdot_groups, 2, 4, 2)
INSTANCE_S4(sdot_4x8_groups_s4, sdot_groups, 1, 4, 2)
INSTANCE_S4(sdot_2x32_groups_s4, sdot_groups, 4, 2, 2)
INSTANCE_S4(sdot_2x8_groups_s4, sdot_groups, 1, 2, 2)
INSTANCE_S4(sdot_1x32_groups_s4, sdot_row_groups, 4)
INSTANCE_S4(sdot_1x8_groups_s4, sdot_row_groups, 1)
