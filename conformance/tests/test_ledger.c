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

#include "conformance/check.h"
#include "conformance/ledger.h"
#include "conformance/tests/fixture.h"

static void counts_each_status_once(void **state) {
    (void)state;
    ledger l = {.planned = 15};
    for (int status = CASE_PASSED; status <= CASE_CRASHED; status++)
        for (int times = 0; times <= status; times++)
            ledger_count(&l, (case_status)status);
    assert_int_equal(l.passed, 1);
    assert_int_equal(l.failed, 2);
    assert_int_equal(l.skipped, 3);
    assert_int_equal(l.waived, 4);
    assert_int_equal(l.crashed, 5);
    assert_true(ledger_balances(&l));
    assert_int_equal(ledger_executed(&l), 12);
    l.planned++;
    assert_false(ledger_balances(&l));
}

static void says_the_sum(void **state) {
    (void)state;
    ledger l = {21, 1, 2, 3, 4, 11};
    char text[160];
    assert_string_equal(ledger_text(&l, text),
                        "planned 21 = passed 1 + failed 2 + skipped 3 + waived 4 + crashed 11");
}

static void exit_status_follows_from_it(void **state) {
    (void)state;
    const struct {
        ledger l;
        int status;
    } rows[] = {
        {{3, 3, 0, 0, 0, 0}, EXIT_ALL_PASSED},  {{3, 1, 0, 2, 0, 0}, EXIT_ALL_PASSED},
        {{3, 0, 0, 2, 1, 0}, EXIT_ALL_PASSED},  {{3, 2, 1, 0, 0, 0}, EXIT_FAILURES},
        {{3, 2, 0, 0, 0, 1}, EXIT_FAILURES},    {{3, 0, 0, 3, 0, 0}, EXIT_NOTHING_RAN},
        {{0, 0, 0, 0, 0, 0}, EXIT_NOTHING_RAN}, {{3, 2, 0, 0, 0, 0}, EXIT_FAILURES},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(ledger_exit_status(&rows[i].l), rows[i].status);
}

static bool is_of(const plan_task *t, int64_t provider) { return t->provider == provider; }

static void sums_what_is_done(void **state) {
    (void)state;
    options o;
    plan p;
    make_plan(&o, &p,
              (const char *const[]){"--provider", "naive,reference",
                                    "gemm_s8s8s32 tokens=1,2 n=3 k=4", NULL});
    assert_int_equal(p.count, 4);
    outcome outcomes[4] = {{.done = true, .status = CASE_PASSED},
                           {.done = true, .status = CASE_CRASHED},
                           {.done = true, .status = CASE_SKIPPED},
                           {.done = false}};
    ledger all = ledger_sum(&p, outcomes, NULL, 0);
    assert_int_equal(all.planned, 4);
    assert_int_equal(all.passed, 1);
    assert_int_equal(all.skipped, 1);
    assert_int_equal(all.crashed, 1);
    assert_false(ledger_balances(&all)); /* one case has no result */
    ledger second = ledger_sum(&p, outcomes, is_of, 1);
    assert_int_equal(second.planned, 2);
    assert_int_equal(second.crashed, 1);
    plan_free(&p);
    options_free(&o);
}

static void table_says_what_was_not_claimed(void **state) {
    (void)state;
    options o;
    plan p;
    char *text = NULL;
    size_t bytes = 0;
    make_plan(&o, &p,
              (const char *const[]){"--provider", "naive", "--filter", "tokens=2",
                                    "gemm_s8s8s32 tokens=1,2 n=3 k=4", NULL});
    outcome done = {.done = true, .status = CASE_PASSED};
    done.not_claimed = 1u << check_index("threads");
    FILE *out = open_memstream(&text, &bytes);
    ledger_print_table(out, &p, &done);
    fclose(out);
    assert_non_null(strstr(text, "not claimed by naive, so not judged: threads on 1 case(s)"));
    assert_non_null(strstr(text, "1 case(s) were left out by --filter"));
    free(text);
    plan_free(&p);
    options_free(&o);
}

static void table_says_why_cases_were_skipped(void **state) {
    (void)state;
    options o;
    plan p;
    char *text = NULL;
    size_t bytes = 0;
    make_plan(
        &o, &p,
        (const char *const[]){"--provider", "naive", "gemm_s8s8s32 tokens=1,2,3 n=3 k=4", NULL});
    outcome outcomes[3] = {{.done = true, .status = CASE_PASSED},
                           {.done = true, .status = CASE_SKIPPED, .message = (char *)"too odd"},
                           {.done = true, .status = CASE_SKIPPED, .message = (char *)"too big"}};
    FILE *out = open_memstream(&text, &bytes);
    ledger_print_table(out, &p, outcomes);
    fclose(out);
    assert_non_null(strstr(text, "naive: 2 of gemm_s8s8s32 skipped, the first because: too odd\n"));
    assert_null(strstr(text, "too big"));
    free(text);
    plan_free(&p);
    options_free(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_each_status_once),
        cmocka_unit_test(says_the_sum),
        cmocka_unit_test(exit_status_follows_from_it),
        cmocka_unit_test(sums_what_is_done),
        cmocka_unit_test(table_says_what_was_not_claimed),
        cmocka_unit_test(table_says_why_cases_were_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
