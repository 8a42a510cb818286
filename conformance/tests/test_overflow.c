/* SPDX-License-Identifier: Apache-2.0 */
/* The check overflow is seen to fail: the naive provider, with one offset each in 32 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/check.h"
#include "conformance/providers.h"
#include "harness/machine.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"

static case_result result;
static watch the_watch;

static const check_result *judge_line(const char *line, const armq_provider *provider) {
    case_list list = {NULL, 0, 0, 0};
    case_error error;
    if (!case_parse_line(line, NULL, &list, &error))
        fail_msg("%s: %s", line, error.message);
    assert_int_equal(list.count, 1);
    armq_case c = list.items[0];
    case_list_free(&list);
    case_bind(&c, 0, 0, 0, 0, c.threads);
    checks_run(&c, provider, UINT64_MAX, &result, &the_watch);
    return &result.checks[check_index("overflow")];
}

/* --- Mistakes --------------------------------------------------------------------------------- */

static int64_t as_int32(int64_t value) { return (int32_t)(uint32_t)value; }
static int64_t as_uint32(int64_t value) { return (uint32_t)value; }
static int64_t as_uint16(int64_t value) { return (uint16_t)value; }
static int64_t as_it_is(int64_t value) { return value; }

/* The one that is wrong, set by each test; the others are as_it_is. */
static struct {
    int64_t (*x_row)(int64_t), (*x_bytes)(int64_t), (*x_stride)(int64_t);
    int64_t (*y_row)(int64_t), (*y_bytes)(int64_t), (*y_stride)(int64_t);
    int64_t (*weight)(int64_t), (*expert)(int64_t), (*id)(int64_t), (*router_weight)(int64_t);
} narrow;

static void nothing_is_wrong(void) {
    narrow.x_row = narrow.x_bytes = narrow.x_stride = as_it_is;
    narrow.y_row = narrow.y_bytes = narrow.y_stride = as_it_is;
    narrow.weight = narrow.expert = narrow.id = narrow.router_weight = as_it_is;
}

/* Row after row, each found by offsets of its own. */
static armq_status run_rows(const armq_desc *d, const void *plan, const armq_args *args) {
    int64_t x_element = (int64_t)armq_dtype_bytes(d->in);
    int64_t y_element = (int64_t)armq_dtype_bytes(d->out);
    int64_t x_stride = narrow.x_stride(armq_x_stride(d, args));
    int64_t y_stride = narrow.y_stride(armq_y_stride(d, args));
    armq_status status = ARMQ_OK;
    for (int64_t row = 0; row < d->tokens && status == ARMQ_OK; row++) {
        armq_desc one = *d;
        armq_args a = *args;
        one.tokens = 1;
        a.x = (const char *)a.x + narrow.x_bytes(narrow.x_row(row * x_stride) * x_element);
        a.y = (char *)a.y + narrow.y_bytes(narrow.y_row(row * y_stride) * y_element);
        a.y_scales = a.y_scales ? a.y_scales + row : NULL;
        a.y_zero_points = a.y_zero_points ? a.y_zero_points + row : NULL;
        a.topk_ids = a.topk_ids ? a.topk_ids + row * d->top_k : NULL;
        a.topk_weights = a.topk_weights ? a.topk_weights + row * d->top_k : NULL;
        status = naive_provider.run(&one, plan, &a);
    }
    return status;
}

static bool is_zero(const int8_t *row, int64_t k) {
    return row[0] == 0 && memcmp(row, row + 1, (size_t)k - 1) == 0;
}

/* gemm_s8s8s32 of one token. */
static armq_status run_gemm(const armq_desc *d, const void *plan, const armq_args *args) {
    (void)plan;
    const int8_t *x = args->x, *w = args->packed[0];
    int32_t *y = args->y;
    for (int64_t n = 0; n < d->n; n++) {
        const int8_t *row = w + narrow.weight(n * d->k);
        int32_t sum = 0;
        for (int64_t i = 0; i < d->k && !is_zero(row, d->k); i++)
            sum += x[i] * row[i];
        y[n] = sum;
    }
    return ARMQ_OK;
}

/* A call with few slots and experts. */
enum { FEW = 8, EXPERTS = 64 };

typedef struct {
    armq_desc desc;
    armq_args args;
    int32_t ids[64 * FEW];
    float weights[64 * FEW];
    int64_t experts[EXPERTS]; /* ascending */
    void *packed[2];
} compact;

static void compact_slots(compact *c, const armq_desc *d, const armq_args *args) {
    memset(c->ids, 0xff, sizeof c->ids);
    memset(c->weights, 0, sizeof c->weights);
    for (int64_t token = 0; token < d->tokens; token++) {
        const int32_t *ids = args->topk_ids + narrow.id(token * d->top_k);
        int64_t found = 0;
        for (int64_t slot = 0; slot < d->top_k && found < FEW; slot++) {
            uint64_t two = 0;
            while (slot + 2 < d->top_k && (memcpy(&two, ids + slot, 8), two == UINT64_MAX))
                slot += 2;
            if (ids[slot] < 0)
                continue;
            c->ids[token * FEW + found] = ids[slot];
            c->weights[token * FEW + found++] =
                args->topk_weights[narrow.router_weight(token * d->top_k + slot)];
        }
    }
    c->desc.top_k = FEW;
    c->desc.uses |= ARMQ_USES_SKIP_IDS;
    c->args.topk_ids = c->ids;
    c->args.topk_weights = c->weights;
}

static void add_expert(compact *c, int64_t expert) {
    int64_t i = c->desc.experts;
    for (int64_t j = 0; j < i; j++)
        if (c->experts[j] == expert)
            return;
    assert_true(i < EXPERTS);
    for (; i > 0 && c->experts[i - 1] > expert; i--)
        c->experts[i] = c->experts[i - 1];
    c->experts[i] = expert;
    c->desc.experts++;
}

static void compact_experts(compact *c, const armq_desc *d, const armq_args *args,
                            const armq_support *support) {
    c->desc.experts = 0;
    for (int64_t i = 0; i < d->tokens * FEW; i++)
        if (c->ids[i] >= 0)
            add_expert(c, c->ids[i]);
    for (int64_t i = 0; i < d->tokens * FEW; i++)
        for (int64_t j = 0; j < c->desc.experts; j++)
            if (c->ids[i] == c->experts[j]) {
                c->ids[i] = (int32_t)j;
                break;
            }
    for (int which = 0; which < 2; which++) {
        size_t stride = support->packed_expert_stride[which];
        c->packed[which] = malloc((size_t)c->desc.experts * stride + 1);
        assert_non_null(c->packed[which]);
        for (int64_t j = 0; j < c->desc.experts; j++)
            memcpy((char *)c->packed[which] + (size_t)j * stride,
                   (const char *)args->packed[which] +
                       narrow.expert(c->experts[j] * (int64_t)stride),
                   stride);
        c->args.packed[which] = c->packed[which];
    }
}

static armq_status run_moe(const armq_desc *d, const void *plan, const armq_args *args) {
    static compact c;
    armq_support support = {.size = sizeof support};
    assert_int_equal(naive_provider.query(d, &support), ARMQ_OK);
    c.desc = *d;
    c.args = *args;
    compact_slots(&c, d, args);
    compact_experts(&c, d, args, &support);
    armq_status status = naive_provider.run(&c.desc, plan, &c.args);
    free(c.packed[0]);
    free(c.packed[1]);
    return status;
}

/* --- Each is caught --------------------------------------------------------------------------- */

typedef armq_status run_function(const armq_desc *, const void *, const armq_args *);
typedef int64_t (*narrowing)(int64_t);

static void expect(const char *line, run_function *run, check_status status) {
    armq_provider provider = naive_provider;
    provider.run = run;
    const check_result *r = judge_line(line, &provider);
    if (r->status != status)
        fail_msg("%s: overflow is %d, not %d: %s%s", line, (int)r->status, (int)status, r->note,
                 r->failure.detail);
    assert_int_equal(result.status, status == CHECK_FAILED ? CASE_FAILED : CASE_PASSED);
    if (status == CHECK_FAILED)
        assert_non_null(strstr(r->failure.detail, "wanted"));
    assert_non_null(strstr(r->note, status == CHECK_PASSED ? "memory not limited" : ""));
}

/* `at` is wrong as an int32 and, if the case goes that far, as an uint32. */
static void caught(const char *line, run_function *run, narrowing *at, bool beyond_32) {
    nothing_is_wrong();
    expect(line, run, CHECK_PASSED);
    *at = as_int32;
    expect(line, run, CHECK_FAILED);
    *at = as_uint32;
    expect(line, run, beyond_32 ? CHECK_FAILED : CHECK_PASSED);
}

static const char *const far_x[] = {
    "quantize tokens=33 k=40 x_pad=178956971 memory=sparse",
    "activation tokens=33 intermediate=40 in=f32 x_pad=178956971 memory=sparse",
    "gemm_s8s8s32 tokens=33 n=9 k=40 x_pad=178956971 memory=sparse",
    "linear_w8a8 tokens=33 n=9 k=40 bias=1 x_pad=178956971 memory=sparse",
    "linear_w4a8 tokens=33 n=9 k=64 group_size=32 zero_points=1 x_pad=178956971 memory=sparse",
    "moe_w8a8 tokens=33 hidden=64 intermediate=48 experts=5 top_k=2 x_pad=178956971 memory=sparse",
};

static const char *const far_y[] = {
    "quantize tokens=33 k=40 y_pad=178956971 memory=sparse",
    "activation tokens=33 intermediate=40 in=f32 y_pad=178956971 memory=sparse",
    "gemm_s8s8s32 tokens=33 n=9 k=40 y_pad=178956971 memory=sparse",
    "gemm_s8s4s32 tokens=33 n=9 k=64 group_size=32 y_pad=178956971 memory=sparse",
    "linear_w8a8 tokens=33 n=9 k=40 bias=1 y_pad=178956971 memory=sparse",
    "moe_w8a8 tokens=33 hidden=64 intermediate=48 experts=5 top_k=2 y_pad=178956971 memory=sparse",
};

static void rows_of_x(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof far_x / sizeof far_x[0]; i++) {
        caught(far_x[i], run_rows, &narrow.x_row, true);
        caught(far_x[i], run_rows, &narrow.x_bytes, true);
    }
    caught("quantize tokens=3 k=40 x_pad=2147483659 memory=sparse", run_rows, &narrow.x_stride,
           false);
    caught("quantize tokens=3 k=40 x_pad=4294967311 memory=sparse", run_rows, &narrow.x_stride,
           true);
}

static void rows_of_y(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof far_y / sizeof far_y[0]; i++) {
        caught(far_y[i], run_rows, &narrow.y_row, true);
        caught(far_y[i], run_rows, &narrow.y_bytes, true);
    }
    caught("quantize tokens=3 k=40 y_pad=2147483659 memory=sparse", run_rows, &narrow.y_stride,
           false);
    caught("quantize tokens=3 k=40 y_pad=4294967311 memory=sparse", run_rows, &narrow.y_stride,
           true);
}

static void weights(void **state) {
    (void)state;
    const char *line = machine()->emulated ? "gemm_s8s8s32 tokens=1 n=270001 k=8192 memory=sparse"
                                           : "gemm_s8s8s32 tokens=1 n=530001 k=8192 memory=sparse";
    nothing_is_wrong();
    narrow.weight = as_int32;
    expect(line, run_gemm, CHECK_FAILED);
    if (machine()->emulated)
        return;
    narrow.weight = as_uint32;
    expect(line, run_gemm, CHECK_FAILED);
    narrow.weight = as_it_is;
    expect(line, run_gemm, CHECK_PASSED);
}

static void experts(void **state) {
    (void)state;
    caught("moe_w8a8 tokens=9 hidden=512 intermediate=256 experts=17000 top_k=3 routing=balanced "
           "memory=sparse",
           run_moe, &narrow.expert, true);
    caught("moe_w4a8 tokens=3 hidden=512 intermediate=256 experts=17000 top_k=3 routing=balanced "
           "group_size=32 zero_points=1 memory=sparse",
           run_moe, &narrow.expert, true);
}

/* Where a channel of a group starts among the accumulators of a token: [n, k/g]. */
static armq_status groups_by_channel(const armq_desc *d, const void *plan, const armq_args *args) {
    armq_status status = naive_provider.run(d, plan, args);
    int32_t *y = args->y;
    int64_t last = d->n - 1, groups = d->k / d->group_size;
    for (int64_t g = 0; g < groups && status == ARMQ_OK; g++) {
        int32_t right = y[last * groups + g];
        y[last * groups + g] = 0;
        y[narrow.y_row(last * groups + g)] = right;
    }
    return status;
}

/* 2^31 accumulators take 2^36 weights: not here, but the places of groups are looked at. */
static void groups(void **state) {
    (void)state;
    nothing_is_wrong();
    const char *line = "gemm_s8s4s32 tokens=2 n=300000 k=64 group_size=32 memory=sparse";
    expect(line, groups_by_channel, CHECK_PASSED);
    narrow.y_row = as_uint16;
    expect(line, groups_by_channel, CHECK_FAILED);
}

#define SLOTS                                                                                      \
    "moe_w8a8 tokens=33 hidden=64 intermediate=48 experts=5 skip_ids=1 routing=balanced "          \
    "memory=sparse "

static void slots(void **state) {
    (void)state;
    nothing_is_wrong();
    narrow.id = as_int32;
    expect((SLOTS "top_k=67108865"), run_moe, CHECK_FAILED);
    narrow.id = as_it_is;
    narrow.router_weight = as_int32;
    expect((SLOTS "top_k=67108865"), run_moe, CHECK_FAILED);
    if (machine()->emulated)
        return;
    narrow.router_weight = as_uint32;
    expect((SLOTS "top_k=134217729"), run_moe, CHECK_FAILED);
    narrow.router_weight = as_it_is;
    narrow.id = as_uint32;
    expect((SLOTS "top_k=134217729"), run_moe, CHECK_FAILED);
    narrow.id = as_it_is;
    expect((SLOTS "top_k=134217729"), run_moe, CHECK_PASSED);
}

/* --- Memory ----------------------------------------------------------------------------------- */

static const size_t hoard_bytes = (size_t)300 << 20;
static void *hoard;

static armq_status hoards(const armq_desc *d, const void *plan, const armq_args *args) {
    if (!hoard)
        hoard = malloc(hoard_bytes);
    assert_non_null(hoard);
    memset(hoard, 1, hoard_bytes);
    return naive_provider.run(d, plan, args);
}

static void memory_is_limited(void **state) {
    (void)state;
    const char *line = "quantize tokens=3 k=40 memory=sparse";
    armq_provider provider = naive_provider;
    check_overflow_limit((int64_t)hoard_bytes / 2);
    const check_result *r = judge_line(line, &provider);
    assert_int_equal(r->status, CHECK_PASSED);
    assert_non_null(strstr(r->note, " MiB of memory after run"));
    provider.run = hoards;
    r = judge_line(line, &provider);
    assert_int_equal(r->status, CHECK_FAILED);
    assert_int_equal(result.status, CASE_FAILED);
    assert_non_null(strstr(r->failure.detail, " MiB of memory are taken after run ("));
    assert_non_null(strstr(r->failure.detail, " are allowed with memory=sparse"));
    /* It is there before the next call, so it is not that one's. */
    assert_int_equal(judge_line(line, &provider)->status, CHECK_PASSED);
    free(hoard);
    hoard = NULL;
    check_overflow_limit(INT64_C(2) << 30);
    assert_int_equal(judge_line(line, &provider)->status, CHECK_PASSED);
    free(hoard);
    check_overflow_limit(INT64_MAX);
}

/* --- And nothing else is ---------------------------------------------------------------------- */

static armq_status refuses_far_rows(const armq_desc *d, armq_support *support) {
    armq_status status = naive_provider.query(d, support);
    if (status == ARMQ_OK && d->n > 100000) {
        strcpy(support->reason, "n above 100000");
        return ARMQ_UNSUPPORTED;
    }
    return status;
}

static void a_provider_may_refuse(void **state) {
    (void)state;
    armq_provider provider = naive_provider;
    provider.query = refuses_far_rows;
    judge_line("gemm_s8s8s32 tokens=1 n=270001 k=8192 memory=sparse", &provider);
    assert_int_equal(result.status, CASE_SKIPPED);
    assert_string_equal(result.reason, "n above 100000");
}

static void only_sparse_cases_are_checked(void **state) {
    (void)state;
    const check_result *r = judge_line("quantize tokens=3 k=40", &naive_provider);
    assert_int_equal(r->status, CHECK_SKIPPED);
    assert_int_equal(result.status, CASE_PASSED);
    r = judge_line("quantize tokens=3 k=40 memory=sparse", &naive_provider);
    assert_int_equal(r->status, CHECK_PASSED);
    assert_int_equal(result.checks[check_index("value")].status, CHECK_SKIPPED);
}

static void what_cannot_be_embedded_is_skipped(void **state) {
    (void)state;
    const check_result *r = judge_line("quantize tokens=65 k=4 memory=sparse", &naive_provider);
    assert_int_equal(r->status, CHECK_SKIPPED);
    assert_non_null(strstr(r->note, "tokens = 65"));
    r = judge_line("quantize tokens=60 k=4 in=f32 x_pad=4294967296 memory=sparse", &naive_provider);
    assert_int_equal(r->status, CHECK_SKIPPED);
    assert_non_null(strstr(r->note, "GiB of address space"));
    assert_int_equal(result.status, CASE_SKIPPED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_x),
        cmocka_unit_test(rows_of_y),
        cmocka_unit_test(weights),
        cmocka_unit_test(experts),
        cmocka_unit_test(groups),
        cmocka_unit_test(slots),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(a_provider_may_refuse),
        cmocka_unit_test(only_sparse_cases_are_checked),
        cmocka_unit_test(what_cannot_be_embedded_is_skipped),
    };
    check_overflow_limit(INT64_MAX); /* but for the test of the limit: measuring takes time */
    return cmocka_run_group_tests_name("overflow", tests, NULL, NULL);
}
