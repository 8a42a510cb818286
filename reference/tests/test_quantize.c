/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation of activations: answers worked out by hand, rules at the edges. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "reference/formats.h"
#include "reference/reference.h"

enum { ROW = 8 };

static armq_dialect dialect(armq_quant quant, armq_rounding rounding) {
    return (armq_dialect){.size = sizeof(armq_dialect),
                          .quant = quant,
                          .q_rounding = rounding,
                          .work = ARMQ_DTYPE_F32};
}

static ref_row_quant quantize(armq_quant quant, armq_rounding rounding, const float *x, int64_t k,
                              int8_t *q) {
    armq_dialect d = dialect(quant, rounding);
    memset(q, 99, (size_t)k);
    return ref_quantize_row(&d, ARMQ_DTYPE_F32, x, k, q);
}

#define assert_row(q, ...)                                                                         \
    do {                                                                                           \
        const int8_t wanted_[] = {__VA_ARGS__};                                                    \
        for (size_t i_ = 0; i_ < sizeof wanted_; i_++)                                             \
            assert_int_equal((q)[i_], wanted_[i_]);                                                \
    } while (0)

static const float half_integers[7] = {127, .5f, 1.5f, 2.5f, -.5f, -1.5f, -2.5f};

static void ties_as_the_dialect_says(void **state) {
    (void)state;
    int8_t q[ROW];
    ref_row_quant even = quantize(ARMQ_QUANT_SYMMETRIC, ARMQ_ROUND_TIES_EVEN, half_integers, 7, q);
    assert_row(q, 127, 0, 2, 2, 0, -2, -2);
    assert_true(even.scale == 1.0f && even.zero_point == 0 && even.finite);
    quantize(ARMQ_QUANT_SYMMETRIC, ARMQ_ROUND_TIES_AWAY, half_integers, 7, q);
    assert_row(q, 127, 1, 2, 3, -1, -2, -3);
}

static void scale_is_amax_over_127_in_f32(void **state) {
    (void)state;
    int8_t q[ROW];
    const float x[] = {-3.0f, 1.0f, 0.7f};
    ref_row_quant row = quantize(ARMQ_QUANT_SYMMETRIC, ARMQ_ROUND_TIES_EVEN, x, 3, q);
    assert_true(row.scale == 3.0f / 127.0f);
    assert_row(q, -127, 42, 30); /* 42.33, 29.63 */
}

static void symmetric_zero_and_tiny_rows(void **state) {
    (void)state;
    int8_t q[ROW];
    const float zeros[] = {0.0f, -0.0f, 0.0f}, tiny[] = {0x1p-140f, -1e-9f, 0.0f};
    ref_row_quant row = quantize(ARMQ_QUANT_SYMMETRIC, ARMQ_ROUND_TIES_EVEN, zeros, 3, q);
    assert_true(row.scale == 1e-7f / 127.0f && row.finite);
    assert_row(q, 0, 0, 0);
    row = quantize(ARMQ_QUANT_SYMMETRIC, ARMQ_ROUND_TIES_AWAY, tiny, 3, q);
    assert_true(row.scale == 1e-7f / 127.0f);
    assert_row(q, 0, -1, 0); /* 1e-9 * 127 / 1e-7 = 1.27 */
    row = quantize(ARMQ_QUANT_SYMMETRIC, ARMQ_ROUND_TIES_EVEN, NULL, 0, q);
    assert_true(row.finite);
}

static void zero_points_of_both_signs(void **state) {
    (void)state;
    int8_t q[ROW];
    const float three[] = {-131, 124, 0, 1}, minus_three[] = {-125, 130, 0, 1};
    ref_row_quant row = quantize(ARMQ_QUANT_ASYMMETRIC, ARMQ_ROUND_TIES_EVEN, three, 4, q);
    assert_true(row.scale == 1.0f && row.finite);
    assert_int_equal(row.zero_point, 3);
    assert_row(q, -128, 127, 3, 4);
    row = quantize(ARMQ_QUANT_ASYMMETRIC, ARMQ_ROUND_TIES_EVEN, minus_three, 4, q);
    assert_int_equal(row.zero_point, -3);
    assert_row(q, -128, 127, -3, -2);
}

static void asymmetric_one_sided_rows(void **state) {
    (void)state;
    int8_t q[ROW];
    const float positive[] = {255, 0.5f, 1.5f, 254.5f}, negative[] = {-255, -0.5f, -1.5f};
    ref_row_quant row = quantize(ARMQ_QUANT_ASYMMETRIC, ARMQ_ROUND_TIES_EVEN, positive, 4, q);
    assert_int_equal(row.zero_point, -128);
    assert_row(q, 127, -128, -126, 126);
    quantize(ARMQ_QUANT_ASYMMETRIC, ARMQ_ROUND_TIES_AWAY, positive, 4, q);
    assert_row(q, 127, -127, -126, 127);
    row = quantize(ARMQ_QUANT_ASYMMETRIC, ARMQ_ROUND_TIES_AWAY, negative, 3, q);
    assert_int_equal(row.zero_point, 127);
    assert_row(q, -128, 126, 125);
}

/* Every zero row, and every row whose range is below 2^-120, is k = 1, zero point 127, q = 127. */
static void asymmetric_zero_and_tiny_rows(void **state) {
    (void)state;
    static const float rows[][2] = {
        {0.0f, 0.0f}, {-0.0f, 0.0f}, {0x1p-121f, 0.0f}, {-0x1p-121f, 0x1p-122f}, {0x1p-149f, 0.0f}};
    int8_t q[ROW];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ref_row_quant row = quantize(ARMQ_QUANT_ASYMMETRIC, ARMQ_ROUND_TIES_AWAY, rows[i], 2, q);
        assert_true(row.scale == 1.0f && row.finite);
        assert_int_equal(row.zero_point, 127);
        assert_row(q, 127, 127);
    }
    const float just_large_enough[] = {0x1p-120f, 0.0f};
    ref_row_quant row =
        quantize(ARMQ_QUANT_ASYMMETRIC, ARMQ_ROUND_TIES_AWAY, just_large_enough, 2, q);
    assert_true(row.scale == 1.0f / (255.0f / 0x1p-120f));
    assert_row(q, 127, -128);
}

static void rows_that_are_not_finite(void **state) {
    (void)state;
    static const float rows[][3] = {{1, NAN, 2}, {1, 2, INFINITY}, {-INFINITY, 1, 2}};
    int8_t q[ROW];
    for (int quant = ARMQ_QUANT_SYMMETRIC; quant <= ARMQ_QUANT_ASYMMETRIC; quant++)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            ref_row_quant row = quantize((armq_quant)quant, ARMQ_ROUND_TIES_EVEN, rows[i], 3, q);
            assert_false(row.finite);
            assert_true(isnan(row.scale));
            assert_int_equal(row.zero_point, 0);
            assert_row(q, 0, 0, 0);
        }
    const float wide[] = {-3e38f, 3e38f};
    assert_false(quantize(ARMQ_QUANT_ASYMMETRIC, ARMQ_ROUND_TIES_EVEN, wide, 2, q).finite);
    assert_true(quantize(ARMQ_QUANT_SYMMETRIC, ARMQ_ROUND_TIES_EVEN, wide, 2, q).finite);
    assert_row(q, -127, 127);
}

static void input_dtypes_and_work_dtype(void **state) {
    (void)state;
    int8_t q[ROW];
    uint16_t x[7];
    armq_dialect d = dialect(ARMQ_QUANT_SYMMETRIC, ARMQ_ROUND_TIES_EVEN);
    static const armq_dtype dtypes[] = {ARMQ_DTYPE_BF16, ARMQ_DTYPE_F16};
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 7; i++)
            armq_store(dtypes[t], x, i, (double)half_integers[i]);
        assert_true(ref_quantize_row(&d, dtypes[t], x, 7, q).scale == 1.0f);
        assert_row(q, 127, 0, 2, 2, 0, -2, -2);
    }
    d.work = ARMQ_DTYPE_BF16;
    const float rounds_to_127[] = {127.0f + 0x1p-3f, 1.4f}; /* bf16: 127, 1.398 */
    assert_true(ref_quantize_row(&d, ARMQ_DTYPE_F32, rounds_to_127, 2, q).scale == 1.0f);
}

/* The op: q as exact intervals, and what a provider without the claim may do with a NaN row. */
static void quantize_as_an_op(void **state) {
    (void)state;
    const float x[2][4] = {{127, .5f, 1.5f, -2.5f}, {1, NAN, 2, 3}};
    armq_desc desc = {.size = sizeof desc, .op = ARMQ_OP_QUANTIZE, .tokens = 2, .k = 4};
    desc.in = ARMQ_DTYPE_F32;
    desc.out = ARMQ_DTYPE_S8;
    desc.dialect = dialect(ARMQ_QUANT_SYMMETRIC, ARMQ_ROUND_TIES_EVEN);
    ref_problem problem = {.desc = &desc, .x = x, .x_stride = 4};
    ref_interval y[4];
    for (int claimed = 0; claimed < 2; claimed++) {
        problem.claims = claimed ? ARMQ_CLAIM_NONFINITE_ROW_NAN : 0;
        ref_context *context = ref_open(&problem);
        assert_non_null(context);
        ref_row_intervals(context, 1, NULL, 4, y);
        assert_int_equal(y[0].kind, claimed ? REF_VALUE : REF_ANY);
        const int64_t columns[] = {3, 0};
        ref_row_intervals(context, 0, columns, 2, y);
        assert_true(y[0].lo == -2 && y[0].mid == -2 && y[0].hi == -2);
        assert_true(y[1].lo == 127 && y[1].hi == 127);
        int8_t right = -2, wrong = -3;
        assert_true(ref_accepts(&y[0], ARMQ_DTYPE_S8, &right));
        assert_false(ref_accepts(&y[0], ARMQ_DTYPE_S8, &wrong));
        assert_true(ref_unquantized(context, 0, 3) == -2.5);
        ref_close(context);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties_as_the_dialect_says),
        cmocka_unit_test(scale_is_amax_over_127_in_f32),
        cmocka_unit_test(symmetric_zero_and_tiny_rows),
        cmocka_unit_test(zero_points_of_both_signs),
        cmocka_unit_test(asymmetric_one_sided_rows),
        cmocka_unit_test(asymmetric_zero_and_tiny_rows),
        cmocka_unit_test(rows_that_are_not_finite),
        cmocka_unit_test(input_dtypes_and_work_dtype),
        cmocka_unit_test(quantize_as_an_op),
    };
    return cmocka_run_group_tests_name("quantize", tests, NULL, NULL);
}
