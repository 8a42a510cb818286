/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/api/dialects.h"
#include "kernels/api/features.h"
#include "kernels/api/names.h"

static armq_dialect preset(const char *name, armq_op op, armq_dtype in, int64_t group,
                           armq_activation activation) {
    armq_dialect d;
    const char *why = "";
    if (!armq_dialect_preset(name, op, in, group, activation, &d, &why))
        fail_msg("%s refused: %s", name, why);
    return d;
}

static void test_every_name_is_a_preset(void **state) {
    (void)state;
    int count = 0;
    for (; armq_dialect_names[count]; count++)
        assert_true(armq_dialect_is_name(armq_dialect_names[count]));
    assert_int_equal(count, 6);
    assert_false(armq_dialect_is_name("vllm"));
}

static void test_rounding_of_q(void **state) {
    (void)state;
    const struct {
        const char *name;
        armq_dtype in;
        int64_t group;
        armq_rounding rounding;
        armq_dtype work;
    } table[] = {
        {"sglang-w8a8", ARMQ_DTYPE_BF16, 0, ARMQ_ROUND_TIES_AWAY, ARMQ_DTYPE_F32},
        {"vllm-w8a8", ARMQ_DTYPE_F32, 0, ARMQ_ROUND_TIES_EVEN, ARMQ_DTYPE_F32},
        {"vllm-w4a8", ARMQ_DTYPE_F32, 0, ARMQ_ROUND_TIES_AWAY, ARMQ_DTYPE_F32},
        {"vllm-w4a8", ARMQ_DTYPE_F16, 0, ARMQ_ROUND_TIES_AWAY, ARMQ_DTYPE_F32},
        {"vllm-w4a8", ARMQ_DTYPE_BF16, 0, ARMQ_ROUND_TIES_EVEN, ARMQ_DTYPE_BF16},
        {"vllm-w4a8", ARMQ_DTYPE_BF16, 32, ARMQ_ROUND_TIES_AWAY, ARMQ_DTYPE_F32},
        {"kleidi-w8a8", ARMQ_DTYPE_F32, 0, ARMQ_ROUND_TIES_AWAY, ARMQ_DTYPE_F32},
        {"kleidi-w8a8", ARMQ_DTYPE_F16, 0, ARMQ_ROUND_TIES_EVEN, ARMQ_DTYPE_F32},
        {"kleidi-w8a8", ARMQ_DTYPE_BF16, 0, ARMQ_ROUND_TIES_EVEN, ARMQ_DTYPE_F32},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        armq_dialect d =
            preset(table[i].name, ARMQ_OP_QUANTIZE, table[i].in, table[i].group, ARMQ_ACT_NONE);
        assert_int_equal(d.q_rounding, table[i].rounding);
        assert_int_equal(d.work, table[i].work);
    }
}

static void test_undefined_combinations(void **state) {
    (void)state;
    armq_dialect d;
    const char *why = NULL;
    assert_false(armq_dialect_preset("sglang-w8a8", ARMQ_OP_LINEAR_W8A8, ARMQ_DTYPE_F32, 0,
                                     ARMQ_ACT_NONE, &d, &why));
    assert_non_null(why);
    assert_false(armq_dialect_preset("sglang-w8a8", ARMQ_OP_MOE_W8A8, ARMQ_DTYPE_BF16, 0,
                                     ARMQ_ACT_GELU, &d, NULL));
    assert_false(armq_dialect_preset("kleidi-w8a8", ARMQ_OP_LINEAR_BF16, ARMQ_DTYPE_F32, 0,
                                     ARMQ_ACT_NONE, &d, NULL));
    assert_false(armq_dialect_preset("no-such", ARMQ_OP_QUANTIZE, ARMQ_DTYPE_F32, 0, ARMQ_ACT_NONE,
                                     &d, NULL));
    assert_false(armq_dialect_preset("vllm-w8a8", ARMQ_OP_LINEAR_W8A8, ARMQ_DTYPE_F32, 0,
                                     ARMQ_ACT_SILU, &d, NULL));
}

static void test_max_k(void **state) {
    (void)state;
    armq_dialect exact = preset("exact", ARMQ_OP_GEMM_S8S8S32, ARMQ_DTYPE_S8, 0, ARMQ_ACT_NONE);
    armq_dialect symmetric =
        preset("vllm-w8a8", ARMQ_OP_LINEAR_W8A8, ARMQ_DTYPE_F32, 0, ARMQ_ACT_NONE);
    armq_dialect asymmetric =
        preset("kleidi-w8a8", ARMQ_OP_LINEAR_W8A8, ARMQ_DTYPE_F32, 0, ARMQ_ACT_NONE);
    armq_dialect bf16 = preset("bf16", ARMQ_OP_LINEAR_BF16, ARMQ_DTYPE_F32, 0, ARMQ_ACT_NONE);
    assert_int_equal(armq_max_k(ARMQ_OP_GEMM_S8S8S32, &exact), 131071);
    assert_int_equal(armq_max_k(ARMQ_OP_LINEAR_W8A8, &symmetric), 132104);
    assert_int_equal(armq_max_k(ARMQ_OP_LINEAR_W8A8, &asymmetric), 65793);
    assert_true(armq_max_k(ARMQ_OP_LINEAR_BF16, &bf16) == INT64_MAX);
}

static void test_names_round_trip(void **state) {
    (void)state;
    for (int i = 0; i < ARMQ_OP_COUNT; i++) {
        armq_op op;
        assert_true(armq_op_parse(armq_op_name((armq_op)i), &op));
        assert_int_equal(op, i);
    }
    for (int i = 0; i < ARMQ_DTYPE_COUNT; i++) {
        armq_dtype dtype;
        assert_true(armq_dtype_parse(armq_dtype_name((armq_dtype)i), &dtype));
        assert_int_equal(dtype, i);
    }
    armq_op op;
    assert_false(armq_op_parse("linear", &op));
    assert_string_equal(armq_op_name((armq_op)1000), "?");
}

/* Every subset of the features: each bit of HWCAP gives its own feature and no other. */
static void test_every_subset_of_features(void **state) {
    (void)state;
    const struct {
        uint64_t feature;
        unsigned long hwcap, hwcap2;
    } bit[] = {
        {ARMQ_FEATURE_DOTPROD, 1ul << 20, 0},
        {ARMQ_FEATURE_I8MM, 0, 1ul << 13},
        {ARMQ_FEATURE_BF16, 0, 1ul << 14},
    };
    for (unsigned subset = 0; subset < 8; subset++) {
        uint64_t want = ARMQ_FEATURE_NEON;
        unsigned long hwcap = 1ul << 1, hwcap2 = 0;
        for (unsigned i = 0; i < 3; i++)
            if (subset >> i & 1) {
                want |= bit[i].feature;
                hwcap |= bit[i].hwcap;
                hwcap2 |= bit[i].hwcap2;
            }
        assert_true(armq_features_from_hwcap(hwcap, hwcap2) == want);
    }
    assert_true(armq_features_from_hwcap(~(1ul << 20), 0) ==
                (ARMQ_FEATURE_NEON | ARMQ_FEATURE_FP16 | ARMQ_FEATURE_SVE));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_name_is_a_preset),
        cmocka_unit_test(test_rounding_of_q),
        cmocka_unit_test(test_undefined_combinations),
        cmocka_unit_test(test_max_k),
        cmocka_unit_test(test_names_round_trip),
        cmocka_unit_test(test_every_subset_of_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
