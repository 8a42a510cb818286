/* SPDX-License-Identifier: Apache-2.0 */
/* Sweep files: comments, continuation, include, where they are looked up, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/case.h"

static char directory[64];

static int make_directory(void **state) {
    (void)state;
    strcpy(directory, "/tmp/armq-test-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    return system(command); /* NOLINT: the path is ours */
}

static void write_file(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static bool load(const char *name, case_list *list, case_error *error) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return sweep_load(path, NULL, list, error);
}

static void test_sweep(void **state) {
    (void)state;
    write_file("inner.sweep", "quantize tokens=1 k=1 # behind a case\n");
    write_file("outer.sweep", "# a comment\n\n  include inner\ninclude ./inner.sweep\n"
                              "gemm_s8s8s32 tokens=1,2 \\\n  n=3 \\\n  k=4\n"
                              "gemm_s8s8s32 tokens=2,3 n=3 k=4"); /* no newline at the end */
    case_list list = {0};
    case_error error;
    if (!load("outer.sweep", &list, &error))
        fail_msg("%s:%d: %s", error.file, (int)error.line, error.message);
    /* The case of inner, and tokens=2, stand there twice and count once. */
    assert_int_equal(list.count, 4);
    assert_int_equal(list.items[0].desc.op, ARMQ_OP_QUANTIZE);
    assert_int_equal(list.items[3].desc.tokens, 3);
    case_list_free(&list);
}

static void sweep_refused(const char *name, const char *file, int64_t line, int64_t column,
                          const char *part) {
    case_list list = {0};
    case_error error = {0};
    assert_false(load(name, &list, &error));
    if (!strstr(error.file, file) || error.line != line || error.column != column ||
        !strstr(error.message, part))
        fail_msg("%s:%d:%d: %s", error.file, (int)error.line, (int)error.column, error.message);
    assert_int_equal(list.count, 0);
    case_list_free(&list);
}

static void test_sweep_errors(void **state) {
    (void)state;
    write_file("bad.sweep", "quantize tokens=1 k=1\n# comment\nquantize tokens=1 \\\n  k=x\n");
    sweep_refused("bad.sweep", "bad.sweep", 4, 5, "k=x; allowed");
    write_file("outer.sweep", "quantize tokens=1 k=1\n  include bad\n");
    sweep_refused("outer.sweep", "bad.sweep", 4, 5, "k=x; allowed");
    write_file("missing.sweep", "\ninclude  nothing-there\n");
    sweep_refused("missing.sweep", "missing.sweep", 2, 10, "nothing-there.sweep");
    write_file("empty.sweep", "include\n");
    sweep_refused("empty.sweep", "empty.sweep", 1, 8, "include takes");
    write_file("a.sweep", "include b\n");
    write_file("b.sweep", "include a\n");
    sweep_refused("a.sweep", "b.sweep", 1, 9, "includes itself");
    case_list list = {0};
    case_error error;
    assert_false(sweep_load("no-such-sweep", NULL, &list, &error));
    assert_string_equal(error.file, "no-such-sweep");
    assert_non_null(strstr(error.message, "cannot read sweep"));
}

static void write_bytes(const char *name, const char *bytes, size_t count) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, count, out), count);
    assert_int_equal(fclose(out), 0);
}

/* What is no text file would otherwise be an empty sweep, half a sweep, or never end. */
static void test_sweep_is_a_text_file(void **state) {
    (void)state;
    case_list list = {0};
    case_error error;
    char path[128];
    assert_false(sweep_load(directory, NULL, &list, &error));
    assert_non_null(strstr(error.message, "it is a directory"));
    assert_false(sweep_load("/dev/zero", NULL, &list, &error));
    assert_non_null(strstr(error.message, "pipe or a device"));
    snprintf(path, sizeof path, "%s/pipe.sweep", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    sweep_refused("pipe.sweep", "pipe.sweep", 1, 1, "pipe or a device");
    snprintf(path, sizeof path, "%s/folder.sweep", directory);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("outer.sweep", "quantize tokens=1 k=1\ninclude folder\n");
    sweep_refused("outer.sweep", "outer.sweep", 2, 9, "it is a directory");

    static const char nul[] = "quantize tokens=1 k=1\nquantize tokens=1 \0k=2\n";
    write_bytes("nul.sweep", nul, sizeof nul - 1);
    sweep_refused("nul.sweep", "nul.sweep", 2, 19, "a NUL byte");
    static const char marked[] = "\xef\xbb\xbfquantize tokens=1 k=x\n";
    write_bytes("marked.sweep", marked, sizeof marked - 1);
    sweep_refused("marked.sweep", "marked.sweep", 1, 21, "k=x; allowed");
    char *long_line = malloc(65538);
    assert_non_null(long_line);
    memset(long_line, '#', 65538);
    write_bytes("long.sweep", long_line, 65536);
    assert_true(load("long.sweep", &list, &error));
    write_bytes("long.sweep", long_line, 65537);
    sweep_refused("long.sweep", "long.sweep", 1, 65537, "more than 65536 bytes");
    free(long_line);
}

static void test_sweep_directory(void **state) {
    (void)state;
    write_file("mine.sweep", "quantize tokens=1 k=1\n");
    assert_int_equal(setenv("ARMQ_SWEEPS", directory, 1), 0);
    case_list list = {0};
    case_error error;
    assert_true(sweep_load("mine", NULL, &list, &error));
    assert_int_equal(list.count, 1);
    case_list_free(&list);
    unsetenv("ARMQ_SWEEPS");
    assert_non_null(strstr(sweep_directory(), "sweeps"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_sweep_errors),
        cmocka_unit_test(test_sweep_is_a_text_file),
        cmocka_unit_test(test_sweep_directory),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
