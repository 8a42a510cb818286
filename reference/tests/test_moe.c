/* SPDX-License-Identifier: Apache-2.0 */
/* moe_w8a8 and moe_bf16: answers worked out by hand. The soak stands in test_moe_soak.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/dialects.h"
#include "reference/formats.h"
#include "reference/interval.h"

/* A small problem; the caller fills the pointers and may change the dialect. */
typedef struct {
    armq_desc desc;
    armq_weights w13, w2;
    ref_problem problem;
} setup;

static void set_up(setup *s, const char *dialect, armq_dtype in, armq_activation activation,
                   int64_t hidden, int64_t intermediate, int64_t experts, int64_t top_k) {
    bool bf16 = strcmp(dialect, "bf16") == 0;
    memset(s, 0, sizeof *s);
    s->desc = (armq_desc){.size = sizeof(armq_desc), .abi = ARMQ_ABI_VERSION};
    s->desc.op = bf16 ? ARMQ_OP_MOE_BF16 : ARMQ_OP_MOE_W8A8;
    s->desc.tokens = 8;
    s->desc.hidden = hidden;
    s->desc.intermediate = intermediate;
    s->desc.experts = experts;
    s->desc.top_k = top_k;
    s->desc.in = s->desc.out = in;
    s->desc.scale_dtype = bf16 ? ARMQ_DTYPE_NONE : ARMQ_DTYPE_F32;
    s->desc.format = bf16 ? ARMQ_WEIGHT_BF16 : ARMQ_WEIGHT_S8;
    assert_true(
        armq_dialect_preset(dialect, s->desc.op, in, 0, activation, &s->desc.dialect, NULL));
    s->w13.size = s->w2.size = sizeof(armq_weights);
    s->problem.desc = &s->desc;
    s->problem.weights[0] = &s->w13;
    s->problem.weights[1] = &s->w2;
}

static void use_bias(setup *s, const void *b13, const void *b2) {
    s->desc.uses |= (b13 ? ARMQ_USES_W13_BIAS : 0) | (b2 ? ARMQ_USES_W2_BIAS : 0);
    s->desc.bias_dtype = ARMQ_DTYPE_F32;
    s->w13.bias = b13;
    s->w2.bias = b2;
}

/* All columns of a row; the number of tie flips in it. */
static int64_t intervals_of(const setup *s, int64_t row, ref_interval *y) {
    ref_problem problem = s->problem;
    problem.desc = &s->desc;
    problem.weights[0] = &s->w13;
    problem.weights[1] = &s->w2;
    ref_context *context = ref_open(&problem);
    assert_non_null(context);
    ref_row_intervals(context, row, NULL, s->desc.hidden, y);
    int64_t flips = ref_tie_flips(context);
    ref_close(context);
    return flips;
}

static bool accepts(const ref_interval *y, armq_dtype dtype, double value) {
    union {
        float f32;
        uint16_t half;
    } got;
    armq_store(dtype, &got, 0, value);
    return ref_accepts(y, dtype, &got);
}

static bool near(double a, double b) { return fabs(a - b) <= 3e-6 * fabs(b); }

/* --- A model of H = I = 2 and three experts, small enough to follow
 * -------------------------------
 *
 * x = (127, -64): q = x, scale 1. Expert e has w13 rows gate (1, 0), (0, -1), up (1, 1), (e, 0)
 * with scales 2^-5, so gate = (127, 64)/32, up = (63, 127 e)/32; w2 rows (1, 0), (1, e) with
 * scales 2^e, 2^-e. */
static const float model_x[2] = {127, -64};
static const int8_t model_w13[3][4][2] = {{{1, 0}, {0, -1}, {1, 1}, {0, 0}},
                                          {{1, 0}, {0, -1}, {1, 1}, {1, 0}},
                                          {{1, 0}, {0, -1}, {1, 1}, {2, 0}}};
static const int8_t model_w2[3][2][2] = {{{1, 0}, {1, 0}}, {{1, 0}, {1, 1}}, {{1, 0}, {1, 2}}};
static const float model_s13[12] = {0x1p-5f, 0x1p-5f, 0x1p-5f, 0x1p-5f, 0x1p-5f, 0x1p-5f,
                                    0x1p-5f, 0x1p-5f, 0x1p-5f, 0x1p-5f, 0x1p-5f, 0x1p-5f};
static const float model_s2[6] = {1, 1, 2, 0.5f, 4, 0.25f};

static double silu(double x) { return x / (1 + exp(-x)); }

/* y of one expert, from the definition. */
static double model_y(int expert, int column) {
    double act[2] = {silu(127.0 / 32) * 63 / 32, silu(2) * 127 * expert / 32};
    double amax = fmax(act[0], act[1]), q[2];
    for (int i = 0; i < 2; i++)
        q[i] = rint(act[i] * 127 / amax);
    return (q[0] * model_w2[expert][column][0] + q[1] * model_w2[expert][column][1]) *
           (amax / 127) * (double)model_s2[2 * expert + column];
}

static void set_up_model(setup *s, const char *dialect, armq_dtype in, int64_t top_k,
                         const int32_t *ids, const float *weights) {
    set_up(s, dialect, in, ARMQ_ACT_SILU, 2, 2, 3, top_k);
    s->problem.x = model_x;
    s->problem.x_stride = 0;
    s->w13.w = model_w13;
    s->w13.scales = model_s13;
    s->w2.w = model_w2;
    s->w2.scales = model_s2;
    s->problem.topk_ids = ids;
    s->problem.topk_weights = weights;
}

static void one_expert_by_hand(void **state) {
    (void)state;
    for (int32_t expert = 0; expert < 3; expert++) {
        const float one = 1;
        setup s;
        ref_interval y[2];
        set_up_model(&s, "vllm-w8a8", ARMQ_DTYPE_F32, 1, &expert, &one);
        intervals_of(&s, 0, y);
        for (int column = 0; column < 2; column++) {
            double wanted = model_y(expert, column);
            assert_true(near(y[column].mid, wanted) && accepts(&y[column], ARMQ_DTYPE_F32, wanted));
            assert_false(accepts(&y[column], ARMQ_DTYPE_F32, wanted * (1 + 1e-5)));
            for (int other = 0; other < 3; other++)
                assert_true(other == expert ||
                            !accepts(&y[column], ARMQ_DTYPE_F32, model_y(other, column)));
        }
    }
}

/* ids [[1,1],[1,1],[2,2]] with weights .5/.5: the dense expert. */
static void expert_repeated_in_a_token(void **state) {
    (void)state;
    const float x[6] = {127, -64, 127, -64, 127, -64};
    const int32_t ids[6] = {1, 1, 1, 1, 2, 2};
    const float weights[6] = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f};
    setup s;
    set_up_model(&s, "vllm-w8a8", ARMQ_DTYPE_F32, 2, ids, weights);
    s.problem.x = x;
    for (int order = 0; order < 2; order++) {
        s.desc.dialect.combine_order = order ? ARMQ_COMBINE_EXPERT_ORDER : ARMQ_COMBINE_SLOT_ORDER;
        for (int token = 0; token < 3; token++) {
            ref_interval y[2];
            intervals_of(&s, token, y);
            for (int column = 0; column < 2; column++) {
                double dense = model_y(token == 2 ? 2 : 1, column);
                assert_true(near(y[column].mid, dense) &&
                            accepts(&y[column], ARMQ_DTYPE_F32, dense));
                assert_false(accepts(&y[column], ARMQ_DTYPE_F32, dense / 2));
                assert_false(accepts(&y[column], ARMQ_DTYPE_F32, dense * 2));
            }
        }
    }
}

/* Distinct powers of two: a weight applied twice, to the wrong slot or not at all is outside. */
static void router_weights(void **state) {
    (void)state;
    const int32_t ids[3] = {2, 0, 1};
    const float weights[3] = {0.25f, 2, 0.125f};
    static const double wrong[][3] = {{1, 1, 1},    {0.0625, 4, 0.015625}, {2, 0.25, 0.125},
                                      {0.25, 0, 0}, {0.25, 2, 0},          {0, 2, 0.125},
                                      {0, 0, 0.125}};
    setup s;
    ref_interval y[2];
    set_up_model(&s, "sglang-w8a8", ARMQ_DTYPE_BF16, 3, ids, weights);
    uint16_t x[2] = {armq_f32_to_bf16(127), armq_f32_to_bf16(-64)};
    s.problem.x = x;
    intervals_of(&s, 0, y);
    for (int column = 0; column < 2; column++) {
        double sum = 0;
        for (int slot = 0; slot < 3; slot++)
            sum += (double)weights[slot] * model_y(ids[slot], column);
        assert_true(near(y[column].mid, sum) && accepts(&y[column], ARMQ_DTYPE_BF16, sum));
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            double other = 0;
            for (int slot = 0; slot < 3; slot++)
                other += wrong[i][slot] * model_y(ids[slot], column);
            assert_false(accepts(&y[column], ARMQ_DTYPE_BF16, other));
        }
    }
}

static void router_weight_left_out(void **state) {
    (void)state;
    const int32_t id = 2;
    const float weight = 0.3f;
    setup s;
    ref_interval y[2];
    set_up_model(&s, "vllm-w8a8", ARMQ_DTYPE_F32, 1, &id, &weight);
    intervals_of(&s, 0, y);
    assert_true(near(y[0].mid, (double)weight * model_y(2, 0)));
    s.desc.uses |= ARMQ_USES_NO_ROUTER_WEIGHT;
    s.problem.topk_weights = NULL;
    intervals_of(&s, 0, y);
    assert_true(near(y[0].mid, model_y(2, 0)));
}

/* On the input the weight scales gate and up: q stays, silu does not. */
static void router_weight_on_the_input(void **state) {
    (void)state;
    const int32_t id = 1;
    const float weight = 0.5f;
    setup s;
    ref_interval y[2];
    set_up_model(&s, "vllm-w8a8", ARMQ_DTYPE_F32, 1, &id, &weight);
    s.desc.uses |= ARMQ_USES_WEIGHT_ON_INPUT;
    intervals_of(&s, 0, y);
    double act[2] = {silu(127.0 / 64) * 63 / 64, silu(1) * 127 / 64};
    double scale = fmax(act[0], act[1]) / 127;
    double wanted = rint(act[0] / scale) * scale * 2;
    assert_true(near(y[0].mid, wanted) && accepts(&y[0], ARMQ_DTYPE_F32, wanted));
    assert_false(accepts(&y[0], ARMQ_DTYPE_F32, 0.5 * model_y(1, 0)));
}

static void interleaved_layout(void **state) {
    (void)state;
    static const int8_t pairs[4][2] = {{1, 0}, {1, 1}, {0, -1}, {1, 0}}; /* expert 1 */
    const int32_t id = 0;
    const float one = 1;
    setup s;
    ref_interval y[2];
    set_up_model(&s, "vllm-w8a8", ARMQ_DTYPE_F32, 1, &id, &one);
    s.w13.w = pairs;
    s.w2.w = model_w2[1];
    s.w2.scales = model_s2 + 2;
    intervals_of(&s, 0, y);
    assert_false(accepts(&y[1], ARMQ_DTYPE_F32, model_y(1, 1)));
    s.desc.dialect.gate_layout = ARMQ_GATE_INTERLEAVED;
    intervals_of(&s, 0, y);
    assert_true(near(y[0].mid, model_y(1, 0)) && near(y[1].mid, model_y(1, 1)));
}

/* --- Rows of zeros, skipped slots, invalid ids ---------------------------------------------------
 */

/* x = 0 and no w13 bias: every stage is 0, y is the weighted w2 bias, exactly. */
static void zero_rows(void **state) {
    (void)state;
    static const char *const dialects[] = {"vllm-w8a8", "bf16"};
    const int32_t ids[2] = {1, 2};
    const float weights[2] = {0.5f, 0.25f}, zeros[2] = {0, -0.0f};
    const float b2[6] = {9, 9, 3, -5, 8, 0.375f};
    const uint16_t w[24] = {0x3f80, 0x4000, 0xc040};
    for (int d = 0; d < 2; d++) {
        setup s;
        ref_interval y[2];
        set_up_model(&s, "vllm-w8a8", ARMQ_DTYPE_F32, 2, ids, weights);
        if (d == 1) {
            set_up(&s, dialects[d], ARMQ_DTYPE_F32, ARMQ_ACT_SILU, 2, 2, 3, 2);
            s.w13.w = s.w2.w = w;
            s.problem.topk_ids = ids;
            s.problem.topk_weights = weights;
        }
        s.problem.x = zeros;
        intervals_of(&s, 0, y);
        assert_true(y[0].lo == 0 && y[0].hi == 0 && y[1].lo == 0 && y[1].hi == 0);
        use_bias(&s, NULL, b2);
        intervals_of(&s, 0, y);
        assert_true(y[0].lo == 3.5 && y[0].hi == 3.5);
        assert_true(y[1].lo == -2.40625 && y[1].hi == -2.40625);
    }
}

static void skipped_slots(void **state) {
    (void)state;
    enum { TOP = 300 };
    int32_t ids[TOP];
    float weights[TOP];
    for (int i = 0; i < TOP; i++) {
        ids[i] = -1;
        weights[i] = NAN; /* of a slot that no one reads */
    }
    setup s;
    ref_interval y[2];
    set_up_model(&s, "vllm-w8a8", ARMQ_DTYPE_F32, TOP, ids, weights);
    s.desc.uses |= ARMQ_USES_SKIP_IDS;
    intervals_of(&s, 0, y);
    assert_true(y[0].kind == REF_VALUE && y[0].lo == 0 && y[0].hi == 0);
    static const int places[] = {0, 63, 64, 130, TOP - 1};
    for (int i = 0; i < 5; i++) {
        ids[places[i]] = 2;
        weights[places[i]] = 1;
        intervals_of(&s, 0, y);
        assert_true(near(y[0].mid, model_y(2, 0)));
        ids[places[i]] = -1;
    }
    const float bad[2] = {NAN, 1};
    s.problem.x = bad;
    s.problem.claims = ARMQ_CLAIM_NONFINITE_ROW_NAN;
    intervals_of(&s, 0, y);
    assert_int_equal(y[0].kind, REF_ANY); /* no slot reads x, yet the row is not finite */
}

static void invalid_ids(void **state) {
    (void)state;
    static const int32_t bad[] = {3, -2, INT32_MAX, INT32_MIN, -1};
    for (int i = 0; i < 5; i++) {
        const int32_t ids[2] = {1, bad[i]};
        const float weights[2] = {1, 1};
        setup s;
        ref_interval y[2];
        set_up_model(&s, "vllm-w8a8", ARMQ_DTYPE_F32, 2, ids, weights);
        intervals_of(&s, 0, y);
        assert_int_equal(y[0].kind, REF_ANY);
    }
}

/* --- Second quantisation -------------------------------------------------------------------------
 */

/* x = 0 and biases: gate 10 (clamped to 7), up such that (up + 1) is in the proportion 127 : t.
 * Then t is exact, whatever the sigmoid, and a t of 2.5 leaves both integers open. */
static void flip_problem(setup *s, const char *dialect, armq_dtype in, const void *x,
                         const float b13[4]) {
    static const int8_t w13[4][1] = {{1}, {1}, {1}, {1}}, w2[1][2] = {{1, 10}};
    static const float s13[4] = {1, 1, 1, 1}, s2[1] = {1}, one[1] = {1};
    static const int32_t ids[1] = {0};
    set_up(s, dialect, in, ARMQ_ACT_SWIGLUOAI, 1, 2, 1, 1);
    s->problem.x = x;
    s->w13.w = w13;
    s->w13.scales = s13;
    s->w2.w = w2;
    s->w2.scales = s2;
    s->problem.topk_ids = ids;
    s->problem.topk_weights = one;
    use_bias(s, b13, NULL);
}

static void tie_flips(void **state) {
    (void)state;
    const float zero = 0;
    const double unit = 6.999953128303318 / 16; /* scale: amax / 127 */
    static const struct {
        float up; /* (up + 1) * 16 = t */
        int64_t flips;
        double q_lo, q_hi;
    } cases[] = {
        {-0.84375f, 1, 2, 3},            /* 2.5 */
        {-0.84375f + 0x1p-12f, 0, 3, 3}, /* 2.5039 */
        {-0.84375f - 0x1p-12f, 0, 2, 2}, /* 2.4961 */
        {-1 - 0.84375f / 8, 0, -2, -2},  /* -1.6875 */
        {-1.03125f, 1, -1, 0},           /* -0.5 */
        {-1, 0, 0, 0},                   /* surely 0 */
        {2.96875f, 1, 63, 64},           /* 63.5 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const float b13[4] = {10, 6.9375f, 10, cases[i].up}; /* gate, up, gate, up */
        setup s;
        ref_interval y;
        flip_problem(&s, "vllm-w8a8", ARMQ_DTYPE_F32, &zero, b13);
        assert_int_equal(intervals_of(&s, 0, &y), cases[i].flips);
        double lo = unit * (127 + 10 * cases[i].q_lo), hi = unit * (127 + 10 * cases[i].q_hi);
        assert_true(near(y.lo, lo) && near(y.hi, hi));
        assert_true(accepts(&y, ARMQ_DTYPE_F32, lo) && accepts(&y, ARMQ_DTYPE_F32, hi));
        assert_false(accepts(&y, ARMQ_DTYPE_F32, lo - unit));
        assert_false(accepts(&y, ARMQ_DTYPE_F32, hi + unit));
    }
}

/* The intermediate in bf16 and certain: v = (8 * 7, 4 * 7), of which t = 63.5
 * is a tie. What the dialect's formula gives in f32 is right, and nothing else. */
static void certain_values_do_not_flip(void **state) {
    (void)state;
    const uint16_t zero = 0;
    const float b13[4] = {10, 7, 10, 3};
    setup s;
    ref_interval y, act[2], centered[2], scale;
    flip_problem(&s, "vllm-w8a8", ARMQ_DTYPE_BF16, &zero, b13);
    assert_int_equal(intervals_of(&s, 0, &y), 0);
    float inverse = 127.0f / 56.0f;
    double q = (double)rintf(28.0f * inverse), wanted = (127 + 10 * q) * 56 / 127;
    assert_true(near(y.mid, wanted) && y.hi - y.lo < 3.01 * 0x1p-24 * 2 * y.mid);
    ref_problem problem = s.problem;
    problem.desc = &s.desc;
    problem.weights[0] = &s.w13;
    problem.weights[1] = &s.w2;
    ref_context *context = ref_open(&problem);
    assert_true(ref_moe_second_stage(context, 0, 0, act, centered, &scale));
    assert_true(act[0].lo == 56 && act[0].hi == 56 && act[1].lo == 28 && act[1].hi == 28);
    assert_true(centered[1].lo == q && centered[1].hi == q && centered[0].lo == 127);
    assert_true(scale.lo == (double)(56.0f / 127.0f) && scale.hi == scale.lo);
    ref_close(context);
}

/* act / 56 = 1 - 2^-9 is a tie of bf16 between 55.75 and 56. As the largest of its row it leaves
 * two scales open; each has its own integers, and no mixture of them comes out. */
static void two_possible_scales(void **state) {
    (void)state;
    const uint16_t zero = 0;
    const double sigmoid = 6.999953128303318 / 7;
    const float up = (float)(55.875 / 7 / sigmoid - 1);
    const float b13[4] = {10, up, 10, 1};
    setup s;
    ref_interval y;
    flip_problem(&s, "vllm-w8a8", ARMQ_DTYPE_BF16, &zero, b13);
    assert_true(intervals_of(&s, 0, &y) >= 1);
    double small = (127 + 10 * rint(14 * 127 / 55.75)) * 55.75 / 127;
    double large = (127 + 10 * rint(14 * 127 / 56.0)) * 56.0 / 127;
    assert_true(near(y.lo, fmin(small, large)) && near(y.hi, fmax(small, large)));
}

/* --- Sums over slots ----------------------------------------------------------------------------
 */

/* x = 0, so that slot values are the w2 biases of their experts, exactly. */
static void sum_problem(setup *s, armq_dtype in, int64_t top_k, const float *b2, const int32_t *ids,
                        const float *weights) {
    static const float x[1] = {0}, scales[24] = {0};
    static const int8_t w[64] = {0};
    set_up(s, "vllm-w8a8", in, ARMQ_ACT_SILU, 1, 1, 4, top_k);
    s->problem.x = x;
    s->w13.w = s->w2.w = w;
    s->w13.scales = s->w2.scales = scales;
    s->problem.topk_ids = ids;
    s->problem.topk_weights = weights;
    use_bias(s, NULL, b2);
}

/* fma(a, a, -c) keeps 2^-24, separate operations lose it: both are right. */
static void fused_or_not(void **state) {
    (void)state;
    const float a = 1 + 0x1p-12f, b2[4] = {a, -1 - 0x1p-11f, 0, 0}, weights[2] = {1, a};
    const int32_t ids[2] = {1, 0};
    setup s;
    ref_interval y;
    sum_problem(&s, ARMQ_DTYPE_F32, 2, b2, ids, weights);
    intervals_of(&s, 0, &y);
    assert_true(accepts(&y, ARMQ_DTYPE_F32, 0) && accepts(&y, ARMQ_DTYPE_F32, 0x1p-24));
    assert_false(accepts(&y, ARMQ_DTYPE_F32, 0x1p-22) || accepts(&y, ARMQ_DTYPE_F32, -0x1p-23));
}

/* 256 + 1 = 256 in bf16: ascending experts 256, 1, 1 give 256, the slots' own order 258. */
static void order_and_rounding_of_the_sum(void **state) {
    (void)state;
    const float b2[4] = {256, 1, 1, 0}, weights[3] = {1, 1, 1};
    const int32_t ids[3] = {2, 1, 0};
    setup s;
    ref_interval y;
    sum_problem(&s, ARMQ_DTYPE_BF16, 3, b2, ids, weights);
    s.desc.dialect.combine_round = ARMQ_DTYPE_BF16;
    intervals_of(&s, 0, &y);
    assert_true(y.lo == 258 && y.hi == 258);
    s.desc.dialect.combine_order = ARMQ_COMBINE_EXPERT_ORDER;
    intervals_of(&s, 0, &y);
    assert_true(y.lo == 256 && y.hi == 256);
    s.desc.dialect.combine_round = ARMQ_DTYPE_F32;
    intervals_of(&s, 0, &y);
    assert_true(y.lo == 258 && y.hi == 258);
}

/* The weight 1 + 2^-9 and the value 1 + 2^-9: each becomes 1 where it is rounded to bf16. */
static void declared_roundings(void **state) {
    (void)state;
    const float odd = 1 + 0x1p-9f, b2[4] = {odd, 0, 0, 0}, weights[1] = {odd};
    const int32_t ids[1] = {0};
    setup s;
    ref_interval y;
    sum_problem(&s, ARMQ_DTYPE_F32, 1, b2, ids, weights);
    intervals_of(&s, 0, &y);
    assert_true(y.lo == (double)odd * (double)odd && y.hi == y.lo);
    s.desc.dialect.y2_round = ARMQ_DTYPE_BF16;
    intervals_of(&s, 0, &y);
    assert_true(y.lo == (double)odd && y.hi == y.lo);
    s.desc.dialect.combine_round = ARMQ_DTYPE_BF16;
    intervals_of(&s, 0, &y);
    assert_true(y.lo == 1 && y.hi == 1);
}

static void bad_router_weights(void **state) {
    (void)state;
    const float b2[4] = {1, 0, 0, 0}, nan[1] = {NAN}, inf[1] = {INFINITY};
    const int32_t one[1] = {0}, zero[1] = {1};
    setup s;
    ref_interval y;
    sum_problem(&s, ARMQ_DTYPE_F32, 1, b2, one, nan);
    intervals_of(&s, 0, &y);
    assert_int_equal(y.kind, REF_NAN);
    sum_problem(&s, ARMQ_DTYPE_F32, 1, b2, one, inf);
    intervals_of(&s, 0, &y);
    assert_true(y.kind == REF_VALUE && y.lo == (double)INFINITY);
    sum_problem(&s, ARMQ_DTYPE_F32, 1, b2, zero, inf); /* 0 * inf */
    intervals_of(&s, 0, &y);
    assert_int_equal(y.kind, REF_NAN);
}

/* --- NaN, infinity, overflow ---------------------------------------------------------------------
 */

static void rows_that_are_not_finite(void **state) {
    (void)state;
    const float x[6] = {127, NAN, 127, -64, INFINITY, 0};
    const int32_t ids[3] = {1, 1, 2};
    const float weights[3] = {1, 1, 1};
    for (int claimed = 0; claimed < 2; claimed++) {
        setup s;
        ref_interval y[2];
        set_up_model(&s, "vllm-w8a8", ARMQ_DTYPE_F32, 1, ids, weights);
        s.problem.x = x;
        s.problem.claims = claimed ? ARMQ_CLAIM_NONFINITE_ROW_NAN : 0;
        for (int token = 0; token < 3; token++) {
            intervals_of(&s, token, y);
            ref_kind wanted = token == 1 ? REF_VALUE : claimed ? REF_NAN : REF_ANY;
            assert_true(y[0].kind == wanted && y[1].kind == wanted);
        }
    }
}

/* gate = 300, up = 300: 90000 is infinite where the intermediate is f16, and nowhere else. */
static void f16_intermediate_overflows(void **state) {
    (void)state;
    const uint16_t zero = 0;
    const float b13[4] = {300, 1, 300, 1}; /* halves: gate 300, 1; up 300, 1 */
    for (int claimed = 0; claimed < 2; claimed++) {
        setup s;
        ref_interval y;
        flip_problem(&s, "vllm-w8a8", ARMQ_DTYPE_F16, &zero, b13);
        s.desc.dialect.activation = ARMQ_ACT_SILU;
        s.desc.dialect.gate_layout = ARMQ_GATE_HALVES;
        s.problem.claims = claimed ? ARMQ_CLAIM_NONFINITE_ROW_NAN : 0;
        intervals_of(&s, 0, &y);
        assert_int_equal(y.kind, claimed ? REF_NAN : REF_ANY);
        s.desc.dialect.intermediate = ARMQ_DTYPE_F32;
        intervals_of(&s, 0, &y);
        assert_true(y.kind == REF_VALUE && near(y.mid, 90000));
        assert_true(accepts(&y, ARMQ_DTYPE_F16, (double)INFINITY));
    }
}

/* --- The baseline --------------------------------------------------------------------------------
 */

/* x = 1.0039 in f32 becomes 1, silu(1) * 3 = 2.19318 becomes 2.1875, times 2. */
static void bf16_by_hand(void **state) {
    (void)state;
    const float x = 1 + 0x1p-8f, weight = 0.5f;
    const uint16_t w13[2] = {0x3f80, 0x4040}, w2[1] = {0x4000};
    const int32_t id = 0;
    setup s;
    ref_interval y;
    set_up(&s, "bf16", ARMQ_DTYPE_F32, ARMQ_ACT_SILU, 1, 1, 1, 1);
    s.problem.x = &x;
    s.w13.w = w13;
    s.w2.w = w2;
    s.problem.topk_ids = &id;
    s.problem.topk_weights = &weight;
    assert_int_equal(intervals_of(&s, 0, &y), 0);
    assert_true(y.lo == 2.1875 && y.hi == 2.1875);
}

/* --- Columns, rows, refusals ---------------------------------------------------------------------
 */

static bool same(const ref_interval *a, const ref_interval *b) {
    return a->lo == b->lo && a->mid == b->mid && a->hi == b->hi && a->kind == b->kind;
}

static void columns_and_rows(void **state) {
    (void)state;
    const float x[6] = {127, -64, 99, 127, 64, 99};
    const int32_t ids[2] = {1, 2};
    const float weights[2] = {1, 1};
    setup s;
    set_up_model(&s, "vllm-w8a8", ARMQ_DTYPE_F32, 1, ids, weights);
    s.problem.x = x;
    s.problem.x_stride = 3;
    ref_problem problem = s.problem;
    problem.desc = &s.desc;
    problem.weights[0] = &s.w13;
    problem.weights[1] = &s.w2;
    ref_context *context = ref_open(&problem);
    assert_non_null(context);
    ref_interval all[2], one, act[2], centered[2], scale;
    const int64_t second = 1;
    for (int64_t row = 1; row >= 0; row--) {
        ref_row_intervals(context, row, NULL, 2, all);
        ref_row_intervals(context, row, &second, 1, &one);
        assert_true(same(&one, &all[1]));
        double exact = ref_unquantized(context, row, 1);
        assert_true(fabs(exact - all[1].mid) < 0.02 * fabs(exact) && exact != all[1].mid);
        ref_row_intervals(context, row, &second, 1, &one);
        assert_true(same(&one, &all[1]));
        assert_true(ref_moe_second_stage(context, row, 0, act, centered, &scale));
        assert_false(ref_moe_second_stage(context, row, 1, act, centered, &scale));
        ref_row_intervals(context, row, &second, 1, &one);
        assert_true(same(&one, &all[1]));
    }
    assert_true(near(all[0].mid, model_y(1, 0)));
    /* Both kinds of answer keep a row, and neither takes the other's. */
    double exact = ref_unquantized(context, 0, 1);
    ref_row_intervals(context, 1, &second, 1, &one);
    assert_true(ref_unquantized(context, 0, 1) == exact && ref_unquantized(context, 1, 1) != exact);
    ref_row_intervals(context, 0, &second, 1, &one);
    assert_true(ref_unquantized(context, 1, 1) != exact);
    ref_row_intervals(context, 0, &second, 1, &one);
    assert_true(same(&one, &all[1]));
    ref_close(context);
}

static void no_intermediate_and_no_slots(void **state) {
    (void)state;
    const int32_t id = 1;
    const float one = 1, b2[6] = {1, 2, 3, 4, 5, 6};
    setup s;
    ref_interval y[2];
    set_up_model(&s, "vllm-w8a8", ARMQ_DTYPE_F32, 1, &id, &one);
    s.desc.intermediate = 0;
    use_bias(&s, NULL, b2);
    intervals_of(&s, 0, y);
    assert_true(y[0].lo == 3 && y[0].hi == 3 && y[1].lo == 4);
    s.desc.top_k = 0;
    s.problem.topk_ids = NULL;
    intervals_of(&s, 0, y);
    assert_true(y[0].kind == REF_VALUE && y[0].lo == 0 && y[0].hi == 0);
}

static void what_the_reference_does_not_do(void **state) {
    (void)state;
    setup s;
    set_up(&s, "vllm-w8a8", ARMQ_DTYPE_F32, ARMQ_ACT_SILU, 2, 2, 1, 1);
    s.desc.format = ARMQ_WEIGHT_S4_LOW;
    assert_null(ref_open(&s.problem));
    s.desc.format = ARMQ_WEIGHT_S8;
    s.desc.dialect.quant = ARMQ_QUANT_NONE;
    assert_null(ref_open(&s.problem));
    set_up(&s, "bf16", ARMQ_DTYPE_F32, ARMQ_ACT_SILU, 2, 2, 1, 1);
    s.desc.dialect.intermediate = ARMQ_DTYPE_F32;
    assert_null(ref_open(&s.problem));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_expert_by_hand),
        cmocka_unit_test(expert_repeated_in_a_token),
        cmocka_unit_test(router_weights),
        cmocka_unit_test(router_weight_left_out),
        cmocka_unit_test(router_weight_on_the_input),
        cmocka_unit_test(interleaved_layout),
        cmocka_unit_test(zero_rows),
        cmocka_unit_test(skipped_slots),
        cmocka_unit_test(invalid_ids),
        cmocka_unit_test(tie_flips),
        cmocka_unit_test(certain_values_do_not_flip),
        cmocka_unit_test(two_possible_scales),
        cmocka_unit_test(fused_or_not),
        cmocka_unit_test(order_and_rounding_of_the_sum),
        cmocka_unit_test(declared_roundings),
        cmocka_unit_test(bad_router_weights),
        cmocka_unit_test(rows_that_are_not_finite),
        cmocka_unit_test(f16_intermediate_overflows),
        cmocka_unit_test(bf16_by_hand),
        cmocka_unit_test(columns_and_rows),
        cmocka_unit_test(no_intermediate_and_no_slots),
        cmocka_unit_test(what_the_reference_does_not_do),
    };
    return cmocka_run_group_tests_name("moe", tests, NULL, NULL);
}
