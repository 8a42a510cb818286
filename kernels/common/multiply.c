/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/multiply.h"

enum { TILE_ACC_BYTES = ARMQ_TILE_MAX_ROWS * ARMQ_TILE_COLUMNS * 4 };

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t armq_row_tiles(const armq_tile_set *set, int64_t rows) {
    const int64_t height = set->tiles[0].rows;
    return rows / height + (rows % height != 0);
}

size_t armq_row_block_bytes(const armq_tile_set *set, int64_t k_steps, int64_t rows) {
    return (size_t)(armq_row_tiles(set, rows) * set->tiles[0].rows) * (size_t)k_steps *
           (size_t)set->k_step * armq_tile_a_bytes(set->kind);
}

/* Rows of the block in row tile t. */
static int64_t rows_in_tile(const armq_row_block *block, int64_t t) {
    const int64_t height = block->set->tiles[0].rows;
    return min64(height, block->rows - t * height);
}

static void *tile_panel(const armq_row_block *block, int64_t t) {
    return (char *)block->panels + (size_t)(t * block->set->tiles[0].rows) * block->row_bytes;
}

void armq_pack_rows(const armq_row_block *block, const armq_row_packer *packer, const void *x,
                    size_t x_stride, const int32_t *index, int64_t k, int64_t first, int64_t last) {
    const int64_t height = block->set->tiles[0].rows;
    for (int64_t row = first; row < last; row++) {
        const int64_t t = row / height;
        const int64_t count = rows_in_tile(block, t);
        const armq_tile *tile = armq_tile_for(block->set, count, 1);
        const int32_t place = (int32_t)(row % height);
        const size_t from = (size_t)(index ? index[row] : row);
        void *panel = tile_panel(block, t);
        armq_row_quant quant =
            armq_pack_tile_row(packer, tile, place, (const char *)x + from * x_stride, k, panel);
        block->scales[row] = quant.scale;
        block->zeros[row] = quant.zero_point;
        if (place == count - 1 && count < tile->rows)
            armq_clear_tile_rows(packer, tile, (int32_t)count, block->k_steps, panel);
    }
}

size_t armq_multiply_scratch_bytes(const armq_weight_layout *layout, int64_t k_block,
                                   int64_t tiles) {
    const int64_t kept = k_block < layout->k_steps ? tiles : 1;
    return (size_t)(kept < 1 ? 1 : kept) * ARMQ_TILE_MAX_PANELS * TILE_ACC_BYTES;
}

/* The accumulators of a row tile and up to `panels` B panels to y. */
static void finish(const armq_multiply *m, const armq_tile *tile, int64_t t, int64_t panel,
                   const void *acc) {
    const armq_row_block *block = m->rows;
    const int64_t row = t * block->set->tiles[0].rows;
    const size_t panel_acc = (size_t)tile->rows * ARMQ_TILE_COLUMNS * 4;
    for (int64_t p = 0; p < tile->panels; p++) {
        const int64_t column = (panel + p) * ARMQ_TILE_COLUMNS;
        const char *b = (const char *)m->packed + (size_t)(panel + p) * m->layout->panel_bytes;
        const void *channels = b + m->layout->channels_offset;
        char *y = (char *)m->y + (size_t)row * m->y_stride + (size_t)column * m->epilogue.out_bytes;
        armq_epilogue_run(&m->epilogue, (const char *)acc + (size_t)p * panel_acc, channels,
                          block->scales + row, block->zeros + row, rows_in_tile(block, t),
                          min64(ARMQ_TILE_COLUMNS, m->layout->n - column), y, m->y_stride);
    }
}

/* One row tile times the tile's panels over k steps [step, step + steps). */
static void run_tile(const armq_multiply *m, const armq_tile *tile, int64_t t, int64_t panel,
                     int64_t step, int64_t steps, void *acc) {
    const armq_tile_set *set = m->rows->set;
    const size_t a_step =
        (size_t)(tile->rows * tile->copies * set->k_step) * armq_tile_a_bytes(set->kind);
    const char *a = (const char *)tile_panel(m->rows, t) + (size_t)step * a_step;
    const char *b = (const char *)m->packed + (size_t)panel * m->layout->panel_bytes +
                    (size_t)step * m->layout->step_bytes;
    tile->run(steps, a, b, m->layout->panel_bytes, acc, step > 0);
}

static void multiply_panel(const armq_multiply *m, int64_t tile_first, int64_t tile_last,
                           int64_t panel, char *scratch) {
    const int64_t k_steps = m->layout->k_steps;
    if (m->k_block >= k_steps) {
        for (int64_t t = tile_first; t < tile_last; t++) {
            const armq_tile *tile = armq_tile_for(m->rows->set, rows_in_tile(m->rows, t), 1);
            run_tile(m, tile, t, panel, 0, k_steps, scratch);
            finish(m, tile, t, panel, scratch);
        }
        return;
    }
    for (int64_t step = 0; step < k_steps; step += m->k_block)
        for (int64_t t = tile_first; t < tile_last; t++)
            run_tile(m, armq_tile_for(m->rows->set, rows_in_tile(m->rows, t), 1), t, panel, step,
                     min64(m->k_block, k_steps - step),
                     scratch + (size_t)(t - tile_first) * TILE_ACC_BYTES);
    for (int64_t t = tile_first; t < tile_last; t++)
        finish(m, armq_tile_for(m->rows->set, rows_in_tile(m->rows, t), 1), t, panel,
               scratch + (size_t)(t - tile_first) * TILE_ACC_BYTES);
}

void armq_multiply_range(const armq_multiply *m, int64_t tile_first, int64_t tile_last,
                         int64_t panel_first, int64_t panel_last, void *scratch) {
    if (tile_last - tile_first == 1) {
        /* No second row tile would find the B panel in the cache: take wide tiles, all of K. */
        const int64_t rows = rows_in_tile(m->rows, tile_first);
        for (int64_t panel = panel_first; panel < panel_last;) {
            const armq_tile *tile = armq_tile_for(m->rows->set, rows, panel_last - panel);
            run_tile(m, tile, tile_first, panel, 0, m->layout->k_steps, scratch);
            finish(m, tile, tile_first, panel, scratch);
            panel += tile->panels;
        }
        return;
    }
    for (int64_t panel = panel_first; panel < panel_last; panel++)
        multiply_panel(m, tile_first, tile_last, panel, scratch);
}
