/* SPDX-License-Identifier: Apache-2.0 */
/* moe_w4a8 with what only int4 weights have: groups, zero points, two formats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/features.h"
#include "kernels/tests/moe_problem.h"
#include "kernels/tests/problem.h"
#include "kernels/tests/tiers.h"

#define F32 ARMQ_DTYPE_F32
#define BF16 ARMQ_DTYPE_BF16
#define F16 ARMQ_DTYPE_F16

static moe_spec small(int64_t group) {
    return (moe_spec){.op = ARMQ_OP_MOE_W4A8,
                      .dialect = "vllm-w4a8",
                      .activation = ARMQ_ACT_SILU,
                      .dtype = F32,
                      .tokens = 7,
                      .hidden = group ? 2 * group : 21,
                      .intermediate = group ? group : 13,
                      .experts = 5,
                      .top_k = 3,
                      .group_size = group};
}

/* A variant of the op for each number: both dtypes of scales, all dtypes, formats, biases. */
static moe_spec variant(int i) {
    const armq_dtype dtypes[] = {F32, BF16, F16};
    moe_spec spec = small(i % 4 * 32);
    spec.dtype = dtypes[i % 3];
    spec.bias = i % 5 == 0 ? ARMQ_DTYPE_NONE : i % 2 ? F32 : spec.dtype;
    spec.activation = i % 7 < 4 ? ARMQ_ACT_SILU : ARMQ_ACT_SWIGLUOAI;
    spec.word8 = i % 2, spec.zero_points = i / 4 % 2;
    spec.uses = (i % 6 == 5 ? ARMQ_USES_WEIGHT_ON_INPUT : 0) |
                (i % 3 == 1 ? ARMQ_USES_X_STRIDE | ARMQ_USES_Y_STRIDE : 0);
    spec.tokens = i % 8 == 4 ? 40 : 1 + i % 3;
    return spec;
}

enum { VARIANTS = 24 };

static void variants(const armq_tier *tier) {
    for (int i = 0; i < VARIANTS; i++) {
        const moe_problem p = moe_make(variant(i));
        moe_compare(tier->provider, &p);
    }
}

static void test_variants(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_MOE_W4A8, variants);
}

/* Int8 activations of the other kind. */
static void symmetric(const armq_tier *tier) {
    for (int64_t group = 0; group <= 32; group += 32) {
        moe_problem p = moe_make(small(group));
        p.desc.dialect.quant = ARMQ_QUANT_SYMMETRIC;
        moe_compare(tier->provider, &p);
    }
}

static void test_symmetric(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_MOE_W4A8, symmetric);
}

/* All tiers give the bits of the first. */
static void test_tiers_agree(void **state) {
    (void)state;
    size_t count;
    const armq_tier *tiers = armq_tiers(&count);
    for (int i = 0; i < VARIANTS; i++) {
        const moe_problem p = moe_make(variant(i));
        const void *first = NULL;
        for (size_t t = 0; t < count; t++) {
            if (!tiers[t].s8 || (tiers[t].provider->required_features & ~armq_features()))
                continue;
            const void *y = moe_run(tiers[t].provider, &p, NULL);
            if (first)
                assert_memory_equal(y, first, moe_y_bytes(&p));
            else
                first = y;
        }
        assert_non_null(first);
    }
}

static void threads(const armq_tier *tier) {
    for (int i = 0; i < VARIANTS; i += 5) {
        moe_spec spec = variant(i);
        spec.max_threads = 40;
        const moe_problem p = moe_make(spec);
        const void *want = moe_run(tier->provider, &p, NULL);
        for (int32_t n = 2; n <= spec.max_threads; n += n < 5 ? 1 : 17) {
            serial_pool pool;
            serial_pool_init(&pool, n, n % 2);
            assert_memory_equal(moe_run(tier->provider, &p, &pool.threads), want, moe_y_bytes(&p));
        }
    }
}

static void test_threads(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_MOE_W4A8, threads);
}

static void assert_refused(const armq_tier *tier, const armq_desc *desc, const char *part) {
    armq_support support = {.size = sizeof support};
    assert_int_not_equal(tier->provider->query(desc, &support), ARMQ_OK);
    if (!strstr(support.reason, part))
        fail_msg("the reason \"%s\" does not say \"%s\"", support.reason, part);
}

/* gpt-oss-20b has 2880 = 22.5 groups of 128. */
static void queries(const armq_tier *tier) {
    armq_desc d = moe_make(small(32)).desc;
    d.hidden = d.intermediate = 2880;
    for (d.group_size = 32; d.group_size <= 64; d.group_size += 32) {
        armq_support support = {.size = sizeof support};
        assert_int_equal(tier->provider->query(&d, &support), ARMQ_OK);
        assert_non_null(strstr(support.kernel, d.group_size == 32 ? "groups of 32" : "of 64"));
    }
    d.group_size = 128;
    assert_refused(tier, &d, "group_size = 128 does not divide hidden = 2880");
    d.hidden = 2048;
    assert_refused(tier, &d, "group_size = 128 does not divide intermediate = 2880");
}

static void test_queries(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_MOE_W4A8, queries);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variants),    cmocka_unit_test(test_symmetric),
        cmocka_unit_test(test_tiers_agree), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_queries),
    };
    return cmocka_run_group_tests_name("moe int4", tests, NULL, NULL);
}
