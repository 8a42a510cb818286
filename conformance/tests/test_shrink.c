/* SPDX-License-Identifier: Apache-2.0 */
/* The search for smaller cases, against rules that say which cases fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/check.h"
#include "conformance/reduction.h"
#include "kernels/api/describe.h"

static armq_case parsed(const char *text) {
    case_list list = {0};
    case_error error;
    if (!case_parse_line(text, NULL, &list, &error))
        fail_msg("%s: %s", text, error.message);
    armq_case c = list.items[0];
    case_list_free(&list);
    return c;
}

typedef bool (*rule)(const armq_case *c);

/* The text of what the search comes to. */
static const char *smallest(const char *from, rule fails, shrink *s) {
    static char text[CASE_TEXT_MAX];
    armq_case c = parsed(from);
    assert_true(fails(&c));
    shrink_begin(s, &c);
    for (const armq_case *tried; (tried = shrink_propose(s));) {
        case_text(tried, text);
        armq_case again = parsed(text); /* a case of the language */
        const char *name;
        int64_t size;
        assert_true(case_groups_divide(&again, &name, &size));
        shrink_answer(s, fails(&again));
    }
    assert_true(fails(&s->best));
    return case_text(&s->best, text);
}

static bool always(const armq_case *c) { return c->desc.tokens >= 0; }

static bool k_above_16(const armq_case *c) { return c->desc.k > 16; }

static bool k_tail(const armq_case *c) { return c->desc.k % 4 == 3 && c->desc.k > 8; }

static bool two_tokens_and_bias(const armq_case *c) {
    return c->desc.tokens >= 2 && (c->desc.uses & ARMQ_USES_BIAS);
}

static bool second_group(const armq_case *c) {
    return c->desc.group_size > 0 && c->desc.k / c->desc.group_size >= 2;
}

static bool outliers_and_stride(const armq_case *c) {
    return c->data == DATA_OUTLIERS && c->x_pad >= 5;
}

static bool repeated_experts(const armq_case *c) {
    return c->routing == ROUTING_REPEAT && c->desc.experts > 2;
}

static bool wide_gate(const armq_case *c) { return c->desc.intermediate >= 40; }

static bool seed_of_its_own(const armq_case *c) { return c->seed == 77 && c->threads >= 3; }

static bool has_pairs(const armq_case *c) {
    return c->desc.tokens >= 2 && c->desc.n >= 2 && c->desc.k >= 2;
}

static bool only_large(const armq_case *c) { return case_macs(c) >= 1000000; }

static void finds_the_smallest(void **state) {
    (void)state;
    static const struct {
        const char *from;
        rule fails;
        const char *to;
    } rows[] = {
        {"linear_w8a8 tokens=7 n=64 k=512 dialect=kleidi-w8a8 in=f16 out=f32 bias=in x_pad=3 "
         "y_pad=1 "
         "threads=4 caches=small data=outliers seed=9",
         always, "linear_w8a8 tokens=1 n=1 k=1 in=f16 dialect=kleidi-w8a8 seed=1"},
        {"linear_w8a8 tokens=7 n=64 k=512 bias=f32", k_above_16,
         "linear_w8a8 tokens=1 n=1 k=17 seed=1"},
        {"gemm_s8s8s32 tokens=3 n=5 k=4096", k_above_16, "gemm_s8s8s32 tokens=1 n=1 k=17 seed=1"},
        {"gemm_s8s8s32 tokens=3 n=5 k=11", k_tail, "gemm_s8s8s32 tokens=1 n=1 k=11 seed=1"},
        {"linear_bf16 tokens=9 n=64 k=512 bias=f32", two_tokens_and_bias,
         "linear_bf16 tokens=2 n=1 k=1 bias=f32 seed=1"},
        {"linear_w4a8 tokens=7 n=20 k=512 group_size=128 format=s4_word8 zero_points=1", always,
         "linear_w4a8 tokens=1 n=1 k=1 seed=1"},
        {"linear_w4a8 tokens=7 n=20 k=512 group_size=128 format=s4_word8 zero_points=1",
         second_group, "linear_w4a8 tokens=1 n=1 k=64 group_size=32 seed=1"},
        {"linear_w8a8 tokens=7 n=64 k=512 x_pad=1000 data=outliers seed=4", outliers_and_stride,
         "linear_w8a8 tokens=1 n=1 k=1 x_pad=5 data=outliers seed=1"},
        {"linear_w8a8 tokens=7 n=64 k=512 threads=4 seed=77", seed_of_its_own,
         "linear_w8a8 tokens=1 n=1 k=1 threads=3 seed=77"},
        {"moe_w8a8 tokens=9 hidden=64 intermediate=48 experts=8 top_k=4 routing=repeat "
         "activation=swigluoai alpha=1.5 w13_bias=1",
         repeated_experts,
         "moe_w8a8 tokens=1 hidden=1 intermediate=1 experts=3 top_k=2 routing=repeat seed=1"},
        {"moe_w4a8 tokens=9 hidden=512 intermediate=256 experts=8 top_k=4 group_size=64 "
         "routing=skip",
         wide_gate, "moe_w4a8 tokens=1 hidden=1 intermediate=40 experts=1 top_k=1 seed=1"},
        {"activation tokens=9 intermediate=100 activation=gelu dialect=vllm-w8a8", wide_gate,
         "activation tokens=1 intermediate=40 seed=1"},
        {"quantize tokens=0 k=30 dialect=vllm-w8a8", always, "quantize tokens=0 k=1 seed=1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        shrink s;
        char to[CASE_TEXT_MAX];
        armq_case wanted = parsed(rows[i].to);
        case_text(&wanted, to);
        assert_string_equal(smallest(rows[i].from, rows[i].fails, &s), to);
        assert_false(s.exhausted);
        assert_in_range(s.runs, 1, 60);
    }
}

/* Sizes of a model come down by halves, not one after the other. */
static void large_cases_come_down_fast(void **state) {
    (void)state;
    shrink s;
    armq_case c = parsed("linear_w8a8 tokens=512 n=4096 k=4096");
    shrink_begin(&s, &c);
    double work = 0;
    for (const armq_case *tried; (tried = shrink_propose(&s)); shrink_answer(&s, has_pairs(tried)))
        work += (double)case_macs(tried);
    assert_true(work < (double)case_macs(&c) / 4);
    smallest("linear_w8a8 tokens=512 n=4096 k=4096", only_large, &s);
    assert_true(case_macs(&s.best) < 1100000);
}

/* Nothing is asked twice, and there is an end to asking. */
static bool never_but_first(const armq_case *c) {
    return c->seed == 5 && c->desc.tokens == 7 && c->desc.n == 64;
}

static void asks_nothing_twice(void **state) {
    (void)state;
    static char texts[SHRINK_RUNS_MAX][CASE_TEXT_MAX];
    shrink s;
    armq_case c = parsed("linear_w8a8 tokens=7 n=64 k=512 bias=f32 seed=5");
    shrink_begin(&s, &c);
    int64_t count = 0;
    for (const armq_case *tried; (tried = shrink_propose(&s));) {
        case_text(tried, texts[count]);
        for (int64_t i = 0; i < count; i++)
            assert_string_not_equal(texts[i], texts[count]);
        count++;
        shrink_answer(&s, never_but_first(tried));
    }
    assert_int_equal(s.best.desc.k, 1);
    assert_int_equal(s.best.desc.tokens, 7);
    assert_int_equal(count, s.runs);
}

/* A rule without any order: whether it fails depends on the hash of the text. */
static bool erratic(const armq_case *c) {
    char text[CASE_TEXT_MAX];
    uint32_t hash = 7;
    for (const char *at = case_text(c, text); *at; at++)
        hash = hash * 31 + (uint8_t)*at;
    return hash % 3 == 0;
}

static void comes_to_an_end(void **state) {
    (void)state;
    int64_t ends = 0;
    for (int64_t seed = 1; seed < 60; seed++) {
        char text[200];
        shrink s;
        snprintf(text, sizeof text,
                 "moe_w4a8 tokens=64 hidden=2048 intermediate=768 experts=128 top_k=8 "
                 "group_size=128 routing=skip x_pad=77 threads=9 w2_bias=1 seed=%d",
                 (int)seed);
        armq_case c = parsed(text);
        if (!erratic(&c))
            continue;
        smallest(text, erratic, &s);
        assert_in_range(s.runs, 1, SHRINK_RUNS_MAX);
        ends++;
    }
    assert_in_range(ends, 5, 60);
}

/* --- What a run makes of it ---------------------------------------------------------------------
 */

static case_result failed(const char *name, case_status status) {
    case_result result = {.status = status};
    result.checks[check_index(name)].status = CHECK_FAILED;
    return result;
}

/* A check that fails on its own is run on its own; one that does not, with the others. */
static void runs_the_check_alone_if_it_can(void **state) {
    (void)state;
    armq_case c = parsed("linear_w8a8 tokens=7 n=64 k=512");
    static const uint64_t all = ~UINT64_C(0);
    for (int alone = 0; alone < 2; alone++) {
        reduction r;
        uint64_t checks;
        case_result own = failed("memory", CASE_FAILED), passed = {.status = CASE_PASSED};
        assert_true(reduction_begin(&r, 3, &c, all, &own));
        const armq_case *first = reduction_next(&r, &checks);
        char text[2][CASE_TEXT_MAX];
        assert_string_equal(case_text(first, text[0]), case_text(&c, text[1]));
        assert_int_equal(checks, UINT64_C(1) << check_index("memory"));
        reduction_answer(&r, alone ? &own : &passed);
        assert_non_null(reduction_next(&r, &checks));
        assert_true(checks == (alone ? UINT64_C(1) << check_index("memory") : all));
        assert_int_equal(r.task, 3);
        reduction_answer(&r, &passed);
        reduced end = reduction_end(&r);
        assert_null(end.smallest);
        assert_int_equal(end.runs, 1);
        assert_false(end.complete);
    }
}

/* Another check, or a crash instead of a wrong result, is another failure. */
static void another_failure_does_not_count(void **state) {
    (void)state;
    armq_case c = parsed("linear_w8a8 tokens=7 n=64 k=512");
    case_result value = failed("value", CASE_FAILED);
    case_result other = failed("written", CASE_FAILED), crash = failed("value", CASE_CRASHED);
    reduction r;
    uint64_t checks;
    assert_true(reduction_begin(&r, 0, &c, ~UINT64_C(0), &value));
    reduction_next(&r, &checks);
    reduction_answer(&r, &value);
    for (int i = 0; reduction_next(&r, &checks); i++)
        reduction_answer(&r, i % 2 ? &other : &crash);
    reduced end = reduction_end(&r);
    assert_null(end.smallest);
    assert_string_equal(end.check, "value");
    assert_true(end.complete);
    assert_in_range(end.runs, 3, 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_smallest),
        cmocka_unit_test(large_cases_come_down_fast),
        cmocka_unit_test(asks_nothing_twice),
        cmocka_unit_test(comes_to_an_end),
        cmocka_unit_test(runs_the_check_alone_if_it_can),
        cmocka_unit_test(another_failure_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
