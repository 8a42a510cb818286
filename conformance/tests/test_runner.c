/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs on the naive provider, in real worker processes. */
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

#include "conformance/results.h"
#include "conformance/runner.h"
#include "conformance/tests/fixture.h"

typedef struct {
    options o;
    plan p;
    outcome *outcomes;
    run_setup setup;
    char *said;
    size_t bytes;
} fixture;

static void begin(fixture *s, const char *const *arguments, int32_t jobs) {
    make_plan(&s->o, &s->p, arguments);
    s->outcomes = calloc((size_t)s->p.count + 1, sizeof *s->outcomes);
    s->said = NULL;
    s->setup = (run_setup){&s->o, &s->p, NULL, "armq-conform", NULL, NULL, jobs};
    s->setup.out = open_memstream(&s->said, &s->bytes);
    assert_non_null(s->setup.out);
}

static ledger end(fixture *s) {
    ledger l = ledger_sum(&s->p, s->outcomes, NULL, 0);
    fclose(s->setup.out);
    for (int64_t i = 0; i < s->p.count; i++) {
        free(s->outcomes[i].message);
        free(s->outcomes[i].smallest);
    }
    free(s->outcomes);
    free(s->said);
    plan_free(&s->p);
    options_free(&s->o);
    return l;
}

static void every_case_gets_a_result(void **state) {
    (void)state;
    for (int32_t jobs = 1; jobs <= 5; jobs += 2) {
        fixture s;
        begin(&s,
              (const char *const[]){"--provider", "naive,reference",
                                    "gemm_s8s8s32 tokens=0,1,2,3,5 n=3 k=4,33", NULL},
              jobs);
        assert_int_equal(runner_run(&s.setup, s.outcomes), RUN_COMPLETE);
        ledger l = end(&s);
        assert_int_equal(l.planned, 20);
        assert_int_equal(l.passed, 20);
        assert_int_equal(ledger_exit_status(&l), EXIT_ALL_PASSED);
    }
}

/* Refused, as an int32 could wrap: that is not a pass. */
static void nothing_that_ran_is_no_success(void **state) {
    (void)state;
    fixture s;
    begin(&s,
          (const char *const[]){"--provider", "naive", "gemm_s8s8s32 tokens=1 n=1 k=131072", NULL},
          1);
    assert_int_equal(runner_run(&s.setup, s.outcomes), RUN_COMPLETE);
    assert_int_equal(s.outcomes[0].status, CASE_SKIPPED);
    assert_non_null(strstr(s.outcomes[0].message, "131072"));
    ledger l = end(&s);
    assert_int_equal(ledger_exit_status(&l), EXIT_NOTHING_RAN);

    begin(&s,
          (const char *const[]){"--provider", "naive", "--filter", "nothing like this",
                                "gemm_s8s8s32 tokens=1 n=3 k=4", NULL},
          1);
    assert_int_equal(s.p.count, 0);
    assert_int_equal(runner_run(&s.setup, s.outcomes), RUN_COMPLETE);
    l = end(&s);
    assert_int_equal(ledger_exit_status(&l), EXIT_NOTHING_RAN);
}

static void done_cases_are_left_alone(void **state) {
    (void)state;
    fixture s;
    begin(&s, (const char *const[]){"--provider", "naive", "gemm_s8s8s32 tokens=1,2 n=3 k=4", NULL},
          2);
    s.outcomes[0] = (outcome){.done = true, .status = CASE_WAIVED};
    assert_int_equal(runner_run(&s.setup, s.outcomes), RUN_COMPLETE);
    assert_int_equal(s.outcomes[0].status, CASE_WAIVED);
    assert_int_equal(s.outcomes[1].status, CASE_PASSED);
    end(&s);
}

static void provider_without_its_cpu_is_skipped_with_a_reason(void **state) {
    (void)state;
    fixture s;
    begin(&s, (const char *const[]){"--provider", "naive", "gemm_s8s8s32 tokens=1,2 n=3 k=4", NULL},
          2);
    s.p.providers[0].runs_here = false;
    snprintf(s.p.providers[0].why, sizeof s.p.providers[0].why, "the CPU lacks i8mm");
    assert_int_equal(runner_run(&s.setup, s.outcomes), RUN_COMPLETE);
    assert_int_equal(s.outcomes[1].status, CASE_SKIPPED);
    assert_string_equal(s.outcomes[1].message, "the CPU lacks i8mm");
    end(&s);
}

/* A full disk must not look like a success. */
static void a_result_that_cannot_be_written_stops_the_run(void **state) {
    (void)state;
    fixture s;
    FILE *full = fopen("/dev/full", "we");
    if (!full)
        skip();
    begin(&s, (const char *const[]){"--provider", "naive", "gemm_s8s8s32 tokens=1,2 n=3 k=4", NULL},
          1);
    s.setup.json = full;
    assert_int_equal(runner_run(&s.setup, s.outcomes), RUN_BROKEN);
    end(&s);
    fclose(full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_gets_a_result),
        cmocka_unit_test(nothing_that_ran_is_no_success),
        cmocka_unit_test(done_cases_are_left_alone),
        cmocka_unit_test(provider_without_its_cpu_is_skipped_with_a_reason),
        cmocka_unit_test(a_result_that_cannot_be_written_stops_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
