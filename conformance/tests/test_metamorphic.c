/* SPDX-License-Identifier: Apache-2.0 */
/* The checks that compare two calls, without a reference: scale, split, and both halves of batch.
 * Each is seen to fail on the naive provider with one mistake, and to say what it leaves out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/check.h"
#include "conformance/providers.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

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
    assert_true(check_index(name) >= 0);
    checks_run(&c, provider, UINT64_C(1) << check_index(name), &result, &the_watch);
    return &result.checks[check_index(name)];
}

/* --- Mistakes ------------------------------------------------------------------------------------
 */

/* Something absolute in the last element, which does not grow with the inputs. */
static armq_status adds_a_constant(const armq_desc *d, const void *plan, const armq_args *args) {
    armq_status status = naive_provider.run(d, plan, args);
    int64_t at = (d->tokens - 1) * armq_y_stride(d, args) + armq_y_row(d) - 1;
    if (status == ARMQ_OK)
        armq_store(d->out, args->y, at, armq_load(d->out, args->y, at) + 4.0);
    return status;
}

static armq_status adds_to_scales(const armq_desc *d, const void *plan, const armq_args *args) {
    armq_status status = naive_provider.run(d, plan, args);
    if (status == ARMQ_OK)
        args->y_scales[d->tokens - 1] += 1e-6f;
    return status;
}

/* As kernels do that take care of it where the router should. */
static armq_status normalises_weights(const armq_desc *d, const void *plan, const armq_args *args) {
    float weights[64];
    armq_args own = *args;
    for (int64_t i = 0; i < d->tokens * d->top_k; i++) {
        float sum = 0.0f;
        for (int64_t s = 0; s < d->top_k; s++)
            sum += args->topk_weights[i / d->top_k * d->top_k + s];
        weights[i] = args->topk_weights[i] / sum;
    }
    own.topk_weights = weights;
    return naive_provider.run(d, plan, &own);
}

/* Skipped slots go to expert 0. */
static armq_status skips_nothing(const armq_desc *d, const void *plan, const armq_args *args) {
    int32_t ids[64];
    armq_args own = *args;
    for (int64_t i = 0; i < d->tokens * d->top_k; i++)
        ids[i] = args->topk_ids[i] < 0 ? 0 : args->topk_ids[i];
    own.topk_ids = ids;
    return naive_provider.run(d, plan, &own);
}

/* A batch of 4 that starts with what was row 3 of 7. */
static armq_status second_half_differs(const armq_desc *d, const void *plan,
                                       const armq_args *args) {
    static float first = -1.0f;
    armq_status status = naive_provider.run(d, plan, args);
    const float *x = args->x;
    if (d->tokens == 7)
        first = x[3 * armq_x_stride(d, args)];
    if (status == ARMQ_OK && d->tokens == 4 && x[0] == first)
        ((uint8_t *)args->y)[0] ^= 1;
    return status;
}

#define LINEAR "linear_w8a8 tokens=7 n=9 k=40 in=f32 dialect=vllm-w8a8"
#define MOE "moe_w8a8 tokens=7 hidden=32 intermediate=24 experts=5 top_k=3"
#define MOE_INT4 "moe_w4a8 tokens=7 hidden=32 intermediate=24 experts=5 top_k=2 skip_ids=1"

static void mistakes_are_caught(void **state) {
    (void)state;
    static const struct {
        const char *check, *line;
        armq_status (*run)(const armq_desc *, const void *, const armq_args *);
        const char *words;
    } rows[] = {
        {"scale", LINEAR, adds_a_constant, "inputs times two: y[6][8] is"},
        {"scale", "linear_w8a8 tokens=7 n=9 k=40 in=f16 dialect=kleidi-w8a8", adds_a_constant,
         "wanted twice that"},
        {"scale", "linear_w4a8 tokens=3 n=5 k=64 group_size=32", adds_a_constant, "y[2][4] is"},
        {"scale", "linear_bf16 tokens=3 n=5 k=64 out=f32", adds_a_constant, "y[2][4] is"},
        {"scale", "quantize tokens=3 k=40 in=f32", adds_to_scales, "y_scales[2][0] is"},
        {"scale", "quantize tokens=3 k=40 in=f32 work=f16", adds_to_scales, "y_scales[2][0] is"},
        {"scale", "activation tokens=3 intermediate=40 activation=gelu gate=interleaved",
         adds_a_constant, "y[2][39] is"},
        {"scale", MOE, adds_a_constant, "y[6][31] is"},
        {"scale", MOE, normalises_weights, "wanted twice that"},
        {"split", MOE, normalises_weights, "no sum"},
        {"split", (MOE " in=f32"), normalises_weights, "without the last slot"},
        {"split", (MOE " dialect=sglang-w8a8"), normalises_weights, "no sum"},
        {"split", (MOE " in=f32"), adds_a_constant, "y[6][31] is"},
        {"split", MOE_INT4, skips_nothing, "no sum"},
        {"split", (MOE_INT4 " routing=skip in=f32"), skips_nothing, "no sum"},
        {"batch", LINEAR, second_half_differs, "the second half"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        armq_provider provider = naive_provider;
        provider.run = rows[i].run;
        const check_result *r = judge_line(rows[i].line, &provider, rows[i].check);
        if (r->status != CHECK_FAILED || !strstr(r->failure.detail, rows[i].words))
            fail_msg("%zu: %s is %d, says \"%s\" \"%s\", expected \"%s\"", i, rows[i].check,
                     (int)r->status, r->failure.detail, r->note, rows[i].words);
        r = judge_line(rows[i].line, &naive_provider, rows[i].check);
        if (r->status != CHECK_PASSED)
            fail_msg("%zu: without a mistake: %s %s", i, r->failure.detail, r->note);
    }
}

static void what_does_not_apply_is_skipped(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        {"scale", "gemm_s8s8s32 tokens=2 n=3 k=4", "integers do not scale"},
        {"scale", (LINEAR " bias=f32"), "a bias does not scale"},
        {"scale", (LINEAR " data=bad_scales"), "not normal numbers"},
        {"scale", "activation tokens=3 intermediate=4 activation=swigluoai", "not linear in up"},
        {"scale", (MOE " router=input"), "no router weight is on the output"},
        {"scale", "linear_w8a8 tokens=0 n=9 k=40", "an operand is empty"},
        {"split", LINEAR, "not a mixture of experts"},
        {"split", "moe_w8a8 tokens=3 hidden=8 intermediate=8 experts=2 top_k=1", "one slot"},
        {"split", (MOE " router=input"), "no router weight is on the output"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const check_result *r = judge_line(rows[i][1], &naive_provider, rows[i][0]);
        if (r->status != CHECK_SKIPPED || !strstr(r->note, rows[i][2]))
            fail_msg("%s: %d, %s%s", rows[i][1], (int)r->status, r->note, r->failure.detail);
    }
}

/* What clamps, overflows or is subnormal is left out, the rest is not. */
static void odd_data_pass(void **state) {
    (void)state;
    static const char *const kinds[] = {"ties",       "extremes", "outliers",  "zero_rows",
                                        "subnormals", "poison",   "bad_scales"};
    static const char *const lines[] = {
        "linear_w8a8 tokens=8 n=9 k=40 in=f16 dialect=kleidi-w8a8",
        "linear_w8a8 tokens=8 n=9 k=40 in=bf16 dialect=sglang-w8a8",
        "linear_bf16 tokens=8 n=9 k=40 in=f32 out=f16",
        "linear_w4a8 tokens=8 n=9 k=64 in=f32 group_size=32",
        "linear_w8a8 tokens=8 n=9 k=40 in=f32 work=f16",
        "linear_w4a8 tokens=8 n=9 k=64 in=bf16 work=f16",
        "linear_w8a8 tokens=8 n=9 k=40 in=f16 work=bf16",
        "moe_w8a8 tokens=8 hidden=16 intermediate=12 experts=3 top_k=3 in=f16 activation=swigluoai",
        "moe_w4a8 tokens=8 hidden=16 intermediate=12 experts=3 top_k=2 routing=skip",
    };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
            for (int split = 0; split < 2; split++) {
                char line[200];
                snprintf(line, sizeof line, "%s data=%s", lines[i], kinds[k]);
                if (strstr(line, "_bf16 ") && strcmp(kinds[k], "bad_scales") == 0)
                    continue;
                const check_result *r =
                    judge_line(line, &naive_provider, split ? "split" : "scale");
                if (r->status == CHECK_FAILED)
                    fail_msg("%s: %s", line, r->failure.detail);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_caught),
        cmocka_unit_test(what_does_not_apply_is_skipped),
        cmocka_unit_test(odd_data_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
