/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor generator. Properties are recomputed here in double, not with the generator's code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/generate.h"
#include "harness/tests/tensors.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

static double x_at(const tensors *t, int64_t row, int64_t j) { return at(t, OPERAND_X, row, j); }

static double row_max(const tensors *t, int64_t row) {
    double amax = 0;
    for (int64_t j = 0; j < t->shapes[OPERAND_X].row; j++)
        amax = fmax(amax, fabs(x_at(t, row, j)));
    return amax;
}

/* --- Random numbers --------------------------------------------------------------------------- */

static void test_random(void **state) {
    (void)state;
    /* Fixed for ever: results name cases by their seed. */
    assert_true(random_u64(0, 0, 0) == UINT64_C(0x568a9b0b1a2c05ec));
    assert_true(random_u64(1, 2, 3) == UINT64_C(0xe44fab56efa387ca));
    assert_true(random_u64(1, 2, 4) != random_u64(1, 2, 3));
    assert_true(random_u64(2, 1, 3) != random_u64(1, 2, 3));
    int ones = 0;
    for (uint64_t i = 0; i < 1000; i++)
        ones += __builtin_popcountll(random_u64(7, i % 10, i / 10));
    assert_in_range(ones, 32000 - 600, 32000 + 600);
}

/* --- Tie-free --------------------------------------------------------------------------------- */

static double boundary_distance(double value) {
    double size = fabs(value);
    return fabs(size - floor(size) - 0.5);
}

/* Both formulas in f32, as kernels compute them. */
static void assert_clear(const tensors *t, int64_t row, double x, float multiplier, float scale) {
    float product = (float)x * multiplier, quotient = (float)x / scale;
    if (!(boundary_distance((double)product) >= 0x1p-12 &&
          boundary_distance((double)quotient) >= 0x1p-12)) {
        char text[CASE_TEXT_MAX];
        fail_msg("%s row %d: x = %a gives %a, %a", case_text(&t->c, text), (int)row, x,
                 (double)product, (double)quotient);
    }
}

static void assert_symmetric_row(const tensors *t, int64_t row) {
    float amax = fmaxf((float)row_max(t, row), 1e-7f);
    for (int64_t j = 0; j < t->shapes[OPERAND_X].row; j++)
        assert_clear(t, row, x_at(t, row, j), 127.0f / amax, amax / 127.0f);
}

static void assert_asymmetric_row(const tensors *t, int64_t row) {
    double low = 0, high = 0;
    for (int64_t j = 0; j < t->shapes[OPERAND_X].row; j++) {
        low = fmin(low, x_at(t, row, j));
        high = fmax(high, x_at(t, row, j));
    }
    assert_true(high + low != 0);
    float range = (float)high - (float)low, k = 255.0f / range;
    for (int64_t j = 0; j < t->shapes[OPERAND_X].row; j++)
        assert_clear(t, row, x_at(t, row, j), k, range / 255.0f);
    /* In double: the distance may not hang on the rounding of the formula. */
    double lo = low * 255.0 / (high - low), hi = high * 255.0 / (high - low);
    double zero = lo + hi - 1 > 0 ? -128 - lo : 127 - hi;
    assert_true(boundary_distance(zero) >= 0x1p-12);
}

static void test_tie_free(void **state) {
    (void)state;
    static const char *const dialects[] = {"sglang-w8a8", "vllm-w8a8", "kleidi-w8a8", "vllm-w4a8"};
    static const char *const dtypes[] = {"f32", "bf16", "f16"};
    static const char *const kinds[] = {"normal", "outliers"};
    static const int ks[] = {1, 2, 3, 5, 17, 64, 1000};
    for (int d = 0; d < 4; d++)
        for (int in = d == 0 ? 1 : 0; in < (d == 0 ? 2 : 3); in++)
            for (int kind = 0; kind < 2; kind++)
                for (int k = 0; k < 7; k++) {
                    char text[200];
                    snprintf(text, sizeof text,
                             "quantize tokens=40 k=%d in=%s dialect=%s data=%s seed=%d", ks[k],
                             dtypes[in], dialects[d], kinds[kind], k + 1);
                    tensors *t = make(text);
                    for (int64_t row = 0; row < 40; row++)
                        d < 2 ? assert_symmetric_row(t, row) : assert_asymmetric_row(t, row);
                    drop(t);
                }
}

/* Left to chance, ten of these rows would have a zero point too near to a boundary. */
static void test_zero_points_are_clear(void **state) {
    (void)state;
    static const char *const dtypes[] = {"f32", "bf16", "f16"};
    for (int i = 0; i < 3; i++) {
        char text[100];
        snprintf(text, sizeof text, "quantize tokens=20000 k=3 in=%s dialect=kleidi-w8a8",
                 dtypes[i]);
        tensors *t = make(text);
        for (int64_t row = 0; row < 20000; row++)
            assert_asymmetric_row(t, row);
        drop(t);
    }
}

static void test_moe_rows_are_tie_free(void **state) {
    (void)state;
    static const char *const kinds[] = {"normal", "outliers"};
    for (int i = 0; i < 12; i++) {
        char text[140];
        snprintf(text, sizeof text,
                 "%s tokens=30 hidden=300 intermediate=1 experts=1 top_k=1 in=%s data=%s",
                 i < 6 ? "moe_w8a8" : "moe_w4a8",
                 i % 3 == 0   ? "f32"
                 : i % 3 == 1 ? "bf16"
                              : "f16",
                 kinds[i / 3 % 2]);
        tensors *t = make(text);
        for (int64_t row = 0; row < 30; row++)
            i < 6 ? assert_symmetric_row(t, row) : assert_asymmetric_row(t, row);
        drop(t);
    }
}

static void test_subnormal_rows_are_tie_free(void **state) {
    (void)state;
    tensors *t = make("quantize tokens=60 k=300 in=f16 data=subnormals");
    tensors *u = make("quantize tokens=60 k=300 in=f32 data=subnormals");
    for (int64_t row = 0; row < 60; row++) {
        assert_symmetric_row(t, row);
        assert_symmetric_row(u, row);
    }
    drop(t);
    drop(u);
}

/* --- Default activations ---------------------------------------------------------------------- */

static void test_rows(void **state) {
    (void)state;
    static const char *const cases[] = {
        "quantize tokens=50 k=33 in=f32",
        "quantize tokens=50 k=2 in=bf16 dialect=kleidi-w8a8",
        "linear_w8a8 tokens=50 n=1 k=200 in=f16 dialect=kleidi-w8a8",
        "linear_bf16 tokens=50 n=1 k=20 in=bf16",
    };
    for (int i = 0; i < 4; i++) {
        tensors *t = make(cases[i]);
        int64_t k = t->c.desc.k;
        int at_end = 0;
        for (int64_t row = 0; row < 50; row++) {
            double amax = row_max(t, row), last = fabs(x_at(t, row, k - 1));
            assert_true(amax >= 0.5 && amax <= 5);
            /* Half of what an asymmetric row has on its smaller side. */
            assert_true(last >= 0.14 * amax);
            at_end += last == amax;
            if (row > 0) {
                double before = row_max(t, row - 1);
                assert_true(amax >= 2 * before || before >= 2 * amax);
            }
        }
        assert_in_range(at_end, 2, 45);
        drop(t);
    }
}

static void test_rows_do_not_depend_on_the_batch(void **state) {
    (void)state;
    tensors *large = make("linear_w8a8 tokens=9 n=3 k=37 in=f32 x_pad=5 data=poison");
    char row[37 * 4];
    for (int64_t r = 0; r < 9; r++) {
        generate_x_row(&large->c, r, row);
        assert_memory_equal(row, (char *)large->data.at[OPERAND_X] + r * 42 * 4, sizeof row);
        /* Between rows there are NaNs. */
        if (r < 8)
            for (int64_t j = 37; j < 42; j++)
                assert_true(isnan(x_at(large, r, j)));
    }
    drop(large);
}

static double skewness(const tensors *t, int64_t row) {
    double sum = 0, square = 0;
    for (int64_t j = 0; j < t->c.desc.k; j++) {
        sum += x_at(t, row, j);
        square += x_at(t, row, j) * x_at(t, row, j);
    }
    return fabs(sum) / sqrt(square * (double)t->c.desc.k);
}

/* Bell-shaped around 0 in symmetric dialects, clearly off 0 in asymmetric ones. */
static void test_distribution(void **state) {
    (void)state;
    tensors *t = make("quantize tokens=9 k=4000 in=f32");
    tensors *u = make("quantize tokens=9 k=4000 in=f32 dialect=kleidi-w8a8");
    for (int64_t row = 0; row < 9; row++) {
        double amax = row_max(t, row), square = 0;
        int64_t inner = 0;
        for (int64_t j = 0; j < 4000; j++) {
            square += x_at(t, row, j) * x_at(t, row, j);
            inner += fabs(x_at(t, row, j)) < 0.289 * amax;
        }
        double rms = sqrt(square / 4000);
        assert_true(rms > 0.27 * amax && rms < 0.31 * amax);
        assert_in_range(inner, 4000 * 62 / 100, 4000 * 72 / 100); /* 67 % within one sigma */
        assert_true(skewness(t, row) < 0.06);
        assert_true(skewness(u, row) > 0.06);
    }
    drop(t);
    drop(u);
}

/* --- Weights, scales, biases ------------------------------------------------------------------ */

static void test_int8_weights(void **state) {
    (void)state;
    static const int ks[] = {1, 2, 15, 16, 17, 100};
    for (int i = 0; i < 6; i++) {
        char text[100];
        snprintf(text, sizeof text, "linear_w8a8 tokens=1 n=300 k=%d", ks[i]);
        tensors *t = make(text);
        int64_t seen[256] = {0};
        for (int64_t n = 0; n < 300; n++) {
            int64_t lowest = 0, highest = 0;
            for (int64_t j = 0; j < ks[i]; j++) {
                int64_t w = (int64_t)at(t, OPERAND_W, n, j);
                seen[w + 128]++;
                lowest += w == -128;
                highest += w == 127;
            }
            assert_true(fabs(at(t, OPERAND_W, n, ks[i] - 1)) >= 64);
            if (ks[i] >= 16)
                assert_true(lowest >= 1 && highest >= 1);
        }
        for (int v = 0; v < 256 && ks[i] == 100; v++)
            assert_true(seen[v] > 60);
        drop(t);
    }
    tensors *t = make("gemm_s8s8s32 tokens=3 n=2 k=40");
    for (int64_t row = 0; row < 3; row++) {
        int64_t lowest = 0;
        for (int64_t j = 0; j < 40; j++)
            lowest += x_at(t, row, j) == -128;
        assert_true(lowest >= 1);
        assert_true(fabs(x_at(t, row, 39)) >= 64);
    }
    drop(t);
}

static void assert_neighbours_differ(const tensors *t, operand_id id, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        double a = fabs(at(t, id, 0, i - 1)), b = fabs(at(t, id, 0, i));
        assert_true(a >= 2 * b || b >= 2 * a);
        /* An index that is wrong by a power of two meets another size, too. */
        for (int64_t step = 2; step <= i; step *= 2) {
            double c = fabs(at(t, id, 0, i - step));
            assert_true(c >= 2 * b || b >= 2 * c);
        }
    }
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void assert_distinct(const tensors *t, operand_id id, int64_t n) {
    double *values = calloc((size_t)n, sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < n; i++)
        values[i] = at(t, id, 0, i);
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    for (int64_t i = 1; i < n; i++)
        assert_true(values[i] != values[i - 1]);
    free(values);
}

static void test_scales_and_biases(void **state) {
    (void)state;
    tensors *t = make("linear_w8a8 tokens=1 n=30000 k=4 bias=f32");
    tensors *u = make("linear_w8a8 tokens=1 n=1000 k=4 in=bf16 bias=bf16");
    assert_neighbours_differ(t, OPERAND_W_SCALES, 30000);
    assert_distinct(t, OPERAND_W_SCALES, 30000);
    assert_neighbours_differ(t, OPERAND_W_BIAS, 30000);
    assert_distinct(t, OPERAND_W_BIAS, 30000);
    assert_neighbours_differ(u, OPERAND_W_BIAS, 1000);
    drop(t);
    drop(u);
}

/* The op without quantisation, in double. */
static double output(const tensors *t, int64_t row, int64_t n) {
    double sum = 0;
    for (int64_t j = 0; j < t->c.desc.k; j++)
        sum += x_at(t, row, j) * real_weight(t, OPERAND_W, 0, n, j);
    return sum;
}

static void test_output_size(void **state) {
    (void)state;
    static const char *const ops[] = {"linear_w8a8", "linear_w8a8 dialect=kleidi-w8a8",
                                      "linear_bf16"};
    static const int ks[] = {1, 4, 16, 100, 2048};
    for (int op = 0; op < 3; op++)
        for (int k = 0; k < 5; k++) {
            char text[100];
            snprintf(text, sizeof text, "%s tokens=12 n=40 k=%d", ops[op], ks[k]);
            tensors *t = make(text);
            double lowest = INFINITY, highest = 0;
            for (int64_t row = 0; row < 12; row++) {
                double square = 0;
                for (int64_t n = 0; n < 40; n++)
                    square += output(t, row, n) * output(t, row, n);
                lowest = fmin(lowest, sqrt(square / 40));
                highest = fmax(highest, sqrt(square / 40));
            }
            if (!(lowest >= 0.5 && highest <= 45))
                fail_msg("%s: rms of rows from %g to %g", text, lowest, highest);
            drop(t);
        }
}

/* --- The other kinds of data ------------------------------------------------------------------ */

static void test_gemm_extremes(void **state) {
    (void)state;
    tensors *t = make("gemm_s8s8s32 tokens=4 n=5 k=16 data=extremes");
    int64_t most = 0, least = 0;
    bool all_127 = false, mixed = false;
    for (int64_t row = 0; row < 4; row++)
        for (int64_t n = 0; n < 5; n++) {
            int64_t sum = (int64_t)output(t, row, n);
            most = sum > most ? sum : most;
            least = sum < least ? sum : least;
            all_127 |= sum == INT64_C(16) * 127 * 127;
            mixed |= sum == INT64_C(16) * 128 * 127;
        }
    assert_int_equal(most, 262144); /* 16 * -128 * -128 */
    assert_int_equal(least, -16 * 128 * 127);
    assert_true(all_127 && mixed);
    drop(t);
}

static void test_linear_extremes(void **state) {
    (void)state;
    static const char *const dtypes[] = {"f32", "bf16", "f16"};
    for (int i = 0; i < 3; i++) {
        char text[100];
        snprintf(text, sizeof text, "linear_w8a8 tokens=10 n=5 k=400 in=%s data=extremes",
                 dtypes[i]);
        tensors *t = make(text);
        for (int64_t row = 0; row < 10; row++) {
            int64_t at_maximum = 0, negative = 0;
            double sum = 0.0;
            for (int64_t j = 0; j < 400; j++) {
                at_maximum += fabs(x_at(t, row, j)) == row_max(t, row);
                negative += x_at(t, row, j) < 0;
                sum += fabs(x_at(t, row, j));
            }
            assert_true(row % 5 > 2 ? at_maximum == 1 : at_maximum == 400);
            if (row % 5 < 3)
                assert_int_equal(negative, row % 5 == 0 ? 0 : row % 5 == 1 ? 400 : 200);
            else if (row % 5 == 3)
                assert_true(row_max(t, row) > 60000);
            else
                assert_true(sum > (i < 2 ? 0x1p128 : 65520.0) && isfinite(2.0 * row_max(t, row)));
            assert_symmetric_row(t, row);
        }
        drop(t);
    }
    tensors *t = make("linear_bf16 tokens=4 n=3 k=1024 in=bf16 data=extremes");
    assert_true(output(t, 0, 0) == 1024);
    assert_true(output(t, 1, 0) == -1024);
    drop(t);
}

static void test_outliers(void **state) {
    (void)state;
    tensors *t = make("linear_w8a8 tokens=12 n=5 k=512 in=bf16 data=outliers");
    int64_t large_columns = 0;
    for (int64_t j = 0; j < 512; j++) {
        int64_t large = 0;
        for (int64_t row = 0; row < 12; row++)
            large += fabs(x_at(t, row, j)) > row_max(t, row) / 16;
        large_columns += large >= 8;
        assert_true(large == 0 || large >= 3 || j == 511);
    }
    assert_in_range(large_columns, 3, 10); /* 1 in 128, and one */
    drop(t);
}

static void test_zero_rows(void **state) {
    (void)state;
    static const char *const dtypes[] = {"f32", "bf16", "f16"};
    for (int i = 0; i < 3; i++) {
        char text[100];
        snprintf(text, sizeof text, "quantize tokens=9 k=20 in=%s data=zero_rows", dtypes[i]);
        tensors *t = make(text);
        int64_t ordinary = 0;
        for (int64_t j = 0; j < 20; j++) {
            assert_true(x_at(t, 0, j) == 0 && !signbit(x_at(t, 0, j)));
            assert_true(x_at(t, 3, j) == 0 && signbit(x_at(t, 3, j)));
            assert_true(i == 2 ? x_at(t, 5, j) == 0 : x_at(t, 5, j) != 0);
        }
        assert_true(row_max(t, 5) * 2 < 0x1p-120);
        for (int64_t row = 0; row < 9; row++)
            ordinary += row_max(t, row) > 0.5;
        assert_int_equal(ordinary, 5);
        drop(t);
    }
}

static void test_subnormals(void **state) {
    (void)state;
    static const char *const dtypes[] = {"f32", "bf16", "f16"};
    for (int i = 0; i < 3; i++) {
        char text[100];
        snprintf(text, sizeof text, "quantize tokens=6 k=50 in=%s data=subnormals", dtypes[i]);
        tensors *t = make(text);
        double smallest_normal = i == 2 ? 0x1p-14 : 0x1p-126;
        int64_t sprinkled = 0;
        assert_true(row_max(t, 0) > 0 && row_max(t, 0) < smallest_normal);
        for (int64_t j = 0; j < 50; j++)
            sprinkled += x_at(t, 3, j) != 0 && fabs(x_at(t, 3, j)) < smallest_normal;
        assert_in_range(sprinkled, 10, 17);
        assert_true(row_max(t, 1) > 0.5 && row_max(t, 3) > 0.5 && row_max(t, 5) > 0.5);
        assert_true(row_max(t, 2) > 0 && row_max(t, 2) < 1e-3);
        if (i < 2)
            assert_true(row_max(t, 4) < 1e-7 && row_max(t, 4) > 1e-8);
        drop(t);
    }
}

static void test_poison(void **state) {
    (void)state;
    static const char *const dtypes[] = {"f32", "bf16", "f16"};
    static const char *const dialects[] = {"vllm-w8a8", "kleidi-w8a8"};
    for (int i = 0; i < 6; i++) {
        char poison[140], normal[120];
        snprintf(normal, sizeof normal, "quantize tokens=6 k=20 in=%s dialect=%s", dtypes[i % 3],
                 dialects[i / 3]);
        snprintf(poison, sizeof poison, "%s data=poison", normal);
        tensors *t = make(poison), *u = make(normal);
        size_t bytes = 20 * armq_dtype_bytes(t->c.desc.in);
        int64_t nans = 0, infinite = 0;
        for (int64_t row = 0; row < 6; row++)
            for (int64_t j = 0; j < 20; j++) {
                nans += row == 1 && isnan(x_at(t, row, j));
                infinite += row == 3 && isinf(x_at(t, row, j));
            }
        assert_int_equal(nans, 1);
        assert_int_equal(infinite, 1);
        for (size_t row = 0; row < 6; row += 2)
            assert_memory_equal((char *)t->data.at[OPERAND_X] + row * bytes,
                                (char *)u->data.at[OPERAND_X] + row * bytes, bytes);
        bool overflows = i / 3 == 1 && i % 3 != 2;
        assert_true(overflows ? row_max(t, 5) > 1e38 && row_max(t, 5) < 1e39
                              : isinf(x_at(t, 5, 19)));
        drop(t);
        drop(u);
    }
}

/* --- The same bytes everywhere ---------------------------------------------------------------- */

static const struct {
    const char *text;
    uint64_t hash;
} golden[] = {
    {"quantize tokens=7 k=100 in=f32", UINT64_C(0x759ba6af8a19f63c)},
    {"quantize tokens=7 k=100 in=bf16 dialect=sglang-w8a8", UINT64_C(0xd65cf9d6d75704d4)},
    {"quantize tokens=7 k=100 in=f16 dialect=kleidi-w8a8", UINT64_C(0x15a5e23f2c21958f)},
    {"quantize tokens=7 k=33 in=f32 dialect=kleidi-w8a8 data=ties", UINT64_C(0x9ed1c2ec509e3cf5)},
    {"quantize tokens=9 k=33 in=f16 dialect=kleidi-w8a8 data=subnormals",
     UINT64_C(0xfa284fa1e8a5b8ee)},
    {"gemm_s8s8s32 tokens=5 n=7 k=61", UINT64_C(0xa0b717db96ba4aa9)},
    {"gemm_s8s8s32 tokens=5 n=7 k=61 data=extremes", UINT64_C(0x371a61f5da4dc8c2)},
    {"linear_w8a8 tokens=5 n=70 k=130 in=bf16 bias=f32 seed=2", UINT64_C(0xd037bfd5bf47229f)},
    {"linear_w8a8 tokens=5 n=70 k=130 in=f32 bias=f32 dialect=kleidi-w8a8 x_pad=3",
     UINT64_C(0xdc4ea57cf1e9df76)},
    {"linear_w8a8 tokens=8 n=9 k=130 in=f16 bias=f16 data=extremes dialect=kleidi-w8a8",
     UINT64_C(0x5e875db23ef301dc)},
    {"linear_w8a8 tokens=8 n=9 k=130 in=bf16 data=outliers", UINT64_C(0xbbcb7db08521b883)},
    {"linear_w8a8 tokens=8 n=9 k=30 in=f32 data=zero_rows", UINT64_C(0x95c8990593830e5c)},
    {"linear_w8a8 tokens=8 n=9 k=30 in=f32 data=poison dialect=kleidi-w8a8",
     UINT64_C(0x8e02ffce5f48d094)},
    {"linear_bf16 tokens=5 n=40 k=77 in=f32 bias=f32", UINT64_C(0x6262f4e8bbb8de41)},
    {"linear_bf16 tokens=5 n=40 k=77 in=bf16 data=subnormals", UINT64_C(0x08d4dcc10a0d36b2)},
};

static void test_golden_hashes(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        tensors *t = make(golden[i].text);
        uint64_t hash = generate_hash(&t->c, t->shapes, &t->data);
        if (hash != golden[i].hash) {
            print_message("    {\"%s\", UINT64_C(0x%016" PRIx64 ")},\n", golden[i].text, hash);
            wrong++;
        }
        drop(t);
    }
    assert_int_equal(wrong, 0);
}

/* Everything but the gaps between rows counts. */
static void test_hash_sees_every_byte(void **state) {
    (void)state;
    tensors *t = make("linear_w8a8 tokens=3 n=5 k=7 in=bf16 bias=bf16 x_pad=3");
    uint64_t hash = generate_hash(&t->c, t->shapes, &t->data);
    for (int id = 0; operand_is_input((operand_id)id); id++)
        for (size_t i = 0; i < t->shapes[id].bytes; i++) {
            char *byte = (char *)t->data.at[id] + i;
            *byte ^= 1;
            bool gap = id == OPERAND_X && i % 20 >= 14;
            assert_int_equal(hash == generate_hash(&t->c, t->shapes, &t->data), gap);
            *byte ^= 1;
        }
    drop(t);
}

static void test_what_does_not_exist(void **state) {
    (void)state;
    armq_case c = parse("moe_w4a8 tokens=1 hidden=64 intermediate=32 experts=2 top_k=1");
    operand_shape shapes[OPERAND_COUNT];
    char bytes[8192];
    operand_shapes(&c, NULL, shapes);
    assert_false(generate_operand(&c, OPERAND_W_ZEROS, &shapes[OPERAND_W_ZEROS], bytes));
    assert_false(generate_operand(&c, OPERAND_Y, &shapes[OPERAND_Y], bytes));
    c = parse("gemm_s8s8s32 tokens=1 n=1 k=1");
    operand_shapes(&c, NULL, shapes);
    assert_false(generate_operand(&c, OPERAND_W_BIAS, &shapes[OPERAND_W_BIAS], bytes));
    c.data = DATA_TIES;
    assert_false(generate_operand(&c, OPERAND_X, &shapes[OPERAND_X], bytes));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_tie_free),
        cmocka_unit_test(test_zero_points_are_clear),
        cmocka_unit_test(test_moe_rows_are_tie_free),
        cmocka_unit_test(test_subnormal_rows_are_tie_free),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rows_do_not_depend_on_the_batch),
        cmocka_unit_test(test_distribution),
        cmocka_unit_test(test_int8_weights),
        cmocka_unit_test(test_scales_and_biases),
        cmocka_unit_test(test_output_size),
        cmocka_unit_test(test_gemm_extremes),
        cmocka_unit_test(test_linear_extremes),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_zero_rows),
        cmocka_unit_test(test_subnormals),
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_golden_hashes),
        cmocka_unit_test(test_hash_sees_every_byte),
        cmocka_unit_test(test_what_does_not_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
