/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/multiply.h"

#include "kernels/common/inline.h"
#include "kernels/common/weights_s4.h"
#include "kernels/common/zero_points.h"

enum { TILE_ACC_BYTES = ARMQ_TILE_MAX_ROWS * ARMQ_TILE_COLUMNS * 4 };

/* Accumulators of one row tile and one B panel. */
static size_t acc_bytes(const armq_tile *tile) {
    return (size_t)tile->rows * ARMQ_TILE_COLUMNS * sizeof(int32_t);
}

/* First-level cache where the caller knows none: the smallest of current cores. */
enum { DEFAULT_L1 = 32 << 10 };

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

int64_t armq_k_block(const armq_weight_layout *layout, int64_t l1) {
    const armq_tile_set *set = layout->set;
    const int64_t unit = layout->group_size ? layout->group_steps : 1; /* k steps */
    const int64_t units = layout->k_steps / unit;
    const int64_t bytes =
        set->k_step * (set->tiles[0].rows * (int64_t)armq_tile_a_bytes(set->kind) +
                       ARMQ_TILE_COLUMNS * (int64_t)armq_tile_b_bytes(set->kind));
    const int64_t most = max64(1, (l1 > 0 ? l1 : DEFAULT_L1) / bytes / unit);
    const int64_t passes = max64(1, units / most + (units % most != 0));
    return (units / passes + (units % passes != 0)) * unit;
}

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
                    size_t x_stride, const int64_t *index, int64_t k, int64_t first, int64_t last) {
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

/* Where an int4 panel's k steps stand as int8, and behind them the scales of its groups. */
static size_t unpacked_offset(int64_t tiles) {
    return (size_t)max64(tiles, ARMQ_TILE_MAX_PANELS) * TILE_ACC_BYTES;
}

static size_t unpacked_bytes(const armq_weight_layout *layout, int64_t k_steps) {
    return (size_t)k_steps * layout->step_bytes * 2;
}

size_t armq_multiply_scratch_bytes(const armq_weight_layout *layout, int64_t k_block,
                                   int64_t tiles) {
    size_t bytes = 0;
    if (layout->s4)
        bytes += unpacked_bytes(layout, k_block);
    if (layout->group_size)
        bytes += (size_t)(k_block / layout->group_steps * armq_group_scale_count(layout)) *
                 sizeof(float);
    const size_t sums = layout->offset && layout->direct ? armq_group_sum_bytes(layout) : 0;
    return unpacked_offset(tiles) + (bytes > sums ? bytes : sums);
}

/* One job: a range of row tiles, all of them full but perhaps the last. */
typedef struct {
    const armq_multiply *m;
    const armq_tile *full, *last; /* last: of row tile end - 1 */
    int64_t first, full_end, end;
    int64_t row, rows; /* of the tiles, in the block */
    char *acc;         /* [rows, ARMQ_TILE_COLUMNS], row tiles one after the other */
    char *unpacked;    /* int4: memory for an int8 panel, or for sums of rows */
} tile_range;

/* What all row tiles of a range are multiplied with: k steps of one B panel. */
typedef struct {
    int64_t step, steps;
    const char *b;
    size_t b_stride;
    bool grouped; /* with scales in f32 */
    armq_groups groups;
    bool accumulate;
} pass;

static const char *b_panel(const armq_multiply *m, int64_t panel) {
    return (const char *)m->packed + (size_t)panel * m->layout->panel_bytes;
}

/* k steps [step, step + steps) of a row tile's A panel begin here. */
static const char *a_panel(const armq_multiply *m, const armq_tile *tile, int64_t t, int64_t step) {
    const armq_tile_set *set = m->rows->set;
    const size_t step_bytes =
        (size_t)(tile->rows * tile->copies * set->k_step) * armq_tile_a_bytes(set->kind);
    return (const char *)tile_panel(m->rows, t) + (size_t)step * step_bytes;
}

/* The accumulators of one B panel to y. */
static void finish(const tile_range *range, int64_t panel, const void *acc) {
    const armq_multiply *m = range->m;
    const int64_t column = panel * ARMQ_TILE_COLUMNS;
    const armq_channels *channels = (const void *)(b_panel(m, panel) + m->layout->channels_offset);
    char *y =
        (char *)m->y + (size_t)range->row * m->y_stride + (size_t)column * m->epilogue.out_bytes;
    const float *scales = m->rows->scales + range->row;
    const int32_t *zeros = m->rows->zeros + range->row;
    if (column + ARMQ_TILE_COLUMNS <= m->layout->n)
        m->epilogue.run(acc, channels, scales, zeros, range->rows, y, m->y_stride);
    else
        armq_epilogue_columns(&m->epilogue, acc, channels, scales, zeros, range->rows,
                              m->layout->n - column, y, m->y_stride);
}

INLINE void run_tile(const pass *p, const armq_tile *tile, const char *a, char *acc) {
    if (p->grouped)
        tile->run_groups(&p->groups, a, p->b, p->b_stride, acc, p->accumulate);
    else
        tile->run(p->steps, a, p->b, p->b_stride, acc, p->accumulate);
}

/* All row tiles. What does not change from tile to tile stands in locals: the compiler cannot know
 * that the calls leave it alone. */
static void run_tiles(const tile_range *range, const pass *p) {
    const armq_multiply *m = range->m;
    const size_t a_stride = (size_t)range->full->rows * m->rows->row_bytes;
    const size_t acc_stride = acc_bytes(range->full);
    const int64_t full_end = range->full_end;
    const armq_tile *full = range->full;
    const char *a = a_panel(m, full, range->first, p->step);
    char *acc = range->acc;
    for (int64_t t = range->first; t < full_end; t++) {
        run_tile(p, full, a, acc);
        a += a_stride;
        acc += acc_stride;
    }
    if (full_end < range->end)
        run_tile(p, range->last, a_panel(m, range->last, full_end, p->step), acc);
}

/* k steps [step, step + steps) of a B panel, as int8 if they are int4. */
static pass pass_over(const tile_range *range, int64_t panel, int64_t step, int64_t steps) {
    const armq_multiply *m = range->m;
    const armq_weight_layout *layout = m->layout;
    const char *b = b_panel(m, panel);
    pass p = {
        .step = step,
        .steps = steps,
        .b = b + (size_t)step * layout->step_bytes,
        .b_stride = layout->panel_bytes,
    };
    if (!layout->s4)
        return p;
    armq_unpack_panel(layout, b, step, steps, (int8_t *)range->unpacked);
    p.b = range->unpacked;
    if (layout->group_size && layout->scaled) {
        float *scales = (float *)(void *)(range->unpacked + unpacked_bytes(layout, steps));
        p.grouped = true;
        p.groups = (armq_groups){.count = steps / layout->group_steps,
                                 .steps = layout->group_steps,
                                 .scales = scales,
                                 .start = layout->group_start};
        armq_unpack_scales(layout, b, step / layout->group_steps, p.groups.count, scales);
    }
    return p;
}

/* All row tiles times one B panel. */
static void multiply_panel(const tile_range *range, int64_t panel) {
    const armq_multiply *m = range->m;
    const int64_t k_steps = m->layout->k_steps;
    int64_t step = 0;
    do {
        pass p = pass_over(range, panel, step, min64(m->k_block, k_steps - step));
        p.accumulate = step > 0;
        run_tiles(range, &p);
        step += p.steps;
    } while (step < k_steps);
    finish(range, panel, range->acc);
}

/* The sums of one group are outputs: y [rows, n, groups]. */
static void finish_group(const tile_range *range, int64_t panel, int64_t group) {
    const armq_multiply *m = range->m;
    const armq_weight_layout *layout = m->layout;
    const int64_t column = panel * ARMQ_TILE_COLUMNS;
    const int64_t columns = min64(ARMQ_TILE_COLUMNS, layout->n - column);
    for (int64_t r = 0; r < range->rows; r++) {
        int32_t sums[ARMQ_TILE_COLUMNS];
        m->epilogue.run(range->acc + (size_t)r * sizeof sums, NULL, NULL, NULL, 1, sums, 0);
        int32_t *y = (int32_t *)(void *)((char *)m->y + (size_t)(range->row + r) * m->y_stride) +
                     column * layout->groups + group;
        for (int64_t c = 0; c < columns; c++)
            y[c * layout->groups] = sums[c];
    }
}

static void multiply_panel_by_group(const tile_range *range, int64_t panel) {
    const armq_weight_layout *layout = range->m->layout;
    for (int64_t group = 0; group < layout->groups; group++) {
        const int64_t steps = layout->group_steps;
        const pass p = pass_over(range, panel, group * steps, steps);
        run_tiles(range, &p);
        finish_group(range, panel, group);
    }
}

/* What is the same for all panels that a single row tile is multiplied with. */
typedef struct {
    armq_groups groups;
    int32_t row_sums[ARMQ_TILE_MAX_ROWS]; /* zero points and no groups */
} one_tile;

static one_tile prepare_one_tile(const tile_range *range) {
    const armq_weight_layout *layout = range->m->layout;
    one_tile one = {.groups = {.count = layout->groups,
                               .steps = layout->group_steps,
                               .start = ARMQ_SIXTEENTHS_START}};
    if (!layout->offset)
        return one;
    const armq_tile *tile = range->last;
    const int8_t *a = (const int8_t *)a_panel(range->m, tile, range->first, 0);
    if (!layout->group_size) {
        armq_panel_row_sums(layout, tile, a, one.row_sums);
        return one;
    }
    int16_t *sums = (int16_t *)(void *)range->unpacked;
    armq_panel_group_sums(layout, tile, a, sums);
    one.groups.row_sums = sums;
    return one;
}

/* The tile's panels from b on, to range->acc. */
static void multiply_wide(const tile_range *range, const armq_tile *tile, one_tile *one,
                          const char *b) {
    const armq_weight_layout *layout = range->m->layout;
    const char *a = a_panel(range->m, tile, range->first, 0);
    const size_t stride = layout->panel_bytes;
    if (layout->group_size) {
        one->groups.scales = b + layout->scales_offset;
        if (layout->offset)
            one->groups.zeros = (const int8_t *)b + layout->zeros_offset;
        tile->run_groups_s4(&one->groups, a, b, stride, range->acc, false);
        return;
    }
    (layout->s4 ? tile->run_s4 : tile->run)(layout->k_steps, a, b, stride, range->acc, false);
    for (int64_t p = 0; layout->offset && p < tile->panels; p++)
        armq_take_zero_points(layout, b + (size_t)p * stride, one->row_sums, tile->rows,
                              (int32_t *)(void *)(range->acc + (size_t)p * acc_bytes(tile)));
}

/* No second row tile would find the B panels in the cache: wide tiles, all of K, and int4 panels as
 * they are. */
static void multiply_one_tile(const tile_range *range, int64_t panel_first, int64_t panel_last) {
    const armq_multiply *m = range->m;
    one_tile one = prepare_one_tile(range);
    const armq_tile *tile = NULL;
    for (int64_t panel = panel_first; panel < panel_last;) {
        if (!tile || tile->panels > panel_last - panel)
            tile = armq_tile_for(m->rows->set, range->rows, panel_last - panel);
        multiply_wide(range, tile, &one, b_panel(m, panel));
        for (int64_t p = 0; p < tile->panels; p++)
            finish(range, panel + p, range->acc + (size_t)p * acc_bytes(tile));
        panel += tile->panels;
    }
}

/* What multiplies one panel if row tiles share it, or no tile reads its nibbles. */
static void multiply_each_panel(const tile_range *range, int64_t panel_first, int64_t panel_last) {
    const bool by_group = range->m->layout->group_size && !range->m->layout->scaled;
    for (int64_t panel = panel_first; panel < panel_last; panel++)
        if (by_group)
            multiply_panel_by_group(range, panel);
        else
            multiply_panel(range, panel);
}

void armq_multiply_range(const armq_multiply *m, int64_t tile_first, int64_t tile_last,
                         int64_t panel_first, int64_t panel_last, void *scratch) {
    if (tile_first >= tile_last)
        return;
    const int64_t height = m->rows->set->tiles[0].rows;
    const int64_t last_rows = rows_in_tile(m->rows, tile_last - 1);
    const tile_range range = {
        .m = m,
        .full = &m->rows->set->tiles[0],
        .last = armq_tile_for(m->rows->set, last_rows, 1),
        .first = tile_first,
        .full_end = last_rows == height ? tile_last : tile_last - 1,
        .end = tile_last,
        .row = tile_first * height,
        .rows = (tile_last - 1 - tile_first) * height + last_rows,
        .acc = scratch,
        .unpacked = (char *)scratch + unpacked_offset(tile_last - tile_first),
    };
    const bool by_group = m->layout->group_size && !m->layout->scaled;
    const bool unpack = m->layout->s4 && !m->layout->direct;
    if (tile_last - tile_first > 1 || unpack || by_group)
        multiply_each_panel(&range, panel_first, panel_last);
    else
        multiply_one_tile(&range, panel_first, panel_last);
}
