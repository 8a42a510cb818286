/* SPDX-License-Identifier: Apache-2.0 */
/* Every tile of the registry against a triple loop, on panels that end at an inaccessible page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/features.h"
#include "kernels/common/tile.h"
#include "kernels/registry.h"
#include "kernels/tests/problem.h"
#include "reference/formats.h"

enum { MAX_K = 40 * 16 };

/* Value of A (row r) or B (column r of panel p) at k. Whole numbers, so that f32 sums are exact. */
typedef int value_fn(int r, int p, int64_t k);

static int all_lowest(int r, int p, int64_t k) { return (void)r, (void)p, (void)k, -128; }
static int all_highest(int r, int p, int64_t k) { return (void)r, (void)p, (void)k, 127; }
static int alternating(int r, int p, int64_t k) { return (void)p, (r + k) % 2 ? 127 : -128; }
static int counting(int r, int p, int64_t k) {
    return (int)((r * 31 + p * 57 + k * 7) % 255) - 127;
}
/* Channel r sees k = r + 8p only: any exchange of lanes shows. */
static int one_hot(int r, int p, int64_t k) { return k == r + 8 * p; }
static int k_plus_one(int r, int p, int64_t k) { return (void)p, (int)(k + 1 + 10 * r) % 128; }

/* Weights in [-8, 7]. */
static int lowest_s4(int r, int p, int64_t k) { return (void)r, (void)p, (void)k, -8; }
static int counting_s4(int r, int p, int64_t k) { return (int)((r * 5 + p * 3 + k * 7) % 16) - 8; }
static int one_hot_s4(int r, int p, int64_t k) { return -8 * one_hot(r, p, k); }

static void put(void *panel, armq_tile_kind kind, size_t element, int64_t index, int value) {
    if (kind == ARMQ_TILE_S8)
        ((int8_t *)panel)[index] = (int8_t)value;
    else
        armq_store(element == 4 ? ARMQ_DTYPE_F32 : ARMQ_DTYPE_BF16, panel, index, value);
}

static void *make_a(const armq_tile_set *set, const armq_tile *tile, int64_t steps, value_fn *f) {
    const size_t element = armq_tile_a_bytes(set->kind);
    const int64_t step = set->k_step, rows = tile->rows * tile->copies;
    void *panel = guarded((size_t)(steps * step * rows) * element, element, 0);
    for (int64_t k = 0; k < steps * step; k++)
        for (int64_t r = 0; r < rows; r++)
            put(panel, set->kind, element, (k / step * rows + r) * step + k % step,
                f((int)(r / tile->copies), 0, k));
    return panel;
}

/* The tile's panels; bytes between them are poison. */
static char *make_b(const armq_tile_set *set, const armq_tile *tile, int64_t steps, size_t *stride,
                    value_fn *f) {
    const size_t element = armq_tile_b_bytes(set->kind);
    const int64_t step = set->k_step;
    const size_t panel_bytes = (size_t)(steps * step * ARMQ_TILE_COLUMNS) * element;
    *stride = panel_bytes + 64;
    const size_t panels = (size_t)tile->panels;
    char *b = guarded(panels * panel_bytes + (panels - 1) * 64, element, 0x77);
    for (int p = 0; p < tile->panels; p++)
        for (int64_t k = 0; k < steps * step; k++)
            for (int c = 0; c < ARMQ_TILE_COLUMNS; c++)
                put(b + (size_t)p * *stride, set->kind, element,
                    (k / step * ARMQ_TILE_COLUMNS + c) * step + k % step, f(c, p, k));
    return b;
}

/* The same as int4: 16 bytes for each 32 of the int8 panel, and poison between the panels. */
static char *make_s4(const armq_tile_set *set, const armq_tile *tile, int64_t steps, size_t *stride,
                     value_fn *f) {
    const size_t bytes = (size_t)(steps * set->k_step) * ARMQ_TILE_COLUMNS / 2;
    size_t s8_stride;
    const char *s8 = make_b(set, tile, steps, &s8_stride, f);
    *stride = bytes + 64;
    char *b = guarded((size_t)tile->panels * bytes + (size_t)(tile->panels - 1) * 64, 1, 0x77);
    for (size_t p = 0; p < (size_t)tile->panels; p++)
        for (size_t i = 0; i < bytes; i++) {
            const char *pair = s8 + p * s8_stride + i / 16 * 32 + i % 16;
            b[p * *stride + i] = (char)((pair[0] & 15) | pair[16] * 16);
        }
    return b;
}

static int64_t acc_at(armq_tile_kind kind, const void *acc, int64_t index) {
    return kind == ARMQ_TILE_S8 ? ((const int32_t *)acc)[index]
                                : (int64_t)((const float *)acc)[index];
}

static int64_t product(const armq_tile_set *set, int64_t first, int64_t last, int r, int c, int p,
                       value_fn *fa, value_fn *fb) {
    int64_t sum = 0;
    for (int64_t k = first * set->k_step; k < last * set->k_step; k++)
        sum += (int64_t)fa(r, 0, k) * fb(c, p, k);
    return sum;
}

/* The tile's int8 (or float) or int4 function, twice. */
static void check_function(const armq_tier *tier, const armq_tile_set *set, const armq_tile *tile,
                           bool s4, int64_t steps, value_fn *fa, value_fn *fb) {
    size_t stride;
    const void *a = make_a(set, tile, steps, fa);
    const char *b =
        s4 ? make_s4(set, tile, steps, &stride, fb) : make_b(set, tile, steps, &stride, fb);
    const int64_t count = tile->panels * tile->rows * ARMQ_TILE_COLUMNS;
    void *acc = guarded((size_t)count * 4, 4, 0xee);
    for (int times = 1; times <= 2; times++) {
        (s4 ? tile->run_s4 : tile->run)(steps, a, b, stride, acc, times > 1);
        for (int64_t i = 0; i < count; i++) {
            const int c = (int)(i % ARMQ_TILE_COLUMNS);
            const int r = (int)(i / ARMQ_TILE_COLUMNS) % tile->rows;
            const int p = (int)(i / ARMQ_TILE_COLUMNS) / tile->rows;
            const int64_t want = product(set, 0, steps, r, c, p, fa, fb) * times * (s4 ? 16 : 1);
            if (acc_at(set->kind, acc, i) != want)
                fail_msg("%s %dx%dx%d%s, %d k steps: [%d, %d] of panel %d is %lld, not %lld",
                         tier->provider->name, tile->rows, ARMQ_TILE_COLUMNS, tile->panels,
                         s4 ? " int4" : "", (int)steps, r, c, p,
                         (long long)acc_at(set->kind, acc, i), (long long)want);
        }
    }
}

static void check_tile(const armq_tier *tier, const armq_tile_set *set, const armq_tile *tile,
                       int64_t steps, value_fn *fa, value_fn *fb) {
    check_function(tier, set, tile, false, steps, fa, fb);
}

static void check_s4(const armq_tier *tier, const armq_tile_set *set, const armq_tile *tile,
                     int64_t steps, value_fn *fa, value_fn *fb) {
    if (set->kind == ARMQ_TILE_S8)
        check_function(tier, set, tile, true, steps, fa, fb);
    else
        assert_null(tile->run_s4);
}

typedef void tile_check(const armq_tier *tier, const armq_tile_set *set, const armq_tile *tile);

static void for_each_tile(tile_check *check) {
    size_t count;
    const armq_tier *tiers = armq_tiers(&count);
    int ran = 0;
    for (size_t i = 0; i < count; i++) {
        if (tiers[i].provider->required_features & ~armq_features())
            continue;
        const armq_tile_set *sets[] = {tiers[i].s8, tiers[i].bf16};
        for (int s = 0; s < 2; s++)
            for (int t = 0; sets[s] && t < ARMQ_TILES_MAX && sets[s]->tiles[t].run; t++) {
                check(&tiers[i], sets[s], &sets[s]->tiles[t]);
                ran++;
            }
    }
    assert_true(ran > 0);
}

static void all_k_steps(const armq_tier *tier, const armq_tile_set *set, const armq_tile *tile) {
    for (int64_t steps = 0; steps <= 9; steps++)
        check_tile(tier, set, tile, steps, counting, counting);
    check_tile(tier, set, tile, 33, counting, counting);
    for (int64_t steps = 0; steps <= 9; steps++)
        check_s4(tier, set, tile, steps, counting, counting_s4);
}

static void test_all_k_steps(void **state) {
    (void)state;
    for_each_tile(all_k_steps);
}

static void extremes(const armq_tier *tier, const armq_tile_set *set, const armq_tile *tile) {
    value_fn *const values[] = {all_lowest, all_highest, alternating};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            check_tile(tier, set, tile, 7, values[i], values[j]);
    for (int i = 0; i < 3; i++)
        check_s4(tier, set, tile, 7, values[i], lowest_s4);
}

static void test_extremes(void **state) {
    (void)state;
    for_each_tile(extremes);
}

static void lanes(const armq_tier *tier, const armq_tile_set *set, const armq_tile *tile) {
    const int64_t steps = (32 + set->k_step - 1) / set->k_step;
    check_tile(tier, set, tile, steps, k_plus_one, one_hot);
    check_s4(tier, set, tile, steps, k_plus_one, one_hot_s4);
}

static void test_lanes(void **state) {
    (void)state;
    for_each_tile(lanes);
}

/* Scales are powers of two and sums small, so that f32 is exact. */
static float scale_of(int64_t group, int64_t column) {
    return (float)(1 << (group * 3 + column) % 8);
}

/* In the order that the set wants for int8 panels, or as bf16; one panel's. */
static void put_scales(const armq_tile_set *set, bool s4, int64_t count, int panel, void *scales) {
    const int64_t copies = !s4 && set->scale_pairs ? 2 : 1, row = ARMQ_TILE_COLUMNS * copies;
    for (int64_t i = 0; i < count * row; i++) {
        const int64_t at = i % row;
        const int64_t column = copies == 2 ? at / 4 * 2 + at % 2 : at;
        armq_store(s4 ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32, scales, i,
                   (double)scale_of(i / row, column + panel));
    }
}

/* Panels' scales stand as far apart as panels. */
static void *make_scales(const armq_tile_set *set, const armq_tile *tile, bool s4, int64_t count,
                         size_t stride) {
    const size_t element = s4 ? 2 : 4;
    const size_t bytes =
        (size_t)count * ARMQ_TILE_COLUMNS * element * (!s4 && set->scale_pairs ? 2 : 1);
    char *scales = guarded((size_t)(tile->panels - 1) * stride + bytes, element, 0x77);
    for (int p = 0; p < tile->panels && count; p++)
        put_scales(set, s4, count, p, scales + (size_t)p * stride);
    return scales;
}

static int zero_of(int64_t group, int64_t column) {
    return (int)((group * 5 + column * 3) % 16) - 8;
}

/* Panels' zero points stand as far apart as panels. */
static const int8_t *make_zeros(const armq_tile *tile, int64_t count, size_t stride) {
    const size_t bytes = (size_t)count * ARMQ_TILE_COLUMNS;
    int8_t *zeros = guarded((size_t)(tile->panels - 1) * stride + bytes, 1, 0x77);
    for (int p = 0; p < tile->panels; p++)
        for (int64_t i = 0; i < count * ARMQ_TILE_COLUMNS; i++)
            zeros[(size_t)p * stride + (size_t)i] =
                (int8_t)(16 * zero_of(i / ARMQ_TILE_COLUMNS, i % ARMQ_TILE_COLUMNS + p));
    return zeros;
}

static int64_t row_sum(const armq_tile_set *set, int64_t first, int64_t last, int r) {
    int64_t sum = 0;
    for (int64_t k = first * set->k_step; k < last * set->k_step; k++)
        sum += counting(r, 0, k);
    return sum;
}

static const int16_t *make_row_sums(const armq_tile_set *set, const armq_tile *tile, int64_t steps,
                                    int64_t count) {
    int16_t *sums = guarded((size_t)(count * tile->rows * 2) * 2, 2, 0);
    for (int64_t i = 0; i < count * tile->rows * 2; i++) {
        const int64_t g = i / 2 / tile->rows;
        sums[i] = (int16_t)row_sum(set, g * steps, (g + 1) * steps, (int)(i / 2 % tile->rows));
    }
    return sums;
}

/* Of one output: the sum over groups. */
static double grouped(const armq_tile_set *set, int64_t steps, int64_t count, int r, int c, int p,
                      bool zero_points) {
    double sum = 0;
    for (int64_t g = 0; g < count; g++) {
        const int64_t first = g * steps, last = first + steps;
        int64_t exact = product(set, first, last, r, c, p, counting, counting_s4);
        if (zero_points)
            exact -= zero_of(g, c + p) * row_sum(set, first, last, r);
        sum += (double)scale_of(g, c + p) * (double)exact;
    }
    return sum;
}

/* Units of one (converted or not) and of a sixteenth. */
static void check_groups(const armq_tier *tier, const armq_tile_set *set, const armq_tile *tile,
                         bool s4, bool zero_points, float start, int64_t size, int64_t count) {
    const int64_t steps = size / set->k_step;
    size_t stride;
    const void *a = make_a(set, tile, steps * count, counting);
    const void *b = s4 ? make_s4(set, tile, steps * count, &stride, counting_s4)
                       : make_b(set, tile, steps * count, &stride, counting_s4);
    const armq_groups groups = {count,
                                steps,
                                make_scales(set, tile, s4, count, stride),
                                start,
                                zero_points ? make_zeros(tile, count, stride) : NULL,
                                zero_points ? make_row_sums(set, tile, steps, count) : NULL};
    const int64_t outputs = tile->panels * tile->rows * ARMQ_TILE_COLUMNS;
    float *acc = guarded((size_t)outputs * 4, 4, 0xee);
    for (int times = 1; times <= 2; times++) {
        (s4 ? tile->run_groups_s4 : tile->run_groups)(&groups, a, b, stride, acc, times > 1);
        for (int64_t i = 0; i < outputs; i++) {
            const int c = (int)(i % ARMQ_TILE_COLUMNS);
            const int r = (int)(i / ARMQ_TILE_COLUMNS) % tile->rows;
            const int p = (int)(i / ARMQ_TILE_COLUMNS) / tile->rows;
            double want = grouped(set, steps, count, r, c, p, zero_points);
            if (start == 0x1.8p19f && !s4)
                want /= 16;
            if ((double)acc[i] != want * times)
                fail_msg("%s %dx%dx%d%s%s, %d groups of %d: [%d, %d] of panel %d is %g, not %g",
                         tier->provider->name, tile->rows, ARMQ_TILE_COLUMNS, tile->panels,
                         s4 ? " int4" : "", zero_points ? " less zero points" : "", (int)count,
                         (int)size, r, c, p, (double)acc[i], want * times);
        }
    }
}

static void groups(const armq_tier *tier, const armq_tile_set *set, const armq_tile *tile) {
    assert_int_equal(!tile->run_groups_s4, set->kind != ARMQ_TILE_S8);
    assert_int_equal(!tile->run_groups, set->kind != ARMQ_TILE_S8 || tile->panels > 1);
    for (int64_t size = 32; size <= 96; size += 32)
        for (int64_t count = 0; count <= 3; count++) {
            for (int zero_points = 0; tile->run_groups_s4 && zero_points < 2; zero_points++)
                check_groups(tier, set, tile, true, zero_points, ARMQ_SIXTEENTHS_START, size,
                             count);
            if (!tile->run_groups)
                continue;
            check_groups(tier, set, tile, false, false, 0x1.8p19f, size, count);
            check_groups(tier, set, tile, false, false, 0x1.8p23f, size, count);
            check_groups(tier, set, tile, false, false, 0, size, count);
        }
}

static void test_groups(void **state) {
    (void)state;
    for_each_tile(groups);
}

/* Random bf16 data: a row gives the same bits in every tile of its set, in one pass or in two. */
static void fill_random(const armq_tile_set *set, int64_t steps, float *row, uint16_t *columns) {
    uint64_t state = 7;
    for (int64_t k = 0; k < steps * set->k_step; k++) {
        row[k] = (float)armq_round_to(ARMQ_DTYPE_BF16, (int32_t)random_u32(&state) * 0x1p-31);
        for (int c = 0; c < ARMQ_TILE_COLUMNS; c++)
            columns[k * ARMQ_TILE_COLUMNS + c] =
                armq_f64_to_bf16((int32_t)random_u32(&state) * 0x1p-30);
    }
}

static void same_bits(const armq_tier *tier, const armq_tile_set *set, const armq_tile *tile) {
    enum { STEPS = 37, FIRST = 11 };
    static float row[MAX_K], expected[ARMQ_TILE_COLUMNS];
    static uint16_t columns[MAX_K * ARMQ_TILE_COLUMNS];
    if (set->kind == ARMQ_TILE_S8)
        return;
    fill_random(set, STEPS, row, columns);
    const int64_t step = set->k_step, rows = tile->rows * tile->copies;
    const size_t a_element = armq_tile_a_bytes(set->kind);
    char *a = guarded((size_t)(STEPS * step * rows) * a_element, a_element, 0);
    const size_t panel = (size_t)(STEPS * step) * ARMQ_TILE_COLUMNS * 2;
    char *b = guarded((size_t)tile->panels * panel, 2, 0);
    for (int64_t k = 0; k < STEPS * step; k++) {
        for (int64_t r = 0; r < rows; r++)
            armq_store(a_element == 4 ? ARMQ_DTYPE_F32 : ARMQ_DTYPE_BF16, a,
                       (k / step * rows + r) * step + k % step, row[k]);
        for (int64_t i = 0; i < (int64_t)tile->panels * ARMQ_TILE_COLUMNS; i++)
            memcpy(b + (size_t)(i / ARMQ_TILE_COLUMNS) * panel +
                       (size_t)((k / step * ARMQ_TILE_COLUMNS + i % ARMQ_TILE_COLUMNS) * step +
                                k % step) *
                           2,
                   &columns[k * ARMQ_TILE_COLUMNS + i % ARMQ_TILE_COLUMNS], 2);
    }
    const int64_t count = tile->panels * tile->rows * ARMQ_TILE_COLUMNS;
    float *acc = guarded((size_t)count * 4, 4, 0xee);
    for (int first = 0; first <= FIRST; first += FIRST) {
        if (first)
            tile->run(first, a, b, panel, acc, false);
        tile->run(STEPS - first, a + (size_t)(first * step * rows) * a_element,
                  b + (size_t)(first * step) * ARMQ_TILE_COLUMNS * 2, panel, acc, first > 0);
        if (tile == &set->tiles[0] && first == 0)
            memcpy(expected, acc, sizeof expected);
        for (int64_t i = 0; i < count; i++)
            if (memcmp(&acc[i], &expected[i % ARMQ_TILE_COLUMNS], 4) != 0)
                fail_msg("%s: tile of %d rows, %d panels sums in another order",
                         tier->provider->name, tile->rows, tile->panels);
    }
}

static void test_float_tiles_sum_in_one_order(void **state) {
    (void)state;
    for_each_tile(same_bits);
}

static void table_is_in_order(const armq_tier *tier, const armq_tile_set *set,
                              const armq_tile *tile) {
    (void)tier;
    assert_in_range(tile->rows, 1, ARMQ_TILE_MAX_ROWS);
    assert_in_range(tile->panels, 1, ARMQ_TILE_MAX_PANELS);
    assert_true(tile->rows * tile->copies <= set->tiles[0].rows);
    assert_ptr_equal(armq_tile_for(set, tile->rows, tile->panels), tile);
    /* One panel must always do, for the last ones of a matrix. */
    assert_int_equal(armq_tile_for(set, tile->rows, 1)->panels, 1);
    assert_int_equal(armq_tile_for(set, tile->rows, 1)->rows, tile->rows);
    /* Rows are packed without knowing how wide the tile will be. */
    assert_int_equal(armq_tile_for(set, tile->rows, 1)->copies, tile->copies);
}

static void test_tables(void **state) {
    (void)state;
    for_each_tile(table_is_in_order);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_k_steps),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_float_tiles_sum_in_one_order),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests_name("tiles", tests, NULL, NULL);
}
