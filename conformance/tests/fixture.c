/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
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

options_result parse_arguments(options *o, const char *const *arguments, char **said) {
    /* getopt permutes argv and keeps pointers into it: it must outlive *o. */
    static char *argv[16];
    int argc = 0;
    size_t bytes = 0;
    argv[argc++] = (char *)"armq-conform";
    for (; arguments[argc - 1]; argc++)
        argv[argc] = (char *)arguments[argc - 1];
    argv[argc] = NULL;
    *said = NULL;
    FILE *out = open_memstream(said, &bytes);
    assert_non_null(out);
    options_result result = options_parse(o, argc, argv, out, out);
    fclose(out);
    return result;
}

void make_plan(options *o, plan *p, const char *const *arguments) {
    char *said;
    assert_int_equal(parse_arguments(o, arguments, &said), OPTIONS_RUN);
    assert_string_equal(said, "");
    free(said);
    assert_true(plan_make(p, o, stderr));
}

char *make_folder(void) {
    const char *parent = getenv("TMPDIR");
    char path[400];
    snprintf(path, sizeof path, "%s/armq-test-XXXXXX", parent ? parent : P_tmpdir);
    char *folder = strdup(path);
    assert_non_null(folder);
    assert_non_null(mkdtemp(folder));
    return folder;
}

void remove_folder(char *folder) {
    char path[512];
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (const struct dirent *entry; (entry = readdir(entries));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    closedir(entries);
    assert_int_equal(rmdir(folder), 0);
    free(folder);
}

char *read_all(const char *path) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *from = fopen(path, "re"), *to = open_memstream(&text, &bytes);
    assert_non_null(from);
    assert_non_null(to);
    for (int c; (c = fgetc(from)) != EOF;)
        fputc(c, to);
    fclose(from);
    fclose(to);
    return text;
}
