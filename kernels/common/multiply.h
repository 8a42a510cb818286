/* SPDX-License-Identifier: Apache-2.0 */
/* A block of packed rows times packed weights: the loop around the tiles, without threads. */
#ifndef ARMQ_KERNELS_MULTIPLY_H
#define ARMQ_KERNELS_MULTIPLY_H

#include "kernels/armq.h"
#include "kernels/common/epilogue.h"
#include "kernels/common/quantize.h"
#include "kernels/common/weights.h"

/* A block of rows in A panels. Row tile t holds rows [t * R, ...) with R the tallest tile's rows,
 * and its panel starts at t * R * row_bytes; the last tile may be shorter. */
typedef struct {
    const armq_tile_set *set;
    int64_t rows; /* that hold data */
    int64_t k_steps;
    size_t row_bytes; /* k_steps padded elements */
    void *panels;
    float *scales;  /* [rows] */
    int32_t *zeros; /* [rows] */
} armq_row_block;

/* k steps so that one A and one int8 B panel share the first-level cache of l1 bytes (0: unknown),
 * in passes of about equal length, each of whole groups. */
int64_t armq_k_block(const armq_weight_layout *layout, int64_t l1);

/* Bytes for the panels of at most `rows` rows. */
size_t armq_row_block_bytes(const armq_tile_set *set, int64_t k_steps, int64_t rows);

int64_t armq_row_tiles(const armq_tile_set *set, int64_t rows);

/* Packs rows [first, last) of the block from x, whose row 0 is the block's row 0 and whose rows
 * stand x_stride bytes apart. `index` (may be NULL) gathers: row r comes from x's row index[r]. The
 * one who packs the block's last row also clears the rows its tile has beyond it. */
void armq_pack_rows(const armq_row_block *block, const armq_row_packer *packer, const void *x,
                    size_t x_stride, const int64_t *index, int64_t k, int64_t first, int64_t last);

/* y[rows of the block, n]: tiles [tile_first, tile_last) times panels [panel_first, panel_last). */
typedef struct {
    const armq_row_block *rows;
    const armq_weight_layout *layout;
    const void *packed;
    armq_epilogue epilogue;
    int64_t k_block; /* k steps per pass, so that a B panel stays in the first-level cache */
    void *y;         /* row 0 of the block */
    size_t y_stride; /* bytes */
} armq_multiply;

/* Bytes that one thread needs for at most `tiles` row tiles: accumulators, and k_block k steps of
 * an int4 panel as int8. */
size_t armq_multiply_scratch_bytes(const armq_weight_layout *layout, int64_t k_block,
                                   int64_t tiles);

void armq_multiply_range(const armq_multiply *m, int64_t tile_first, int64_t tile_last,
                         int64_t panel_first, int64_t panel_last, void *scratch);

#endif
