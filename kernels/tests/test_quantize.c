/* SPDX-License-Identifier: Apache-2.0 */
/* The op quantize, which shares its code with the linear ops: known answers, and the reference's
 * quantiser over lengths, dtypes, dialects and working dtypes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/dialects.h"
#include "kernels/api/features.h"
#include "kernels/api/names.h"
#include "kernels/kernels.h"
#include "kernels/tests/problem.h"
#include "reference/formats.h"
#include "reference/reference.h"

typedef struct {
    int8_t *q;
    float *scales;
    int32_t *zeros;
} quantized;

static armq_desc describe(armq_dialect dialect, armq_dtype in, int64_t tokens, int64_t k) {
    return (armq_desc){.size = sizeof(armq_desc),
                       .abi = ARMQ_ABI_VERSION,
                       .op = ARMQ_OP_QUANTIZE,
                       .tokens = tokens,
                       .k = k,
                       .in = in,
                       .out = ARMQ_DTYPE_S8,
                       .max_threads = 3,
                       .features = armq_features(),
                       .dialect = dialect};
}

static quantized quantize(const armq_provider *provider, const armq_desc *d, const void *x,
                          const armq_threads *threads) {
    const bool asymmetric = d->dialect.quant == ARMQ_QUANT_ASYMMETRIC;
    armq_support support = {.size = sizeof support};
    if (provider->query(d, &support) != ARMQ_OK)
        fail_msg("%s", support.reason);
    const size_t tokens = (size_t)d->tokens;
    quantized out = {guarded(tokens * (size_t)d->k, 1, 0x5a), guarded(tokens * 4, 4, 0x5a),
                     asymmetric ? guarded(tokens * 4, 4, 0x5a) : NULL};
    armq_args args = {.size = sizeof args,
                      .x = x,
                      .y = out.q,
                      .y_scales = out.scales,
                      .y_zero_points = out.zeros,
                      .workspace = guarded(support.workspace_bytes, 64, 0x5a),
                      .threads = threads};
    assert_int_equal(provider->run(d, NULL, &args), ARMQ_OK);
    return out;
}

static const armq_provider *neon(void) {
    size_t count;
    return armq_builtin_providers(&count)[0];
}

static armq_dialect dialect_of(armq_quant quant, armq_rounding rounding, armq_dtype work) {
    return (armq_dialect){
        .size = sizeof(armq_dialect), .quant = quant, .q_rounding = rounding, .work = work};
}

/* One row of f32 at the end of a page. */
static quantized quantize_row(armq_quant quant, armq_rounding rounding, const float *row,
                              int64_t k) {
    armq_desc d = describe(dialect_of(quant, rounding, ARMQ_DTYPE_F32), ARMQ_DTYPE_F32, 1, k);
    void *x = guarded((size_t)k * 4, 4, 0);
    memcpy(x, row, (size_t)k * 4);
    return quantize(neon(), &d, x, NULL);
}

static void test_ties(void **state) {
    (void)state;
    const float x[] = {127, .5f, 1.5f, 2.5f, -.5f, -1.5f, -2.5f};
    const int8_t even[] = {127, 0, 2, 2, 0, -2, -2}, away[] = {127, 1, 2, 3, -1, -2, -3};
    quantized q = quantize_row(ARMQ_QUANT_SYMMETRIC, ARMQ_ROUND_TIES_EVEN, x, 7);
    assert_memory_equal(q.q, even, 7);
    assert_true(q.scales[0] == 1.0f);
    q = quantize_row(ARMQ_QUANT_SYMMETRIC, ARMQ_ROUND_TIES_AWAY, x, 7);
    assert_memory_equal(q.q, away, 7);
}

/* The number next below a half must go down: adding a half first would lose it. */
static void test_just_below_a_half(void **state) {
    (void)state;
    const float x[] = {127, 0x1.fffffep-2f, -0x1.fffffep-2f};
    const int8_t want[] = {127, 0, 0};
    for (int rounding = 0; rounding < 2; rounding++) {
        quantized q = quantize_row(ARMQ_QUANT_SYMMETRIC, (armq_rounding)rounding, x, 3);
        assert_memory_equal(q.q, want, 3);
    }
}

static void test_zero_points(void **state) {
    (void)state;
    const float positive[] = {-131, 124, 0}, negative[] = {-125, 130, 0};
    quantized q = quantize_row(ARMQ_QUANT_ASYMMETRIC, ARMQ_ROUND_TIES_EVEN, positive, 3);
    const int8_t want[] = {-128, 127, 3};
    assert_memory_equal(q.q, want, 3);
    assert_int_equal(q.zeros[0], 3);
    assert_true(q.scales[0] == 1.0f);
    q = quantize_row(ARMQ_QUANT_ASYMMETRIC, ARMQ_ROUND_TIES_AWAY, negative, 3);
    const int8_t want2[] = {-128, 127, -3};
    assert_memory_equal(q.q, want2, 3);
    assert_int_equal(q.zeros[0], -3);
}

static void test_rows_of_nothing(void **state) {
    (void)state;
    const float tiny = 0x1p-121f;
    const float rows[][2] = {{0, 0}, {-0.0f, -0.0f}, {tiny, 0}, {-tiny, 0}};
    for (int i = 0; i < 4; i++) {
        quantized s = quantize_row(ARMQ_QUANT_SYMMETRIC, ARMQ_ROUND_TIES_EVEN, rows[i], 2);
        assert_true(s.q[0] == 0 && s.q[1] == 0 && s.scales[0] == 1e-7f / 127.0f);
        quantized a = quantize_row(ARMQ_QUANT_ASYMMETRIC, ARMQ_ROUND_TIES_EVEN, rows[i], 2);
        assert_true(a.scales[0] == 1.0f && a.q[0] == a.zeros[0] && a.q[1] == a.zeros[0]);
    }
}

static void test_not_finite(void **state) {
    (void)state;
    const float rows[][2] = {{NAN, 1}, {1, -NAN}, {INFINITY, 1}, {1, -INFINITY}, {3e38f, -3e38f}};
    for (int i = 0; i < 5; i++)
        for (int quant = ARMQ_QUANT_SYMMETRIC; quant <= ARMQ_QUANT_ASYMMETRIC; quant++) {
            quantized q = quantize_row((armq_quant)quant, ARMQ_ROUND_TIES_EVEN, rows[i], 2);
            /* Only an asymmetric range can overflow. */
            const bool finite = i == 4 && quant == ARMQ_QUANT_SYMMETRIC;
            assert_int_equal(isnan(q.scales[0]), !finite);
            assert_true(finite || (q.q[0] == 0 && q.q[1] == 0));
            assert_true(!q.zeros || q.zeros[0] == 0);
        }
}

static void compare(const armq_provider *provider, armq_dialect dialect, armq_dtype in, int64_t k) {
    enum { TOKENS = 11 };
    const armq_desc d = describe(dialect, in, TOKENS, k);
    const size_t element = armq_dtype_bytes(in);
    char *x = guarded((size_t)(TOKENS * k) * element, element, 0);
    uint64_t random = (uint64_t)k + 17;
    for (int64_t i = 0; i < TOKENS * k; i++) {
        const int64_t row = i / k;
        const double value = (int32_t)random_u32(&random) * 0x1p-29 * (double)(1 + row);
        armq_store(in, x, i, armq_round_to(in, value));
    }
    serial_pool pool;
    serial_pool_init(&pool, 3, true);
    quantized got = quantize(provider, &d, x, &pool.threads);
    int8_t want[200];
    for (int64_t row = 0; row < TOKENS; row++) {
        ref_row_quant r = ref_quantize_row(&dialect, in, x + (size_t)(row * k) * element, k, want);
        if (memcmp(want, got.q + row * k, (size_t)k) != 0 || r.scale != got.scales[row] ||
            (got.zeros && r.zero_point != got.zeros[row]))
            fail_msg("%s quant=%d rounding=%d work=%s in=%s k=%d: row %d differs", provider->name,
                     dialect.quant, dialect.q_rounding, armq_dtype_name(dialect.work),
                     armq_dtype_name(in), (int)k, (int)row);
    }
}

static void test_all_dialects(void **state) {
    (void)state;
    static const int64_t lengths[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100, 200};
    size_t count;
    const armq_provider *const *providers = armq_builtin_providers(&count);
    for (size_t p = 0; p < count; p++) {
        if ((providers[p]->required_features & ~armq_features()) ||
            strcmp(providers[p]->name, "bf16") == 0)
            continue;
        for (int quant = 1; quant <= 2; quant++)
            for (int rounding = 0; rounding < 2; rounding++)
                for (int work = ARMQ_DTYPE_F32; work <= ARMQ_DTYPE_F16; work++)
                    for (int in = ARMQ_DTYPE_F32; in <= ARMQ_DTYPE_F16; in++)
                        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
                            compare(providers[p],
                                    dialect_of((armq_quant)quant, (armq_rounding)rounding,
                                               (armq_dtype)work),
                                    (armq_dtype)in, lengths[i]);
    }
}

static void test_nothing(void **state) {
    (void)state;
    const armq_dialect dialect =
        dialect_of(ARMQ_QUANT_SYMMETRIC, ARMQ_ROUND_TIES_EVEN, ARMQ_DTYPE_F32);
    armq_desc d = describe(dialect, ARMQ_DTYPE_F32, 2, 0);
    quantized q = quantize(neon(), &d, NULL, NULL);
    assert_true(q.scales[0] == 1e-7f / 127.0f && q.scales[1] == q.scales[0]);
    d = describe(dialect, ARMQ_DTYPE_F32, 0, 5);
    quantize(neon(), &d, NULL, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ties),        cmocka_unit_test(test_just_below_a_half),
        cmocka_unit_test(test_zero_points), cmocka_unit_test(test_rows_of_nothing),
        cmocka_unit_test(test_not_finite),  cmocka_unit_test(test_all_dialects),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests_name("quantize", tests, NULL, NULL);
}
