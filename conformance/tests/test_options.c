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
#include "conformance/tests/fixture.h"

typedef struct {
    const char *arguments[8]; /* ends with NULL */
    const char *message;      /* part of it */
} refusal;

static void refuses(void **state) {
    (void)state;
    static const refusal rows[] = {
        {{"--bogus"}, "'--bogus' is not an option"},
        {{"--sweep"}, "--sweep needs a value"},
        {{NULL}, "nothing to run"},
        {{"--provider", "naive,,neon", "--sweep", "ci"}, "an entry of the list is empty"},
        {{"--provider", "naive,naive", "--sweep", "ci"}, "names 'naive' twice"},
        {{"--check", "valu", "--sweep", "ci"}, "'valu': there is no such check; allowed are value"},
        {{"--seed", "-1", "--sweep", "ci"}, "--seed '-1'"},
        {{"--seed", "1x", "--sweep", "ci"}, "--seed '1x'"},
        {{"--seed", "18446744073709551616", "--sweep", "ci"}, "2^64-1"},
        {{"--jobs", "0", "--sweep", "ci"}, "--jobs '0'"},
        {{"--max-failures", "0", "--sweep", "ci"}, "--max-failures '0'"},
        {{"--max-failures", "1x", "--sweep", "ci"}, "--max-failures '1x'"},
        {{"--timeout", "nan", "--sweep", "ci"}, "--timeout 'nan'"},
        {{"--timeout", "0", "--sweep", "ci"}, "--timeout '0'"},
        {{"--list=everything"}, "--list 'everything': allowed are cases"},
        {{"--list=keys", "--sweep", "ci"}, "takes neither sweeps nor cases"},
        {{"--list", "--sweep", "ci", "--json", "f"}, "--list runs nothing"},
        {{"--json", "a", "--json", "b", "--sweep", "ci"}, "given twice, as 'a' and 'b'"},
        {{"--json", "a", "--resume", "b", "--sweep", "ci"}, "--json 'a' contradicts it"},
        {{"--resume", "a", "--force", "--sweep", "ci"}, "--resume appends, --force overwrites"},
        {{"--force", "--sweep", "ci"}, "no file to overwrite"},
        {{"--json", "a", "--junit", "a", "--sweep", "ci"}, "name the same file 'a'"},
        {{"--provider", "naive", "--require-tier", "i8mm", "--sweep", "ci"}, "'i8mm' is not among"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        options o;
        char *said;
        assert_int_equal(parse_arguments(&o, rows[i].arguments, &said), OPTIONS_ERROR);
        if (!strstr(said, rows[i].message))
            fail_msg("'%s' is not in: %s", rows[i].message, said);
        free(said);
        options_free(&o);
    }
}

/* Where a CI system says so, unless told otherwise. */
static void shrinks_in_ci(void **state) {
    (void)state;
    static const struct {
        const char *ci, *argument;
        bool shrinks;
    } rows[] = {
        {NULL, NULL, false},      {"", NULL, false},      {"true", NULL, true},
        {NULL, "--shrink", true}, {"", "--shrink", true}, {"true", "--no-shrink", false},
    };
    const char *before = getenv("CI");
    char *kept = before ? strdup(before) : NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        options o;
        char *said;
        unsetenv("CI");
        if (rows[i].ci)
            setenv("CI", rows[i].ci, 1);
        const char *const arguments[] = {"--sweep", "ci", rows[i].argument, NULL};
        assert_int_equal(parse_arguments(&o, arguments, &said), OPTIONS_RUN);
        assert_int_equal(o.shrink, rows[i].shrinks);
        free(said);
        options_free(&o);
    }
    unsetenv("CI");
    if (kept)
        setenv("CI", kept, 1);
    free(kept);
}

static void takes(void **state) {
    (void)state;
    options o;
    char *said;
    const char *const arguments[] = {
        "gemm_s8s8s32 n=1", "--sweep=ci",   "--sweep",        "edge", "--provider", "naive,./a.so",
        "--check",          "memory,value", "--seed",         "0x10", "--jobs",     "3",
        "--timeout",        "1.5",          "--max-failures", "4",    NULL};
    assert_int_equal(parse_arguments(&o, arguments, &said), OPTIONS_RUN);
    assert_string_equal(said, "");
    assert_int_equal(o.sweeps.count, 2);
    assert_string_equal(o.sweeps.items[1], "edge");
    assert_int_equal(o.lines.count, 1);
    assert_string_equal(o.lines.items[0], "gemm_s8s8s32 n=1");
    assert_true(text_list_has(&o.providers, "./a.so"));
    assert_false(text_list_has(&o.providers, "a"));
    assert_int_equal(o.checks, UINT64_C(1) << check_index("memory") | UINT64_C(1)
                                                                          << check_index("value"));
    assert_true(o.has_seed);
    assert_int_equal(o.seed, 16);
    assert_int_equal(o.jobs, 3);
    assert_true(o.timeout == 1.5);
    assert_int_equal(o.max_failures, 4);
    free(said);
    options_free(&o);
}

static void lists(void **state) {
    (void)state;
    static const struct {
        const char *arguments[4];
        list_what what;
    } rows[] = {
        {{"--list", "--sweep", "ci"}, LIST_CASES}, {{"--list=checks"}, LIST_CHECKS},
        {{"--list", "providers"}, LIST_PROVIDERS}, {{"--list", "keys"}, LIST_KEYS},
        {{"--list=sweeps"}, LIST_SWEEPS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        options o;
        char *said;
        assert_int_equal(parse_arguments(&o, rows[i].arguments, &said), OPTIONS_RUN);
        assert_int_equal(o.list, rows[i].what);
        assert_int_equal(o.lines.count, 0);
        free(said);
        options_free(&o);
    }
}

static void help_names_every_option(void **state) {
    (void)state;
    static const char *const names[] = {
        "--sweep",   "--provider", "--check", "--filter",  "--seed",         "--jobs",
        "--timeout", "--list",     "--json",  "--junit",   "--require-tier", "--resume",
        "--force",   "--profile",  "--help",  "--version", "--max-failures"};
    options o;
    char *said;
    assert_int_equal(parse_arguments(&o, (const char *const[]){"--help", NULL}, &said),
                     OPTIONS_DONE);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_non_null(strstr(said, names[i]));
    free(said);
    options_free(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses),
        cmocka_unit_test(shrinks_in_ci),
        cmocka_unit_test(takes),
        cmocka_unit_test(lists),
        cmocka_unit_test(help_names_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
