/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement before a time: right answers pass, wrong and missing ones do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/providers.h"
#include "perf/workload.h"

static armq_provider untouched; /* naive, but run writes nothing */

static armq_status run_nothing(const armq_desc *desc, const void *plan, const armq_args *args) {
    (void)desc, (void)plan, (void)args;
    return ARMQ_OK;
}

static armq_case parse(const char *text) {
    case_list list = {.count = 0};
    case_error error;
    if (!case_parse_line(text, NULL, &list, &error))
        fail_msg("%s: %s", text, error.message);
    armq_case c = list.items[0];
    case_list_free(&list);
    case_bind(&c, 0, 0, 0, 0, c.threads);
    return c;
}

static workload open(const char *text, const armq_provider *provider) {
    const armq_case c = parse(text);
    workload w;
    char why[WORKLOAD_WHY];
    if (!workload_open(&w, &c, provider, why))
        fail_msg("%s: %s", text, why);
    return w;
}

static const char *const cases[] = {
    "linear_w8a8 tokens=3 n=40 k=70 dialect=sglang-w8a8 bias=f32",
    "linear_w8a8 tokens=33 n=9 k=64 in=f32 dialect=kleidi-w8a8 y_pad=3 threads=3",
    "linear_bf16 tokens=2 n=33 k=40",
    "gemm_s8s8s32 tokens=5 n=6 k=17",
    "quantize tokens=4 k=50 dialect=vllm-w8a8",
};
enum { CASES = sizeof cases / sizeof *cases };

static void right_answers(void **state) {
    (void)state;
    char why[WORKLOAD_WHY];
    for (int i = 0; i < CASES; i++) {
        workload w = open(cases[i], &naive_provider);
        workload_poison(&w);
        assert_int_equal(workload_run(&w), ARMQ_OK);
        if (!workload_judge(&w, why))
            fail_msg("%s: %s", cases[i], why);
        workload_close(&w);
    }
}

/* All bytes 0xff, then all zeros. */
static void missing_answers(void **state) {
    (void)state;
    untouched = naive_provider;
    untouched.run = run_nothing;
    char why[WORKLOAD_WHY];
    for (int i = 0; i < CASES; i++) {
        workload w = open(cases[i], &untouched);
        workload_poison(&w);
        assert_int_equal(workload_run(&w), ARMQ_OK);
        assert_false(workload_judge(&w, why));
        assert_non_null(strstr(why, "wrong answer"));
        memset(w.data.at[OPERAND_Y], 0, w.shapes[OPERAND_Y].bytes);
        assert_false(workload_judge(&w, why));
        workload_close(&w);
    }
}

/* One wrong sign in the last element of the last row, which is always sampled. */
static void one_wrong_element(void **state) {
    (void)state;
    workload w = open("linear_w8a8 tokens=50 n=100 k=64 in=f32 dialect=vllm-w8a8", &naive_provider);
    char why[WORKLOAD_WHY];
    assert_int_equal(w.sample.rows, WORKLOAD_ROWS);
    assert_int_equal(w.sample.columns, WORKLOAD_COLUMNS);
    assert_int_equal(workload_run(&w), ARMQ_OK);
    assert_true(workload_judge(&w, why));
    float *y = w.data.at[OPERAND_Y];
    y[49 * 100 + 99] = -y[49 * 100 + 99];
    assert_false(workload_judge(&w, why));
    assert_non_null(strstr(why, "y[49][99]"));
    workload_close(&w);
}

static void nothing_to_time(void **state) {
    (void)state;
    const armq_case empty = parse("linear_w8a8 tokens=0 n=8 k=8 dialect=vllm-w8a8");
    workload w;
    char why[WORKLOAD_WHY];
    assert_false(workload_open(&w, &empty, &naive_provider, why));
    assert_non_null(strstr(why, "no output"));
}

static void refused(void **state) {
    (void)state;
    const armq_case c = parse("gemm_s8s8s32 tokens=1 n=1 k=131072");
    workload w;
    char why[WORKLOAD_WHY];
    assert_false(workload_open(&w, &c, &naive_provider, why));
    assert_memory_equal(why, "refused: ", 9);
    assert_true(strlen(why) > 9);
}

int main(void) {
    const struct CMUnitTest workloads[] = {
        cmocka_unit_test(right_answers),     cmocka_unit_test(missing_answers),
        cmocka_unit_test(one_wrong_element), cmocka_unit_test(nothing_to_time),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(workloads, NULL, NULL);
}
