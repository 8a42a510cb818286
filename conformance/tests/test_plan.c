/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/tests/fixture.h"

static void groups_providers_of_a_case(void **state) {
    (void)state;
    options o;
    plan p;
    make_plan(&o, &p,
              (const char *const[]){"--provider", "reference,naive",
                                    "gemm_s8s8s32 tokens=1,2 n=3 k=4",
                                    "gemm_s8s8s32 tokens=2,5 n=3 k=4", NULL});
    assert_int_equal(p.count, 6); /* three cases; the repeated one counts once */
    for (int64_t i = 0; i < p.count; i++) {
        assert_int_equal(p.tasks[i].group, i / 2);
        assert_int_equal(p.tasks[i].provider, i % 2);
        char text[CASE_TEXT_MAX];
        case_text(&p.tasks[i].c, text);
        assert_int_equal(plan_find(&p, i % 2 ? "naive" : "reference", text), i);
    }
    assert_int_equal(plan_find(&p, "naive", "gemm_s8s8s32 tokens=7 n=3 k=4"), -1);
    assert_int_equal(plan_find(&p, "other", "gemm_s8s8s32 tokens=1 n=3 k=4"), -1);
    plan_free(&p);
    options_free(&o);
}

static void reference_runs_on_request_only(void **state) {
    (void)state;
    options o;
    plan p;
    make_plan(&o, &p, (const char *const[]){"gemm_s8s8s32 tokens=1 n=3 k=4", NULL});
    assert_true(p.provider_count > 0);
    assert_string_equal(p.providers[p.provider_count - 1].name, "naive");
    for (int64_t i = 0; i < p.provider_count; i++)
        assert_string_not_equal(p.providers[i].name, "reference");
    plan_free(&p);
    options_free(&o);
}

static void filter_and_seed(void **state) {
    (void)state;
    options o;
    plan p;
    make_plan(&o, &p,
              (const char *const[]){"--provider", "naive", "--filter", "n=3[02] .*seed=9", "--seed",
                                    "9", "gemm_s8s8s32 tokens=1 n=3,30,31,32 k=4 seed=1", NULL});
    assert_int_equal(p.count, 2);
    assert_int_equal(p.filtered, 2);
    assert_int_equal(p.tasks[1].c.seed, 9);
    assert_int_equal(p.tasks[1].c.desc.n, 32);
    plan_free(&p);
    options_free(&o);
}

/* Two plans are the same exactly if providers, cases and checks are. */
static void hash_tells_plans_apart(void **state) {
    (void)state;
    static const char *const variants[][6] = {
        {"--provider", "naive", "gemm_s8s8s32 tokens=1 n=3 k=4"},
        {"--provider", "naive", "gemm_s8s8s32 tokens=1 n=3 k=4"},
        {"--provider", "reference", "gemm_s8s8s32 tokens=1 n=3 k=4"},
        {"--provider", "naive", "gemm_s8s8s32 tokens=1 n=3 k=5"},
        {"--provider", "naive", "gemm_s8s8s32 tokens=1 n=3 k=4", "--check", "value"},
    };
    enum { COUNT = sizeof variants / sizeof variants[0] };
    uint64_t hashes[COUNT];
    for (int i = 0; i < COUNT; i++) {
        options o;
        plan p;
        make_plan(&o, &p, variants[i]);
        hashes[i] = p.hash;
        plan_free(&p);
        options_free(&o);
    }
    assert_int_equal(hashes[0], hashes[1]);
    for (int i = 2; i < COUNT; i++)
        assert_int_not_equal(hashes[0], hashes[i]);
}

static void refuses(void **state) {
    (void)state;
    static const struct {
        const char *arguments[5];
        const char *message;
    } rows[] = {
        {{"--provider", "nope", "gemm_s8s8s32 tokens=1 n=3 k=4"}, "there is no provider 'nope'"},
        {{"--provider", "/nowhere/x.so", "gemm_s8s8s32 tokens=1 n=3 k=4"}, "/nowhere/x.so"},
        {{"--filter", "(", "gemm_s8s8s32 tokens=1 n=3 k=4"}, "--filter '('"},
        {{"gemm_s8s8s32 tokens=1 n=3"}, "command line:1:"},
        {{"--sweep", "no-such-sweep"}, "no-such-sweep"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        options o;
        plan p;
        char *said;
        size_t bytes = 0;
        assert_int_equal(parse_arguments(&o, rows[i].arguments, &said), OPTIONS_RUN);
        free(said);
        FILE *err = open_memstream(&said, &bytes);
        assert_false(plan_make(&p, &o, err));
        fclose(err);
        if (!strstr(said, rows[i].message))
            fail_msg("'%s' is not in: %s", rows[i].message, said);
        free(said);
        plan_free(&p);
        options_free(&o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_providers_of_a_case),
        cmocka_unit_test(reference_runs_on_request_only),
        cmocka_unit_test(filter_and_seed),
        cmocka_unit_test(hash_tells_plans_apart),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
