/* SPDX-License-Identifier: Apache-2.0 */
/* Which entries a command line makes on a made-up machine: modes, kinds of cores, threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/machine.h"
#include "perf/plan.h"

enum { ARGS_MAX = 16 };

static int32_t cpus[] = {2, 3, 0};
static core_kind kinds[] = {{.midr = 2, .first = 0, .count = 2, .cpus = "2-3"},
                            {.midr = 1, .first = 2, .count = 1, .cpus = "0"}};
static const core_list two_kinds = {cpus, 3, kinds, 2}, one_kind = {cpus, 2, kinds, 1};

/* Names of the plan of provider naive, one a line. */
static void expect(const core_list *cores, const char *wanted, const char *const *words) {
    char *argv[ARGS_MAX] = {(char[]){"armq-bench"}, (char[]){"--provider=naive"}};
    int argc = 2;
    for (; words[argc - 2] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 2];
    bench_options options;
    bench_plan plan;
    char message[PLAN_MESSAGE] = "", got[4096] = "";
    assert_true(bench_options_parse(&options, argc, argv));
    if (!bench_plan_build(&plan, &options, cores, message))
        snprintf(got, sizeof got, "%s", message);
    for (int64_t i = 0; i < plan.count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s\n", plan.entries[i].name);
    for (int64_t i = 0; i < plan.refusal_count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "refused: %s\n",
                 plan.refusals[i].reason);
    if (strcmp(got, wanted) != 0)
        fail_msg("got:\n%swanted:\n%s", got, wanted);
    bench_plan_free(&plan);
    bench_options_free(&options);
}
#define EXPECT(cores, wanted, ...) expect(cores, wanted, (const char *const[]){__VA_ARGS__, NULL})

/* Cold up to 16 tokens, warm above, and where there are no weights. */
static void modes(void **state) {
    (void)state;
    EXPECT(&one_kind,
           "naive/linear_w8a8 tokens=16 n=8 k=8 seed=1/cold\n"
           "naive/linear_w8a8 tokens=17 n=8 k=8 seed=1\n"
           "naive/quantize tokens=1 k=8 seed=1\n",
           "linear_w8a8 tokens=16,17 n=8 k=8", "quantize tokens=1 k=8");
    EXPECT(&one_kind,
           "naive/linear_w8a8 tokens=1 n=8 k=8 seed=1\n"
           "naive/linear_w8a8 tokens=1 n=8 k=8 seed=1/cold\n",
           "linear_w8a8 tokens=1 n=8 k=8", "--memory=warm,cold");
    EXPECT(&one_kind, "refused: there are no weights that could be cold\n", "quantize tokens=1 k=8",
           "--memory=cold");
}

/* Never both kinds in one entry: two of one, one of the other; at most as many threads as cores. */
static void kinds_of_cores(void **state) {
    (void)state;
    if (machine()->cores < 2)
        skip();
    EXPECT(&two_kinds,
           "naive/linear_w8a8 tokens=99 n=8 k=8 threads=2 seed=1/kind0\n"
           "naive/linear_w8a8 tokens=99 n=8 k=8 seed=1/kind1\n",
           "linear_w8a8 tokens=99 n=8 k=8", "--threads=all", "--cores=all");
    EXPECT(&two_kinds,
           "refused: 2 threads on 1 usable cores of kind 1 (CPU quota respected) would not run at "
           "once\n",
           "linear_w8a8 tokens=99 n=8 k=8", "--threads=2", "--cores=1");
    EXPECT(&two_kinds, "--cores 2: this machine has 2 kinds of usable cores, from 0",
           "linear_w8a8 tokens=99 n=8 k=8", "--cores=2");
}

static void threads(void **state) {
    (void)state;
    if (machine()->cores < 2)
        skip();
    assert_int_equal(bench_threads_most(&one_kind, 0), 2);
    EXPECT(&one_kind,
           "naive/linear_w8a8 tokens=99 n=8 k=8 seed=1\n"
           "naive/linear_w8a8 tokens=99 n=8 k=8 threads=2 seed=1\n",
           "linear_w8a8 tokens=99 n=8 k=8", "--threads=1,2,all");
}

/* The affinity mask and the CPU quota count too, not only the cores of a kind. */
static void no_more_threads_than_may_run(void **state) {
    (void)state;
    core_kind many = {.count = 1 << 20}, one = {.count = 1};
    const core_list cores = {.kinds = &many, .kind_count = 1}, single = {.kinds = &one};
    assert_int_equal(bench_threads_most(&cores, 0), machine()->cores);
    assert_int_equal(bench_threads_most(&single, 0), 1);
}

int main(void) {
    const struct CMUnitTest plans[] = {
        cmocka_unit_test(modes),
        cmocka_unit_test(kinds_of_cores),
        cmocka_unit_test(threads),
        cmocka_unit_test(no_more_threads_than_may_run),
    };
    return cmocka_run_group_tests(plans, NULL, NULL);
}
