/* SPDX-License-Identifier: Apache-2.0 */
/* Every subset of {dotprod, i8mm, bf16}, as the kernel would report it: which providers run there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include <cmocka.h>

#include <asm/hwcap.h>

#include "kernels/api/features.h"
#include "kernels/kernels.h"
#include "kernels/tests/problem.h"

enum { DOTPROD = 1, I8MM = 2, BF16 = 4, SUBSETS = 8 };

static uint64_t features_of(int subset) {
    unsigned long hwcap = HWCAP_ASIMD | (subset & DOTPROD ? HWCAP_ASIMDDP : 0);
    unsigned long hwcap2 = (subset & I8MM ? HWCAP2_I8MM : 0) | (subset & BF16 ? HWCAP2_BF16 : 0);
    return armq_features_from_hwcap(hwcap, hwcap2);
}

static bool accepts(const armq_provider *provider, armq_op op, uint64_t features) {
    const bool bf16 = op == ARMQ_OP_LINEAR_BF16;
    problem p = problem_make((problem_spec){bf16 ? "bf16" : "vllm-w8a8", op, ARMQ_DTYPE_BF16,
                                            ARMQ_DTYPE_BF16, .tokens = 1, .n = 1, .k = 1,
                                            .features = features});
    armq_support support = {.size = sizeof support};
    return provider->query(&p.desc, &support) == ARMQ_OK;
}

static void test_every_subset(void **state) {
    (void)state;
    size_t count;
    const armq_provider *const *providers = armq_builtin_providers(&count);
    for (int subset = 0; subset < SUBSETS; subset++) {
        const uint64_t features = features_of(subset);
        for (size_t i = 0; i < count; i++) {
            const char *name = providers[i]->name;
            const bool w8a8 = strcmp(name, "neon") == 0 ||
                              (strcmp(name, "dotprod") == 0 && (subset & DOTPROD)) ||
                              (strcmp(name, "i8mm") == 0 && (subset & DOTPROD) && (subset & I8MM));
            const bool bf16 =
                strcmp(name, "neon") == 0 || (strcmp(name, "bf16") == 0 && (subset & BF16));
            assert_int_equal(accepts(providers[i], ARMQ_OP_LINEAR_W8A8, features), w8a8);
            assert_int_equal(accepts(providers[i], ARMQ_OP_LINEAR_BF16, features), bf16);
        }
    }
}

static void test_no_feature_at_all(void **state) {
    (void)state;
    size_t count;
    const armq_provider *const *providers = armq_builtin_providers(&count);
    for (size_t i = 0; i < count; i++)
        assert_false(accepts(providers[i], ARMQ_OP_LINEAR_W8A8, 0));
    assert_int_equal(armq_features_from_hwcap(0, 0), 0);
}

/* A capability word is a set of bits: a neighbour of the bit must not count. */
static void test_bits_are_told_apart(void **state) {
    (void)state;
    const unsigned long others = ~(unsigned long)HWCAP_ASIMDDP;
    const unsigned long others2 = ~(unsigned long)(HWCAP2_I8MM | HWCAP2_BF16);
    const uint64_t features = armq_features_from_hwcap(others, others2);
    assert_int_equal(features & (ARMQ_FEATURE_DOTPROD | ARMQ_FEATURE_I8MM | ARMQ_FEATURE_BF16), 0);
    assert_int_equal(armq_features_from_hwcap(0, HWCAP2_I8MM), ARMQ_FEATURE_I8MM);
    assert_int_equal(armq_features_from_hwcap(HWCAP_ASIMDDP, 0), ARMQ_FEATURE_DOTPROD);
    assert_int_equal(armq_features_from_hwcap(0, HWCAP2_BF16), ARMQ_FEATURE_BF16);
}

static void test_this_machine(void **state) {
    (void)state;
    assert_int_equal(armq_features(),
                     armq_features_from_hwcap(getauxval(AT_HWCAP), getauxval(AT_HWCAP2)));
    assert_true(armq_features() & ARMQ_FEATURE_NEON);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_subset),
        cmocka_unit_test(test_no_feature_at_all),
        cmocka_unit_test(test_bits_are_told_apart),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests_name("features", tests, NULL, NULL);
}
