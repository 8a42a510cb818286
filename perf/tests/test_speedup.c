/* SPDX-License-Identifier: Apache-2.0 */
/* Medians, and which entry is the baseline of which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "perf/speedup.h"

static const armq_provider i8mm = {.name = "i8mm"}, bf16 = {.name = "bf16"},
                           neon = {.name = "neon"}, naive = {.name = "naive"};

static bench_entry entry(const char *name, const armq_provider *provider, armq_op op,
                         int64_t tokens, int64_t n, double seconds) {
    bench_entry e = {.provider = provider};
    snprintf(e.name, sizeof e.name, "%s", name);
    snprintf(e.kernel, sizeof e.kernel, "%s_kernel", provider->name);
    e.c.desc = (armq_desc){.op = op, .tokens = tokens, .n = n, .k = 64};
    e.c.desc.in = e.c.desc.out = ARMQ_DTYPE_BF16;
    e.c.threads = 1;
    if (seconds > 0)
        assert_true(bench_entry_add(&e, seconds));
    return e;
}

static void median_of_repetitions(void **state) {
    (void)state;
    bench_entry e = {.repetitions = 0};
    const double seconds[] = {5.0, 1.0, 3.0, 2.0};
    const double medians[] = {5.0, 3.0, 3.0, 2.5};
    for (int i = 0; i < 4; i++) {
        assert_true(bench_entry_add(&e, seconds[i]));
        assert_true(e.median == medians[i]);
    }
    assert_int_equal(e.repetitions, 4);
    free(e.seconds);
}

static void baselines(void **state) {
    (void)state;
    bench_entry entries[] = {
        entry("i8mm/a", &i8mm, ARMQ_OP_LINEAR_W8A8, 1, 32, 2e-6),
        entry("naive/a", &naive, ARMQ_OP_LINEAR_BF16, 1, 32, 9e-6),
        entry("neon/a", &neon, ARMQ_OP_LINEAR_BF16, 1, 32, 8e-6),
        entry("bf16/a", &bf16, ARMQ_OP_LINEAR_BF16, 1, 32, 5e-6),
        entry("i8mm/b", &i8mm, ARMQ_OP_LINEAR_W8A8, 2, 32, 2e-6), /* other tokens: none */
        entry("i8mm/c", &i8mm, ARMQ_OP_GEMM_S8S8S32, 1, 32, 2e-6),
    };
    bench_plan plan = {.entries = entries, .count = sizeof entries / sizeof *entries};
    assert_ptr_equal(speedup_baseline(&plan, &entries[0]), &entries[3]);
    for (int i = 1; i < plan.count; i++)
        assert_null(speedup_baseline(&plan, &entries[i]));
    entries[3].failed = true; /* the f32 fallback is the next choice, the naive provider never */
    assert_ptr_equal(speedup_baseline(&plan, &entries[0]), &entries[2]);
    entries[2].cold = true; /* cold is compared with cold, a big core with a big core */
    assert_null(speedup_baseline(&plan, &entries[0]));
    entries[2].cold = false;
    entries[2].kind = 1;
    assert_null(speedup_baseline(&plan, &entries[0]));
    entries[2].kind = 0;
    entries[2].c.threads = 2;
    assert_null(speedup_baseline(&plan, &entries[0]));
    for (int i = 0; i < plan.count; i++)
        free(entries[i].seconds);
}

/* Whatever makes it another problem: then there is none to compare with. */
static void another_problem(void **state) {
    (void)state;
    bench_entry entries[] = {
        entry("i8mm/a", &i8mm, ARMQ_OP_MOE_W8A8, 4, 0, 2e-6),
        entry("bf16/a", &bf16, ARMQ_OP_MOE_BF16, 4, 0, 5e-6),
    };
    const bench_plan plan = {.entries = entries, .count = 2};
    armq_case *c = &entries[1].c;
    armq_desc *d = &c->desc;
    int64_t *const sizes[] = {&d->tokens,       &d->n,       &d->k,    &d->hidden,
                              &d->intermediate, &d->experts, &d->top_k};
    assert_ptr_equal(speedup_baseline(&plan, &entries[0]), &entries[1]);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ++*sizes[i];
        assert_null(speedup_baseline(&plan, &entries[0]));
        --*sizes[i];
    }
    const bench_entry same = entries[1];
    d->in = ARMQ_DTYPE_F32;
    assert_null(speedup_baseline(&plan, &entries[0]));
    entries[1] = same;
    d->out = ARMQ_DTYPE_F32;
    assert_null(speedup_baseline(&plan, &entries[0]));
    entries[1] = same;
    c->routing = ROUTING_ONE;
    assert_null(speedup_baseline(&plan, &entries[0]));
    entries[1] = same;
    c->seed++;
    assert_null(speedup_baseline(&plan, &entries[0]));
    entries[1] = same;
    d->dialect.activation = ARMQ_ACT_SWIGLUOAI;
    assert_null(speedup_baseline(&plan, &entries[0]));
    entries[1] = same;
    assert_ptr_equal(speedup_baseline(&plan, &entries[0]), &entries[1]);
    for (int i = 0; i < 2; i++)
        free(entries[i].seconds);
}

/* 2.5 times; one too noisy to judge; one whose answer was wrong, or that is invalid. */
static void printed(void **state) {
    (void)state;
    bench_entry entries[] = {
        entry("i8mm/a", &i8mm, ARMQ_OP_LINEAR_W8A8, 1, 32, 2e-6),
        entry("i8mm/b", &i8mm, ARMQ_OP_LINEAR_W8A8, 2, 32, 2e-6),
        entry("i8mm/c", &i8mm, ARMQ_OP_LINEAR_W8A8, 3, 32, 2e-6),
        entry("bf16/a", &bf16, ARMQ_OP_LINEAR_BF16, 1, 32, 5e-6),
    };
    for (int i = 0; i < 3; i++) {
        entries[i].speedup = (stats_ratio){2.5, 2.4, 2.625, 15};
        entries[i].baseline_provider = "bf16";
        entries[i].baseline_kernel = "bf16_kernel";
    }
    snprintf(entries[1].noisy, NOISE_WHY, "noisy: migrated 3 times");
    entries[2].failed = true;
    const bench_plan plan = {.entries = entries, .count = 4};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(speedup_print(&plan, out), 2);
    fclose(out);
    assert_non_null(strstr(text, "interleaved pairs"));
    assert_non_null(
        strstr(text, "    2.50x [2.40, 2.62]  i8mm/a over bf16 (bf16_kernel), 15 pairs\n"));
    assert_non_null(strstr(text, "  too noisy to judge  i8mm/b: noisy: migrated 3 times\n"));
    assert_null(strstr(text, "i8mm/c"));
    free(text);
    for (int i = 0; i < 4; i++)
        free(entries[i].seconds);
}

int main(void) {
    const struct CMUnitTest speedup[] = {
        cmocka_unit_test(median_of_repetitions),
        cmocka_unit_test(baselines),
        cmocka_unit_test(another_problem),
        cmocka_unit_test(printed),
    };
    return cmocka_run_group_tests(speedup, NULL, NULL);
}
