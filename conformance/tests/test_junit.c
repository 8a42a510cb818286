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

#include "conformance/results.h"
#include "conformance/tests/fixture.h"

static char *escaped(const char *text) {
    char *result = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&result, &bytes);
    junit_escape(out, text);
    fclose(out);
    return result;
}

static void escapes(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"a<b>&\"c\"'", "a&lt;b&gt;&amp;&quot;c&quot;'"},
        {"]]>", "]]&gt;"},
        {"line\nnext\ttab", "line&#10;next&#9;tab"},
        {"bell\a esc\033[31m del\177", "bell? esc?[31m del\177"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xe9 \xc3 \xc0\x80", "? ? ??"},         /* no UTF-8: Latin-1, cut, overlong */
        {"\xed\xa0\x80 \xef\xbf\xbf", "??? ???"}, /* a surrogate, U+FFFF */
        {"\xe0\x80\x80", "???"},                  /* overlong, three bytes */
        {"\xf4\x90\x80\x80", "????"},             /* beyond U+10FFFF */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *result = escaped(rows[i][0]);
        assert_string_equal(result, rows[i][1]);
        free(result);
    }
}

static int count_of(const char *text, const char *part) {
    int count = 0;
    while ((text = strstr(text, part))) {
        count++;
        text += strlen(part);
    }
    return count;
}

static void suites_hold_every_case(void **state) {
    (void)state;
    options o;
    plan p;
    make_plan(&o, &p,
              (const char *const[]){"--provider", "naive,reference",
                                    "gemm_s8s8s32 tokens=1,2,3 n=3 k=4", NULL});
    outcome outcomes[6] = {
        {.done = true, .status = CASE_PASSED, .seconds = 0.5},
        {.done = true,
         .status = CASE_FAILED,
         .message = (char *)"value: 1 < 2",
         .smallest = (char *)"gemm_s8s8s32 tokens=1 n=1 k=2"},
        {.done = true, .status = CASE_SKIPPED, .message = (char *)"no tier"},
        {.done = true, .status = CASE_CRASHED, .message = (char *)"crash: SIGILL"},
        {.done = true, .status = CASE_WAIVED, .message = (char *)"known"},
        {.done = false},
    };
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_true(junit_write(out, &p, outcomes, &o, "armq-conform"));
    fclose(out);
    assert_int_equal(count_of(text, "<testsuite "), 2);
    assert_int_equal(count_of(text, "<testcase "), 6);
    assert_int_equal(count_of(text, "</testcase>"), 6);
    assert_non_null(strstr(text,
                           "<testsuite name=\"naive\" tests=\"3\" failures=\"0\" errors=\"0\" "
                           "skipped=\"2\" time=\"0.500\">"));
    assert_non_null(strstr(text, "<testsuite name=\"reference\" tests=\"3\" failures=\"1\" "
                                 "errors=\"2\" skipped=\"0\""));
    assert_non_null(strstr(text, "<failure message=\"value: 1 &lt; 2\">"));
    assert_non_null(strstr(text, "armq-conform --provider reference 'gemm_s8s8s32 tokens=1 n=3 "));
    assert_non_null(strstr(text, "&#10;smallest: ")); /* emulated, ARMQ_CPU=... comes first */
    assert_non_null(strstr(text, "armq-conform --provider reference "
                                 "'gemm_s8s8s32 tokens=1 n=1 k=2 seed=1'</failure>"));
    assert_int_equal(count_of(text, "smallest:"), 1);
    assert_non_null(strstr(text, "<error message=\"crash: SIGILL\">"));
    assert_non_null(strstr(text, "<skipped message=\"waived: known\"/>"));
    assert_non_null(strstr(text, "stopped before this case"));
    free(text);
    plan_free(&p);
    options_free(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes),
        cmocka_unit_test(suites_hold_every_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
