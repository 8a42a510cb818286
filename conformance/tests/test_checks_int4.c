/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks look for in int4 ops is seen to fail: the naive provider with one mistake each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/check.h"
#include "conformance/providers.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"

static watch the_watch;
static case_result result;

static const check_result *judge_line(const char *line, const armq_provider *provider,
                                      const char *name) {
    case_list list = {NULL, 0, 0, 0};
    case_error error;
    if (!case_parse_line(line, NULL, &list, &error))
        fail_msg("%s: %s", line, error.message);
    assert_int_equal(list.count, 1);
    armq_case c = list.items[0];
    case_list_free(&list);
    case_bind(&c, 0, 0, 0, 0, c.threads);
    memset(&the_watch, 0, sizeof the_watch);
    checks_run(&c, provider, UINT64_MAX, &result, &the_watch);
    return &result.checks[check_index(name)];
}

/* --- Mistakes --------------------------------------------------------------------------------- */

typedef armq_status run_function(const armq_desc *, const void *, const armq_args *);
typedef armq_status query_function(const armq_desc *, armq_support *);
typedef armq_status pack_function(const armq_desc *, int32_t, int64_t, int64_t,
                                  const armq_weights *, void *);

static int32_t *last_of_y(const armq_desc *d, const armq_args *args) {
    return (int32_t *)args->y + (d->tokens - 1) * armq_y_stride(d, args) + armq_y_row(d) - 1;
}

static armq_status last_group_off_by_one(const armq_desc *d, const void *plan,
                                         const armq_args *args) {
    armq_status status = naive_provider.run(d, plan, args);
    if (status == ARMQ_OK)
        ++*last_of_y(d, args);
    return status;
}

/* Their sum is right. */
static armq_status groups_change_places(const armq_desc *d, const void *plan,
                                        const armq_args *args) {
    armq_status status = naive_provider.run(d, plan, args);
    if (status == ARMQ_OK) {
        int32_t *last = last_of_y(d, args), swapped = last[0];
        last[0] = last[-1];
        last[-1] = swapped;
    }
    return status;
}

/* A description that is refused is looked at again without its groups. */
static armq_status ignores_groups(const armq_desc *d, armq_support *support) {
    armq_desc plain = *d;
    plain.group_size = 0;
    if (plain.scale_dtype != ARMQ_DTYPE_NONE)
        plain.scale_dtype = ARMQ_DTYPE_F32;
    return naive_provider.query(d, support) == ARMQ_OK ? ARMQ_OK
                                                       : naive_provider.query(&plain, support);
}

static armq_status names_one_number(const armq_desc *d, armq_support *support) {
    armq_status status = naive_provider.query(d, support);
    if (status != ARMQ_OK)
        strcpy(support->reason, "a group size of 32 does not fit");
    return status;
}

static armq_status takes_any_scales(const armq_desc *d, armq_support *support) {
    armq_desc usual = *d;
    usual.scale_dtype = d->group_size > 0 ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
    return naive_provider.query(&usual, support);
}

static armq_status packs_without_zeros(const armq_desc *d, int32_t which, int64_t first,
                                       int64_t last, const armq_weights *weights, void *packed) {
    armq_weights plain = *weights;
    armq_desc same = *d;
    plain.zero_points = NULL;
    same.uses &= ~(uint32_t)ARMQ_USES_WEIGHT_ZERO;
    return naive_provider.pack(&same, which, first, last, &plain, packed);
}

static armq_status changes_zeros(const armq_desc *d, int32_t which, int64_t first, int64_t last,
                                 const armq_weights *weights, void *packed) {
    armq_status status = naive_provider.pack(d, which, first, last, weights, packed);
    if (status == ARMQ_OK && weights->zero_points)
        *(int8_t *)(uintptr_t)weights->zero_points ^= 1;
    return status;
}

static armq_status writes_before_zeros(const armq_desc *d, int32_t which, int64_t first,
                                       int64_t last, const armq_weights *weights, void *packed) {
    armq_status status = naive_provider.pack(d, which, first, last, weights, packed);
    int8_t *zeros = (int8_t *)(uintptr_t)weights->zero_points;
    if (status == ARMQ_OK && zeros && (uintptr_t)zeros % 4096)
        zeros[-1] ^= 1;
    return status;
}

/* Takes any K, and only looks at the first groups. */
static const int64_t first_groups = 128;
static armq_desc cut(const armq_desc *d) {
    armq_desc shorter = *d;
    shorter.k = d->k > first_groups ? first_groups : d->k;
    return shorter;
}

static armq_status unlimited(const armq_desc *d, armq_support *support) {
    armq_desc shorter = cut(d);
    armq_status status = naive_provider.query(&shorter, support);
    support->max_k = INT64_MAX;
    return status;
}

static armq_status cut_run(const armq_desc *d, const void *plan, const armq_args *args) {
    armq_desc shorter = cut(d);
    return naive_provider.run(&shorter, plan, args);
}

static armq_status cut_pack(const armq_desc *d, int32_t which, int64_t first, int64_t last,
                            const armq_weights *weights, void *packed) {
    armq_desc shorter = cut(d);
    return naive_provider.pack(&shorter, which, first, last, weights, packed);
}

/* --- Each is caught by its check -------------------------------------------------------------- */

#define GEMM "gemm_s8s4s32 tokens=3 n=5 k=128 group_size=64"
#define LINEAR "linear_w4a8 tokens=3 n=5 k=128 in=f32"
#define GROUPS LINEAR " group_size=32"
#define MOE "moe_w4a8 tokens=3 hidden=64 intermediate=96 experts=3 top_k=2 zero_points=1"

static const struct {
    const char *check, *line;
    run_function *run;
    query_function *query;
    pack_function *pack;
    const char *words; /* in the failure's detail */
} mistakes[] = {
    {"value", GEMM, .run = last_group_off_by_one, .words = "y[2][9] is"},
    {"value", GEMM " sample=1", .run = last_group_off_by_one, .words = "y[2][9] is"},
    {"value", GEMM " sample=1", .run = groups_change_places, .words = "y[2]["},
    {"value", GEMM " sample=1 zero_points=1", .pack = packs_without_zeros, .words = "wanted"},
    {"value", MOE " group_size=32", .pack = packs_without_zeros, .words = "wanted"},
    {"value", "linear_w4a8 tokens=3 n=5 k=80 group_size=32", .query = ignores_groups,
     .words = "query accepts group_size = 32, which does not divide k = 80"},
    {"value", "moe_w4a8 tokens=1 hidden=64 intermediate=80 experts=1 top_k=1 group_size=32",
     .query = names_one_number,
     .words = "does not divide intermediate = 80, but its reason does not name both"},
    {"arguments", GROUPS, .query = ignores_groups, .words = "with group_size = 48"},
    {"arguments", LINEAR, .query = ignores_groups, .words = "with group_size = 48"},
    {"arguments", GROUPS, .query = takes_any_scales, .words = "with scales of another dtype"},
    {"arguments", LINEAR " zero_points=1", .pack = packs_without_zeros,
     .words = "zero_points = NULL"},
    {"arguments", LINEAR, .pack = packs_without_zeros, .words = "zero points that the description"},
    {"inputs", MOE, .pack = changes_zeros, .words = "w13_zero_points changed at byte offset 0"},
    {"inputs", GROUPS " zero_points=1", .pack = changes_zeros, .words = "zero_points changed"},
    {"memory", GROUPS " zero_points=1", .pack = writes_before_zeros, .words = "1 bytes before"},
    {"extremes", LINEAR, .query = unlimited, .run = cut_run, .pack = cut_pack,
     .words = "data=extremes with the longest k"},
};

static void every_mistake_is_caught_by_its_check(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        armq_provider provider = naive_provider;
        provider.run = mistakes[i].run ? mistakes[i].run : naive_provider.run;
        provider.query = mistakes[i].query ? mistakes[i].query : naive_provider.query;
        provider.pack = mistakes[i].pack ? mistakes[i].pack : naive_provider.pack;
        const check_result *r = judge_line(mistakes[i].line, &provider, mistakes[i].check);
        if (r->status != CHECK_FAILED || !strstr(r->failure.detail, mistakes[i].words))
            fail_msg("mistake %zu: check %s is %d, says \"%s\", expected \"%s\"", i,
                     mistakes[i].check, (int)r->status, r->failure.detail, mistakes[i].words);
        assert_int_equal(result.status, CASE_FAILED);
    }
}

/* Accepted in the case, dropped where a check turns them on: seen by arguments alone. */
static armq_status zeros_of_the_case(const armq_desc *d, int32_t which, int64_t first, int64_t last,
                                     const armq_weights *weights, void *packed) {
    bool derived = d->tokens == 2;
    return (derived ? packs_without_zeros : naive_provider.pack)(d, which, first, last, weights,
                                                                 packed);
}

static void optional_zero_points_matter(void **state) {
    (void)state;
    armq_provider provider = naive_provider;
    provider.pack = zeros_of_the_case;
    const check_result *r = judge_line(GROUPS, &provider, "arguments");
    assert_int_equal(r->status, CHECK_FAILED);
    assert_non_null(strstr(r->failure.detail, "zero points, on or off"));
}

/* And the naive provider and the reference pass. */
static void right_providers_pass(void **state) {
    (void)state;
    static const char *const lines[] = {GEMM " sample=1 zero_points=1 format=s4_word8",
                                        GEMM " data=extremes", LINEAR " zero_points=1 bias=1",
                                        GROUPS " data=bad_scales", GROUPS " data=ties"};
    const armq_provider *const providers[] = {&naive_provider, &reference_provider};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        for (int p = 0; p < 2; p++) {
            judge_line(lines[i], providers[p], "value");
            if (result.status != CASE_PASSED)
                fail_msg("%s %s: %d", providers[p]->name, lines[i], (int)result.status);
        }
}

static void groups_that_do_not_divide_are_skipped(void **state) {
    (void)state;
    judge_line("moe_w4a8 tokens=1 hidden=2880 intermediate=2880 experts=32 top_k=4 group_size=128",
               &naive_provider, "value");
    assert_int_equal(result.status, CASE_SKIPPED);
    assert_string_equal(result.reason, "group_size = 128 does not divide hidden = 2880");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_is_caught_by_its_check),
        cmocka_unit_test(optional_zero_points_matter),
        cmocka_unit_test(right_providers_pass),
        cmocka_unit_test(groups_that_do_not_divide_are_skipped),
    };
    return cmocka_run_group_tests_name("checks_int4", tests, NULL, NULL);
}
