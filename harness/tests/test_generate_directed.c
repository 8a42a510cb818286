/* SPDX-License-Identifier: Apache-2.0 */
/* Directed data: ties of every rounding and what lies beside them, saturation, weight scales of
 * either sign and bad ones, payloads of NaN. Properties are recomputed here, not with the
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

static double x_at(const tensors *t, int64_t row, int64_t j) { return at(t, OPERAND_X, row, j); }

static void bounds(const tensors *t, int64_t row, double *low, double *high) {
    *low = *high = 0;
    for (int64_t j = 0; j < t->shapes[OPERAND_X].row; j++) {
        *low = fmin(*low, x_at(t, row, j));
        *high = fmax(*high, x_at(t, row, j));
    }
}

static double boundary_distance(double value) {
    double size = fabs(value);
    return fabs(size - floor(size) - 0.5);
}

/* --- Ties of q -------------------------------------------------------------------------------- */

/* amax 127, a range of 255: each row's multiplier is exactly 1, and most elements are ties. Rows 2,
 * 5, ... of f32 are others. */
static void test_ties(void **state) {
    (void)state;
    static const char *const cases[] = {"quantize tokens=21 k=64 in=bf16",
                                        "quantize tokens=21 k=64 in=f32 dialect=kleidi-w8a8",
                                        "quantize tokens=21 k=1 in=f16 dialect=kleidi-w8a8",
                                        "quantize tokens=21 k=64 in=f16 dialect=kleidi-w8a8"};
    for (int i = 0; i < 4; i++) {
        char text[100];
        snprintf(text, sizeof text, "%s data=ties", cases[i]);
        tensors *t = make(text);
        int64_t ties = 0, total = 0;
        bool zero_points[1024] = {false};
        for (int64_t row = 0; row < 21; row++) {
            double low, high;
            if (i == 1 && row % 3 == 2)
                continue;
            bounds(t, row, &low, &high);
            for (int64_t j = 0; j < t->c.desc.k; j++, total++)
                ties += boundary_distance(x_at(t, row, j)) == 0;
            assert_true(i == 0 ? fmax(-low, high) == 127 : high - low == 255);
            bool whole = i == 0 || i == 2 || row % 3 == 0;
            assert_int_equal(low == floor(low), whole);
            zero_points[(int)(2 * low + 1024) & 1023] = true;
        }
        int different = 0;
        for (int v = 0; v < 1024; v++)
            different += zero_points[v];
        if (i == 1 || i == 3)
            assert_in_range(different, 5, 13);
        if (t->c.desc.k > 1)
            assert_in_range(ties, total * 65 / 100, total * 85 / 100);
        drop(t);
    }
}

/* The zero point of these rows is a tie, and goes to the even one; q then leaves int8. */
static void test_saturation(void **state) {
    (void)state;
    static const char *const dtypes[] = {"f32", "bf16", "f16"};
    for (int i = 0; i < 6; i++) {
        char text[120];
        snprintf(text, sizeof text, "quantize tokens=60 k=20 in=%s dialect=%s data=ties",
                 dtypes[i % 3], i < 3 ? "kleidi-w8a8" : "vllm-w4a8");
        tensors *t = make(text);
        armq_rounding rounding = t->c.desc.dialect.q_rounding;
        int64_t above = 0, below = 0;
        for (int64_t row = 1; row < 60; row += 3) {
            double low, high;
            bounds(t, row, &low, &high);
            assert_true(high - low == 255 && boundary_distance(high) == 0);
            double zero = nearbyint(low + high > 1 ? -128 - low : 127 - high);
            bool away = rounding == ARMQ_ROUND_TIES_AWAY;
            above += (away ? round(high) : nearbyint(high)) + zero == 128;
            below += (away ? round(low) : nearbyint(low)) + zero == -129;
        }
        if (i % 3 == 1) /* bf16 has +-127.5 only */
            assert_true(above == 20 && below == 0);
        else
            assert_true(above == 10 && below == (rounding == ARMQ_ROUND_TIES_AWAY ? 10 : 0));
        drop(t);
    }
}

/* Every element of rows 2, 5, ... keeps 2^-12 from a tie by both formulas, and no more than 2^-11;
 * one part in 2^18 more or less in the multiplier moves some q of every row. */
static void test_beside_ties(void **state) {
    (void)state;
    static const char *const cases[] = {
        "quantize tokens=300 k=70 in=f32 data=ties",
        "quantize tokens=300 k=70 in=f32 dialect=kleidi-w8a8 data=ties",
        "moe_w8a8 tokens=300 hidden=70 intermediate=2 experts=2 "
        "top_k=1 in=f32 data=ties"};
    for (int i = 0; i < 3; i++) {
        tensors *t = make(cases[i]);
        for (int64_t row = 2; row < 300; row += 3) {
            double low, high;
            bounds(t, row, &low, &high);
            float amax = fmaxf((float)-low, (float)high), range = (float)high - (float)low;
            float multiplier = i == 1 ? 255.0f / range : 127.0f / amax;
            float scale = i == 1 ? range / 255.0f : amax / 127.0f;
            int64_t beside = 0, up = 0, down = 0;
            for (int64_t j = 0; j < 70; j++) {
                float x = (float)x_at(t, row, j);
                double product = (double)(x * multiplier), quotient = (double)(x / scale);
                assert_true(boundary_distance(product) >= 0x1p-12);
                assert_true(boundary_distance(quotient) >= 0x1p-12);
                beside += boundary_distance(product) <= 0x1p-11;
                up += nearbyint(product) != nearbyint(product * (1 + 0x1p-18));
                down += nearbyint(product) != nearbyint(product * (1 - 0x1p-18));
            }
            assert_in_range(beside, 68, 70);
            assert_true(up >= 5 && down >= 5);
        }
        drop(t);
    }
}

/* --- Ties of bf16 ----------------------------------------------------------------------------- */

static uint32_t bits_of(const tensors *t, int64_t row, int64_t j) {
    uint32_t bits = 0;
    size_t element = armq_dtype_bytes(t->c.desc.in);
    size_t index = (size_t)(row * t->shapes[OPERAND_X].stride + j);
    memcpy(&bits, (const char *)t->data.at[OPERAND_X] + index * element, element);
    return bits;
}

static void test_narrowing_ties(void **state) {
    (void)state;
    static const char *const dtypes[] = {"f32", "f16", "bf16"};
    for (int i = 0; i < 3; i++) {
        char text[120];
        snprintf(text, sizeof text, "linear_bf16 tokens=10 n=1 k=100 in=%s data=ties", dtypes[i]);
        tensors *t = make(text);
        uint32_t mask = i == 0 ? 0xffff : 7, half = i == 0 ? 0x8000 : 4;
        int64_t even = 0, odd = 0, above = 0, below = 0;
        for (int64_t row = 0; row < 10; row++)
            for (int64_t j = 0; j < 100; j++) {
                uint32_t bits = bits_of(t, row, j), rest = bits & mask;
                assert_true(fabs(x_at(t, row, j)) < 5);
                even += rest == half && !(bits & (mask + 1));
                odd += rest == half && (bits & (mask + 1));
                above += rest == half + 1;
                below += rest == half - 1;
            }
        if (i < 2) {
            assert_int_equal(even + odd + above + below, 1000);
            assert_true(even > 200 && odd > 200 && above > 200 && below > 200);
        }
        drop(t);
    }
}

/* --- Weight scales ---------------------------------------------------------------------------- */

static void test_signs_of_scales(void **state) {
    (void)state;
    tensors *t = make("linear_w8a8 tokens=1 n=3000 k=4");
    tensors *u = make("moe_w8a8 tokens=1 hidden=1000 intermediate=500 experts=3 top_k=1");
    int64_t negative = 0, negative_moe[2] = {0};
    for (int64_t n = 0; n < 3000; n++)
        negative += signbit(at(t, OPERAND_W_SCALES, 0, n)) != 0;
    for (int64_t n = 0; n < 3000; n++)
        for (int which = 0; which < 2; which++)
            negative_moe[which] += signbit(at(u, which ? OPERAND_W2_SCALES : OPERAND_W_SCALES,
                                              n / 1000, n % 1000)) != 0;
    assert_in_range(negative, 900, 1100);
    assert_in_range(negative_moe[0], 900, 1100);
    assert_in_range(negative_moe[1], 900, 1100);
    drop(t);
    drop(u);
}

typedef struct {
    int64_t zero, minus_zero, subnormal, nan, infinite, minus_infinite, normal;
} scale_counts;

static scale_counts count_scales(const tensors *t, operand_id id, int64_t expert) {
    scale_counts s = {0};
    for (int64_t n = 0; n < t->shapes[id].row; n++) {
        double value = at(t, id, expert, n);
        s.zero += value == 0 && !signbit(value);
        s.minus_zero += value == 0 && signbit(value);
        s.subnormal += value != 0 && fabs(value) < 0x1p-126;
        s.nan += isnan(value);
        s.infinite += value == (double)INFINITY;
        s.minus_infinite += value == -(double)INFINITY;
        s.normal += isfinite(value) && fabs(value) >= 0x1p-126;
    }
    return s;
}

static void test_bad_scales(void **state) {
    (void)state;
    tensors *t = make("linear_w8a8 tokens=8 n=24 k=10 in=f32 data=bad_scales");
    scale_counts s = count_scales(t, OPERAND_W_SCALES, 0);
    assert_true(s.zero == 1 && s.minus_zero == 1 && s.subnormal == 3 && s.nan == 1 &&
                s.infinite == 1 && s.minus_infinite == 1 && s.normal == 16);
    for (int64_t row = 0; row < 8; row++) {
        double low, high;
        bounds(t, row, &low, &high);
        assert_int_equal(low == high, row % 4 == 2); /* 0 times infinity is NaN */
    }
    drop(t);
    t = make("moe_w8a8 tokens=8 hidden=24 intermediate=12 experts=3 top_k=1 data=bad_scales");
    for (int64_t expert = 0; expert < 3; expert++) {
        s = count_scales(t, OPERAND_W2_SCALES, expert);
        assert_true(s.nan == 1 && s.infinite == 1 && s.minus_infinite == 1 && s.zero == 1);
        s = count_scales(t, OPERAND_W_SCALES, expert);
        assert_int_equal(s.nan + s.infinite + s.minus_infinite, expert == 2 ? 3 : 0);
        assert_true(s.zero >= 1 && s.minus_zero >= 1 && s.subnormal >= 2 && s.normal == 16);
    }
    drop(t);
}

/* --- NaN -------------------------------------------------------------------------------------- */

/* Rounded to bf16 as if they were numbers, some become -0, some infinity, some stay NaN. */
static void test_nan_payloads(void **state) {
    (void)state;
    tensors *t = make("linear_bf16 tokens=60 n=1 k=20 in=f32 data=poison");
    int64_t zero = 0, infinite = 0, quiet = 0;
    for (int64_t row = 1; row < 60; row += 6)
        for (int64_t j = 0; j < 20; j++) {
            if (!isnan(x_at(t, row, j)))
                continue;
            uint32_t bits = bits_of(t, row, j);
            uint32_t narrow = (bits + 0x7fff + (bits >> 16 & 1)) >> 16 & 0x7fff;
            zero += narrow < 0x7f80;
            infinite += narrow == 0x7f80;
            quiet += narrow > 0x7f80;
        }
    assert_int_equal(zero, 6);
    assert_int_equal(infinite, 2);
    assert_int_equal(quiet, 2);
    drop(t);
    static const char *const dtypes[] = {"f32", "bf16", "f16"};
    for (int i = 0; i < 3; i++) {
        char text[100];
        snprintf(text, sizeof text, "quantize tokens=60 k=20 in=%s data=poison", dtypes[i]);
        t = make(text);
        for (int64_t row = 1; row < 60; row += 6) {
            int64_t nans = 0;
            for (int64_t j = 0; j < 20; j++)
                nans += isnan(x_at(t, row, j));
            assert_int_equal(nans, 1);
        }
        drop(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_beside_ties),
        cmocka_unit_test(test_narrowing_ties),
        cmocka_unit_test(test_signs_of_scales),
        cmocka_unit_test(test_bad_scales),
        cmocka_unit_test(test_nan_payloads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
