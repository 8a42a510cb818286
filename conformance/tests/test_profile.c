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
#include "conformance/profile.h"
#include "conformance/tests/fixture.h"

static profile *load(const char *text, char **said) {
    char *folder = make_folder(), path[512];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/p", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    FILE *err = open_memstream(said, &bytes);
    profile *p = profile_load(path, err);
    fclose(err);
    remove_folder(folder);
    return p;
}

static case_result failing(const char *first, const char *second) {
    case_result result = {.status = CASE_FAILED};
    result.checks[check_index(first)].status = CHECK_FAILED;
    if (second)
        result.checks[check_index(second)].status = CHECK_FAILED;
    return result;
}

static void waives_what_is_recorded_only(void **state) {
    (void)state;
    static const struct {
        const char *provider, *text, *first, *second;
        case_status status;
    } rows[] = {
        {"neon", "linear_w8a8 tokens=1 n=64 data=ties", "value", NULL, CASE_WAIVED},
        {"neon", "linear_w8a8 tokens=1 n=64", "value", NULL, CASE_FAILED},
        {"neon", "linear_w8a8 tokens=1 n=64 data=ties", "repeat", NULL, CASE_FAILED},
        {"neon", "linear_w8a8 tokens=1 n=64 data=ties", "value", "repeat", CASE_FAILED},
        {"neon", "linear_w8a8 tokens=1 n=64 data=ties", "value", "batch", CASE_WAIVED},
        {"i8mm", "linear_w8a8 tokens=1 n=64 data=ties", "value", NULL, CASE_FAILED},
        {"i8mm", "linear_w8a8 tokens=1 n=64 data=ties", "batch", NULL, CASE_WAIVED},
        {"i8mm", "linear_w8a8 tokens=1 n=64 data=ties", "value", "batch", CASE_FAILED},
    };
    char *said;
    profile *p = load("# known\n\nwaive neon value ^linear_w8a8 .*data=ties # ties, by design\n"
                      "  waive * batch . # not invariant\n",
                      &said);
    assert_non_null(p);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        case_result result = failing(rows[i].first, rows[i].second);
        profile_apply(p, rows[i].provider, rows[i].text, &result);
        assert_int_equal(result.status, rows[i].status);
    }
    case_result result = failing("value", NULL);
    profile_apply(p, "neon", rows[0].text, &result);
    assert_string_equal(result.reason, "ties, by design");
    case_result passed = {.status = CASE_PASSED};
    profile_apply(p, "neon", rows[0].text, &passed);
    assert_int_equal(passed.status, CASE_PASSED);
    free(said);
    profile_free(p);
}

static void refuses(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"waive neon value .*\n", ":1: a waiver needs a reason"},
        {"\nwaive neon value # why\n", ":2: something is missing"},
        {"waive neon valeu .* # why\n", ":1: there is no check 'valeu'"},
        {"waive neon value ( # why\n", ":1: regular expression '('"},
        {"allow neon value .* # why\n", ":1: a line starts with 'waive'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *said;
        assert_null(load(rows[i][0], &said));
        if (!strstr(said, rows[i][1]))
            fail_msg("'%s' is not in: %s", rows[i][1], said);
        free(said);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waives_what_is_recorded_only),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
