/* SPDX-License-Identifier: Apache-2.0 */
/* The second quantiser: whatever values within the intervals an implementation holds, its integers,
 * zero point and scale are among those of one variant; and few more are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reference/formats.h"
#include "reference/requantize.h"

enum { LENGTH = 24, TRIALS = 600, DRAWS = 12 };

static uint64_t next_random(void) {
    static uint64_t seed = 0xd1342543de82ef95u;
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed >> 16;
}

static double random_unit(void) { return (double)(next_random() % 1000001) * 1e-6; }

/* What a row is made of. Ties: whole numbers and halves over a range of 255, so that every q and
 * the zero point may go either way. */
typedef enum { ORDINARY, TIES, EVEN_RANGE, POSITIVE, ROW_KINDS } row_kind;

static double row_value(row_kind kind, int i, double size) {
    double v = (random_unit() - 0.5) * size;
    switch (kind) {
    case TIES:
        return i == 0 ? -128 : i == 1 ? 127 : rint(random_unit() * 508) / 2 - 127;
    case EVEN_RANGE: /* zero point -0.5 */
        return i == 0 ? -size : i == 1 ? size : v;
    case POSITIVE:
        return fabs(v);
    default:
        return v;
    }
}

static void make_row(row_kind kind, armq_dtype dtype, double width, ref_interval *row) {
    double size = ldexp(1.0 + random_unit(), (int)(next_random() % 12) - 4);
    for (int i = 0; i < LENGTH; i++) {
        double mid = row_value(kind, i, size), half = width * fabs(mid) * random_unit();
        row[i] = (ref_interval){armq_round_to(dtype, mid - half), armq_round_to(dtype, mid),
                                armq_round_to(dtype, mid + half), REF_VALUE};
    }
}

/* Ends more often than what lies between. */
static float draw(const ref_interval *v, armq_dtype dtype) {
    uint64_t choice = next_random() % 4;
    double inside = v->lo + random_unit() * (v->hi - v->lo);
    return (float)(choice == 0   ? v->lo
                   : choice == 1 ? v->hi
                                 : armq_round_to(dtype, fmin(fmax(inside, v->lo), v->hi)));
}

static bool holds(const ref_variant *v, const int8_t *q, ref_row_quant quant) {
    if ((double)quant.scale < v->scale.lo || (double)quant.scale > v->scale.hi ||
        quant.zero_point < v->zero_point.lo || quant.zero_point > v->zero_point.hi)
        return false;
    int64_t flip = 0;
    for (int i = 0; i < LENGTH; i++) {
        int lo = v->centered[i], hi = lo, got = q[i] - quant.zero_point;
        if (flip < v->flip_count && v->flips[flip].at == i) {
            lo = v->flips[flip].lo;
            hi = v->flips[flip++].hi;
        }
        if (got < lo || got > hi)
            return false;
    }
    return true;
}

static void check_draws(const armq_dialect *dialect, armq_dtype dtype, const ref_interval *row,
                        const ref_quantized *quantized) {
    for (int draws = 0; draws < DRAWS; draws++) {
        float values[LENGTH];
        int8_t q[LENGTH];
        bool found = false;
        for (int i = 0; i < LENGTH; i++)
            values[i] = draws ? draw(&row[i], dtype) : (float)row[i].mid;
        ref_row_quant quant = ref_quantize_row(dialect, ARMQ_DTYPE_F32, values, LENGTH, q);
        for (int v = 0; v < quantized->count; v++)
            found = found || holds(&quantized->variants[v], q, quant);
        if (draws == 0) /* the exact path is that of variant 0 */
            for (int i = 0; i < LENGTH; i++)
                assert_int_equal(quantized->variants[0].centered[i], q[i] - quant.zero_point);
        assert_true(found);
    }
}

/* Uncertain integers per value. */
static double soak(armq_quant quant, row_kind kind, armq_dtype dtype, double width) {
    ref_quantized quantized;
    double flips = 0;
    assert_true(ref_quantized_alloc(&quantized, LENGTH));
    for (int trial = 0; trial < TRIALS; trial++) {
        const armq_dialect dialect = {.size = sizeof dialect,
                                      .quant = quant,
                                      .q_rounding =
                                          trial % 2 ? ARMQ_ROUND_TIES_AWAY : ARMQ_ROUND_TIES_EVEN,
                                      .work = ARMQ_DTYPE_F32};
        ref_interval row[LENGTH];
        make_row(kind, dtype, width, row);
        ref_requantize(&dialect, dtype, row, LENGTH, REF_NAN, &quantized);
        assert_true(quantized.kind == REF_VALUE && quantized.count >= 1);
        check_draws(&dialect, dtype, row, &quantized);
        flips += (double)ref_flips(&quantized);
    }
    ref_quantized_free(&quantized);
    return flips / TRIALS / LENGTH;
}

static void nothing_is_left_out(void **state) {
    (void)state;
    static const armq_dtype dtypes[] = {ARMQ_DTYPE_F32, ARMQ_DTYPE_BF16, ARMQ_DTYPE_F16};
    static const double widths[] = {1e-6, 1e-4, 3e-3};
    for (int quant = ARMQ_QUANT_SYMMETRIC; quant <= ARMQ_QUANT_ASYMMETRIC; quant++)
        for (int kind = ORDINARY; kind < ROW_KINDS; kind++)
            for (int t = 0; t < 3; t++)
                for (int w = 0; w < 3; w++)
                    (void)soak((armq_quant)quant, (row_kind)kind, dtypes[t], widths[w]);
}

/* A value whose ends are d steps apart flips with probability d. Of 64 steps in the mean, value and
 * factor are off by up to `width`: 127 times it. */
static void few_integers_flip(void **state) {
    (void)state;
    static const double widths[] = {1e-5, 1e-4, 1e-3};
    for (int quant = ARMQ_QUANT_SYMMETRIC; quant <= ARMQ_QUANT_ASYMMETRIC; quant++)
        for (int i = 0; i < 3; i++) {
            double width = widths[i];
            double flips = soak((armq_quant)quant, ORDINARY, ARMQ_DTYPE_F32, width);
            assert_true(flips > 60 * width && flips <= 220 * width);
        }
}

static void certain_rows_do_not_flip(void **state) {
    (void)state;
    for (int quant = ARMQ_QUANT_SYMMETRIC; quant <= ARMQ_QUANT_ASYMMETRIC; quant++)
        for (int kind = ORDINARY; kind < ROW_KINDS; kind++)
            assert_true(soak((armq_quant)quant, (row_kind)kind, ARMQ_DTYPE_F32, 0) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_out),
        cmocka_unit_test(few_integers_flip),
        cmocka_unit_test(certain_rows_do_not_flip),
    };
    return cmocka_run_group_tests_name("requantize", tests, NULL, NULL);
}
