/* SPDX-License-Identifier: Apache-2.0 */
/* Every check is seen to fail: the naive provider, which passes, with one mistake each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/check.h"
#include "conformance/fp_control.h"
#include "conformance/providers.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

static watch the_watch;
static case_result result;

static armq_case parsed(const char *line) {
    case_list list = {NULL, 0, 0, 0};
    case_error error;
    if (!case_parse_line(line, NULL, &list, &error))
        fail_msg("%s: %s", line, error.message);
    assert_int_equal(list.count, 1);
    armq_case c = list.items[0];
    case_list_free(&list);
    case_bind(&c, 0, 0, 0, 0, c.threads);
    return c;
}

static void judge_line(const char *line, const armq_provider *provider) {
    armq_case c = parsed(line);
    memset(&the_watch, 0, sizeof the_watch);
    checks_run(&c, provider, UINT64_MAX, &result, &the_watch);
    assert_int_equal(the_watch.check, -1);
    assert_int_equal(the_watch.call_start, 0);
}

static const check_result *of(const char *name) {
    assert_true(check_index(name) >= 0);
    return &result.checks[check_index(name)];
}

/* --- Mistakes --------------------------------------------------------------------------------- */

static int32_t element_bits(const armq_desc *d) { return (int32_t)(8 * armq_dtype_bytes(d->out)); }

/* Flips the lowest bit of y[row][column]. */
static void flip(const armq_desc *d, const armq_args *args, int64_t row, int64_t column) {
    size_t at = (size_t)(row * armq_y_stride(d, args) + column) * (size_t)element_bits(d) / 8;
    ((uint8_t *)args->y)[at] ^= 1;
}

static bool has_y(const armq_desc *d) { return d->tokens > 0 && armq_y_row(d) > 0; }

typedef armq_status run_function(const armq_desc *, const void *, const armq_args *);

/* Runs the naive provider and then `mistake`. */
#define RUN_WITH(name, mistake)                                                                    \
    static armq_status name(const armq_desc *d, const void *plan, const armq_args *args) {         \
        armq_status status = naive_provider.run(d, plan, args);                                    \
        if (status == ARMQ_OK && has_y(d)) {                                                       \
            mistake;                                                                               \
        }                                                                                          \
        return status;                                                                             \
    }

static void double_first(const armq_desc *d, const armq_args *args) {
    armq_store(d->out, args->y, 0, 2.0 * armq_load(d->out, args->y, 0) + 1.0);
}
RUN_WITH(wrong_value, double_first(d, args))

/* The last element keeps what it held. */
static armq_status stale_last(const armq_desc *d, const void *plan, const armq_args *args) {
    int64_t at = has_y(d) ? (d->tokens - 1) * armq_y_stride(d, args) + armq_y_row(d) - 1 : 0;
    double before = has_y(d) && args->y ? armq_load(d->out, args->y, at) : 0.0;
    armq_status status = naive_provider.run(d, plan, args);
    if (status == ARMQ_OK && has_y(d))
        armq_store(d->out, args->y, at, before);
    return status;
}

/* Kept, or the compiler would know better than to allocate. */
static void *volatile allocated;

static armq_status allocates(const armq_desc *d, const void *plan, const armq_args *args) {
    allocated = malloc(64);
    free(allocated);
    return naive_provider.run(d, plan, args);
}

static void fill_gap(const armq_desc *d, const armq_args *args) {
    if (armq_y_stride(d, args) > d->n && d->tokens > 1)
        armq_store(d->out, args->y, d->n, 1.0);
}
RUN_WITH(wrote_gap, fill_gap(d, args))

/* Not at the start of a page, where this would end the test. */
RUN_WITH(wrote_before_y, if ((uintptr_t)args->y % 4096)((uint8_t *)args->y)[-1] ^= 1)

/* args are const for a kernel; a mistake does not care. */
static void spoil(const void *at) { *(uint8_t *)(uintptr_t)at ^= 1; }
RUN_WITH(changed_x, spoil(args->x))
RUN_WITH(changed_ids, if (args->topk_ids) spoil(args->topk_ids))
RUN_WITH(changed_packed, spoil(args->packed[0]))

static armq_status changed_weights(const armq_desc *d, int32_t which, int64_t first, int64_t last,
                                   const armq_weights *weights, void *packed) {
    armq_status status = naive_provider.pack(d, which, first, last, weights, packed);
    if (status == ARMQ_OK && d->n > 0)
        spoil(weights->scales);
    return status;
}

/* Scratch that is taken to be zero. naive overwrites some of its own, so look first. */
static armq_status trusts_workspace(const armq_desc *d, const void *plan, const armq_args *args) {
    int dirty = args && args->workspace && *(const uint8_t *)args->workspace;
    armq_status status = naive_provider.run(d, plan, args);
    if (status == ARMQ_OK && has_y(d) && dirty)
        flip(d, args, 0, 0);
    return status;
}

RUN_WITH(threads_matter, if (args->threads && args->threads->n > 7) flip(d, args, d->tokens - 1, 0))
RUN_WITH(four_threads_matter, if (args->threads && args->threads->n == 4) flip(d, args, 0, 0))

static void flip_if_concurrent(const armq_desc *d, const armq_args *args) {
    armq_threads serial = threads_serial(1), reversed = threads_reversed(1);
    if (args->threads && args->threads->run != serial.run && args->threads->run != reversed.run)
        flip(d, args, 0, armq_y_row(d) - 1);
}
RUN_WITH(real_threads_matter, flip_if_concurrent(d, args))

RUN_WITH(alone_differs, if (d->tokens == 1) flip(d, args, 0, 0))
RUN_WITH(last_row_differs, flip(d, args, d->tokens - 1, 0))

RUN_WITH(alignment_matters,
         if ((uintptr_t)args->x % 64 == armq_dtype_bytes(d->in)) flip(d, args, 0, 0))
RUN_WITH(ignores_y_stride,
         if (armq_y_stride(d, args) > d->n && d->tokens > 1)
             memmove((uint8_t *)args->y + (size_t)(d->n * element_bits(d) / 8),
                     (uint8_t *)args->y + (size_t)(armq_y_stride(d, args) * element_bits(d) / 8),
                     (size_t)(d->n *element_bits(d) / 8)))

static void clobber(void) {
#if defined(__aarch64__)
    __asm__ volatile("fmov d8, xzr"); /* not declared, so not restored */
#endif
}
RUN_WITH(clobbers_d8, clobber())

/* Flush to zero: bit 24 of FPCR, bit 15 of MXCSR. */
static void flush_to_zero(void) {
#if defined(__aarch64__)
    fp_control_set(fp_control_get() | UINT64_C(1) << 24);
#else
    fp_control_set(fp_control_get() | UINT64_C(1) << 15);
#endif
}
RUN_WITH(changes_fpcr, flush_to_zero())

/* Rows 0 and 1 have paths of their own, though they hold the same. */
RUN_WITH(place_matters, flip(d, args, 0, 0))

static void flip_users_of_last(const armq_desc *d, const armq_args *args) {
    for (int64_t token = 0; d->top_k > 0 && token < d->tokens; token++)
        if (args->topk_ids[token * d->top_k] == d->experts - 1)
            flip(d, args, token, 0);
}
RUN_WITH(expert_number_matters, flip_users_of_last(d, args))

/* Something of the call is kept where another call finds it. */
static armq_status keeps_state(const armq_desc *d, const void *plan, const armq_args *args) {
    static double kept;
    double mine = has_y(d) && args->x ? armq_load(d->in, args->x, 0) : 0.0;
    kept = mine;
    armq_status status = naive_provider.run(d, plan, args);
    if (status == ARMQ_OK && has_y(d) && kept != mine)
        flip(d, args, d->tokens - 1, 0);
    return status;
}

static bool is_zero_row(const armq_desc *d, const armq_args *args, int64_t row) {
    for (int64_t i = 0; i < armq_x_row(d); i++)
        if (armq_load(d->in, args->x, row * armq_x_stride(d, args) + i) != 0.0)
            return false;
    return true;
}

static void zero_row_is_one(const armq_desc *d, const armq_args *args) {
    for (int64_t row = 0; row < d->tokens && armq_x_row(d) > 0; row++)
        if (is_zero_row(d, args, row))
            armq_store(d->out, args->y, row * armq_y_stride(d, args), 1000.0);
}
RUN_WITH(wrong_zero_rows, zero_row_is_one(d, args))

/* What sums of two products in int16 make of -128 * -128. */
static void negate_edge(const armq_desc *d, const armq_args *args) {
    if (d->out == ARMQ_DTYPE_S32 && armq_load(d->out, args->y, 0) == 16384.0 * (double)d->k)
        armq_store(d->out, args->y, 0, -16384.0 * (double)d->k);
}
RUN_WITH(int16_overflow, negate_edge(d, args))

static void spread_nan(const armq_desc *d, const armq_args *args) {
    int64_t stride = armq_y_stride(d, args);
    for (int64_t row = d->tokens - 1; row > 0; row--) {
        double above = armq_load(d->out, args->y, (row - 1) * stride);
        if (above != above)
            armq_store(d->out, args->y, row * stride, above);
    }
}
RUN_WITH(nan_leaks, spread_nan(d, args))

static void hide_nan(const armq_desc *d, const armq_args *args) {
    for (int64_t row = 0; row < d->tokens; row++) {
        double value = armq_load(d->out, args->y, row * armq_y_stride(d, args));
        if (value != value)
            armq_store(d->out, args->y, row * armq_y_stride(d, args), 0.0);
    }
}
RUN_WITH(swallows_nan, hide_nan(d, args))

static armq_status takes_anything(const armq_desc *d, const void *plan, const armq_args *args) {
    (void)naive_provider.run(d, plan, args);
    return ARMQ_OK;
}

static armq_status writes_then_refuses(const armq_desc *d, const void *plan,
                                       const armq_args *args) {
    armq_status status = naive_provider.run(d, plan, args);
    if (status != ARMQ_OK && args->y && args->x != args->y)
        *(uint8_t *)args->y = 0;
    return status;
}

/* Ids that are none are taken for the nearest expert. */
static armq_status clamps_ids(const armq_desc *d, const void *plan, const armq_args *args) {
    static int32_t ids[256];
    armq_args a = *args;
    int64_t slots = d->tokens * d->top_k;
    assert_true(slots <= 256);
    for (int64_t i = 0; args->topk_ids && i < slots; i++) {
        int64_t id = args->topk_ids[i];
        ids[i] = (int32_t)(id < 0 ? 0 : id < d->experts ? id : d->experts - 1);
    }
    a.topk_ids = args->topk_ids ? ids : NULL;
    return naive_provider.run(d, plan, &a);
}

static armq_status usual_clamp(const armq_desc *d, const void *plan, const armq_args *args) {
    armq_desc usual = *d;
    if (usual.dialect.activation == ARMQ_ACT_SWIGLUOAI) {
        usual.dialect.alpha = 1.702f;
        usual.dialect.limit = 7.0f;
    }
    return naive_provider.run(&usual, plan, args);
}

/* A slot of no weight is left out, whatever it holds. */
static void excuse_zero_weights(const armq_desc *d, const armq_args *args) {
    for (int64_t token = 0; d->top_k > 0 && args->topk_weights && token < d->tokens; token++)
        if (args->topk_weights[token * d->top_k] == 0.0f)
            for (int64_t i = 0; i < d->hidden; i++)
                armq_store(d->out, args->y, token * armq_y_stride(d, args) + i, 0.0);
}
RUN_WITH(excuses_zero_weights, excuse_zero_weights(d, args))

/* The last number of expert 0 is a scale. */
static void leak_expert(const armq_desc *d, const armq_args *args) {
    armq_support support = {.size = sizeof support};
    float scale = 0.0f;
    if (naive_provider.query(d, &support) == ARMQ_OK && d->experts > 0 && args->packed[0])
        memcpy(&scale,
               (const char *)args->packed[0] + support.packed_expert_stride[0] - sizeof scale,
               sizeof scale);
    if (scale != scale)
        armq_store(d->out, args->y, 0, (double)scale);
}
RUN_WITH(unused_expert_leaks, leak_expert(d, args))

static armq_status refuses_to_run(const armq_desc *d, const void *plan, const armq_args *args) {
    (void)d, (void)plan, (void)args;
    return ARMQ_UNSUPPORTED;
}

static armq_status accepts_any_k(const armq_desc *d, armq_support *support) {
    armq_status status = naive_provider.query(d, support);
    return status == ARMQ_UNSUPPORTED ? ARMQ_OK : status;
}

/* What query answers must make sense. */
#define ANSWERS(name, change)                                                                      \
    static armq_status name(const armq_desc *d, armq_support *support) {                           \
        armq_status status = naive_provider.query(d, support);                                     \
        change;                                                                                    \
        return status;                                                                             \
    }
ANSWERS(huge_align, support->packed_align = UINT32_C(1) << 31)
ANSWERS(odd_align, support->workspace_align = 48)
ANSWERS(unknown_claims, support->claims = UINT32_MAX)
ANSWERS(negative_tile, support->tile_m = -5)
ANSWERS(endless_name, memset(support->kernel, 'k', sizeof support->kernel))
ANSWERS(lies_about_max_k, support->max_k = INT64_MAX)
ANSWERS(calls_it_invalid, status = ARMQ_INVALID_ARGUMENT)
ANSWERS(wants_too_much, support->workspace_bytes = (size_t)1 << 45)
ANSWERS(wants_too_much_for_threads,
        support->workspace_bytes = d->max_threads > 1 ? (size_t)1 << 45 : support->workspace_bytes)

/* Takes any K, and its accumulator is an int32 nevertheless. */
static armq_status unlimited(const armq_desc *d, armq_support *support) {
    armq_desc shorter = *d;
    shorter.k = d->k > 40 ? 40 : d->k;
    armq_status status = naive_provider.query(&shorter, support);
    support->max_k = INT64_MAX;
    return status;
}

static armq_status wraps(const armq_desc *d, const void *plan, const armq_args *args) {
    armq_desc shorter = *d;
    shorter.k = d->k > 40 ? 40 : d->k;
    return naive_provider.run(&shorter, plan, args);
}

static armq_status packs_start(const armq_desc *d, int32_t which, int64_t first, int64_t last,
                               const armq_weights *weights, void *packed) {
    armq_desc shorter = *d;
    shorter.k = d->k > 40 ? 40 : d->k;
    return naive_provider.pack(&shorter, which, first, last, weights, packed);
}

static armq_status gives_no_reason(const armq_desc *d, armq_support *support) {
    armq_status status = naive_provider.query(d, support);
    support->reason[0] = '\0';
    return status;
}

static armq_status packs_without_bias(const armq_desc *d, int32_t which, int64_t first,
                                      int64_t last, const armq_weights *weights, void *packed) {
    static const float zeros[64];
    armq_weights dropped = *weights;
    if (d->uses & (ARMQ_USES_BIAS | ARMQ_USES_W2_BIAS) && weights->bias && last - first == 1)
        dropped.bias = zeros;
    return naive_provider.pack(d, which, first, last, &dropped, packed);
}

static armq_status packs_anything(const armq_desc *d, int32_t which, int64_t first, int64_t last,
                                  const armq_weights *weights, void *packed) {
    (void)naive_provider.pack(d, which, first, last, weights, packed);
    return ARMQ_OK;
}

/* --- Each is caught by its check -------------------------------------------------------------- */

#define LINEAR "linear_w8a8 tokens=7 n=9 k=40 in=f32 out=f32 dialect=vllm-w8a8"

#define MOE_OF_ONE "moe_w8a8 tokens=3 hidden=8 intermediate=8 experts=1 top_k=1"
#define MOE "moe_w8a8 tokens=7 hidden=32 intermediate=24 experts=5 top_k=2 in=f32"

static const struct {
    const char *check, *line;
    run_function *run;
    armq_status (*query)(const armq_desc *, armq_support *);
    armq_status (*pack)(const armq_desc *, int32_t, int64_t, int64_t, const armq_weights *, void *);
    const char *words; /* in the failure's detail */
    bool aarch64_only;
} mistakes[] = {
    {"value", LINEAR, .run = wrong_value, .words = "y[0][0] is"},
    {"value", LINEAR, .run = refuses_to_run, .words = "run returned"},
    {"value", LINEAR, .run = stale_last, .words = "y[6][8] is NaN (0xffffffff)"},
    {"written", LINEAR, .run = stale_last, .words = "y[6][8] is never written"},
    {"written", (LINEAR " y_pad=3"), .run = wrote_gap, .words = "byte offset 36: row 0, element 9"},
    {"memory", LINEAR, .run = wrote_before_y, .words = "1 bytes before the start"},
    {"inputs", LINEAR, .run = changed_x, .words = "x changed at byte offset 0"},
    {"inputs", LINEAR, .run = changed_packed, .words = "packed changed at byte offset 0"},
    {"inputs", LINEAR, .pack = changed_weights, .words = "scales changed at byte offset 0"},
    {"repeat", LINEAR, .run = trusts_workspace, .words = "y[0][0] is"},
    {"threads", LINEAR, .run = threads_matter, .words = "8 logical threads in order"},
    {"threads", LINEAR, .run = real_threads_matter, .words = "on two real ones"},
    {"batch", LINEAR, .run = alone_differs, .words = "row 0 alone"},
    {"batch", LINEAR, .run = last_row_differs, .words = "row 0 alone"},
    {"permute", LINEAR, .run = place_matters, .words = "tokens in another order"},
    {"permute", MOE, .run = place_matters, .words = "tokens in another order"},
    {"permute", MOE, .run = expert_number_matters, .words = "experts under other numbers"},
    {"permute", "moe_w8a8 tokens=7 hidden=32 intermediate=24 experts=5 top_k=1 dialect=sglang-w8a8",
     .run = expert_number_matters, .words = "under other numbers"},
    {"batch", MOE, .run = alone_differs, .words = "row 0 alone"},
    {"threads", MOE, .run = real_threads_matter, .words = "on two real ones"},
    {"written", MOE, .run = stale_last, .words = "y[6][31] is never written"},
    {"inputs", MOE, .run = changed_ids, .words = "topk_ids changed at byte offset 0"},
    {"memory", MOE, .run = wrote_before_y, .words = "1 bytes before the start"},
    {"extremes", MOE, .run = wrong_zero_rows, .words = "data=zero_rows"},
    {"poison", MOE, .run = nan_leaks, .words = "NaN or Inf in other rows"},
    {"poison", MOE, .run = excuses_zero_weights, .words = "wanted NaN"},
    {"poison", MOE, .run = unused_expert_leaks, .words = "NaN in experts that no token uses"},
    {"arguments", MOE, .run = clamps_ids, .words = "run accepts an id equal to the number"},
    {"arguments", MOE, .run = takes_anything, .words = "run accepts args.size = 0"},
    {"arguments", (MOE " activation=swigluoai"), .run = usual_clamp, .words = "limit "},
    {"arguments", (MOE_OF_ONE " in=f32"), .pack = packs_without_bias, .words = "w2_bias, on or"},
    {"reentrant", LINEAR, .run = keeps_state, .words = "a call in which another begins and ends"},
    {"reentrant", MOE, .run = keeps_state, .words = "a call in which another begins and ends"},
    {"align", LINEAR, .run = alignment_matters, .words = "odd pointers"},
    {"align", LINEAR, .run = ignores_y_stride, .words = "row strides"},
    {"alloc", LINEAR, .run = allocates, .words = "allocated memory 1 times"},
    {"threads", LINEAR, .run = four_threads_matter, .words = "4 logical threads in order"},
    {"registers", LINEAR, .run = clobbers_d8, .words = "d8 was", .aarch64_only = true},
    {"registers", LINEAR, .run = changes_fpcr, .words = "FPCR was"},
    {"extremes", LINEAR, .run = wrong_zero_rows, .words = "data=zero_rows"},
    {"extremes", "gemm_s8s8s32 tokens=7 n=9 k=40", .run = int16_overflow,
     .words = "data=extremes: y[0][0] is -655360"},
    {"poison", LINEAR, .run = nan_leaks, .words = "NaN or Inf in other rows"},
    {"poison", LINEAR, .run = swallows_nan, .words = "wanted NaN"},
    {"arguments", LINEAR, .run = takes_anything, .words = "run accepts args.size = 0"},
    {"arguments", LINEAR, .run = writes_then_refuses, .words = "only after writing y"},
    {"value", LINEAR, .query = huge_align, .words = "packed_align = 2147483648"},
    {"value", LINEAR, .query = odd_align, .words = "workspace_align = 48"},
    {"value", LINEAR, .query = unknown_claims, .words = "are unknown"},
    {"value", LINEAR, .query = negative_tile, .words = "tiles of -5 x"},
    {"value", LINEAR, .query = endless_name, .words = "without an end"},
    {"value", LINEAR, .query = calls_it_invalid, .words = "where only ARMQ_OK and"},
    {"arguments", LINEAR, .query = lies_about_max_k, .words = "and refuses k = 2147483647"},
    {"extremes", LINEAR, .query = unlimited, .run = wraps, .pack = packs_start,
     .words = "data=extremes with the longest k"},
    {"arguments", LINEAR, .query = accepts_any_k, .words = "k above max_k"},
    {"arguments", LINEAR, .query = gives_no_reason, .words = "without a reason"},
    {"arguments", LINEAR, .pack = packs_anything, .words = "pack accepts weights.size = 0"},
    {"arguments", LINEAR, .pack = packs_without_bias, .words = "bias, on or off"},
};

static void every_mistake_is_caught_by_its_check(void **state) {
    (void)state;
    uint64_t fp_control = fp_control_get();
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        armq_provider provider = naive_provider;
        provider.run = mistakes[i].run ? mistakes[i].run : naive_provider.run;
        provider.query = mistakes[i].query ? mistakes[i].query : naive_provider.query;
        provider.pack = mistakes[i].pack ? mistakes[i].pack : naive_provider.pack;
        judge_line(mistakes[i].line, &provider);
        const check_result *r = of(mistakes[i].check);
        if (mistakes[i].aarch64_only && !call_checks_registers()) {
            assert_int_equal(r->status, CHECK_SKIPPED);
            continue;
        }
        if (r->status != CHECK_FAILED || !strstr(r->failure.detail, mistakes[i].words))
            fail_msg("mistake %zu: check %s is %d, says \"%s\", expected \"%s\"", i,
                     mistakes[i].check, (int)r->status, r->failure.detail, mistakes[i].words);
        assert_int_equal(result.status, CASE_FAILED);
        assert_int_equal(fp_control_get(), fp_control);
    }
}

/* --- And nothing else is --------------------------------------------------------------------- */

static void expect_pass(const char *line, const armq_provider *provider) {
    judge_line(line, provider);
    for (int i = 0; i < check_count(); i++)
        if (result.checks[i].status == CHECK_FAILED)
            fail_msg("%s: %s: %s: %s", provider->name, line, check_table[i].name,
                     result.checks[i].failure.detail);
    assert_int_equal(result.status, CASE_PASSED);
    assert_int_equal(of("value")->status, CHECK_PASSED);
    assert_int_equal(of("crash")->status, CHECK_PASSED);
}

static const char *const right[] = {
    LINEAR,
    (LINEAR " bias=f32 threads=3"),
    "linear_w8a8 tokens=0 n=9 k=40 dialect=sglang-w8a8 in=bf16 out=bf16",
    "linear_w8a8 tokens=5 n=0 k=40 dialect=sglang-w8a8 in=bf16 out=bf16",
    "linear_w8a8 tokens=5 n=9 k=0 dialect=vllm-w8a8 in=bf16 out=bf16 bias=f32",
    "linear_w8a8 tokens=1 n=1 k=1 dialect=kleidi-w8a8 in=f16 out=f16",
    "linear_w8a8 tokens=9 n=5 k=33 dialect=kleidi-w8a8 in=f32 out=f32 data=poison x_pad=1 y_pad=2",
    "linear_bf16 tokens=5 n=9 k=40 in=bf16 out=f32 bias=f32",
    "gemm_s8s8s32 tokens=5 n=9 k=40",
    "gemm_s8s8s32 tokens=5 n=9 k=40 sample=10",
    MOE,
    (MOE " sample=33 threads=2"),
    "moe_w8a8 tokens=5 hidden=20 intermediate=12 experts=3 top_k=2 dialect=sglang-w8a8 w13_bias=1",
    "moe_w8a8 tokens=5 hidden=20 intermediate=12 experts=3 top_k=1 router=none w2_bias=1",
    "moe_w8a8 tokens=5 hidden=20 intermediate=12 experts=3 top_k=2 router=input routing=skip",
    "moe_w8a8 tokens=5 hidden=20 intermediate=12 experts=5 top_k=2 activation=swigluoai",
    "moe_w8a8 tokens=0 hidden=20 intermediate=12 experts=3 top_k=2",
    "moe_w8a8 tokens=3 hidden=0 intermediate=12 experts=3 top_k=2",
    "moe_w8a8 tokens=3 hidden=20 intermediate=0 experts=3 top_k=2",
    "moe_bf16 tokens=5 hidden=20 intermediate=12 experts=3 top_k=2 in=f32",
    "activation tokens=5 intermediate=12 in=f32",
    "quantize tokens=5 k=40 in=bf16 dialect=vllm-w8a8",
    "quantize tokens=5 k=40 in=f32 dialect=kleidi-w8a8",
    "quantize tokens=5 k=0 in=f32 dialect=kleidi-w8a8",
    "quantize tokens=0 k=40 in=f32 dialect=kleidi-w8a8",
};

static void correct_providers_pass(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        expect_pass(right[i], &naive_provider);
        expect_pass(right[i], &reference_provider);
    }
}

static armq_status claims_nothing(const armq_desc *d, armq_support *support) {
    armq_status status = naive_provider.query(d, support);
    if (status == ARMQ_OK)
        support->claims = 0;
    return status;
}

/* Off by one bit is inside the interval of a bias-free f32 output of this size, and not claimed. */
static void without_claims_bits_may_differ_but_not_values(void **state) {
    (void)state;
    armq_provider modest = naive_provider;
    modest.query = claims_nothing;
    modest.run = threads_matter;
    judge_line(LINEAR, &modest);
    assert_int_equal(of("threads")->status, CHECK_SKIPPED);
    assert_non_null(strstr(of("threads")->note, "not claimed"));
    assert_int_equal(of("batch")->status, CHECK_SKIPPED);
    modest.run = alone_differs;
    judge_line(LINEAR, &modest);
    assert_int_equal(of("batch")->status, CHECK_SKIPPED);
    assert_int_equal(result.status, CASE_PASSED);
    modest.run = keeps_state;
    judge_line(LINEAR, &modest);
    assert_int_equal(of("reentrant")->status, CHECK_SKIPPED);
    assert_string_equal(of("reentrant")->note, "not claimed");
    modest.run = place_matters;
    judge_line(LINEAR, &modest);
    assert_int_equal(of("permute")->status, CHECK_SKIPPED);
    assert_non_null(strstr(of("permute")->note, "not claimed"));
}

static armq_status refuses_all(const armq_desc *d, armq_support *support) {
    (void)naive_provider.query(d, support);
    strcpy(support->reason, "not on a Sunday");
    return ARMQ_UNSUPPORTED;
}

static void a_refused_case_is_skipped_with_the_reason(void **state) {
    (void)state;
    armq_provider provider = naive_provider;
    provider.query = refuses_all;
    judge_line(LINEAR, &provider);
    assert_int_equal(result.status, CASE_SKIPPED);
    assert_string_equal(result.reason, "not on a Sunday");
    for (int i = 0; i < check_count(); i++)
        assert_int_equal(result.checks[i].status, CHECK_NOT_RUN);
}

/* Nothing is known of the provider then, and the reason says so; it is neither right nor wrong. */
static void what_memory_does_not_suffice_for_is_skipped(void **state) {
    (void)state;
    armq_provider provider = naive_provider;
    provider.query = wants_too_much;
    judge_line(LINEAR, &provider);
    assert_int_equal(result.status, CASE_SKIPPED);
    assert_non_null(strstr(result.reason, "not enough memory"));
    provider.query = wants_too_much_for_threads;
    judge_line(LINEAR, &provider);
    assert_int_equal(result.status, CASE_SKIPPED);
    assert_non_null(strstr(result.reason, "threads: not enough memory"));
    assert_int_equal(of("threads")->status, CHECK_SKIPPED);
    assert_int_equal(of("batch")->status, CHECK_PASSED);
}

static void only_selected_checks_run(void **state) {
    (void)state;
    armq_case c = parsed(LINEAR);
    checks_run(&c, &naive_provider, UINT64_C(1) << check_index("repeat"), &result, &the_watch);
    for (int i = 0; i < check_count(); i++)
        assert_int_equal(result.checks[i].status,
                         i == check_index("repeat") ? CHECK_PASSED : CHECK_NOT_RUN);
    /* Nothing that ran nothing passes. */
    c = parsed("gemm_s8s8s32 tokens=5 n=9 k=40");
    checks_run(&c, &naive_provider, UINT64_C(1) << check_index("poison"), &result, &the_watch);
    assert_int_equal(result.status, CASE_SKIPPED);
    assert_int_equal(check_index("no such check"), -1);
}

/* --- Large cases ------------------------------------------------------------------------------ */

static void add_one(const armq_desc *d, const armq_args *args) {
    ((int32_t *)args->y)[(d->tokens / 2) * d->n + d->n / 2] += 1;
}
RUN_WITH(one_accumulator_off, add_one(d, args))

/* Far too few samples to hit it: all accumulators are covered by Freivalds' check. */
static void one_accumulator_of_many_is_found(void **state) {
    (void)state;
    armq_provider provider = naive_provider;
    provider.run = one_accumulator_off;
    judge_line("gemm_s8s8s32 tokens=64 n=500 k=40 sample=3", &provider);
    const check_result *r = of("value");
    assert_int_equal(r->status, CHECK_FAILED);
    assert_int_equal(r->failure.row, 32);
    assert_int_equal(r->failure.column, 250);
    assert_true(r->failure.got == r->failure.mid + 1.0);
}

#define LARGE "gemm_s8s8s32 tokens=1 n=4100 k=4100 sample=100"

static void large_cases_are_judged_too(void **state) {
    (void)state;
    armq_case c = parsed(LARGE);
    assert_true(trial_is_large(&c));
    c = parsed("quantize tokens=2048 k=14336 in=f16"); /* no MACs, and no weights */
    assert_true(trial_is_large(&c));
    c = parsed("quantize tokens=64 k=14336 in=f16");
    assert_false(trial_is_large(&c));
    expect_pass(LARGE, &naive_provider);
    assert_int_equal(of("threads")->status, CHECK_SKIPPED);
    assert_string_equal(of("threads")->note, "large case");
    for (int i = 0; i < check_count(); i++)
        assert_int_equal(result.checks[i].status,
                         check_table[i].on_large ? CHECK_PASSED : CHECK_SKIPPED);

    armq_provider provider = naive_provider;
    provider.run = one_accumulator_off;
    judge_line(LARGE, &provider);
    assert_int_equal(of("value")->status, CHECK_FAILED);
    provider.run = changed_packed;
    judge_line(LARGE, &provider);
    assert_int_equal(of("inputs")->status, CHECK_FAILED);
    provider.run = changed_x;
    judge_line(LARGE, &provider);
    assert_int_equal(of("inputs")->status, CHECK_FAILED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_is_caught_by_its_check),
        cmocka_unit_test(correct_providers_pass),
        cmocka_unit_test(without_claims_bits_may_differ_but_not_values),
        cmocka_unit_test(a_refused_case_is_skipped_with_the_reason),
        cmocka_unit_test(what_memory_does_not_suffice_for_is_skipped),
        cmocka_unit_test(only_selected_checks_run),
        cmocka_unit_test(one_accumulator_of_many_is_found),
        cmocka_unit_test(large_cases_are_judged_too),
    };
    return cmocka_run_group_tests_name("checks", tests, NULL, NULL);
}
