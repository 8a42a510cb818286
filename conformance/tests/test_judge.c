/* SPDX-License-Identifier: Apache-2.0 */
/* The comparator, on outputs made from the reference's own intervals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/inputs.h"
#include "conformance/judge.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

/* Every op, output dtype and kind of quantisation. */
static const char *const lines[] = {
    "linear_w8a8 tokens=5 n=9 k=40 in=bf16 out=bf16 bias=f32 dialect=sglang-w8a8",
    "linear_w8a8 tokens=5 n=9 k=40 in=f32 out=f32 bias=f32 dialect=vllm-w8a8",
    "linear_w8a8 tokens=3 n=9 k=40 in=f16 out=f16 dialect=kleidi-w8a8",
    "linear_w8a8 tokens=3 n=9 k=40 in=f32 out=f32 dialect=kleidi-w8a8 x_pad=3 y_pad=2",
    "linear_bf16 tokens=4 n=9 k=40 in=bf16 out=f32",
    "linear_bf16 tokens=4 n=9 k=40 in=f32 out=bf16 bias=f32",
    "gemm_s8s8s32 tokens=4 n=9 k=40",
    "quantize tokens=4 k=40 in=bf16 dialect=vllm-w8a8",
    "quantize tokens=4 k=40 in=f32 dialect=kleidi-w8a8",
    "activation tokens=4 intermediate=9 in=f32",
    "moe_w8a8 tokens=4 hidden=24 intermediate=16 experts=3 top_k=2 in=f32",
    "moe_w8a8 tokens=4 hidden=24 intermediate=16 experts=3 top_k=2 dialect=sglang-w8a8",
    "moe_bf16 tokens=4 hidden=24 intermediate=16 experts=3 top_k=2 activation=swigluoai",
};
enum { LINES = sizeof lines / sizeof lines[0] };

typedef struct {
    armq_case c;
    const inputs *in;
    ref_interval *intervals; /* of y */
    void *got[OPERAND_COUNT];
    int64_t count[OPERAND_COUNT]; /* elements */
    armq_dtype dtype[OPERAND_COUNT];
    check_failure failure;
    interval_quality quality;
} bench;

/* The outputs a correct kernel could give: every interval's middle, rounded. */
static void fill_y(bench *b, const armq_weights weights[2]) {
    ref_problem problem;
    int64_t row_length = b->in->shapes[OPERAND_Y].row;
    operand_problem(&b->c, &b->in->data, weights, 0, &problem);
    ref_context *reference = ref_open(&problem);
    assert_non_null(reference);
    for (int64_t row = 0; row < b->c.desc.tokens; row++)
        ref_row_intervals(reference, row, NULL, row_length, b->intervals + row * row_length);
    for (int64_t i = 0; i < b->count[OPERAND_Y]; i++)
        armq_store(b->c.desc.out, b->got[OPERAND_Y], i, b->intervals[i].mid);
    ref_close(reference);
}

static void fill_scales(bench *b) {
    const operand_shape *x = &b->in->shapes[OPERAND_X];
    int8_t *q = malloc((size_t)x->row);
    assert_non_null(q);
    for (int64_t row = 0; row < x->rows; row++) {
        const uint8_t *at = (const uint8_t *)b->in->data.at[OPERAND_X] +
                            (size_t)(row * x->stride) * armq_dtype_bytes(x->dtype);
        ref_row_quant quant = ref_quantize_row(&b->c.desc.dialect, x->dtype, at, x->row, q);
        if (b->got[OPERAND_Y_SCALES])
            ((float *)b->got[OPERAND_Y_SCALES])[row] = quant.scale;
        if (b->got[OPERAND_Y_ZEROS])
            ((int32_t *)b->got[OPERAND_Y_ZEROS])[row] = quant.zero_point;
    }
    free(q);
}

static void set_up(bench *b, const char *line) {
    case_list list = {NULL, 0, 0, 0};
    case_error error;
    armq_weights weights[2];
    memset(b, 0, sizeof *b);
    if (!case_parse_line(line, NULL, &list, &error))
        fail_msg("%s: %s", line, error.message);
    b->c = list.items[0];
    case_list_free(&list);
    case_bind(&b->c, 0, 0, 0, 0, 1);
    b->in = inputs_get(&b->c);
    assert_non_null(b->in);
    for (operand_id id = OPERAND_Y; id < OPERAND_COUNT; id++) {
        const operand_shape *s = &b->in->shapes[id];
        b->count[id] = s->present ? s->rows * s->row : 0;
        b->dtype[id] = s->dtype;
        if (s->present)
            b->got[id] = calloc((size_t)b->count[id], armq_dtype_bytes(s->dtype));
    }
    b->intervals = calloc((size_t)b->count[OPERAND_Y], sizeof *b->intervals);
    operand_weights(&b->c, &b->in->data, weights);
    fill_y(b, weights);
    fill_scales(b);
}

static void tear_down(bench *b) {
    for (int id = 0; id < OPERAND_COUNT; id++)
        free(b->got[id]);
    free(b->intervals);
    inputs_release(b->in);
}

/* Whether answers of the reference are kept from one judgement to the next: nothing may change. */
static bool kept;

static int keep_answers(void **state) {
    (void)state;
    kept = true;
    return 0;
}

static bool judged(bench *b, int64_t sample) {
    judgement j = {.c = &b->c,
                   .in = &b->in->data,
                   .shared = kept ? b->in : NULL,
                   .got = b->got,
                   .failure = &b->failure,
                   .quality = &b->quality};
    memset(&b->failure, 0, sizeof b->failure);
    return judge_outputs(&j, sample);
}

static void middles_of_all_intervals_pass(void **state) {
    (void)state;
    for (int i = 0; i < LINES; i++) {
        bench b;
        set_up(&b, lines[i]);
        if (!judged(&b, 0))
            fail_msg("%s: %s", lines[i], b.failure.detail);
        assert_int_equal(b.quality.elements, b.count[OPERAND_Y]);
        assert_int_equal(b.quality.judged, b.count[OPERAND_Y]);
        assert_true(b.quality.rms > 0.0);
        assert_true(b.quality.half_max < 1e-3 && b.quality.half_median <= b.quality.half_max);
        assert_true(b.quality.usage_max <= 1.0);
        tear_down(&b);
    }
}

/* Fills output `id` and expects a failure that names it. */
static void expect_rejected(bench *b, const char *line, operand_id id, const char *what) {
    if (judged(b, 0))
        fail_msg("%s: %s filled with %s passes", line, b->in->shapes[id].name, what);
    assert_true(b->failure.has_element);
    assert_string_equal(b->failure.operand, b->in->shapes[id].name);
    assert_true(b->failure.row >= 0 && b->failure.row < b->c.desc.tokens);
    if (judged(b, 3)) /* sampled: every row, so this must show too */
        fail_msg("%s: %s filled with %s passes when sampled", line, b->in->shapes[id].name, what);
}

static void wholesale_garbage_fails_every_op(void **state) {
    (void)state;
    static const struct {
        const char *what;
        double value;
    } fillings[] = {{"NaN", (double)NAN}, {"Inf", (double)INFINITY}, {"-Inf", -(double)INFINITY}};
    for (int i = 0; i < LINES; i++)
        for (operand_id id = OPERAND_Y; id < OPERAND_COUNT; id++) {
            bench b;
            set_up(&b, lines[i]);
            size_t bytes = (size_t)b.count[id] * armq_dtype_bytes(b.dtype[id]);
            bool whole = b.dtype[id] == ARMQ_DTYPE_S8 || b.dtype[id] == ARMQ_DTYPE_S32;
            for (size_t f = 0; b.got[id] && !whole && f < 3; f++) {
                for (int64_t e = 0; e < b.count[id]; e++)
                    armq_store(b.dtype[id], b.got[id], e, fillings[f].value);
                expect_rejected(&b, lines[i], id, fillings[f].what);
            }
            static const int bytes_of[] = {0, 0xff, 0xa5, 0x7f};
            for (size_t f = 0; b.got[id] && f < 4; f++) {
                memset(b.got[id], bytes_of[f], bytes);
                expect_rejected(&b, lines[i], id, "one byte");
            }
            tear_down(&b);
        }
}

/* Bit pattern of the next larger value; value is not the largest. */
static void step_up(armq_dtype dtype, void *at) {
    uint32_t bits = 0, sign;
    size_t bytes = armq_dtype_bytes(dtype);
    memcpy(&bits, at, bytes);
    if (dtype == ARMQ_DTYPE_S8 || dtype == ARMQ_DTYPE_S32) {
        bits++;
    } else {
        sign = dtype == ARMQ_DTYPE_F32 ? 0x80000000u : 0x8000u;
        bits = bits == sign ? 1 : bits & sign ? bits - 1 : bits + 1;
    }
    memcpy(at, &bits, bytes);
}

/* The largest value inside passes, the next one fails and is named exactly. */
static void one_step_outside_fails(void **state) {
    (void)state;
    for (int i = 0; i < LINES; i++) {
        bench b;
        set_up(&b, lines[i]);
        int64_t row_length = b.in->shapes[OPERAND_Y].row;
        size_t bytes = armq_dtype_bytes(b.c.desc.out);
        for (int64_t e = 0; e < b.count[OPERAND_Y]; e += 7) {
            uint8_t *at = (uint8_t *)b.got[OPERAND_Y] + (size_t)e * bytes;
            if (b.c.desc.out == ARMQ_DTYPE_S8 && *(int8_t *)at == 127)
                continue;
            armq_store(b.c.desc.out, b.got[OPERAND_Y], e, b.intervals[e].hi);
            assert_true(judged(&b, 0));
            step_up(b.c.desc.out, at);
            assert_false(judged(&b, 0));
            assert_int_equal(b.failure.row, e / row_length);
            assert_int_equal(b.failure.column, e % row_length);
            assert_true(b.failure.got > b.failure.hi);
            assert_non_null(strstr(b.failure.detail, "y["));
            armq_store(b.c.desc.out, b.got[OPERAND_Y], e, b.intervals[e].mid);
        }
        tear_down(&b);
    }
}

static void the_worst_of_several_is_named(void **state) {
    (void)state;
    bench b;
    set_up(&b, lines[1]);
    float *y = b.got[OPERAND_Y];
    y[4] += 1.0f;
    y[11] += 100.0f;
    y[20] += 2.0f;
    assert_false(judged(&b, 0));
    assert_int_equal(b.failure.row, 1);
    assert_int_equal(b.failure.column, 2);
    assert_non_null(strstr(b.failure.detail, "3 of 45"));
    y[20] = NAN; /* worse than any number */
    assert_false(judged(&b, 0));
    assert_int_equal(b.failure.row, 2);
    tear_down(&b);
}

static void sampling_covers_rows_and_edges(void **state) {
    (void)state;
    bench b;
    set_up(&b, lines[1]);
    float *y = b.got[OPERAND_Y];
    for (int64_t row = 0; row < 5; row++)
        for (int64_t column = 0; column <= 8; column += 8) {
            float right = y[row * 9 + column];
            y[row * 9 + column] += 1.0f;
            assert_false(judged(&b, 1));
            assert_int_equal(b.failure.row, row);
            assert_int_equal(b.failure.column, column);
            y[row * 9 + column] = right;
        }
    assert_true(judged(&b, 1));
    assert_int_equal(b.quality.judged, 15);
    assert_true(judged(&b, 21));
    assert_int_equal(b.quality.judged, 25);
    tear_down(&b);
}

/* As many as hold the elements that are asked for, the first and the last among them. */
static void sampling_takes_whole_tokens_of_a_moe(void **state) {
    (void)state;
    bench b;
    set_up(&b, "moe_w8a8 tokens=9 hidden=24 intermediate=16 experts=3 top_k=2 in=f32");
    float *y = b.got[OPERAND_Y];
    assert_true(judged(&b, 25));
    assert_int_equal(b.quality.judged, 2 * 24);
    assert_true(judged(&b, 60));
    assert_int_equal(b.quality.judged, 3 * 24);
    for (int64_t column = 0; column < 24; column++)
        for (int64_t row = 0; row < 9; row += 4) {
            float right = y[row * 24 + column];
            y[row * 24 + column] += 1.0f;
            assert_false(judged(&b, 60));
            assert_int_equal(b.failure.row, row);
            assert_int_equal(b.failure.column, column);
            y[row * 24 + column] = right;
        }
    y[24] += 1.0f; /* of a token that is not sampled */
    assert_true(judged(&b, 60));
    assert_false(judged(&b, 0));
    tear_down(&b);
}

/* Threads and caches change no result; everything else asks the reference anew. */
static void kept_answers_are_for_one_arithmetic(void **state) {
    (void)state;
    bench b;
    set_up(&b, "moe_w8a8 tokens=4 hidden=24 intermediate=16 experts=3 top_k=2 "
               "activation=swigluoai in=f32");
    expected_rows *e = inputs_expected(b.in, &b.c.desc, 0);
    assert_non_null(e);
    assert_true(judged(&b, 0));
    assert_non_null(expected_find(e, 3));
    armq_case other = b.c;
    other.desc.max_threads = 9;
    other.desc.l2 = 123;
    assert_ptr_equal(inputs_expected(b.in, &other.desc, ARMQ_CLAIM_REENTRANT), e);
    assert_ptr_not_equal(inputs_expected(b.in, &other.desc, ARMQ_CLAIM_NONFINITE_ROW_NAN), e);
    b.c.desc.dialect.alpha *= 0.5f;
    assert_ptr_not_equal(inputs_expected(b.in, &b.c.desc, 0), e);
    assert_false(judged(&b, 0));
    assert_null(inputs_expected(NULL, &b.c.desc, 0));
    tear_down(&b);
}

static void too_many_answers_are_not_kept(void **state) {
    (void)state;
    bench b;
    set_up(&b, "linear_w8a8 tokens=5 n=9 k=40 in=f32 dialect=vllm-w8a8");
    b.c.desc.tokens = INT64_C(1) << 40;
    assert_null(expected_open(&b.c.desc, 0));
    b.c.desc.tokens = 0;
    expected_rows *e = expected_open(&b.c.desc, 0);
    assert_non_null(e);
    expected_close(e);
    tear_down(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(middles_of_all_intervals_pass),
        cmocka_unit_test(wholesale_garbage_fails_every_op),
        cmocka_unit_test(one_step_outside_fails),
        cmocka_unit_test(the_worst_of_several_is_named),
        cmocka_unit_test(sampling_covers_rows_and_edges),
        cmocka_unit_test(sampling_takes_whole_tokens_of_a_moe),
    };
    const struct CMUnitTest keeping[] = {
        cmocka_unit_test(kept_answers_are_for_one_arithmetic),
        cmocka_unit_test(too_many_answers_are_not_kept),
    };
    int failed = cmocka_run_group_tests_name("judge", tests, NULL, NULL);
    failed += cmocka_run_group_tests_name("judge_with_kept_answers", tests, keep_answers, NULL);
    return failed + cmocka_run_group_tests_name("kept_answers", keeping, keep_answers, NULL);
}
