/* SPDX-License-Identifier: Apache-2.0 */
/* Times that are faster than the machine, through Google Benchmark into the file; runs that are too
 * noisy to judge. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "perf/verdict.h"

static bench_entry entry(const char *name, double bound_seconds) {
    bench_entry e = {.bound = {bound_seconds, "SMMLA"}};
    snprintf(e.name, sizeof e.name, "%s", name);
    return e;
}

static void work(gbench_state *state, void *arg) {
    while (gbench_keep_running(state))
        (*(volatile int64_t *)arg)++;
    gbench_counter(state, "MAC", 1);
}

/* Bounds of a thousand seconds and of nothing: the first is always broken, the second never. */
static void invalid_in_the_file(void **state) {
    (void)state;
    bench_entry entries[] = {entry("x/impossible", 1e3), entry("x/possible", 0)};
    bench_plan plan = {.entries = entries, .count = 2};
    bench_verdict verdict = {.plan = &plan};
    char path[] = "/tmp/armq-verdict-XXXXXX", out[64];
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    snprintf(out, sizeof out, "--benchmark_out=%s", path);
    char *argv[] = {(char[]){"test"}, out, (char[]){"--benchmark_min_time=0.001"},
                    (char[]){"--benchmark_repetitions=2"}, NULL};
    int argc = 4;
    int64_t counter = 0;
    gbench_initialize(&argc, argv);
    for (int i = 0; i < 2; i++)
        gbench_register(entries[i].name, work, &counter);
    const gbench_observer observer = {verdict_vet, verdict_note, &verdict};
    assert_int_equal(gbench_run(&observer), 2);

    json_t *data = json_load_file(path, 0, NULL), *row;
    assert_non_null(data);
    size_t i, wrong = 0, right = 0;
    json_array_foreach(json_object_get(data, "benchmarks"), i, row) {
        const bool failed = json_is_true(json_object_get(row, "error_occurred"));
        if (strstr(json_string_value(json_object_get(row, "run_name")), "impossible") != NULL) {
            const char *message = json_string_value(json_object_get(row, "error_message"));
            assert_true(failed && strncmp(message, "invalid: ", 9) == 0);
            assert_non_null(strstr(message, "of the measured peak (SMMLA)"));
            /* Never a record. */
            assert_true(json_number_value(json_object_get(row, "real_time")) == 0);
            assert_null(json_object_get(row, "MAC"));
            wrong++;
        } else {
            assert_true(!failed && json_object_get(row, "MAC") != NULL);
            right++;
        }
    }
    assert_true(wrong >= 2 && right >= 2); /* repetitions, and aggregates over them */
    assert_true(entries[0].failed && entries[0].repetitions == 0);
    assert_true(!entries[1].failed && entries[1].repetitions == 2);
    json_decref(data);
    unlink(path);
    free(entries[1].seconds);
}

/* At 104 % valid, at 106 % not, and then no line of the entry is; emulated times are not judged. */
static void vetting(void **state) {
    (void)state;
    bench_entry entries[] = {entry("x/a", 1e-3)};
    bench_plan plan = {.entries = entries, .count = 1};
    bench_verdict verdict = {.plan = &plan, .emulated = true};
    gbench_result result = {.name = "x/a", .seconds = 1e-3 / 1.06};
    assert_null(verdict_vet(&verdict, &result));
    verdict.emulated = false;
    result.seconds = 1e-3 / 1.04;
    assert_null(verdict_vet(&verdict, &result));
    result.seconds = 1e-3 / 1.06;
    assert_string_equal(verdict_vet(&verdict, &result),
                        "invalid: 106 % of the measured peak (SMMLA): faster than this machine, so "
                        "no time");
    result = (gbench_result){.name = "x/a", .repeated = "median", .seconds = 1};
    assert_non_null(verdict_vet(&verdict, &result));
    result.name = "x/unknown";
    assert_null(verdict_vet(&verdict, &result));
}

static void expect(const bench_verdict *verdict, int status, const char *text) {
    char *printed = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&printed, &bytes);
    assert_int_equal(verdict_print(verdict, out), status);
    fclose(out);
    if (strstr(printed, text) == NULL)
        fail_msg("'%s' is not in: %s", text, printed);
    free(printed);
}

static void whole_run(void **state) {
    (void)state;
    bench_entry entries[] = {entry("x/a", 0), entry("x/b", 0), entry("x/c", 0)};
    entries[0].repetitions = entries[1].repetitions = 1; /* c was not run */
    bench_plan plan = {.entries = entries, .count = 3};
    bench_verdict verdict = {.plan = &plan};
    expect(&verdict, EXIT_TIMED, "noise verdict: quiet, 2 timings");
    snprintf(entries[2].noisy, NOISE_WHY, "noisy: not run, so it does not count");
    expect(&verdict, EXIT_TIMED, "quiet");
    snprintf(entries[1].noisy, NOISE_WHY, "noisy: migrated 3 times");
    expect(&verdict, EXIT_NOISY, "too noisy to judge: 1 of 2\n    first: x/b: noisy: migrated 3");
    verdict.emulated = true;
    expect(&verdict, EXIT_TIMED, "noise verdict: none");
    verdict.emulated = false;
    entries[1].noisy[0] = '\0';
    snprintf(verdict.load, NOISE_WHY, "noisy: load 7.00 and 1 threads on 4 processors");
    expect(&verdict, EXIT_NOISY, "too noisy to judge: 0 of 2\n    the machine: noisy: load 7.00");
    entries[0].failed = true; /* wrong outranks noisy */
    expect(&verdict, EXIT_WRONG, "1 without a time");
}

int main(void) {
    const struct CMUnitTest verdicts[] = {
        cmocka_unit_test(invalid_in_the_file),
        cmocka_unit_test(vetting),
        cmocka_unit_test(whole_run),
    };
    return cmocka_run_group_tests(verdicts, NULL, NULL);
}
