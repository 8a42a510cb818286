/* SPDX-License-Identifier: Apache-2.0 */
/* What providers promise in query, and that everything else is refused in a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/dialects.h"
#include "kernels/api/features.h"
#include "kernels/api/names.h"
#include "kernels/kernels.h"
#include "kernels/tests/problem.h"

#define ALL_FEATURES ((UINT64_C(1) << 6) - 1)

static const armq_provider *provider_named(const char *name) {
    size_t count;
    const armq_provider *const *providers = armq_builtin_providers(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(providers[i]->name, name) == 0)
            return providers[i];
    fail_msg("no provider %s", name);
    return NULL;
}

static armq_desc linear(void) {
    return problem_make((problem_spec){"kleidi-w8a8", ARMQ_OP_LINEAR_W8A8, ARMQ_DTYPE_F32,
                                       ARMQ_DTYPE_F32, .tokens = 5, .n = 9, .k = 33,
                                       .features = ALL_FEATURES})
        .desc;
}

/* Refused with a sentence that holds `part`. */
static void assert_refused(const armq_provider *provider, const armq_desc *desc, const char *part) {
    armq_support support = {.size = sizeof support};
    assert_int_not_equal(provider->query(desc, &support), ARMQ_OK);
    if (!strstr(support.reason, part))
        fail_msg("%s: the reason \"%s\" does not say \"%s\"", provider->name, support.reason, part);
}

static void test_ops_of_others_are_refused(void **state) {
    (void)state;
    armq_desc w4a8 = linear();
    w4a8.op = ARMQ_OP_LINEAR_W4A8;
    w4a8.format = ARMQ_WEIGHT_S4_LOW;
    assert_refused(provider_named("bf16"), &w4a8, "does not implement linear_w4a8");
    armq_desc w8a8 = linear();
    assert_refused(provider_named("bf16"), &w8a8, "does not implement linear_w8a8");
    armq_desc baseline =
        problem_make((problem_spec){"bf16", ARMQ_OP_LINEAR_BF16, ARMQ_DTYPE_BF16, ARMQ_DTYPE_BF16,
                                    .tokens = 1, .n = 1, .k = 1, .features = ALL_FEATURES})
            .desc;
    assert_refused(provider_named("i8mm"), &baseline, "does not implement linear_bf16");
}

static void test_descriptions_are_refused(void **state) {
    (void)state;
    const armq_provider *neon = provider_named("neon");
    armq_desc d = linear();
    d.k = 65794;
    assert_refused(neon, &d, "65793");
    d.k = 65793;
    armq_support support = {.size = sizeof support};
    assert_int_equal(neon->query(&d, &support), ARMQ_OK);
    assert_int_equal(support.max_k, 65793);
    d = linear();
    d.dialect.work = ARMQ_DTYPE_S32;
    assert_refused(neon, &d, "work");
    d = linear();
    d.dialect.linear_round_before_bias = 2;
    assert_refused(neon, &d, "round_before_bias");
    d = linear();
    d.n = -1;
    assert_refused(neon, &d, "-1");
    d = linear();
    d.features = ARMQ_FEATURE_NEON | ARMQ_FEATURE_DOTPROD;
    assert_refused(provider_named("i8mm"), &d, "feature i8mm");
    d.features = ARMQ_FEATURE_NEON | ARMQ_FEATURE_I8MM;
    assert_refused(provider_named("i8mm"), &d, "feature dotprod");
    d = linear();
    d.tokens = d.k = 0;
    d.n = INT64_C(1) << 59;
    assert_refused(neon, &d, "memory");
}

static void test_baseline_refuses_other_dialects(void **state) {
    (void)state;
    armq_desc d =
        problem_make((problem_spec){"bf16", ARMQ_OP_LINEAR_BF16, ARMQ_DTYPE_BF16, ARMQ_DTYPE_BF16,
                                    .tokens = 1, .n = 1, .k = 1, .features = ALL_FEATURES})
            .desc;
    d.dialect.work = ARMQ_DTYPE_F32;
    assert_refused(provider_named("bf16"), &d, "work");
    d.dialect.work = ARMQ_DTYPE_BF16;
    d.dialect.quant = ARMQ_QUANT_SYMMETRIC;
    assert_refused(provider_named("neon"), &d, "quant");
}

static void test_fallback_is_labelled(void **state) {
    (void)state;
    const armq_desc d =
        problem_make((problem_spec){"bf16", ARMQ_OP_LINEAR_BF16, ARMQ_DTYPE_BF16, ARMQ_DTYPE_BF16,
                                    .tokens = 1, .n = 1, .k = 1, .features = ALL_FEATURES})
            .desc;
    armq_support support = {.size = sizeof support};
    assert_int_equal(provider_named("neon")->query(&d, &support), ARMQ_OK);
    assert_non_null(strstr(support.kernel, "fallback"));
    assert_int_equal(provider_named("bf16")->query(&d, &support), ARMQ_OK);
    assert_null(strstr(support.kernel, "fallback"));
}

static void test_workspace_does_not_grow_with_tokens(void **state) {
    (void)state;
    armq_desc d = linear();
    armq_support few = {.size = sizeof few}, many = few;
    const armq_provider *neon = provider_named("neon");
    d.tokens = 4096;
    assert_int_equal(neon->query(&d, &few), ARMQ_OK);
    d.tokens = INT64_C(1) << 40;
    assert_int_equal(neon->query(&d, &many), ARMQ_OK);
    assert_int_equal(few.workspace_bytes, many.workspace_bytes);
    d.max_threads = 64;
    assert_int_equal(neon->query(&d, &many), ARMQ_OK);
    assert_true(many.workspace_bytes > few.workspace_bytes);
}

/* A caller compiled against a shorter struct must not be written past its end. */
static void test_older_callers(void **state) {
    (void)state;
    armq_desc d = linear();
    const size_t known = offsetof(armq_support, claims);
    char *memory = guarded(known, 8, 0);
    uint32_t size = (uint32_t)known;
    memcpy(memory, &size, sizeof size);
    assert_int_equal(provider_named("neon")->query(&d, (armq_support *)(void *)memory), ARMQ_OK);
    assert_memory_equal(memory, &size, sizeof size);
}

/* Invalid arguments give a status, and y keeps its bytes. */
static void test_arguments_are_checked_before_anything_is_written(void **state) {
    (void)state;
    const armq_provider *neon = provider_named("neon");
    const armq_desc d = linear();
    armq_support support = {.size = sizeof support};
    assert_int_equal(neon->query(&d, &support), ARMQ_OK);
    void *packed = guarded(support.packed_bytes[0], 64, 0);
    float x[5 * 33] = {1}, y[5 * 9] = {42};
    armq_args good = {.size = sizeof good,
                      .x = x,
                      .y = y,
                      .packed = {packed},
                      .workspace = guarded(support.workspace_bytes, 64, 0)};
    armq_threads none = {.n = 0, .run = NULL};
    enum { CASES = 8 };
    armq_args bad[CASES];
    for (int i = 0; i < CASES; i++)
        bad[i] = good;
    bad[0].x = NULL;
    bad[1].y = NULL;
    bad[2].packed[0] = NULL;
    bad[3].workspace = (char *)good.workspace + 4;
    bad[4].x_stride = 40;
    bad[5].y = (float *)x + 3;
    bad[6].threads = &none;
    bad[7].y_scales = y;
    for (int i = 0; i < CASES; i++) {
        assert_int_equal(neon->run(&d, NULL, &bad[i]), ARMQ_INVALID_ARGUMENT);
        assert_true(y[0] == 42 && y[1] == 0 && x[0] == 1 && x[3] == 0);
    }
    assert_int_equal(neon->pack(&d, 1, 0, 1, &(armq_weights){.size = sizeof(armq_weights)}, packed),
                     ARMQ_INVALID_ARGUMENT);
    assert_int_equal(neon->pack(&d, 0, 0, 1, NULL, packed), ARMQ_INVALID_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ops_of_others_are_refused),
        cmocka_unit_test(test_descriptions_are_refused),
        cmocka_unit_test(test_baseline_refuses_other_dialects),
        cmocka_unit_test(test_fallback_is_labelled),
        cmocka_unit_test(test_workspace_does_not_grow_with_tokens),
        cmocka_unit_test(test_older_callers),
        cmocka_unit_test(test_arguments_are_checked_before_anything_is_written),
    };
    return cmocka_run_group_tests_name("providers", tests, NULL, NULL);
}
