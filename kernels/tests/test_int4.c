/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_s8s4s32 and linear_w4a8 of every tier: against plain C bit for bit (so that all tiers give
 * the same), known answers, and the ends of what the integer sums may hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/features.h"
#include "kernels/tests/s4.h"
#include "kernels/tests/tiers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define S8 ARMQ_DTYPE_S8
#define S32 ARMQ_DTYPE_S32
#define F32 ARMQ_DTYPE_F32

static problem_spec gemm(int64_t m, int64_t n, int64_t k, int64_t group) {
    return (problem_spec){.dialect = "exact",
                          .op = ARMQ_OP_GEMM_S8S4S32,
                          .in = S8,
                          .out = S32,
                          .tokens = m,
                          .n = n,
                          .k = k,
                          .group_size = group,
                          .features = armq_features()};
}

static problem_spec linear(int64_t m, int64_t n, int64_t k, int64_t group) {
    return (problem_spec){.dialect = "vllm-w4a8",
                          .op = ARMQ_OP_LINEAR_W4A8,
                          .in = F32,
                          .out = F32,
                          .tokens = m,
                          .n = n,
                          .k = k,
                          .group_size = group,
                          .features = armq_features()};
}

/* --- Shapes --------------------------------------------------------------------------------------
 */

static const int64_t tails_k[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65};

/* Every height of tile, alone and as the last of several; both formats; with and without zero
 * points; odd K. */
static void channel_tails(const armq_tier *tier) {
    for (int64_t m = 1; m <= 2 * tier->s8->tiles[0].rows + 1; m++)
        for (int64_t n = 1; n <= 41; n += n < 17 ? 3 : 8) {
            const size_t i = (size_t)(m * 5 + n);
            problem_spec spec = gemm(m, n, tails_k[i % COUNT(tails_k)], 0);
            spec.word8 = i % 2, spec.zero_points = i / 2 % 2, spec.strides = i % 3 == 0;
            compare_with_scalar(tier, spec);
            spec = linear(m, n, tails_k[(i + 1) % COUNT(tails_k)], 0);
            spec.word8 = i % 2, spec.zero_points = i / 2 % 2, spec.bias = i % 3 == 0;
            compare_with_scalar(tier, spec);
        }
}

static void test_channel_tails(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W4A8, channel_tails);
}

/* More than 256 are unpacked as themselves, not as 16 times themselves. */
static const int64_t groups[] = {32, 64, 96, 128, 224, 256, 288};

static void group_tails(const armq_tier *tier) {
    for (size_t g = 0; g < COUNT(groups); g++)
        for (int64_t m = 1; m <= 2 * tier->s8->tiles[0].rows + 1; m += m < 4 || m > 7 ? 1 : 2)
            for (int count = 1; count <= 3; count += m == 1 ? 1 : 2) {
                const int64_t n = 1 + (m * 7 + (int64_t)g * 3) % 19;
                problem_spec spec = gemm(m, n, groups[g] * count, groups[g]);
                spec.word8 = m % 2, spec.zero_points = count == 3;
                spec.strides = g % 2;
                if (m % 3 == 1)
                    compare_with_scalar(tier, spec);
                spec = linear(m, n, groups[g] * count, groups[g]);
                spec.word8 = m % 2, spec.zero_points = (m + count) % 3 == 0;
                spec.bias = spec.strides = g % 2;
                compare_with_scalar(tier, spec);
            }
}

static void test_group_tails(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W4A8, group_tails);
}

/* A small first-level cache forces passes over K of one group each, whose sums go through memory.
 */
static void passes(const armq_tier *tier) {
    for (int64_t m = 1; m <= 19; m += 6)
        for (int i = 0; i < 8; i++) {
            const int64_t group = i % 4 * 32;
            problem_spec spec = linear(m, 21, group ? 5 * group : 333, group);
            spec.l1 = 512, spec.zero_points = i / 4;
            compare_with_scalar(tier, spec);
            spec = gemm(m, 21, group ? 5 * group : 333, group);
            spec.l1 = 512, spec.zero_points = i / 4;
            compare_with_scalar(tier, spec);
        }
}

static void test_passes_over_k(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W4A8, passes);
}

/* Dtypes, both quantisations, and a rounding before the bias. */
static void dialects(const armq_tier *tier) {
    for (armq_dtype in = ARMQ_DTYPE_F32; in <= ARMQ_DTYPE_F16; in++)
        for (armq_dtype out = ARMQ_DTYPE_F32; out <= ARMQ_DTYPE_F16; out++)
            for (int i = 0; i < 16; i++) {
                problem_spec spec = linear(1 + i % 3 * 4, 11, 96, i % 2 * 32);
                spec.in = in, spec.out = out;
                spec.bias = i % 5 != 0, spec.zero_points = i / 4 % 2;
                spec.quant = i / 8 ? ARMQ_QUANT_SYMMETRIC : ARMQ_QUANT_NONE;
                problem p = problem_make(spec);
                p.desc.dialect.linear_round_before_bias = (uint32_t)i / 2 % 2;
                compare_problem(tier, &p);
            }
}

static void test_dialects(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W4A8, dialects);
}

/* int8 weights with the same activations: asymmetric, ties away from zero. */
static void int8_asymmetric(const armq_tier *tier) {
    problem_spec spec = {.dialect = "vllm-w8a8",
                         .op = ARMQ_OP_LINEAR_W8A8,
                         .in = F32,
                         .out = F32,
                         .tokens = 5,
                         .n = 11,
                         .k = 77,
                         .bias = true,
                         .quant = ARMQ_QUANT_ASYMMETRIC};
    compare_with_scalar(tier, spec);
}

static void test_int8_asymmetric(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W8A8, int8_asymmetric);
}

/* --- Known answers -------------------------------------------------------------------------------
 */

/* Byte 0x21 is w[0] = 1, w[1] = 2; as an int32 word of weights + 8, 0x..a9. */
static void nibble_order(const armq_tier *tier) {
    for (int word8 = 0; word8 < 2; word8++)
        for (int64_t hot = 0; hot < 2; hot++) {
            problem_spec spec = gemm(1, 1, 2, 0);
            spec.word8 = word8;
            const problem p = problem_make(spec);
            uint8_t *w = (uint8_t *)(uintptr_t)p.weights.w;
            w[0] = word8 ? 0xa9 : 0x21;
            ((int8_t *)p.x)[hot] = 1;
            ((int8_t *)p.x)[1 - hot] = 0;
            const int32_t *y = problem_run(tier->provider, &p, NULL);
            assert_int_equal(*y, hot + 1);
        }
}

/* All sixteen codes along K against a one-hot row, one or many rows. */
static void nibble_sign(const armq_tier *tier) {
    for (int word8 = 0; word8 < 2; word8++) {
        problem_spec spec = gemm(16, 3, 16, 0);
        spec.word8 = word8;
        problem p = problem_make(spec);
        memset(p.x, 0, 256);
        for (int64_t i = 0; i < 16; i++) {
            ((int8_t *)p.x)[i * 16 + i] = 1;
            for (int64_t n = 0; n < 3; n++) {
                uint8_t *byte = (uint8_t *)(uintptr_t)p.weights.w + n * 8 + i / 2;
                const int64_t code = word8 ? i : (i + 8) % 16; /* of i - 8 */
                *byte = (uint8_t)(i % 2 ? (*byte & 15) | code << 4 : code);
            }
        }
        for (p.desc.tokens = 1; p.desc.tokens <= 16; p.desc.tokens += 5) {
            const int32_t *y = problem_run(tier->provider, &p, NULL);
            for (int64_t i = 0; i < p.desc.tokens * 3; i++)
                assert_int_equal(y[i], i / 3 - 8);
        }
    }
}

/* w = 1 in the first group, 2 in the second, scales 1 and 16, x = 255. */
static void group_scale_index(const armq_tier *tier) {
    for (int64_t m = 1; m <= 9; m += 4) {
        const problem p = problem_make(linear(m, 9, 64, 32));
        for (int64_t i = 0; i < m * 64; i++)
            ((float *)p.x)[i] = 255;
        for (int64_t n = 0; n < 9; n++) {
            for (int64_t i = 0; i < 64; i++)
                s4_set(&p.desc, &p.weights, 64, n, i, i < 32 ? 1 : 2);
            ((uint16_t *)(uintptr_t)p.weights.scales)[2 * n] = 0x3f80;
            ((uint16_t *)(uintptr_t)p.weights.scales)[2 * n + 1] = 0x4180;
        }
        const float *y = problem_run(tier->provider, &p, NULL);
        for (int64_t i = 0; i < m * 9; i++)
            assert_true(y[i] == 269280);
    }
}

/* Rows of range 255 with zero points 3 and -3, against one-hot weights, whose sum is 1. */
static void activation_zero_point(const armq_tier *tier) {
    const float extremes[2][2] = {{-131, 124}, {-125, 130}};
    for (int64_t m = 1; m <= 9; m += 4)
        for (int64_t group = 0; group <= 32; group += 32) {
            const problem p = problem_make(linear(m, 3, 64, group));
            memset((void *)(uintptr_t)p.weights.w, 0, 3 * 32);
            for (int64_t n = 0; n < 3; n++)
                s4_set(&p.desc, &p.weights, 64, n, n == 2 ? 40 : n, 1);
            for (int64_t i = 0; i < (group ? 6 : 3); i++)
                if (group)
                    ((uint16_t *)(uintptr_t)p.weights.scales)[i] = 0x3f80;
                else
                    ((float *)(uintptr_t)p.weights.scales)[i] = 1;
            memset(p.x, 0, (size_t)m * 64 * 4);
            for (int64_t r = 0; r < m; r++)
                memcpy((float *)p.x + 64 * r, extremes[r % 2], 8);
            const float *y = problem_run(tier->provider, &p, NULL);
            for (int64_t r = 0; r < m; r++) {
                assert_true(y[3 * r] == extremes[r % 2][0]);
                assert_true(y[3 * r + 1] == extremes[r % 2][1]);
                assert_true(y[3 * r + 2] == 0);
            }
        }
}

/* A zero row beside others: the bias exactly; per channel also with activations' zero points. */
static void zero_rows(const armq_tier *tier) {
    problem_spec spec = linear(5, 19, 64, 0);
    spec.bias = true;
    for (int i = 0; i < 3; i++) {
        spec.zero_points = i == 1;
        spec.group_size = i == 2 ? 32 : 0;
        spec.quant = i == 2 ? ARMQ_QUANT_SYMMETRIC : ARMQ_QUANT_NONE;
        const problem p = problem_make(spec);
        memset((float *)p.x + 64, 0, 64 * 4);
        const float *y = problem_run(tier->provider, &p, NULL);
        for (int64_t n = 0; n < 19; n++)
            assert_true(y[19 + n] == (float)(1000 * n));
        compare_problem(tier, &p);
    }
}

/* Scales of every kind are an f32 like others, on every tier. */
static void bad_scales(const armq_tier *tier) {
    const uint32_t bits[] = {0,          0x80000000, 0xbf800000, 0x7f800000, 0xff800000,
                             0x7fc00000, 0xffc10000, 0x00010000, 0x7f7f0000};
    for (int64_t group = 0; group <= 64; group += 32)
        for (int64_t m = 1; m <= 9; m += 8) {
            problem_spec spec = linear(m, COUNT(bits), 128, group);
            spec.quant = ARMQ_QUANT_SYMMETRIC;
            const problem p = problem_make(spec);
            const int64_t per_row = group ? 128 / group : 1;
            for (int64_t i = 0; i < (int64_t)COUNT(bits) * per_row; i++) {
                const uint32_t value = bits[i / per_row];
                if (group && i % per_row == 0)
                    ((uint16_t *)(uintptr_t)p.weights.scales)[i] = (uint16_t)(value >> 16);
                else if (!group)
                    memcpy((float *)(uintptr_t)p.weights.scales + i, &value, 4);
            }
            const void *y = problem_run(tier->provider, &p, NULL);
            for (int64_t r = 0; r < m; r++)
                for (int64_t n = 0; n < p.desc.n; n++) {
                    const uint32_t got = output_bits(&p, y, r, n), want = scalar_output(&p, r, n);
                    const uint32_t nan = 0x7f800000;
                    assert_true(got == want ||
                                ((got & ~0x80000000u) > nan && (want & ~0x80000000u) > nan));
                }
        }
}

static void test_known_answers(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_GEMM_S8S4S32, nibble_order);
    for_each_tier(ARMQ_OP_GEMM_S8S4S32, nibble_sign);
    for_each_tier(ARMQ_OP_LINEAR_W4A8, group_scale_index);
    for_each_tier(ARMQ_OP_LINEAR_W4A8, activation_zero_point);
    for_each_tier(ARMQ_OP_LINEAR_W4A8, zero_rows);
    for_each_tier(ARMQ_OP_LINEAR_W4A8, bad_scales);
}

/* --- Extremes ------------------------------------------------------------------------------------
 */

/* Every weight w, every zero point z, every element of x the same and lowest or highest: q is -128
 * or 127 throughout and a group's sum as far from 0 as it can be. Groups at both sides of where
 * sums are read as floats, and as 16 times themselves. */
static void longest_sums(const armq_tier *tier) {
    const struct {
        int64_t group;
        int32_t w, zero;
    } cases[] = {{224, -8, 0},  {224, 7, 0},   {256, -8, 0}, {288, -8, 0},  {128, -8, 7},
                 {128, 7, -8},  {160, -8, 7},  {160, 7, -8}, {2176, -8, 7}, {2176, 7, -8},
                 {2208, -8, 7}, {2208, 7, -8}, {4096, -8, 0}};
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int64_t m = 1; m <= 9; m += 8)
            for (int sign = -1; sign <= 1; sign += 2) {
                problem_spec spec = linear(m, 3, 2 * cases[i].group, cases[i].group);
                spec.zero_points = cases[i].zero != 0;
                const problem p = problem_make(spec);
                for (int64_t j = 0; j < m * spec.k; j++)
                    ((float *)p.x)[j] = (float)(sign * (255 - (int)(j / spec.k)));
                for (int64_t n = 0; n < 3; n++)
                    for (int64_t k = 0; k < spec.k; k++)
                        s4_set(&p.desc, &p.weights, spec.k, n, k, cases[i].w);
                if (spec.zero_points)
                    memset((void *)(uintptr_t)p.weights.zero_points, cases[i].zero, 6);
                compare_problem(tier, &p);
            }
}

/* The integer op on operands of every extreme. */
static void extreme_operands(const armq_tier *tier) {
    const int8_t x[] = {-128, 127, -128, 127};
    const int8_t w[] = {-8, -8, 7, 7};
    for (size_t i = 0; i < COUNT(x); i++)
        for (int64_t m = 1; m <= 9; m += 4)
            for (int64_t group = 0; group <= 512; group += 256) {
                const problem p = problem_make(gemm(m, 9, 1024, group));
                memset(p.x, x[i], (size_t)m * 1024);
                memset((void *)(uintptr_t)p.weights.w, (w[i] & 15) * 17, 9 * 512);
                const int32_t *y = problem_run(tier->provider, &p, NULL);
                const int64_t terms = group ? group : 1024;
                for (int64_t j = 0; j < m * p.y_row; j++)
                    assert_int_equal(y[j], x[i] * w[i] * terms);
            }
}

static void test_extremes(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W4A8, longest_sums);
    for_each_tier(ARMQ_OP_GEMM_S8S4S32, extreme_operands);
}

/* --- What query says -----------------------------------------------------------------------------
 */

static void assert_kernel(const armq_tier *tier, const armq_desc *desc, const char *part) {
    armq_support support = {.size = sizeof support};
    assert_int_equal(tier->provider->query(desc, &support), ARMQ_OK);
    if (!strstr(support.kernel, part))
        fail_msg("kernel \"%s\" does not say \"%s\"", support.kernel, part);
}

static void assert_refused(const armq_tier *tier, const armq_desc *desc, const char *part) {
    armq_support support = {.size = sizeof support};
    assert_int_not_equal(tier->provider->query(desc, &support), ARMQ_OK);
    if (!strstr(support.reason, part))
        fail_msg("the reason \"%s\" does not say \"%s\"", support.reason, part);
}

static void queries(const armq_tier *tier) {
    armq_desc d = problem_make(linear(3, 9, 64, 0)).desc;
    assert_kernel(tier, &d, "int4, per channel");
    d = problem_make(linear(3, 9, 64, 32)).desc;
    assert_kernel(tier, &d, "int4, groups of 32");
    d.group_size = 48;
    assert_refused(tier, &d, "group_size = 48");
    d.group_size = 96;
    assert_refused(tier, &d, "group_size = 96 does not divide k = 64");
    d.group_size = 32;
    d.k = 65824;
    assert_refused(tier, &d, "65793");
}

/* 128 elements take 64 bytes and a scale. */
static void packed_size(const armq_tier *tier) {
    const armq_desc d = problem_make(linear(1, 2048, 2048, 128)).desc;
    armq_support support = {.size = sizeof support};
    assert_int_equal(tier->provider->query(&d, &support), ARMQ_OK);
    assert_true((double)(2048 * 2048 * 2) / (double)support.packed_bytes[0] >= 3.6);
}

/* Workspace does not grow with the number of tokens. */
static void bounded(const armq_tier *tier) {
    armq_desc d = problem_make(linear(1, 64, 64, 32)).desc;
    size_t bytes[2];
    for (int i = 0; i < 2; i++) {
        armq_support support = {.size = sizeof support};
        d.tokens = i ? INT64_C(1) << 40 : 4096;
        assert_int_equal(tier->provider->query(&d, &support), ARMQ_OK);
        bytes[i] = support.workspace_bytes;
    }
    assert_int_equal(bytes[0], bytes[1]);
}

static void test_queries(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W4A8, queries);
    for_each_tier(ARMQ_OP_LINEAR_W4A8, packed_size);
    for_each_tier(ARMQ_OP_LINEAR_W4A8, bounded);
}

static void nothing_to_do(const armq_tier *tier) {
    const problem_spec specs[] = {linear(0, 3, 64, 32), linear(3, 0, 64, 32), gemm(3, 5, 0, 32),
                                  gemm(0, 3, 7, 0)};
    for (size_t i = 0; i < COUNT(specs); i++) {
        const problem p = problem_make(specs[i]);
        assert_null(problem_run(tier->provider, &p, NULL));
    }
    problem_spec spec = linear(3, 9, 0, 32);
    spec.bias = true;
    compare_with_scalar(tier, spec);
}

static void test_empty(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_LINEAR_W4A8, nothing_to_do);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_channel_tails),   cmocka_unit_test(test_group_tails),
        cmocka_unit_test(test_passes_over_k),   cmocka_unit_test(test_dialects),
        cmocka_unit_test(test_int8_asymmetric), cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_extremes),        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests_name("int4", tests, NULL, NULL);
}
