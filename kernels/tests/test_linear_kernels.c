/* SPDX-License-Identifier: Apache-2.0 */
/* Every provider against plain C on small problems; the conformance suite judges them in full. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/features.h"
#include "kernels/api/names.h"
#include "kernels/registry.h"
#include "kernels/tests/problem.h"
#include "kernels/tests/tiers.h"
#include "reference/formats.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int64_t tails_k[] = {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64};

static void gemm_tails(const armq_tier *tier) {
    const int64_t most_m = 2 * tier->s8->tiles[0].rows + 1;
    const int64_t most_n = ARMQ_TILE_MAX_PANELS * ARMQ_TILE_COLUMNS + ARMQ_TILE_COLUMNS + 1;
    for (int64_t m = 1; m <= most_m; m++)
        for (int64_t n = 1; n <= most_n; n += n < 17 ? 1 : 8)
            compare_with_scalar(tier, (problem_spec){"exact", ARMQ_OP_GEMM_S8S8S32, ARMQ_DTYPE_S8,
                                                     ARMQ_DTYPE_S32, .tokens = m, .n = n,
                                                     .k = tails_k[(size_t)(m + n) % COUNT(tails_k)],
                                                     .strides = n % 2});
}

static void test_gemm_tails(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_GEMM_S8S8S32, gemm_tails);
}

/* An L1 of 512 bytes forces many passes over K, whose accumulators go through memory. */
static void gemm_in_passes(const armq_tier *tier) {
    for (int64_t m = 1; m <= 19; m += 6)
        compare_with_scalar(tier, (problem_spec){"exact", ARMQ_OP_GEMM_S8S8S32, ARMQ_DTYPE_S8,
                                                 ARMQ_DTYPE_S32, .tokens = m, .n = 21, .k = 333,
                                                 .l1 = 512});
}

static void test_gemm_in_passes_over_k(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_GEMM_S8S8S32, gemm_in_passes);
}

static void linear_dialects(const armq_tier *tier) {
    static const armq_dtype floats[] = {ARMQ_DTYPE_F32, ARMQ_DTYPE_BF16, ARMQ_DTYPE_F16};
    for (size_t i = 0; i < COUNT(floats); i++)
        for (size_t o = 0; o < COUNT(floats); o++)
            for (int bias = 0; bias < 2; bias++)
                for (int64_t m = 1; m <= 9; m += 4) {
                    const int64_t k = tails_k[((size_t)(m + bias) + i + o) % COUNT(tails_k)];
                    problem_spec spec = {"vllm-w8a8", ARMQ_OP_LINEAR_W8A8, floats[i],
                                         floats[o],   .tokens = m,         .n = 19,
                                         .k = k,      .bias = bias,        .strides = m == 5};
                    compare_with_scalar(tier, spec);
                    spec.dialect = "kleidi-w8a8";
                    compare_with_scalar(tier, spec);
                    spec.dialect = "sglang-w8a8";
                    if (floats[i] == ARMQ_DTYPE_BF16)
                        compare_with_scalar(tier, spec);
                }
}

static void test_linear_dialects(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W8A8, linear_dialects);
}

static void baseline(const armq_tier *tier) {
    for (int64_t m = 1; m <= 9; m += 2) {
        problem p = problem_make((problem_spec){
            "bf16", ARMQ_OP_LINEAR_BF16, m % 3 ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32, ARMQ_DTYPE_F32,
            .tokens = m, .n = 19, .k = tails_k[m], .features = armq_features()});
        const void *y = problem_run(tier->provider, &p, NULL);
        for (int64_t row = 0; row < m; row++)
            for (int64_t column = 0; column < p.desc.n; column++) {
                double magnitude, want = exact_bf16(&p, row, column, &magnitude);
                double got = armq_load(ARMQ_DTYPE_F32, y, row * p.y_stride + column);
                if (!(fabs(got - want) <= magnitude * 0x1p-20))
                    fail_msg("%s m=%d: [%d, %d] is %g, not %g", tier->provider->name, (int)m,
                             (int)row, (int)column, got, want);
            }
    }
}

static void test_baseline(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_BF16, baseline);
}

/* Rows of a problem of its own tokens: row `row` of the other. */
static problem one_row(const problem *all, int64_t row) {
    problem one = *all;
    one.desc.tokens = 1;
    one.x = (char *)all->x + (size_t)(row * all->x_stride) * armq_dtype_bytes(all->desc.in);
    return one;
}

/* The bits of a row do not depend on the rows beside it; checked for every height of the last tile,
 * with K in passes too. */
static void row_alone(const armq_tier *tier, problem_spec spec) {
    for (spec.tokens = 2; spec.tokens <= 17; spec.tokens++) {
        spec.l1 = spec.tokens % 2 ? 0 : 1024;
        spec.features = armq_features();
        problem all = problem_make(spec);
        const void *y = problem_run(tier->provider, &all, NULL);
        for (int64_t row = 0; row < spec.tokens; row += row < 8 ? 7 : 1) {
            problem one = one_row(&all, row);
            const void *alone = problem_run(tier->provider, &one, NULL);
            const size_t row_bytes = (size_t)spec.n * armq_dtype_bytes(spec.out);
            const size_t offset = (size_t)(row * all.y_stride) * armq_dtype_bytes(spec.out);
            if (memcmp((const char *)y + offset, alone, row_bytes) != 0)
                fail_msg("%s: row %d of %d has other bits alone", tier->provider->name, (int)row,
                         (int)spec.tokens);
        }
    }
}

static void w8a8_row_alone(const armq_tier *tier) {
    row_alone(tier, (problem_spec){"kleidi-w8a8", ARMQ_OP_LINEAR_W8A8, ARMQ_DTYPE_F32,
                                   ARMQ_DTYPE_F32, .n = 43, .k = 203, .bias = true});
}

static void w4a8_row_alone(const armq_tier *tier) {
    problem_spec spec = {"vllm-w4a8", ARMQ_OP_LINEAR_W4A8, ARMQ_DTYPE_F32, ARMQ_DTYPE_F32, .n = 43,
                         .k = 203,    .bias = true};
    for (int zero_points = 0; zero_points < 2; zero_points++) {
        spec.zero_points = zero_points;
        spec.k = 203, spec.group_size = 0;
        row_alone(tier, spec);
        spec.k = 256, spec.group_size = 64;
        row_alone(tier, spec);
    }
}

static void bf16_row_alone(const armq_tier *tier) {
    row_alone(tier, (problem_spec){"bf16", ARMQ_OP_LINEAR_BF16, ARMQ_DTYPE_F32, ARMQ_DTYPE_F32,
                                   .n = 43, .k = 203, .bias = true});
}

static void test_row_alone(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W8A8, w8a8_row_alone);
    for_each_tier(ARMQ_OP_LINEAR_W4A8, w4a8_row_alone);
    for_each_tier(ARMQ_OP_LINEAR_BF16, bf16_row_alone);
}

/* Any number of threads, jobs forwards and backwards: the same bits, and all threads have work. */
static void threads(const armq_tier *tier, problem_spec spec) {
    spec.max_threads = 40;
    spec.features = armq_features();
    problem p = problem_make(spec);
    const void *want = problem_run(tier->provider, &p, NULL);
    const int64_t units = (spec.n + 7) / 8 * ((spec.tokens + 7) / 8);
    for (int32_t n = 1; n <= spec.max_threads; n += n < 5 ? 1 : 7)
        for (int reverse = 0; reverse < 2; reverse++) {
            serial_pool pool;
            serial_pool_init(&pool, n, reverse);
            const void *got = problem_run(tier->provider, &p, &pool.threads);
            assert_memory_equal(got, want, problem_y_bytes(&p));
            const int used = __builtin_popcountll(pool.indices_used);
            assert_true(n == 1 || used >= (n < units ? n : units));
        }
}

static void w8a8_threads(const armq_tier *tier) {
    threads(tier, (problem_spec){"kleidi-w8a8", ARMQ_OP_LINEAR_W8A8, ARMQ_DTYPE_BF16,
                                 ARMQ_DTYPE_BF16, .tokens = 37, .n = 50, .k = 70, .bias = true});
    threads(tier, (problem_spec){"vllm-w8a8", ARMQ_OP_LINEAR_W8A8, ARMQ_DTYPE_BF16, ARMQ_DTYPE_BF16,
                                 .tokens = 37, .n = 5, .k = 700, .l1 = 1024});
}

static void w4a8_threads(const armq_tier *tier) {
    problem_spec spec = {"vllm-w4a8",     ARMQ_OP_LINEAR_W4A8, ARMQ_DTYPE_BF16,
                         ARMQ_DTYPE_BF16, .tokens = 37,        .n = 50,
                         .k = 71,         .bias = true};
    threads(tier, spec);
    spec.k = 192, spec.group_size = 32, spec.l1 = 1024;
    threads(tier, spec);
    spec.n = 5, spec.zero_points = true;
    threads(tier, spec);
    spec = (problem_spec){"exact",        ARMQ_OP_GEMM_S8S4S32, ARMQ_DTYPE_S8,
                          ARMQ_DTYPE_S32, .tokens = 37,         .n = 50,
                          .k = 192,       .group_size = 64};
    threads(tier, spec);
}

static void bf16_threads(const armq_tier *tier) {
    threads(tier, (problem_spec){"bf16", ARMQ_OP_LINEAR_BF16, ARMQ_DTYPE_BF16, ARMQ_DTYPE_BF16,
                                 .tokens = 37, .n = 50, .k = 70, .bias = true});
}

static void test_threads(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W8A8, w8a8_threads);
    for_each_tier(ARMQ_OP_LINEAR_W4A8, w4a8_threads);
    for_each_tier(ARMQ_OP_LINEAR_BF16, bf16_threads);
}

/* x = 0: y is the bias, 1000 n, from any thread. K = 0 the same. */
static void bias_alone(const armq_tier *tier) {
    for (int64_t k = 0; k <= 40; k += 40) {
        problem p = problem_make((problem_spec){
            "kleidi-w8a8", ARMQ_OP_LINEAR_W8A8, ARMQ_DTYPE_F32, ARMQ_DTYPE_F32, .tokens = 3,
            .n = 21, .k = k, .bias = true, .features = armq_features(), .max_threads = 21});
        if (k)
            memset(p.x, 0, (size_t)(p.desc.tokens * k) * 4);
        for (int32_t n = 1; n <= 21; n += n < 3 ? 1 : 18) {
            serial_pool pool;
            serial_pool_init(&pool, n, false);
            const float *y = problem_run(tier->provider, &p, &pool.threads);
            for (int64_t i = 0; i < p.desc.tokens * p.desc.n; i++)
                assert_true(y[i] == (float)(1000 * (i % p.desc.n)));
        }
    }
}

static void test_bias_known_answer(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W8A8, bias_alone);
}

/* NaN, infinities and a range that overflows: that row is NaN, the others are untouched. */
static void poison(const armq_tier *tier, problem_spec spec, float value, float other) {
    spec.features = armq_features();
    spec.tokens = 6, spec.n = 19, spec.k = spec.group_size ? 3 * spec.group_size : 37;
    spec.in = spec.out = ARMQ_DTYPE_F32;
    problem p = problem_make(spec);
    const float *clean = problem_run(tier->provider, &p, NULL);
    ((float *)p.x)[4 * p.x_stride + 36] = value;
    ((float *)p.x)[4 * p.x_stride + 2] = other;
    const float *y = problem_run(tier->provider, &p, NULL);
    for (int64_t i = 0; i < spec.tokens * spec.n; i++)
        if (i / spec.n == 4)
            assert_true(isnan(y[i]));
        else
            assert_memory_equal(&y[i], &clean[i], sizeof *y);
}

static void w8a8_poison(const armq_tier *tier) {
    problem_spec spec = {"vllm-w8a8", ARMQ_OP_LINEAR_W8A8, .bias = true};
    poison(tier, spec, NAN, 0);
    poison(tier, spec, -NAN, INFINITY);
    poison(tier, spec, -INFINITY, 0);
    spec.dialect = "kleidi-w8a8";
    poison(tier, spec, INFINITY, 0);
    poison(tier, spec, 3e38f, -3e38f);
}

static void w4a8_poison(const armq_tier *tier) {
    problem_spec spec = {"vllm-w4a8", ARMQ_OP_LINEAR_W4A8, .bias = true};
    for (int i = 0; i < 4; i++) {
        spec.group_size = i / 2 * 32, spec.zero_points = i % 2;
        poison(tier, spec, NAN, 0);
        poison(tier, spec, INFINITY, 0);
        poison(tier, spec, 3e38f, -3e38f);
    }
}

static void bf16_poison(const armq_tier *tier) {
    problem_spec spec = {.dialect = "bf16", .op = ARMQ_OP_LINEAR_BF16};
    poison(tier, spec, NAN, 0);
    poison(tier, spec, INFINITY, 0);
    uint32_t bits = 0xffffffffu; /* a payload that rounding would carry out of */
    float all_ones;
    memcpy(&all_ones, &bits, sizeof bits);
    poison(tier, spec, all_ones, 0);
}

static void test_poison(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W8A8, w8a8_poison);
    for_each_tier(ARMQ_OP_LINEAR_W4A8, w4a8_poison);
    for_each_tier(ARMQ_OP_LINEAR_BF16, bf16_poison);
}

static void nothing_to_do(const armq_tier *tier) {
    for (int i = 0; i < 2; i++) {
        problem p = problem_make((problem_spec){
            "vllm-w8a8", ARMQ_OP_LINEAR_W8A8, ARMQ_DTYPE_BF16, ARMQ_DTYPE_BF16, .tokens = i ? 3 : 0,
            .n = i ? 0 : 3, .k = 8, .features = armq_features()});
        assert_null(problem_run(tier->provider, &p, NULL));
    }
}

static void test_empty(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W8A8, nothing_to_do);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm_tails),
        cmocka_unit_test(test_gemm_in_passes_over_k),
        cmocka_unit_test(test_linear_dialects),
        cmocka_unit_test(test_baseline),
        cmocka_unit_test(test_row_alone),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_bias_known_answer),
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests_name("linear kernels", tests, NULL, NULL);
}
