/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "perf/options.h"

enum { ARGS_MAX = 16 };

/* Parses the words of a command line; the last one is NULL. */
static bool parse(bench_options *o, const char *const *words) {
    char *argv[ARGS_MAX] = {(char[]){"armq-bench"}};
    int argc = 1;
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    return bench_options_parse(o, argc, argv);
}
#define PARSE(o, ...) parse(o, (const char *const[]){__VA_ARGS__, NULL})

#define REFUSED(part, ...)                                                                         \
    do {                                                                                           \
        bench_options refused;                                                                     \
        assert_false(PARSE(&refused, __VA_ARGS__));                                                \
        if (strstr(refused.message, part) == NULL)                                                 \
            fail_msg("'%s' is not in: %s", part, refused.message);                                 \
        bench_options_free(&refused);                                                              \
    } while (0)

static void all_options(void **state) {
    (void)state;
    bench_options o;
    assert_true(PARSE(&o, "--sweep", "quick,linear", "--provider=i8mm", "--threads", "1,4",
                      "--benchmark_min_time=0.1", "--list"));
    assert_int_equal(o.sweep_count, 2);
    assert_string_equal(o.sweeps[1], "linear");
    assert_int_equal(o.provider_count, 1);
    assert_string_equal(o.providers[0], "i8mm");
    assert_int_equal(o.thread_count, 2);
    assert_int_equal(o.threads[1], 4);
    assert_true(o.list && o.min_time && !o.help);
    assert_int_equal(o.gbench_count, 2);
    assert_string_equal(o.gbench[1], "--benchmark_min_time=0.1");
    bench_options_free(&o);
}

static void evidence(void **state) {
    (void)state;
    bench_options o;
    assert_true(PARSE(&o, "--sweep", "quick"));
    assert_true(!o.warm && !o.cold && o.kind == 0 && o.pairs == OPTIONS_ALL);
    bench_options_free(&o);
    assert_true(PARSE(&o, "--sweep", "quick", "--threads", "1,all,2", "--memory=warm,cold",
                      "--cores", "all", "--pairs", "7"));
    assert_int_equal(o.thread_count, 3);
    assert_true(o.threads[0] == 1 && o.threads[1] == OPTIONS_ALL && o.threads[2] == 2);
    assert_true(o.warm && o.cold && o.kind == OPTIONS_ALL && o.pairs == 7);
    bench_options_free(&o);
    assert_true(PARSE(&o, "--sweep", "quick", "--memory", "cold", "--cores=1", "--memory=auto"));
    assert_true(!o.warm && !o.cold && o.kind == 1);
    bench_options_free(&o);
}

/* A case as one argument, and as words that the shell split. */
static void case_lines(void **state) {
    (void)state;
    bench_options o;
    assert_true(PARSE(&o, "gemm_s8s8s32 tokens=1 n=2 k=3", "linear_w8a8", "tokens=4", "n=5"));
    assert_int_equal(o.line_count, 2);
    assert_string_equal(o.lines[0], "gemm_s8s8s32 tokens=1 n=2 k=3");
    assert_string_equal(o.lines[1], "linear_w8a8 tokens=4 n=5");
    bench_options_free(&o);
}

static void refusals(void **state) {
    (void)state;
    REFUSED("nothing to time", "--list");
    REFUSED("unknown option '--swep'", "--swep", "quick");
    REFUSED("--sweep needs a value", "--sweep");
    REFUSED("--provider needs a value", "--provider=", "x");
    REFUSED("empty entry", "--provider", "i8mm,,neon");
    REFUSED("numbers from 1 to", "--threads", "0");
    REFUSED("numbers from 1 to", "--threads", "2x");
    REFUSED("numbers from 1 to", "--threads", "2,");
    REFUSED("numbers from 1 to", "--threads", "alle");
    REFUSED("--memory 'hot'", "--memory", "hot");
    REFUSED("--memory 'warm,hot'", "--memory", "warm,hot");
    REFUSED("--cores 'big'", "--cores", "big");
    REFUSED("--cores '-1'", "--cores", "-1");
    REFUSED("--pairs '1001'", "--pairs", "1001");
    REFUSED("numbers from 1 to", "--threads", "99999999999999999999");
    REFUSED("a case starts with an op", "tokens=1");
    REFUSED("'--benchmark_repetitions=-1': wanted a number from 1 to 1000000", "x",
            "--benchmark_repetitions=-1");
    REFUSED("wanted a number from 1 to", "x", "--benchmark_repetitions=0");
    REFUSED("'--benchmark_min_time=nan'", "x", "--benchmark_min_time=nan");
    REFUSED("'--benchmark_min_time=-1'", "x", "--benchmark_min_time=-1");
    REFUSED("'--benchmark_min_warmup_time=inf'", "x", "--benchmark_min_warmup_time=inf");
}

int main(void) {
    const struct CMUnitTest options[] = {
        cmocka_unit_test(all_options),
        cmocka_unit_test(evidence),
        cmocka_unit_test(case_lines),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(options, NULL, NULL);
}
