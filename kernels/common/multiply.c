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

/* One job: a range of row tiles, all of them the tallest but perhaps the last. */
typedef struct {
    const armq_multiply *m;
    const armq_tile *tall, *last; /* last: of row tile end - 1, which holds last_rows rows */
    int64_t first, end, last_rows;
    char *scratch;
} tile_range;

/* Bytes of one k step of a tile's A panel. */
static size_t a_step_bytes(const armq_tile_set *set, const armq_tile *tile) {
    return (size_t)(tile->rows * tile->copies * set->k_step) * armq_tile_a_bytes(set->kind);
}

static const char *b_panel(const armq_multiply *m, int64_t panel) {
    return (const char *)m->packed + (size_t)panel * m->layout->panel_bytes;
}

/* Row tile t times the tile's panels over k steps [step, step + steps). */
static inline void run_tile(const armq_multiply *m, const armq_tile *tile, int64_t t, int64_t panel,
                            int64_t step, int64_t steps, void *acc) {
    const char *a = (const char *)tile_panel(m->rows, t);
    const char *b = b_panel(m, panel);
    if (step > 0) {
        a += (size_t)step * a_step_bytes(m->rows->set, tile);
        b += (size_t)step * m->layout->step_bytes;
    }
    tile->run(steps, a, b, m->layout->panel_bytes, acc, step > 0);
}

/* The accumulators of `rows` rows of tile t and one B panel to y. */
static inline void finish(const armq_multiply *m, int64_t t, int64_t rows, int64_t panel,
                          const void *acc) {
    const int64_t row = t * m->rows->set->tiles[0].rows;
    const int64_t column = panel * ARMQ_TILE_COLUMNS;
    const armq_channels *channels = (const void *)(b_panel(m, panel) + m->layout->channels_offset);
    char *y = (char *)m->y + (size_t)row * m->y_stride + (size_t)column * m->epilogue.out_bytes;
    const float *scales = m->rows->scales + row;
    const int32_t *zeros = m->rows->zeros + row;
    if (column + ARMQ_TILE_COLUMNS <= m->layout->n)
        m->epilogue.run(acc, channels, scales, zeros, rows, y, m->y_stride);
    else
        armq_epilogue_columns(&m->epilogue, acc, channels, scales, zeros, rows,
                              m->layout->n - column, y, m->y_stride);
}

/* All of K at once: the accumulators never leave the first-level cache. */
static void multiply_panel(const tile_range *range, int64_t panel) {
    const armq_multiply *m = range->m;
    const int64_t tall_end = range->last_rows == range->tall->rows ? range->end : range->end - 1;
    for (int64_t t = range->first; t < tall_end; t++) {
        run_tile(m, range->tall, t, panel, 0, m->layout->k_steps, range->scratch);
        finish(m, t, range->tall->rows, panel, range->scratch);
    }
    if (tall_end < range->end) {
        run_tile(m, range->last, tall_end, panel, 0, m->layout->k_steps, range->scratch);
        finish(m, tall_end, range->last_rows, panel, range->scratch);
    }
}

static void multiply_panel_in_passes(const tile_range *range, int64_t panel) {
    const armq_multiply *m = range->m;
    const int64_t k_steps = m->layout->k_steps;
    for (int64_t step = 0; step < k_steps; step += m->k_block)
        for (int64_t t = range->first; t < range->end; t++)
            run_tile(m, t == range->end - 1 ? range->last : range->tall, t, panel, step,
                     min64(m->k_block, k_steps - step),
                     range->scratch + (size_t)(t - range->first) * TILE_ACC_BYTES);
    for (int64_t t = range->first; t < range->end; t++)
        finish(m, t, t == range->end - 1 ? range->last_rows : range->tall->rows, panel,
               range->scratch + (size_t)(t - range->first) * TILE_ACC_BYTES);
}

/* No second row tile would find the B panels in the cache: wide tiles, all of K. */
static void multiply_one_tile(const tile_range *range, int64_t panel_first, int64_t panel_last) {
    const armq_multiply *m = range->m;
    for (int64_t panel = panel_first; panel < panel_last;) {
        const armq_tile *tile = armq_tile_for(m->rows->set, range->last_rows, panel_last - panel);
        const size_t panel_acc = (size_t)tile->rows * ARMQ_TILE_COLUMNS * 4;
        run_tile(m, tile, range->first, panel, 0, m->layout->k_steps, range->scratch);
        for (int64_t p = 0; p < tile->panels; p++)
            finish(m, range->first, range->last_rows, panel + p,
                   range->scratch + (size_t)p * panel_acc);
        panel += tile->panels;
    }
}

void armq_multiply_range(const armq_multiply *m, int64_t tile_first, int64_t tile_last,
                         int64_t panel_first, int64_t panel_last, void *scratch) {
    if (tile_first >= tile_last)
        return;
    const int64_t last_rows = rows_in_tile(m->rows, tile_last - 1);
    const tile_range range = {
        .m = m,
        .tall = &m->rows->set->tiles[0],
        .last = armq_tile_for(m->rows->set, last_rows, 1),
        .first = tile_first,
        .end = tile_last,
        .last_rows = last_rows,
        .scratch = scratch,
    };
    if (tile_last - tile_first == 1)
        multiply_one_tile(&range, panel_first, panel_last);
    else if (m->k_block >= m->layout->k_steps)
        for (int64_t panel = panel_first; panel < panel_last; panel++)
            multiply_panel(&range, panel);
    else
        for (int64_t panel = panel_first; panel < panel_last; panel++)
            multiply_panel_in_passes(&range, panel);
}
