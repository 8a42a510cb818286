/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/zero_points.h"

#include <arm_neon.h>
#include <string.h>

enum { EIGHT = 8, CELL = 4 }; /* bytes; no k step is shorter than CELL */

size_t armq_group_sum_bytes(const armq_weight_layout *layout) {
    return (size_t)layout->groups * ARMQ_TILE_MAX_ROWS * 2 * sizeof(int16_t);
}

/* Sums of two cells, `count` times, `stride` bytes apart. */
static int32x2_t sum_cells(const int8_t *a, int64_t count, int64_t stride) {
    int32x2_t sum = vdup_n_s32(0);
    for (; count > 0; count--, a += stride)
        sum = vpadal_s16(sum, vpaddl_s8(vld1_s8(a)));
    return sum;
}

/* A panel of one row has no other rows between. */
static int32_t sum_alone(const int8_t *a, int64_t bytes) {
    int32_t sum = vaddv_s32(sum_cells(a, bytes / EIGHT, EIGHT));
    for (int64_t i = bytes / EIGHT * EIGHT; i < bytes; i++)
        sum += a[i];
    return sum;
}

/* k steps of a panel. */
static void sum_steps(int32_t k_step, const armq_tile *tile, const int8_t *a, int64_t steps,
                      int32_t *sums) {
    const int64_t step_bytes = (int64_t)k_step * tile->rows * tile->copies;
    if (tile->rows == 1) {
        sums[0] = sum_alone(a, steps * step_bytes) / tile->copies;
        return;
    }
    memset(sums, 0, (size_t)tile->rows * sizeof *sums);
    for (int64_t at = 0; at < step_bytes; at += EIGHT) {
        const int32x2_t cells = sum_cells(a + at, steps, step_bytes);
        sums[at / k_step] += vget_lane_s32(cells, 0);
        sums[(at + CELL) / k_step] += vget_lane_s32(cells, 1);
    }
}

void armq_panel_group_sums(const armq_weight_layout *layout, const armq_tile *tile, const int8_t *a,
                           int16_t *sums) {
    const int64_t bytes = layout->group_size * tile->rows * tile->copies;
    for (int64_t g = 0; g < layout->groups; g++, a += bytes) {
        int32_t row[ARMQ_TILE_MAX_ROWS];
        sum_steps(layout->set->k_step, tile, a, layout->group_steps, row);
        for (int32_t r = 0; r < tile->rows; r++, sums += 2)
            sums[0] = sums[1] = (int16_t)row[r];
    }
}

void armq_panel_row_sums(const armq_weight_layout *layout, const armq_tile *tile, const int8_t *a,
                         int32_t *sums) {
    sum_steps(layout->set->k_step, tile, a, layout->k_steps, sums);
}

void armq_take_zero_points(const armq_weight_layout *layout, const char *panel,
                           const int32_t *row_sums, int32_t rows, int32_t *acc) {
    const int8x8_t zeros = vshr_n_s8(vld1_s8((const int8_t *)panel + layout->zeros_offset), 4);
    const int16x8_t eight = vmovl_s8(zeros);
    const int32x4_t quad[2] = {vmovl_s16(vget_low_s16(eight)), vmovl_high_s16(eight)};
    for (int32_t r = 0; r < rows; r++)
        for (int q = 0; q < 2; q++, acc += 4)
            vst1q_s32(acc, vmlsq_n_s32(vshrq_n_s32(vld1q_s32(acc), 4), quad[q], row_sums[r]));
}
