/* SPDX-License-Identifier: Apache-2.0 */
/* The naive provider's activation and mixture of experts against values worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/providers.h"
#include "kernels/api/dialects.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

/* --- A problem with hidden = 2, intermediate = 2, f32 throughout, up to 3 tokens and slots. ------
 *
 * Every row of x is [127, 0], so that its scale is 1 and q = x. Each expert has gate rows [1, 0],
 * [2, 0] and up rows [3, 0], [4, 0] with a scale of 1/127, and an identity for w2 with scale e + 1:
 *   h = [silu(1)*3, silu(2)*4] = [2.1931757, 7.0463766], amax/127 = 0.055483279, q = [40, 127],
 *   y = (e + 1) * [2.2193312, 7.0463766]; 40 is round(39.53), so 2.1931757 would tell that h was
 * not quantised again. */
enum { HIDDEN = 2, INTERMEDIATE = 2, EXPERTS = 4, MOST = 3 };

static const float dense_0 = 2.2193312f, dense_1 = 7.0463766f;

typedef struct {
    armq_desc d;
    float x[MOST * HIDDEN];
    int8_t w13[EXPERTS][2 * INTERMEDIATE][HIDDEN], w2[EXPERTS][HIDDEN][INTERMEDIATE];
    uint16_t w13_bf16[EXPERTS][2 * INTERMEDIATE][HIDDEN], w2_bf16[EXPERTS][HIDDEN][INTERMEDIATE];
    float w13_scales[EXPERTS][2 * INTERMEDIATE], w2_scales[EXPERTS][HIDDEN];
    float w13_bias[EXPERTS][2 * INTERMEDIATE], w2_bias[EXPERTS][HIDDEN];
    int32_t ids[MOST * MOST];
    float weights[MOST * MOST];
    float y[MOST * HIDDEN];
} problem;

static problem make(const char *dialect, armq_op op, armq_activation activation, int64_t tokens,
                    int64_t top_k) {
    problem p = {0};
    p.d = (armq_desc){
        .size = sizeof p.d,
        .abi = ARMQ_ABI_VERSION,
        .op = op,
        .tokens = tokens,
        .hidden = HIDDEN,
        .intermediate = INTERMEDIATE,
        .experts = EXPERTS,
        .top_k = top_k,
        .in = ARMQ_DTYPE_F32,
        .out = ARMQ_DTYPE_F32,
        .scale_dtype = op == ARMQ_OP_MOE_BF16 ? ARMQ_DTYPE_NONE : ARMQ_DTYPE_F32,
        .format = op == ARMQ_OP_MOE_BF16 ? ARMQ_WEIGHT_BF16 : ARMQ_WEIGHT_S8,
        .max_threads = 1,
    };
    assert_true(armq_dialect_preset(dialect, op, p.d.in, 0, activation, &p.d.dialect, NULL));
    for (int i = 0; i < MOST; i++)
        p.x[i * HIDDEN] = 127.0f;
    for (int e = 0; e < EXPERTS; e++) {
        for (int n = 0; n < 2 * INTERMEDIATE; n++) {
            p.w13[e][n][0] = (int8_t)(n + 1);
            p.w13_scales[e][n] = 1.0f / 127.0f;
        }
        for (int n = 0; n < HIDDEN; n++) {
            p.w2[e][n][n] = 1;
            p.w2_scales[e][n] = (float)(e + 1);
        }
    }
    for (int i = 0; i < MOST * HIDDEN; i++)
        p.y[i] = -77.0f;
    return p;
}

static problem make_w8a8(int64_t tokens, int64_t top_k) {
    return make("vllm-w8a8", ARMQ_OP_MOE_W8A8, ARMQ_ACT_SILU, tokens, top_k);
}

static void route(problem *p, int64_t at, int32_t id, float weight) {
    p->ids[at] = id;
    p->weights[at] = weight;
}

static armq_weights weights_of(const problem *p, int which) {
    const armq_desc *d = &p->d;
    bool bf16 = d->op == ARMQ_OP_MOE_BF16;
    armq_weights w = {.size = sizeof w};
    if (which == 0) {
        w.w = bf16 ? (const void *)p->w13_bf16 : p->w13;
        w.scales = bf16 ? NULL : p->w13_scales;
        w.bias = d->uses & ARMQ_USES_W13_BIAS ? p->w13_bias : NULL;
    } else {
        w.w = bf16 ? (const void *)p->w2_bf16 : p->w2;
        w.scales = bf16 ? NULL : p->w2_scales;
        w.bias = d->uses & ARMQ_USES_W2_BIAS ? p->w2_bias : NULL;
    }
    return w;
}

static armq_status run(problem *p) {
    armq_support support = {.size = sizeof support};
    armq_args args = {.size = sizeof args, .x = p->x, .y = p->y, .topk_ids = p->ids};
    void *packed[2];
    if (naive_provider.query(&p->d, &support) != ARMQ_OK)
        fail_msg("refused: %s", support.reason);
    if (!(p->d.uses & ARMQ_USES_NO_ROUTER_WEIGHT))
        args.topk_weights = p->weights;
    for (int which = 0; which < 2; which++) {
        armq_weights w = weights_of(p, which);
        packed[which] = malloc(support.packed_bytes[which]);
        assert_int_equal(naive_provider.pack(&p->d, which, 0, p->d.experts, &w, packed[which]),
                         ARMQ_OK);
        args.packed[which] = packed[which];
    }
    args.workspace = malloc(support.workspace_bytes);
    assert_non_null(args.workspace);
    memset(args.workspace, 0xff, support.workspace_bytes);
    armq_status status = naive_provider.run(&p->d, NULL, &args);
    free(args.workspace);
    free(packed[0]);
    free(packed[1]);
    return status;
}

static void close_to(float got, double wanted) {
    double distance = (double)got - wanted, size = wanted < 0 ? -wanted : wanted;
    if (!(distance <= 1e-6 * size && -distance <= 1e-6 * size))
        fail_msg("%.9g, wanted %.9g", (double)got, wanted);
}

static void row_is(const problem *p, int64_t row, double y0, double y1) {
    close_to(p->y[row * HIDDEN], y0);
    close_to(p->y[row * HIDDEN + 1], y1);
}

/* --- Activation ---------------------------------------------------------------------------------
 */

static void activate(const char *dialect, armq_activation activation, armq_dtype dtype,
                     const float *x, int64_t intermediate, float *y) {
    armq_desc d = {
        .size = sizeof d,
        .abi = ARMQ_ABI_VERSION,
        .op = ARMQ_OP_ACTIVATION,
        .tokens = 1,
        .intermediate = intermediate,
        .in = dtype,
        .out = dtype,
        .max_threads = 1,
    };
    uint32_t in[8], out[8]; /* room for any dtype, aligned for f32 */
    assert_true(armq_dialect_preset(dialect, d.op, d.in, 0, activation, &d.dialect, NULL));
    for (int64_t i = 0; i < 2 * intermediate; i++)
        armq_store(dtype, in, i, (double)x[i]);
    armq_args args = {.size = sizeof args, .x = in, .y = out};
    assert_int_equal(naive_provider.run(&d, NULL, &args), ARMQ_OK);
    for (int64_t i = 0; i < intermediate; i++)
        y[i] = (float)armq_load(dtype, out, i);
}

static void test_layouts(void **state) {
    (void)state;
    const float x[4] = {1, 2, 3, 4};
    float y[2];
    activate("vllm-w8a8", ARMQ_ACT_SILU, ARMQ_DTYPE_F32, x, 2, y); /* halves */
    close_to(y[0], 2.19317574);
    close_to(y[1], 7.04637662);
    const float pairs[4] = {1, 3, 2, 4};
    activate("vllm-w8a8", ARMQ_ACT_SWIGLUOAI, ARMQ_DTYPE_F32, pairs, 2, y);
    close_to(y[0], 3.38318306); /* 4 * 1 / (1 + exp(-1.702)) */
    close_to(y[1], 9.67829312); /* 5 * 2 / (1 + exp(-3.404)) */
}

static void test_clamps(void **state) {
    (void)state;
    const float x[8] = {7, 7, 10, 9, 3, -10, -100, 7};
    float y[4];
    activate("vllm-w8a8", ARMQ_ACT_SWIGLUOAI, ARMQ_DTYPE_F32, x, 4, y);
    close_to(y[0], 55.9996254);
    assert_true(y[1] == y[0]);
    close_to(y[2], -6 * 3 * 0.99397623); /* up is clamped from below: -7 + 1 */
    assert_true(y[3] <= 0.0f && y[3] > -1e-6f);
}

static void test_gelu(void **state) {
    (void)state;
    const float x[4] = {1, -1, 1, 2};
    float y[2];
    activate("vllm-w8a8", ARMQ_ACT_GELU, ARMQ_DTYPE_F32, x, 2, y);
    close_to(y[0], 0.841344746);
    close_to(y[1], -0.317310508);
    activate("vllm-w8a8", ARMQ_ACT_GELU_TANH, ARMQ_DTYPE_F32, x, 2, y);
    close_to(y[0], 0.841191991);
    close_to(y[1], -0.317616018);
}

/* Rounded to bf16 after every step; one rounding at the end would give 10.4375 and 4.34375.
 * gate 3, up 2.5: 5.106 -> 5.09375; its sigmoid 0.99390 -> 0.9921875; times 3 = 2.9765625 (a tie)
 * -> 2.96875; times 3.5 = 10.390625 -> 10.375. gate 2, up 1.25: 3.404 -> 3.40625; 0.96790 ->
 * 0.96875; 1.9375; times 2.25 = 4.359375 (a tie). */
static void test_swigluoai_op_by_op(void **state) {
    (void)state;
    const float x[4] = {3.0f, 2.0f, 2.5f, 1.25f};
    float y[2];
    activate("vllm-w4a8", ARMQ_ACT_SWIGLUOAI, ARMQ_DTYPE_BF16, x, 2, y);
    assert_true(y[0] == 10.375f);
    assert_true(y[1] == 4.375f);
}

/* --- Mixture of experts -------------------------------------------------------------------------
 */

static void test_dense_expert(void **state) {
    (void)state;
    problem p = make_w8a8(3, 1), twice = make_w8a8(3, 2);
    const int32_t experts[3] = {1, 1, 2};
    for (int i = 0; i < 3; i++) {
        route(&p, i, experts[i], 1.0f);
        for (int slot = 0; slot < 2; slot++)
            route(&twice, 2 * i + slot, experts[i], 0.5f);
    }
    assert_int_equal(run(&p), ARMQ_OK);
    assert_int_equal(run(&twice), ARMQ_OK);
    row_is(&p, 0, 2 * (double)dense_0, 2 * (double)dense_1);
    row_is(&p, 2, 3 * (double)dense_0, 3 * (double)dense_1);
    assert_memory_equal(p.y, twice.y, sizeof p.y);
}

static void test_router_weights(void **state) {
    (void)state;
    problem p = make_w8a8(2, 3);
    for (int i = 0; i < 3; i++)
        route(&p, i, i, 0.5f / (float)(1 << i)); /* .5*1 + .25*2 + .125*3 */
    for (int i = 0; i < 3; i++)
        route(&p, 3 + i, 3 - i, 8.0f * (float)(1 << i)); /* 8*4 + 16*3 + 32*2 */
    assert_int_equal(run(&p), ARMQ_OK);
    row_is(&p, 0, 1.375 * (double)dense_0, 1.375 * (double)dense_1);
    row_is(&p, 1, 144 * (double)dense_0, 144 * (double)dense_1);
}

static void test_router_weight_elsewhere(void **state) {
    (void)state;
    problem none = make_w8a8(1, 1), input = make_w8a8(1, 1);
    route(&none, 0, 0, 0.5f);
    route(&input, 0, 0, 0.5f);
    none.d.uses = ARMQ_USES_NO_ROUTER_WEIGHT;
    input.d.uses = ARMQ_USES_WEIGHT_ON_INPUT;
    assert_int_equal(run(&none), ARMQ_OK);
    assert_int_equal(run(&input), ARMQ_OK);
    row_is(&none, 0, (double)dense_0, (double)dense_1);
    /* h = [silu(.5)*1.5, silu(1)*2] = [0.46684, 1.46211717]; q = [41, 127] (40.55). */
    row_is(&input, 0, 41 * 1.46211716 / 127, 1.46211716);
}

static void test_biases(void **state) {
    (void)state;
    problem p = make_w8a8(1, 1);
    p.d.uses = ARMQ_USES_W13_BIAS | ARMQ_USES_W2_BIAS;
    p.d.bias_dtype = ARMQ_DTYPE_F32;
    memset(p.x, 0, sizeof p.x);
    const float w13[4] = {1, 2, 3, 4}, w2[2] = {1000, -1000};
    memcpy(p.w13_bias[3], w13, sizeof w13);
    memcpy(p.w2_bias[3], w2, sizeof w2);
    route(&p, 0, 3, 0.5f);
    assert_int_equal(run(&p), ARMQ_OK);
    row_is(&p, 0, 500 + 2 * (double)dense_0, -500 + 2 * (double)dense_1);
    p.d.uses = ARMQ_USES_W2_BIAS; /* zeros all the way: the bias and nothing else */
    assert_int_equal(run(&p), ARMQ_OK);
    assert_true(p.y[0] == 500.0f && p.y[1] == -500.0f);
}

static void test_zero_row(void **state) {
    (void)state;
    problem p = make_w8a8(2, 1);
    p.x[0] = 0.0f;
    p.x[1] = -0.0f;
    route(&p, 0, 0, 1.0f);
    route(&p, 1, 0, 1.0f);
    assert_int_equal(run(&p), ARMQ_OK);
    assert_true(p.y[0] == 0.0f && p.y[1] == 0.0f);
    row_is(&p, 1, (double)dense_0, (double)dense_1);
}

static void test_skipped_slots(void **state) {
    (void)state;
    problem p = make_w8a8(3, 2);
    p.d.uses = ARMQ_USES_SKIP_IDS;
    const int32_t ids[6] = {-1, -1, -1, 1, 0, -1};
    for (int i = 0; i < 6; i++)
        route(&p, i, ids[i], ids[i] < 0 ? (float)__builtin_inf() : 0.5f);
    assert_int_equal(run(&p), ARMQ_OK);
    assert_true(p.y[0] == 0.0f && p.y[1] == 0.0f);
    row_is(&p, 1, (double)dense_0, (double)dense_1);
    row_is(&p, 2, 0.5 * (double)dense_0, 0.5 * (double)dense_1);
}

static void test_invalid_ids(void **state) {
    (void)state;
    const struct {
        int32_t id;
        uint32_t uses;
    } table[] = {{-1, 0},
                 {EXPERTS, 0},
                 {INT32_MAX, 0},
                 {-2, ARMQ_USES_SKIP_IDS},
                 {EXPERTS, ARMQ_USES_SKIP_IDS}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        problem p = make_w8a8(3, 2);
        p.d.uses = table[i].uses;
        route(&p, 5, table[i].id, 1.0f);
        assert_int_equal(run(&p), ARMQ_INVALID_ARGUMENT);
        for (int j = 0; j < 3 * HIDDEN; j++)
            assert_true(p.y[j] == -77.0f);
    }
}

static void test_no_slots_and_no_tokens(void **state) {
    (void)state;
    problem p = make_w8a8(1, 0);
    assert_int_equal(run(&p), ARMQ_OK);
    assert_true(p.y[0] == 0.0f && p.y[1] == 0.0f && p.y[2] == -77.0f);
    p = make_w8a8(0, 2);
    assert_int_equal(run(&p), ARMQ_OK);
    assert_true(p.y[0] == -77.0f);
}

static void test_nan_stays_in_its_row(void **state) {
    (void)state;
    problem p = make_w8a8(2, 1);
    p.x[1] = (float)__builtin_nan("");
    route(&p, 0, 0, 1.0f);
    route(&p, 1, 0, 1.0f);
    assert_int_equal(run(&p), ARMQ_OK);
    assert_true(p.y[0] != p.y[0] && p.y[1] != p.y[1]);
    row_is(&p, 1, (double)dense_0, (double)dense_1);
}

/* --- Roundings of the dialect, seen through a w2 of zeros and biases as results. ----------------
 */

static problem make_constants(armq_dtype y2_round, armq_dtype combine_round,
                              armq_combine_order order, const float constants[EXPERTS]) {
    problem p = make_w8a8(1, 3);
    p.d.uses = ARMQ_USES_W2_BIAS;
    p.d.bias_dtype = ARMQ_DTYPE_F32;
    p.d.dialect.y2_round = y2_round;
    p.d.dialect.combine_round = combine_round;
    p.d.dialect.combine_order = order;
    memset(p.w2, 0, sizeof p.w2);
    for (int e = 0; e < EXPERTS; e++)
        p.w2_bias[e][0] = p.w2_bias[e][1] = constants[e];
    return p;
}

static void test_order_of_the_sum(void **state) {
    (void)state;
    const float constants[EXPERTS] = {1, 1, 256, 0};
    const armq_combine_order orders[2] = {ARMQ_COMBINE_SLOT_ORDER, ARMQ_COMBINE_EXPERT_ORDER};
    const float wanted[2] = {256, 258}; /* 257 is a tie in bf16 */
    for (int i = 0; i < 2; i++) {
        problem p = make_constants(ARMQ_DTYPE_F32, ARMQ_DTYPE_BF16, orders[i], constants);
        const int32_t ids[3] = {2, 0, 1};
        for (int slot = 0; slot < 3; slot++)
            route(&p, slot, ids[slot], 1.0f);
        assert_int_equal(run(&p), ARMQ_OK);
        assert_true(p.y[0] == wanted[i] && p.y[1] == wanted[i]);
    }
}

/* The weight 1 + 2^-8 + 2^-12 is 1 + 2^-7 in bf16; 1.5 times that is 193.5 steps of 2^-7, a tie
 * that goes to 194; and -2^-9 before it changes nothing. 193 would be the result without either. */
static void test_roundings_of_a_term(void **state) {
    (void)state;
    const float constants[EXPERTS] = {-0x1p-9f, 1.5f, 0, 0};
    problem p = make_constants(ARMQ_DTYPE_F32, ARMQ_DTYPE_BF16, ARMQ_COMBINE_SLOT_ORDER, constants);
    route(&p, 0, 0, 1.0f);
    route(&p, 1, 1, 1.0f + 0x1p-8f + 0x1p-12f);
    route(&p, 2, 2, 1.0f);
    assert_int_equal(run(&p), ARMQ_OK);
    assert_true(p.y[0] == 194.0f / 128.0f);
}

static void test_roundings_of_stages(void **state) {
    (void)state;
    const float constants[EXPERTS] = {0, 1.0f + 0x1p-10f, 0, 0};
    problem p = make_constants(ARMQ_DTYPE_BF16, ARMQ_DTYPE_F32, ARMQ_COMBINE_SLOT_ORDER, constants);
    route(&p, 0, 1, 4.0f);
    assert_int_equal(run(&p), ARMQ_OK);
    assert_true(p.y[0] == 4.0f);
    p.d.dialect.y2_round = ARMQ_DTYPE_F32;
    assert_int_equal(run(&p), ARMQ_OK);
    assert_true(p.y[0] == 4.0f + 0x1p-8f);

    p = make_w8a8(1, 1); /* gate and up with 2^-7 of bias: 1.0078125 .. 4.0078125 */
    p.d.uses = ARMQ_USES_W13_BIAS;
    p.d.bias_dtype = ARMQ_DTYPE_F32;
    for (int n = 0; n < 2 * INTERMEDIATE; n++)
        p.w13_bias[0][n] = 0x1p-7f;
    p.d.dialect.y13_round = ARMQ_DTYPE_BF16; /* 2.0078125, 4.0078125 are ties: 2, 4 */
    route(&p, 0, 0, 1.0f);
    assert_int_equal(run(&p), ARMQ_OK);
    close_to(p.y[1], (double)dense_1);
    p.d.dialect.intermediate = ARMQ_DTYPE_BF16; /* 7.0463766 is 225.48 steps of 2^-5 */
    assert_int_equal(run(&p), ARMQ_OK);
    close_to(p.y[1], 225.0 / 32.0);
}

/* --- bf16, packing, refusals --------------------------------------------------------------------
 */

/* x = [1, 1 + 2^-9 -> 1]; gate = 2, up = 3: silu(2)*3 = 5.28478 -> 5.28125 in bf16; the second gate
 * is 0. w2 = [[1, 1], [2, 1]]. */
static void test_bf16(void **state) {
    (void)state;
    problem p = make("bf16", ARMQ_OP_MOE_BF16, ARMQ_ACT_SILU, 1, 2);
    const uint16_t one = 0x3f80, two = 0x4000;
    p.x[0] = 1.0f;
    p.x[1] = 1.0f + 0x1p-9f;
    p.w13_bf16[3][0][0] = p.w13_bf16[3][0][1] = p.w13_bf16[3][2][0] = one;
    p.w13_bf16[3][2][1] = p.w2_bf16[3][1][0] = two;
    p.w2_bf16[3][0][0] = p.w2_bf16[3][0][1] = p.w2_bf16[3][1][1] = one;
    route(&p, 0, 3, 0.5f);
    route(&p, 1, 2, 1.0f); /* all zeros */
    assert_int_equal(run(&p), ARMQ_OK);
    assert_true(p.y[0] == 0.5f * 5.28125f && p.y[1] == 5.28125f);
    p.x[0] = 3.4e38f; /* infinite in bf16, and so would be the sums of a weight of ones */
    for (int i = 0; i < HIDDEN * INTERMEDIATE; i++) {
        p.w13_bf16[3][i][0] = p.w13_bf16[3][i][1] = one;
        p.w2_bf16[3][i / 2][i % 2] = one;
    }
    assert_int_equal(run(&p), ARMQ_OK);
    assert_true(p.y[0] != p.y[0] && p.y[1] != p.y[1]);
}

static void test_pack_by_range(void **state) {
    (void)state;
    problem p = make_w8a8(1, 1);
    p.d.uses = ARMQ_USES_W13_BIAS;
    p.d.bias_dtype = ARMQ_DTYPE_F32;
    for (int e = 0; e < EXPERTS; e++)
        p.w13[e][0][0] = (int8_t)(10 + e), p.w13_bias[e][1] = (float)e;
    armq_support support = {.size = sizeof support};
    assert_int_equal(naive_provider.query(&p.d, &support), ARMQ_OK);
    size_t bytes = support.packed_bytes[0], stride = support.packed_expert_stride[0];
    assert_int_equal(bytes, EXPERTS * stride);
    uint8_t *whole = malloc(bytes), *parts = malloc(bytes);
    armq_weights w = weights_of(&p, 0), last = w;
    last.w = p.w13[1];
    last.scales = p.w13_scales[1];
    last.bias = p.w13_bias[1];
    assert_int_equal(naive_provider.pack(&p.d, 0, 0, EXPERTS, &w, whole), ARMQ_OK);
    assert_int_equal(naive_provider.pack(&p.d, 0, 1, EXPERTS, &last, parts + stride), ARMQ_OK);
    assert_int_equal(naive_provider.pack(&p.d, 0, 0, 1, &w, parts), ARMQ_OK);
    assert_memory_equal(whole, parts, bytes);
    free(whole);
    free(parts);
}

static void refused(const armq_desc *d, armq_status status, const char *word) {
    armq_support support = {.size = sizeof support};
    assert_int_equal(naive_provider.query(d, &support), status);
    if (!strstr(support.reason, word))
        fail_msg("'%s' does not say '%s'", support.reason, word);
}

static void test_refusals(void **state) {
    (void)state;
    problem p = make_w8a8(1, 1);
    armq_desc d = p.d;
    d.hidden = 132105;
    refused(&d, ARMQ_UNSUPPORTED, "hidden");
    d = p.d;
    d.intermediate = 132105;
    refused(&d, ARMQ_UNSUPPORTED, "intermediate");
    d = p.d;
    d.dialect.limit = 7.0f;
    refused(&d, ARMQ_INVALID_ARGUMENT, "limit");
    p = make("vllm-w8a8", ARMQ_OP_MOE_W8A8, ARMQ_ACT_SWIGLUOAI, 1, 1);
    p.d.dialect.limit = -1.0f;
    refused(&p.d, ARMQ_INVALID_ARGUMENT, "limit");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_clamps),
        cmocka_unit_test(test_gelu),
        cmocka_unit_test(test_swigluoai_op_by_op),
        cmocka_unit_test(test_dense_expert),
        cmocka_unit_test(test_router_weights),
        cmocka_unit_test(test_router_weight_elsewhere),
        cmocka_unit_test(test_biases),
        cmocka_unit_test(test_zero_row),
        cmocka_unit_test(test_skipped_slots),
        cmocka_unit_test(test_invalid_ids),
        cmocka_unit_test(test_no_slots_and_no_tokens),
        cmocka_unit_test(test_nan_stays_in_its_row),
        cmocka_unit_test(test_order_of_the_sum),
        cmocka_unit_test(test_roundings_of_a_term),
        cmocka_unit_test(test_roundings_of_stages),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_pack_by_range),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
