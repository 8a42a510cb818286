/* SPDX-License-Identifier: Apache-2.0 */
/* The key work: its text, and rows of x for a working dtype that is neither f32 nor the input's.
 * What the quantiser sees is x rounded to it. Properties are recomputed here, not with the
 * generator's code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/generate.h"
#include "harness/tests/tensors.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

/* --- The key ---------------------------------------------------------------------------------- */

/* The line is refused at `column` with a message that holds `part`. */
static void refused(const char *text, int64_t column, const char *part) {
    case_list list = {0};
    case_error error = {0};
    assert_false(case_parse_line(text, NULL, &list, &error));
    if (error.column != column || !strstr(error.message, part))
        fail_msg("%s: column %d, '%s'; wanted column %d, '%s'", text, (int)error.column,
                 error.message, (int)column, part);
    case_list_free(&list);
}

static void test_texts(void **state) {
    (void)state;
    static const struct {
        const char *text, *canonical;
        armq_dtype work;
    } cases[] = {
        {"quantize tokens=1 k=3 in=f32 work=bf16", "quantize tokens=1 k=3 in=f32 work=bf16 seed=1",
         ARMQ_DTYPE_BF16},
        {"quantize tokens=1 k=3 work=f32", "quantize tokens=1 k=3 seed=1", ARMQ_DTYPE_F32},
        {"linear_w8a8 tokens=1 n=2 k=3 work=f16 round_first=1 q_rounding=away",
         "linear_w8a8 tokens=1 n=2 k=3 q_rounding=away work=f16 round_first=1 seed=1",
         ARMQ_DTYPE_F16},
        {"linear_w4a8 tokens=1 n=2 k=64 work=bf16", "linear_w4a8 tokens=1 n=2 k=64 seed=1",
         ARMQ_DTYPE_BF16},
        {"linear_w4a8 tokens=1 n=2 k=64 work=bf16 group_size=32",
         "linear_w4a8 tokens=1 n=2 k=64 group_size=32 work=bf16 seed=1", ARMQ_DTYPE_BF16},
        {"moe_w4a8 tokens=1 hidden=2 intermediate=3 experts=2 top_k=1 work=f32",
         "moe_w4a8 tokens=1 hidden=2 intermediate=3 experts=2 top_k=1 work=f32 seed=1",
         ARMQ_DTYPE_F32},
        {"moe_w8a8 tokens=1 hidden=2 intermediate=3 experts=2 top_k=1 dialect=sglang-w8a8 work=f16",
         "moe_w8a8 tokens=1 hidden=2 intermediate=3 experts=2 top_k=1 dialect=sglang-w8a8 work=f16 "
         "seed=1",
         ARMQ_DTYPE_F16},
        {"activation tokens=1 intermediate=3 in=f16 work=bf16",
         "activation tokens=1 intermediate=3 in=f16 work=bf16 seed=1", ARMQ_DTYPE_BF16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[CASE_TEXT_MAX], why[200];
        armq_case c = parse(cases[i].text);
        assert_int_equal(c.desc.dialect.work, cases[i].work);
        assert_string_equal(case_text(&c, text), cases[i].canonical);
        c.desc.tokens = 5;
        assert_true(case_resolve(&c, why, sizeof why));
        assert_int_equal(c.desc.dialect.work, cases[i].work);
    }
    /* Nothing else of the dialect follows. */
    armq_case c = parse("moe_w4a8 tokens=1 hidden=2 intermediate=3 experts=2 top_k=1 work=f32");
    assert_int_equal(c.desc.dialect.y13_round, ARMQ_DTYPE_BF16);
    assert_int_equal(c.desc.dialect.q_rounding, ARMQ_ROUND_TIES_EVEN);
    refused("quantize tokens=1 k=3 work=s8", 28, "work=s8; allowed are f32, bf16, f16");
    refused("quantize tokens=1 k=3 work=", 28, "work has an empty value");
    refused("gemm_s8s8s32 tokens=1 n=1 k=3 work=f32", 31, "has no key 'work'");
    refused("linear_bf16 tokens=1 n=1 k=3 work=bf16", 30, "has no key 'work'");
    refused("moe_bf16 tokens=1 hidden=2 intermediate=3 experts=2 top_k=1 work=bf16", 61,
            "has no key 'work'");
}

/* --- Rows of x -------------------------------------------------------------------------------- */

enum { DTYPES = 3 };
static const char *const dtypes[DTYPES] = {"f32", "bf16", "f16"};

static double given(const tensors *t, int64_t row, int64_t j) { return at(t, OPERAND_X, row, j); }

static double seen(const tensors *t, int64_t row, int64_t j) {
    return armq_round_to(t->c.desc.dialect.work, given(t, row, j));
}

static double boundary_distance(double value) {
    double size = fabs(value);
    return fabs(size - floor(size) - 0.5);
}

/* The range of a row together with 0, and its largest magnitude. */
typedef struct {
    double low, high, amax;
} bounds;

static bounds bounds_of(const tensors *t, int64_t row,
                        double (*value)(const tensors *, int64_t, int64_t)) {
    bounds b = {0, 0, 0};
    for (int64_t j = 0; j < t->shapes[OPERAND_X].row; j++) {
        b.low = fmin(b.low, value(t, row, j));
        b.high = fmax(b.high, value(t, row, j));
    }
    b.amax = fmax(b.high, -b.low);
    return b;
}

/* Multiplier and scale in f32, as kernels compute them. */
static float multiplier_of(const tensors *t, bounds b) {
    bool asymmetric = t->c.desc.dialect.quant == ARMQ_QUANT_ASYMMETRIC;
    return asymmetric ? 255.0f / ((float)b.high - (float)b.low)
                      : 127.0f / fmaxf((float)b.amax, 1e-7f);
}

static float scale_of(const tensors *t, bounds b) {
    bool asymmetric = t->c.desc.dialect.quant == ARMQ_QUANT_ASYMMETRIC;
    return asymmetric ? ((float)b.high - (float)b.low) / 255.0f
                      : fmaxf((float)b.amax, 1e-7f) / 127.0f;
}

static void assert_clear_row(const tensors *t, int64_t row) {
    bounds b = bounds_of(t, row, seen);
    float multiplier = multiplier_of(t, b), scale = scale_of(t, b);
    for (int64_t j = 0; j < t->shapes[OPERAND_X].row; j++) {
        float x = (float)seen(t, row, j), product = x * multiplier, quotient = x / scale;
        if (!(boundary_distance((double)product) >= 0x1p-12 &&
              boundary_distance((double)quotient) >= 0x1p-12)) {
            char text[CASE_TEXT_MAX];
            fail_msg("%s row %d: x = %a gives %a, %a", case_text(&t->c, text), (int)row, (double)x,
                     (double)product, (double)quotient);
        }
    }
    if (t->c.desc.dialect.quant != ARMQ_QUANT_ASYMMETRIC)
        return;
    double low = b.low * 255.0 / (b.high - b.low), high = b.high * 255.0 / (b.high - b.low);
    assert_true(boundary_distance(low + high - 1 > 0 ? -128 - low : 127 - high) >= 0x1p-12);
}

/* Elements whose q would be another one if x were taken as it is, with the right multiplier. */
static int64_t different(const tensors *t, int64_t row) {
    float multiplier = multiplier_of(t, bounds_of(t, row, seen));
    int64_t count = 0;
    for (int64_t j = 0; j < t->shapes[OPERAND_X].row; j++)
        count += nearbyintf((float)seen(t, row, j) * multiplier) !=
                 nearbyintf((float)given(t, row, j) * multiplier);
    return count;
}

/* Most rows show whether x is rounded, and whether its range is taken before that, wherever x has
 * more bits than the working dtype. */
static void test_tie_free(void **state) {
    (void)state;
    static const char *const dialects[] = {"vllm-w8a8", "kleidi-w8a8", "vllm-w4a8"};
    static const char *const kinds[] = {"normal", "outliers", "subnormals"};
    for (int i = 0; i < 3 * 3 * DTYPES * DTYPES; i++) {
        const char *in = dtypes[i % 3], *work = dtypes[i / 3 % 3], *kind = kinds[i / 9 % 3];
        char text[160];
        snprintf(text, sizeof text, "quantize tokens=60 k=200 in=%s dialect=%s work=%s data=%s", in,
                 dialects[i / 27], work, kind);
        tensors *t = make(text);
        int64_t changed = 0, ranges = 0;
        for (int64_t row = 0; row < 60; row++) {
            bounds b = bounds_of(t, row, seen), before = bounds_of(t, row, given);
            /* Zero points of subnormal rows have no room to move. */
            if (b.high - b.low < 0x1p-20)
                continue;
            assert_clear_row(t, row);
            changed += different(t, row);
            ranges += scale_of(t, b) != scale_of(t, before);
        }
        bool finer = strcmp(in, work) != 0 && strcmp(work, "f32") != 0 && strcmp(in, "bf16") != 0;
        bool coarse = finer && strcmp(work, "bf16") == 0;
        if (strcmp(kind, "normal") == 0) {
            assert_true(finer ? changed >= (coarse ? 200 : 20) : changed == 0);
            assert_true(finer ? ranges >= 40 : ranges == 0);
        }
        drop(t);
    }
}

static void test_short_rows_and_moe(void **state) {
    (void)state;
    static const int ks[] = {1, 2, 3, 17};
    for (int i = 0; i < 2 * 4 * DTYPES * DTYPES; i++) {
        char text[160];
        snprintf(text, sizeof text, "quantize tokens=2000 k=%d in=%s work=%s quant=%s",
                 ks[i / 9 % 4], dtypes[i % 3], dtypes[i / 3 % 3],
                 i < 36 ? "symmetric" : "asymmetric");
        tensors *t = make(text);
        for (int64_t row = 0; row < 2000; row++)
            assert_clear_row(t, row);
        drop(t);
    }
    for (int i = 0; i < 2 * DTYPES * DTYPES; i++) {
        char text[160];
        snprintf(text, sizeof text,
                 "%s tokens=30 hidden=300 intermediate=1 experts=1 top_k=1 in=%s work=%s",
                 i < 9 ? "moe_w8a8" : "moe_w4a8", dtypes[i % 3], dtypes[i / 3 % 3]);
        tensors *t = make(text);
        for (int64_t row = 0; row < 30; row++)
            assert_clear_row(t, row);
        drop(t);
    }
}

/* Rows 0 and 1 of three are ties as they stand; of row 2 no element is one, and all are when they
 * are rounded, with the extremes at 127, or 255 apart. */
static void test_ties(void **state) {
    (void)state;
    static const struct {
        const char *in, *work, *op;
        double unit;
    } cases[] = {
        {"f32", "bf16", "quantize tokens=30 k=64 dialect=vllm-w8a8", 1},
        {"f32", "bf16", "quantize tokens=30 k=64 dialect=kleidi-w8a8", 1},
        {"f32", "f16", "quantize tokens=30 k=64 dialect=kleidi-w8a8", 1},
        {"f16", "bf16", "quantize tokens=30 k=64 dialect=kleidi-w8a8", 1},
        {"f32", "f16",
         "moe_w4a8 tokens=30 hidden=64 intermediate=1 experts=1 top_k=1 quant=symmetric", 0x1p-6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[160];
        snprintf(text, sizeof text, "%s in=%s work=%s data=ties", cases[i].op, cases[i].in,
                 cases[i].work);
        tensors *t = make(text);
        bool asymmetric = t->c.desc.dialect.quant == ARMQ_QUANT_ASYMMETRIC;
        for (int64_t row = 0; row < 30; row++) {
            int64_t ties = 0, before = 0;
            for (int64_t j = 0; j < 64; j++) {
                ties += boundary_distance(seen(t, row, j) / cases[i].unit) == 0;
                before += boundary_distance(given(t, row, j) / cases[i].unit) == 0;
            }
            bounds b = bounds_of(t, row, seen);
            assert_true((asymmetric ? b.high - b.low : 2 * b.amax + 1) ==
                        (asymmetric ? 255 : 254) * cases[i].unit + (asymmetric ? 0 : 1));
            assert_in_range(ties, 30, 64);
            assert_int_equal(before, row % 3 == 2 ? 0 : ties);
            assert_true(row % 3 != 2 || different(t, row) >= 5);
        }
        drop(t);
    }
}

/* Row 5 of six is not finite, in some dtypes only when it is rounded; large numbers otherwise stay
 * within the working dtype's. */
static void test_ends_of_the_range(void **state) {
    (void)state;
    int64_t overflows = 0;
    for (int i = 0; i < 2 * DTYPES * DTYPES; i++) {
        const char *quant = i < 9 ? "symmetric" : "asymmetric";
        char text[160];
        snprintf(text, sizeof text, "quantize tokens=24 k=20 in=%s work=%s quant=%s data=poison",
                 dtypes[i % 3], dtypes[i / 3 % 3], quant);
        tensors *t = make(text);
        for (int64_t row = 5; row < 24; row += 6) {
            bounds b = bounds_of(t, row, seen), before = bounds_of(t, row, given);
            float range = i < 9 ? (float)b.amax : (float)b.high - (float)b.low;
            assert_true(isnan(range) || isinf(range));
            overflows += isfinite(before.amax) && !isfinite(b.amax);
        }
        drop(t);
        snprintf(text, sizeof text, "quantize tokens=24 k=20 in=%s work=%s quant=%s data=extremes",
                 dtypes[i % 3], dtypes[i / 3 % 3], quant);
        t = make(text);
        for (int64_t row = 0; row < 24; row++) {
            bounds b = bounds_of(t, row, seen);
            assert_true(isfinite(b.amax) && (row % 5 != 3 || b.amax >= 61440));
        }
        drop(t);
    }
    /* f32 to bf16 where no range overflows before, to f16 always; bf16 to f16. */
    assert_int_equal(overflows, 4 * (1 + 2 + 2));
}

/* The key changes x only where x is rounded to another dtype, and never another operand. */
static void test_same_inputs_without_rounding(void **state) {
    (void)state;
    static const char *const kinds[] = {"normal", "ties", "extremes", "subnormals", "poison"};
    for (int i = 0; i < 15; i++) {
        char text[160];
        snprintf(text, sizeof text, "linear_w8a8 tokens=12 n=3 k=50 in=%s data=%s", dtypes[i % 3],
                 kinds[i / 3]);
        tensors *t = make(text);
        snprintf(text + strlen(text), sizeof text - strlen(text), " work=%s", dtypes[i % 3]);
        tensors *u = make(text);
        assert_true(generate_hash(&t->c, t->shapes, &t->data) ==
                    generate_hash(&u->c, u->shapes, &u->data));
        drop(t);
        drop(u);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_tie_free),
        cmocka_unit_test(test_short_rows_and_moe),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_ends_of_the_range),
        cmocka_unit_test(test_same_inputs_without_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
