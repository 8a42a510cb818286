/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles for weights with a scale per group: int32 inside a group, f32 across them. The f32 sums
 * keep the layout of SMMLA to the end, and eight integer and eight float accumulators at a time
 * leave registers for the operands: tall tiles take the panel's columns in two halves. */
#include "kernels/i8mm/groups.h"

#include "kernels/common/convert.h"
#include "kernels/common/group_sums.h"
#include "kernels/i8mm/panels.h"

/* k steps at a time, and all of a group of 32 elements. */
enum { UNROLLED = 4 };

INLINE float32x4_t low_floats(float32x4_t x, float32x4_t y) {
    return vreinterpretq_f32_s32(low_halves(vreinterpretq_s32_f32(x), vreinterpretq_s32_f32(y)));
}

INLINE float32x4_t high_floats(float32x4_t x, float32x4_t y) {
    return vreinterpretq_f32_s32(high_halves(vreinterpretq_s32_f32(x), vreinterpretq_s32_f32(y)));
}

/* acc is the first of the columns. */
INLINE void load_totals(const int row_pairs, const int width, const float *acc,
                        float32x4_t *total) {
    UNROLL for (int r = 0; r < row_pairs; r++) UNROLL for (int c = 0; c < width; c += 2) {
        const float *row = acc + 2 * r * ARMQ_TILE_COLUMNS + 2 * c;
        float32x4_t upper = vld1q_f32(row), lower = vld1q_f32(row + ARMQ_TILE_COLUMNS);
        total[r * width + c] = low_floats(upper, lower);
        total[r * width + c + 1] = high_floats(upper, lower);
    }
}

INLINE void store_totals(const int row_pairs, const int width, float *acc,
                         const float32x4_t *total) {
    UNROLL for (int r = 0; r < row_pairs; r++) UNROLL for (int c = 0; c < width; c += 2) {
        const float32x4_t *t = total + r * width + c;
        float *row = acc + 2 * r * ARMQ_TILE_COLUMNS + 2 * c;
        vst1q_f32(row, low_floats(t[0], t[1]));
        vst1q_f32(row + ARMQ_TILE_COLUMNS, high_floats(t[0], t[1]));
    }
}

/* Scales of a group: the whole panel's as [s0 s1 s2 s3] [s4 ..]. */
INLINE void load_scales(const bool s4, const void *scales, float32x4_t quad[2]) {
    if (s4) {
        uint16x8_t eight = vld1q_u16(scales);
        quad[0] = armq_widen_bf16_low(eight);
        quad[1] = armq_widen_bf16_high(eight);
    } else {
        const float *s = scales;
        quad[0] = low_floats(vld1q_f32(s), vld1q_f32(s + 4));
        quad[1] = low_floats(vld1q_f32(s + 8), vld1q_f32(s + 12));
    }
}

/* The same of column pairs [first, first + width) as SMMLA has its columns: s0 s1 s0 s1. */
INLINE void load_scale_pairs(const bool s4, const int width, const int first, const void *scales,
                             float32x4_t *pair) {
    UNROLL for (int c = first; c < first + width; c++) {
        if (s4)
            pair[c - first] = armq_widen_bf16_pair(vld1q_u16(scales), c);
        else
            pair[c - first] = vld1q_f32((const float *)scales + 4 * c);
    }
}

/* Bytes of a group's scales. */
INLINE size_t scale_bytes(const bool s4) {
    return ARMQ_TILE_COLUMNS * (s4 ? sizeof(uint16_t) : 2 * sizeof(float));
}

/* Column pairs [first, first + width) of a panel's k step. */
INLINE void load_some_columns(const bool s4, const int width, const int first, const int8_t *b,
                              int8x16_t *columns) {
    UNROLL for (int c = 0; c < width; c++) {
        if (!s4)
            columns[c] = vld1q_s8(b + PAIR * (first + c));
        else if (c % 2 == 0)
            columns[c] = vld1q_s8(b + PAIR * (first + c) / 2);
        else {
            columns[c] = armq_high_nibbles(columns[c - 1]);
            columns[c - 1] = armq_low_nibbles(columns[c - 1]);
        }
    }
}

INLINE void smmla_step(const bool s4, const int row_pairs, const int width, const int first,
                       const int8_t *a, const int8_t *b, int32x4_t *sum) {
    int8x16_t rows[4], columns[4];
    UNROLL for (int r = 0; r < row_pairs; r++) rows[r] = vld1q_s8(a + PAIR * r);
    load_some_columns(s4, width, first, b, columns);
    UNROLL for (int c = 0; c < width; c++) UNROLL for (int r = 0; r < row_pairs; r++) {
        int32x4_t *to = &sum[r * width + c];
        *to = vmmlaq_s32(*to, rows[r], columns[c]);
    }
}

/* Sums less what zero points add: zeros of the whole panel times sums of rows. */
INLINE void take_zeros(const int row_pairs, const int width, const int first, const int8_t *zeros,
                       const int16_t *row_sums, int32x4_t *sum) {
    const int32x4_t eight = vreinterpretq_s32_s16(vmovl_s8(vld1_s8(zeros)));
    UNROLL for (int c = 0; c < width; c++) {
        const int at = first + c;
        const int32x2_t two = at < 2 ? vget_low_s32(eight) : vget_high_s32(eight);
        const int32x2_t both = at % 2 ? vzip2_s32(two, two) : vzip1_s32(two, two);
        const int16x4_t pair = vreinterpret_s16_s32(both);
        UNROLL for (int r = 0; r < row_pairs; r++) {
            int32x4_t *to = &sum[r * width + c];
            *to = vmlsl_s16(*to, pair, vld1_s16(row_sums + 4 * r));
        }
    }
}

/* k steps of one group, which are a multiple of four: rows of a times column pairs
 * [first, first + width). whole: they are `UNROLLED`, and no loop is needed. Left alone, the
 * compiler mixes steps until it has to copy accumulators. */
INLINE void smmla_steps(const bool s4, const bool whole, const bool ordered, const int row_pairs,
                        const int width, const int first, int64_t steps, const int8_t *a,
                        const int8_t *b, int32x4_t *sum) {
    const int unroll = whole || (s4 && row_pairs == 4) ? UNROLLED : UNROLLED / 2;
    do {
        UNROLL for (int i = 0; i < unroll; i++) {
            smmla_step(s4, row_pairs, width, first, a, b, sum);
            a += PAIR * row_pairs;
            b += step_bytes(s4);
            if (whole ? i < unroll - 1 : i == unroll - 1)
                armq_settle_sums(ordered, row_pairs * width, sum);
        }
        steps -= unroll;
    } while (!whole && steps > 0);
}

/* Column pairs [first, first + width) for all groups; acc is the first of them. whole: groups of
 * `UNROLLED` k steps. Sums start anew beside arithmetic that needs no loads: where the last ones
 * are used up, if a loop follows. */
INLINE void smmla_columns(const bool s4, const bool wide, const bool whole, const bool zero_points,
                          const int row_pairs, const int width, const int first,
                          const armq_groups *groups, const int8_t *a, const int8_t *b, float *acc,
                          bool accumulate) {
    const int64_t steps = whole ? UNROLLED : groups->steps;
    const int count = row_pairs * width;
    /* Where it leaves fewer copies. */
    const bool ordered = whole && (!s4 || (zero_points && row_pairs == 1));
    const float32x4_t start = vdupq_n_f32(groups->start);
    const int32x4_t start_bits = vreinterpretq_s32_f32(start);
    const armq_group_starts starts = {{start_bits, start_bits}};
    const char *scales = groups->scales;
    const int8_t *zeros = groups->zeros;
    const int16_t *row_sums = groups->row_sums;
    float32x4_t total[8];
    if (accumulate)
        load_totals(row_pairs, width, acc, total);
    else
        UNROLL for (int i = 0; i < count; i++) total[i] = vdupq_n_f32(0);

    int32x4_t sum[8];
    armq_start_sums(count, &starts, sum);

    for (int64_t g = groups->count; g > 0; g--) {
        if (whole)
            armq_start_sums(count, &starts, sum);
        smmla_steps(s4, whole, ordered, row_pairs, width, first, steps, a, b, sum);
        a += steps * PAIR * row_pairs;
        b += steps * step_bytes(s4);
        if (zero_points) {
            take_zeros(row_pairs, width, first, zeros, row_sums, sum);
            zeros += ARMQ_TILE_COLUMNS;
            row_sums += 4 * row_pairs;
        }
        float32x4_t scale[4];
        load_scale_pairs(s4, width, first, scales, scale);
        scales += scale_bytes(s4);
        UNROLL for (int i = 0; i < count; i++) {
            total[i] = armq_group_add(wide, total[i], sum[i], start, scale[i % width]);
        }
        if (!whole)
            armq_start_sums(count, &starts, sum);
    }
    store_totals(row_pairs, width, acc, total);
}

INLINE void smmla_panel(const bool s4, const bool zero_points, const int row_pairs, const int width,
                        const armq_groups *groups, const int8_t *a, const int8_t *b, float *acc,
                        bool accumulate) {
    const bool wide = !s4 && groups->start == 0, whole = groups->steps == UNROLLED;
#define COLUMNS(wide, whole)                                                                       \
    smmla_columns(s4, wide, whole, zero_points, row_pairs, width, first, groups, a, b,             \
                  acc + 2 * first, accumulate)
    UNROLL for (int first = 0; first < COLUMN_PAIRS; first += width) {
        if (wide)
            COLUMNS(true, false);
        else if (whole)
            COLUMNS(false, true);
        else
            COLUMNS(false, false);
    }
#undef COLUMNS
}

INLINE void smmla_groups(const bool s4, const bool zero_points, const int panels,
                         const int row_pairs, const int width, const armq_groups *groups,
                         const int8_t *a, const int8_t *b, size_t b_stride, float *acc,
                         bool accumulate) {
    armq_groups of_panel = *groups;
    for (int p = 0; p < panels; p++) {
        smmla_panel(s4, zero_points, row_pairs, width, &of_panel, a, b, acc, accumulate);
        armq_next_groups(&of_panel, b_stride);
        b += b_stride;
        acc += 2 * row_pairs * ARMQ_TILE_COLUMNS;
    }
}

/* Two k steps of one row, one panel. */
INLINE void sdot_two_steps(const bool s4, int8x16x2_t row, const int8_t *b, int32x4_t *sum) {
    if (s4) {
        const int8x16x4_t packed = vld1q_s8_x4(b);
        UNROLL for (int i = 0; i < 4; i++) {
            int32x4_t *to = &sum[2 * (i % 2)];
            to[0] = vdotq_s32(to[0], row.val[i / 2], armq_low_nibbles(packed.val[i]));
            to[1] = vdotq_s32(to[1], row.val[i / 2], armq_high_nibbles(packed.val[i]));
        }
        return;
    }
    UNROLL for (int step = 0; step < 2; step++) {
        int8x16_t columns[COLUMN_PAIRS];
        load_columns(s4, b + step * step_bytes(s4), columns);
        UNROLL for (int c = 0; c < COLUMN_PAIRS; c++) {
            sum[c] = vdotq_s32(sum[c], row.val[step], columns[c]);
        }
    }
}

/* One row, at most two panels. The two halves of a column are added once a group, so one of them
 * starts at 0. A group has a multiple of four k steps; whole: these four. */
INLINE void sdot_columns(const bool s4, const bool wide, const bool whole, const bool zero_points,
                         const int panels, const armq_groups *groups, const int8_t *a,
                         const int8_t *b, size_t b_stride, float *acc, bool accumulate) {
    const int64_t steps = whole ? UNROLLED : groups->steps;
    const int quads = 2 * panels;
    const float32x4_t start = vdupq_n_f32(groups->start);
    const int32x4_t start_bits = vtrn1q_s32(vreinterpretq_s32_f32(start), vdupq_n_s32(0));
    const armq_group_starts starts = {{start_bits, start_bits}};
    const char *scales = groups->scales;
    const int8_t *zeros = groups->zeros;
    const int16_t *row_sums = groups->row_sums;
    float32x4_t total[4];
    int32x4_t sum[8];
    UNROLL for (int q = 0; q < quads; q++) {
        total[q] = accumulate ? vld1q_f32(acc + 4 * q) : vdupq_n_f32(0);
        armq_group_start(&starts, &sum[2 * q], &sum[2 * q + 1]);
    }
    for (int64_t g = groups->count; g > 0; g--) {
        for (int64_t step = 0; step < steps; step += UNROLLED) {
            UNROLL for (int i = 0; i < 2; i++) {
                const int8x16x2_t row = vld1q_s8_x2(a);
                a += 2 * PAIR;
                UNROLL for (int p = 0; p < panels; p++) {
                    sdot_two_steps(s4, row, b + (size_t)p * b_stride, sum + COLUMN_PAIRS * p);
                }
                b += 2 * step_bytes(s4);
            }
        }
        UNROLL for (int q = 0; q < quads; q++) {
            float32x4_t scale[2];
            load_scales(s4, scales + (size_t)(q / 2) * b_stride, scale);
            int32x4_t both = vpaddq_s32(sum[2 * q], sum[2 * q + 1]);
            if (zero_points) {
                const int16x8_t eight = vmovl_s8(vld1_s8(zeros + (size_t)(q / 2) * b_stride));
                both = armq_take_zeros(both, q % 2 ? vget_high_s16(eight) : vget_low_s16(eight),
                                       *row_sums);
            }
            total[q] = armq_group_add(wide, total[q], both, start, scale[q % 2]);
            armq_group_start(&starts, &sum[2 * q], &sum[2 * q + 1]);
        }
        scales += scale_bytes(s4);
        if (zero_points) {
            zeros += ARMQ_TILE_COLUMNS;
            row_sums += 2;
        }
    }
    UNROLL for (int q = 0; q < quads; q++) vst1q_f32(acc + 4 * q, total[q]);
}

INLINE void sdot_groups(const bool s4, const bool zero_points, const int panels,
                        const armq_groups *groups, const int8_t *a, const int8_t *b,
                        size_t b_stride, float *acc, bool accumulate) {
    const int width = panels > 1 ? 2 : 1;
    const bool wide = !s4 && groups->start == 0, whole = groups->steps == UNROLLED;
    armq_groups of_panel = *groups;
#define COLUMNS(wide, whole)                                                                       \
    sdot_columns(s4, wide, whole, zero_points, width, &of_panel, a, b, b_stride, acc, accumulate)
    for (int p = 0; p < panels; p += width) {
        if (wide)
            COLUMNS(true, false);
        else if (whole)
            COLUMNS(false, true);
        else
            COLUMNS(false, false);
        armq_next_groups(&of_panel, (size_t)width * b_stride);
        b += (size_t)width * b_stride;
        acc += width * ARMQ_TILE_COLUMNS;
    }
#undef COLUMNS
}

#define FUNCTION(name, template, ...)                                                              \
    void name(const armq_groups *groups, const void *a, const void *b, size_t b_stride, void *acc, \
              bool accumulate) {                                                                   \
        template(__VA_ARGS__, groups, a, b, b_stride, acc, accumulate);                            \
    }
#define INSTANCE(name, template, ...)                                                              \
    FUNCTION(armq_i8mm_##name, template, false, false, __VA_ARGS__)
/* Two functions, so that zero points cost the one without them no registers. */
#define INSTANCE_S4(name, template, ...)                                                           \
    static FUNCTION(name##_plain, template, true, false, __VA_ARGS__) static FUNCTION(             \
        name##_zeros, template, true, true,                                                        \
        __VA_ARGS__) void armq_i8mm_##name(const armq_groups *groups, const void *a,               \
                                           const void *b, size_t b_stride, void *acc,              \
                                           bool accumulate) {                                      \
        (groups->zeros ? name##_zeros : name##_plain)(groups, a, b, b_stride, acc, accumulate);    \
    }

INSTANCE(smmla_8x8_groups, smmla_groups, 1, 4, 2)
INSTANCE(smmla_6x8_groups, smmla_groups, 1, 3, 2)
INSTANCE(smmla_4x8_groups, smmla_groups, 1, 2, 4)
INSTANCE(smmla_2x8_groups, smmla_groups, 1, 1, 4)
INSTANCE(sdot_1x8_groups, sdot_groups, 1)
INSTANCE_S4(smmla_8x8_groups_s4, smmla_groups, 1, 4, 2)
INSTANCE_S4(smmla_6x8_groups_s4, smmla_groups, 1, 3, 2)
INSTANCE_S4(smmla_4x16_groups_s4, smmla_groups, 2, 2, 4)
INSTANCE_S4(smmla_4x8_groups_s4, smmla_groups, 1, 2, 4)
INSTANCE_S4(smmla_2x32_groups_s4, smmla_groups, 4, 1, 4)
INSTANCE_S4(smmla_2x8_groups_s4, smmla_groups, 1, 1, 4)
INSTANCE_S4(sdot_1x32_groups_s4, sdot_groups, 4)
INSTANCE_S4(sdot_1x8_groups_s4, sdot_groups, 1)
