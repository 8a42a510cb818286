/* SPDX-License-Identifier: Apache-2.0 */
/* Int8 tiles with SMMLA: one instruction multiplies two rows by two columns over eight k.
 * A single row takes SDOT on the same B panels; its A panel holds the row twice, so that one plain
 * load gives both halves of the register (a broadcasting load would cost a vector pipe). */
#include "kernels/i8mm/groups.h"
#include "kernels/i8mm/panels.h"

INLINE void store(int32_t *acc, int32x4_t sum, bool accumulate) {
    vst1q_s32(acc, accumulate ? vaddq_s32(sum, vld1q_s32(acc)) : sum);
}

/* Two rows and one panel: four accumulators to 2 x 8. */
INLINE void store_pair(int32_t *acc, const int32x4_t *sum, bool accumulate) {
    store(acc, low_halves(sum[0], sum[1]), accumulate);
    store(acc + 4, low_halves(sum[2], sum[3]), accumulate);
    store(acc + ARMQ_TILE_COLUMNS, high_halves(sum[0], sum[1]), accumulate);
    store(acc + ARMQ_TILE_COLUMNS + 4, high_halves(sum[2], sum[3]), accumulate);
}

INLINE void smmla_tile(const bool s4, const int row_pairs, const int panels, int64_t k_steps,
                       const int8_t *a, const int8_t *b, size_t b_stride, int32_t *acc,
                       bool accumulate) {
    const int width = COLUMN_PAIRS * panels;
    int32x4_t sum[4 * 4];
    UNROLL for (int i = 0; i < row_pairs * width; i++) { sum[i] = vdupq_n_s32(0); }

    for (; k_steps > 0; k_steps--) {
        int8x16_t rows[4];
        UNROLL for (int r = 0; r < row_pairs; r++) { rows[r] = vld1q_s8(a + PAIR * r); }
        a += PAIR * row_pairs;
        UNROLL for (int p = 0; p < panels; p++) {
            int8x16_t columns[COLUMN_PAIRS];
            load_columns(s4, b + (size_t)p * b_stride, columns);
            UNROLL for (int c = 0; c < COLUMN_PAIRS; c++) {
                UNROLL for (int r = 0; r < row_pairs; r++) {
                    int32x4_t *to = &sum[r * width + p * COLUMN_PAIRS + c];
                    *to = vmmlaq_s32(*to, rows[r], columns[c]);
                }
            }
        }
        b += step_bytes(s4);
    }
    UNROLL for (int p = 0; p < panels; p++) {
        UNROLL for (int r = 0; r < row_pairs; r++) {
            store_pair(acc + (p * row_pairs + r) * 2 * ARMQ_TILE_COLUMNS,
                       sum + r * width + p * COLUMN_PAIRS, accumulate);
        }
    }
}

/* One k step of one row. */
INLINE void sdot_step(const bool s4, const int panels, int8x16_t row, const int8_t *b,
                      size_t b_stride, int32x4_t *sum) {
    UNROLL for (int p = 0; p < panels; p++) {
        int8x16_t columns[COLUMN_PAIRS];
        load_columns(s4, b + (size_t)p * b_stride, columns);
        UNROLL for (int c = 0; c < COLUMN_PAIRS; c++) {
            int32x4_t *to = &sum[p * COLUMN_PAIRS + c];
            *to = vdotq_s32(*to, row, columns[c]);
        }
    }
}

/* Pairs of k steps of int4 panels: four vectors of each come with one instruction, which also moves
 * the pointer on. */
INLINE void sdot_step_pairs(const int panels, int64_t pairs, const int8_t *a, const int8_t *b,
                            size_t b_stride, int32x4_t *sum) {
    const int8_t *from[4];
    UNROLL for (int p = 0; p < panels; p++) from[p] = b + (size_t)p * b_stride;
    for (; pairs > 0; pairs--) {
        int8x16x2_t row = vld1q_s8_x2(a);
        a += 2 * PAIR;
        UNROLL for (int p = 0; p < panels; p++) {
            int8x16x4_t packed = vld1q_s8_x4(from[p]);
            from[p] += 2 * step_bytes(true);
            /* Each its own register, or the compiler adds one offset to all of them. */
            __asm__("" : "+r"(from[p]));
            UNROLL for (int i = 0; i < 4; i++) {
                int32x4_t *to = &sum[p * COLUMN_PAIRS + 2 * (i % 2)];
                to[0] = vdotq_s32(to[0], row.val[i / 2], armq_low_nibbles(packed.val[i]));
                to[1] = vdotq_s32(to[1], row.val[i / 2], armq_high_nibbles(packed.val[i]));
            }
        }
    }
}

INLINE void sdot_row(const bool s4, const int panels, int64_t k_steps, const int8_t *a,
                     const int8_t *b, size_t b_stride, int32_t *acc, bool accumulate) {
    const int width = COLUMN_PAIRS * panels;
    int32x4_t sum[4 * 4];
    UNROLL for (int i = 0; i < width; i++) { sum[i] = vdupq_n_s32(0); }

    if (s4) {
        const int64_t pairs = k_steps / 2;
        sdot_step_pairs(panels, pairs, a, b, b_stride, sum);
        a += pairs * 2 * PAIR;
        b += pairs * 2 * step_bytes(s4);
        k_steps -= 2 * pairs;
    }
    for (; k_steps > 0; k_steps--) {
        sdot_step(s4, panels, vld1q_s8(a), b, b_stride, sum);
        a += PAIR;
        b += step_bytes(s4);
    }
    UNROLL for (int i = 0; i < width / 2; i++) {
        store(acc + 4 * i, vpaddq_s32(sum[2 * i], sum[2 * i + 1]), accumulate);
    }
}

#define INSTANCE(name, template, ...)                                                              \
    static void name(int64_t k_steps, const void *a, const void *b, size_t b_stride, void *acc,    \
                     bool accumulate) {                                                            \
        template(__VA_ARGS__, k_steps, a, b, b_stride, acc, accumulate);                           \
    }
#define TILE(name, template, ...)                                                                  \
    INSTANCE(name, template, false, __VA_ARGS__)                                                   \
    INSTANCE(name##_s4, template, true, __VA_ARGS__)

TILE(smmla_8x8, smmla_tile, 4, 1)
TILE(smmla_6x8, smmla_tile, 3, 1)
TILE(smmla_4x16, smmla_tile, 2, 2)
TILE(smmla_4x8, smmla_tile, 2, 1)
TILE(smmla_2x32, smmla_tile, 1, 4)
TILE(smmla_2x8, smmla_tile, 1, 1)
TILE(sdot_1x32, sdot_row, 4)
TILE(sdot_1x8, sdot_row, 1)

#define WIDE(name) name, name##_s4, NULL, armq_i8mm_##name##_groups_s4
#define NARROW(name) name, name##_s4, armq_i8mm_##name##_groups, armq_i8mm_##name##_groups_s4

const armq_tile_set armq_tiles_i8mm_s8 = {
    .name = "i8mm 8x8, SMMLA; SDOT for one row",
    .kind = ARMQ_TILE_S8,
    .k_step = STEP,
    .scale_pairs = true,
    .tiles = {{8, 1, 1, NARROW(smmla_8x8)},
              {6, 1, 1, NARROW(smmla_6x8)},
              {4, 1, 2, WIDE(smmla_4x16)},
              {4, 1, 1, NARROW(smmla_4x8)},
              {2, 1, 4, WIDE(smmla_2x32)},
              {2, 1, 1, NARROW(smmla_2x8)},
              {1, 2, 4, WIDE(sdot_1x32)},
              {1, 2, 1, NARROW(sdot_1x8)}},
};
