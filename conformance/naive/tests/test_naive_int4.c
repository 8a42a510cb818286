/* SPDX-License-Identifier: Apache-2.0 */
/* The naive provider's int4 ops against values worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "conformance/providers.h"
#include "kernels/api/describe.h"
#include "kernels/api/dialects.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

/* --- A problem of one or two weight tensors ------------------------------------------------------
 */

typedef struct {
    armq_desc d;
    armq_weights weights[2];
    const void *x;
    const int32_t *ids;
    const float *router;
} problem;

static void dialect(armq_desc *d, armq_activation activation) {
    const char *name = d->op == ARMQ_OP_GEMM_S8S4S32 ? "exact" : "vllm-w4a8";
    d->size = sizeof *d;
    d->abi = ARMQ_ABI_VERSION;
    d->max_threads = 1;
    if (d->op != ARMQ_OP_GEMM_S8S4S32)
        d->scale_dtype = d->group_size > 0 ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
    assert_true(
        armq_dialect_preset(name, d->op, d->in, d->group_size, activation, &d->dialect, NULL));
}

static problem gemm(int64_t n, int64_t k, int64_t group_size, armq_weight_format format,
                    const int8_t *x, const void *w) {
    problem p = {.d = {.op = ARMQ_OP_GEMM_S8S4S32,
                       .tokens = 1,
                       .n = n,
                       .k = k,
                       .in = ARMQ_DTYPE_S8,
                       .out = ARMQ_DTYPE_S32,
                       .group_size = group_size,
                       .format = format},
                 .weights = {{.size = sizeof(armq_weights), .w = w}},
                 .x = x};
    dialect(&p.d, ARMQ_ACT_NONE);
    return p;
}

static problem linear(int64_t tokens, int64_t n, int64_t k, int64_t group_size, const float *x,
                      const uint8_t *w, const void *scales) {
    problem p = {.d = {.op = ARMQ_OP_LINEAR_W4A8,
                       .tokens = tokens,
                       .n = n,
                       .k = k,
                       .in = ARMQ_DTYPE_F32,
                       .out = ARMQ_DTYPE_F32,
                       .group_size = group_size,
                       .format = ARMQ_WEIGHT_S4_LOW},
                 .weights = {{.size = sizeof(armq_weights), .w = w, .scales = scales}},
                 .x = x};
    dialect(&p.d, ARMQ_ACT_NONE);
    return p;
}

static void zero_points(problem *p, const int8_t *zeros) {
    p->d.uses |= ARMQ_USES_WEIGHT_ZERO;
    p->weights[0].zero_points = zeros;
}

static void run(const problem *p, void *y) {
    armq_support support = {.size = sizeof support};
    bool moe = armq_op_is_moe(p->d.op);
    armq_args args = {
        .size = sizeof args, .x = p->x, .y = y, .topk_ids = p->ids, .topk_weights = p->router};
    void *packed[2] = {NULL, NULL};
    if (naive_provider.query(&p->d, &support) != ARMQ_OK)
        fail_msg("refused: %s", support.reason);
    for (int which = 0; which < (moe ? 2 : 1); which++) {
        args.packed[which] = packed[which] = malloc(support.packed_bytes[which]);
        assert_int_equal(naive_provider.pack(&p->d, which, 0, moe ? p->d.experts : 1,
                                             &p->weights[which], packed[which]),
                         ARMQ_OK);
    }
    args.workspace = malloc(support.workspace_bytes + 1);
    assert_int_equal(naive_provider.run(&p->d, NULL, &args), ARMQ_OK);
    free(args.workspace);
    free(packed[0]);
    free(packed[1]);
}

/* --- Formats ------------------------------------------------------------------------------------
 */

/* Byte 0x21 holds w[0] = 1, w[1] = 2; all 16 codes of both formats, one at a time. */
static void test_codes(void **state) {
    (void)state;
    static const uint8_t low[8] = {0x21, 0x43, 0x65, 0x87, 0xa9, 0xcb, 0xed, 0x0f};
    static const int32_t low_values[16] = {1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1, 0};
    static const uint32_t words[2] = {0x76543210, 0xfedcba98};
    for (int i = 0; i < 16; i++) {
        int8_t x[16] = {0};
        int32_t y;
        x[i] = 1;
        problem p = gemm(1, 16, 0, ARMQ_WEIGHT_S4_LOW, x, low);
        run(&p, &y);
        assert_int_equal(y, low_values[i]);
        p = gemm(1, 16, 0, ARMQ_WEIGHT_S4_WORD8, x, words);
        run(&p, &y);
        assert_int_equal(y, i - 8);
    }
}

/* Rows of an odd number of weights start at a byte or a word, whatever pads the one before. */
static void test_odd_rows(void **state) {
    (void)state;
    static const int8_t x[3] = {1, 10, 100};
    static const uint8_t low[4] = {0x21, 0xf3, 0xfe, 0x7d};
    static const uint32_t words[2] = {0xfffff098, 0x12345cba};
    int32_t y[2];
    problem p = gemm(2, 3, 0, ARMQ_WEIGHT_S4_LOW, x, low);
    run(&p, y);
    assert_int_equal(y[0], 321);
    assert_int_equal(y[1], -2 - 10 - 300);
    p = gemm(2, 3, 0, ARMQ_WEIGHT_S4_WORD8, x, words);
    run(&p, y);
    assert_int_equal(y[0], 0 + 10 - 800);
    assert_int_equal(y[1], 2 + 30 + 400);
}

/* --- Groups -------------------------------------------------------------------------------------
 */

/* w of [2, 64]: 1 and 2 in the first row's groups of 32, -8 and 7 in the second's. */
static void fill_groups(uint8_t w[64]) {
    memset(w, 0x11, 16);
    memset(w + 16, 0x22, 16);
    memset(w + 32, 0x88, 16);
    memset(w + 48, 0x77, 16);
}

/* [n, k/g], group fastest; with zero points the true sums. */
static void test_group_accumulators(void **state) {
    (void)state;
    static const int8_t zeros[4] = {-8, 7, -8, 7};
    static const int32_t plain[4] = {96, 192, -768, 672}, shifted[4] = {864, -480, 0, 0};
    int8_t x[64];
    uint8_t w[64];
    int32_t y[4];
    memset(x, 3, sizeof x);
    fill_groups(w);
    problem p = gemm(2, 64, 32, ARMQ_WEIGHT_S4_LOW, x, w);
    run(&p, y);
    assert_memory_equal(y, plain, sizeof y);
    zero_points(&p, zeros);
    run(&p, y);
    assert_memory_equal(y, shifted, sizeof y);
    p.d.group_size = 0; /* zero points -8 and 7, one per channel */
    run(&p, y);
    assert_int_equal(y[0], 96 + 192 + 3 * 64 * 8);
    assert_int_equal(y[1], -768 + 672 - 3 * 64 * 7);
}

/* x = 255 throughout is exact: scale 1, zero point -128, q 127. */
static void test_group_scales(void **state) {
    (void)state;
    static const uint16_t scales[4] = {0x3f80, 0x4180, 0x3f80, 0x4180}; /* 1, 16 */
    static const float channels[2] = {1.0f, 16.0f};
    static const int8_t zeros[4] = {1, 0, 0, 6};
    float x[64], y[2];
    uint8_t w[64];
    for (int i = 0; i < 64; i++)
        x[i] = 255.0f;
    fill_groups(w);
    problem p = linear(1, 2, 64, 32, x, w, scales);
    run(&p, y);
    assert_true(y[0] == 269280.0f);
    assert_true(y[1] == 255.0f * 32.0f * (-8.0f + 7.0f * 16.0f));
    zero_points(&p, zeros);
    run(&p, y);
    assert_true(y[0] == 255.0f * 32.0f * 32.0f);
    assert_true(y[1] == 255.0f * 32.0f * (-8.0f + 16.0f));
    p = linear(1, 2, 64, 0, x, w, channels);
    run(&p, y);
    assert_true(y[0] == 255.0f * 32.0f * 3.0f);
    assert_true(y[1] == 255.0f * 32.0f * -16.0f);
}

/* Zero points 3 and -3 of rows with scale 1, against one-hot weights: y is x. */
static void test_zero_points_of_rows(void **state) {
    (void)state;
    static const float ones[2] = {1.0f, 1.0f};
    static const uint16_t group_ones[4] = {0x3f80, 0x3f80, 0x3f80, 0x3f80};
    static const int8_t zeros[2] = {-1, -1};
    float x[128] = {[0] = -131.0f, [1] = 124.0f, [64] = -125.0f, [65] = 130.0f}, y[4];
    uint8_t w[64] = {[0] = 0x01, [32] = 0x10}; /* w[0][0] and w[1][1] */
    for (int grouped = 0; grouped < 2; grouped++) {
        problem p =
            linear(2, 2, 64, grouped ? 32 : 0, x, w, grouped ? (const void *)group_ones : ones);
        run(&p, y);
        assert_true(y[0] == -131.0f && y[1] == 124.0f && y[2] == -125.0f && y[3] == 130.0f);
    }
    problem p = linear(2, 2, 64, 0, x, w, ones); /* every weight is one more */
    zero_points(&p, zeros);
    run(&p, y);
    assert_true(y[0] == -138.0f && y[1] == 117.0f && y[2] == -120.0f && y[3] == 135.0f);
}

/* --- Mixture of experts -------------------------------------------------------------------------
 *
 * hidden = intermediate = 2, gate rows [1, 0], [2, 0], up rows [3, 0], [4, 0] with scale 1/255, w2
 * an identity with scale e + 1; x = [255, 0], so that gates are 1, 2 and ups 3, 4. In f32
 *   h = [silu(1)*3, silu(2)*4] = [2.1931757, 7.0463766], k = 255/h[1], q + 128 = [79, 255],
 *   y = (e + 1) * [2.1829951, 7.0463766]; 79 is round(79.37).
 * In bf16 (bf16 x, per channel) h = [2.1875, 7.03125], q the same, y = RN((e + 1) * [2.1783088,
 * 7.03125]); experts 2, 0, 1 with weights .4, .55, .7 give [6.8125, 22.125], where sums in f32, in
 * slot order, or with weights that are not rounded give other numbers. */
enum { EXPERTS = 3 };
static const uint8_t w13[EXPERTS][4] = {{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}};
static const uint8_t w2[EXPERTS][2] = {{0x01, 0x10}, {0x01, 0x10}, {0x01, 0x10}};
static const float w2_scales[EXPERTS][2] = {{1, 1}, {2, 2}, {3, 3}};

static problem moe(armq_dtype dtype, const void *x, const int32_t *ids, const float *router,
                   const float *w13_scales) {
    problem p = {.d = {.op = ARMQ_OP_MOE_W4A8,
                       .tokens = 1,
                       .hidden = 2,
                       .intermediate = 2,
                       .experts = EXPERTS,
                       .top_k = 3,
                       .in = dtype,
                       .out = dtype,
                       .format = ARMQ_WEIGHT_S4_LOW},
                 .weights = {{.size = sizeof(armq_weights), .w = w13, .scales = w13_scales},
                             {.size = sizeof(armq_weights), .w = w2, .scales = w2_scales}},
                 .x = x,
                 .ids = ids,
                 .router = router};
    dialect(&p.d, ARMQ_ACT_SILU);
    return p;
}

static void test_moe(void **state) {
    (void)state;
    static const float x[2] = {255.0f, 0.0f}, router[3] = {0.4f, 0.55f, 0.7f};
    static const uint16_t x_bf16[2] = {0x437f, 0};
    static const int32_t ids[3] = {2, 0, 1};
    float scales[EXPERTS * 4], y[2];
    uint16_t y_bf16[2];
    for (int i = 0; i < EXPERTS * 4; i++)
        scales[i] = 1.0f / 255.0f;
    problem p = moe(ARMQ_DTYPE_F32, x, ids, router, scales);
    run(&p, y);
    const double sum = 0.4 * 3 + 0.55 + 0.7 * 2;
    assert_true(fabs((double)y[0] - 2.1829951 * sum) < 2e-6 * 7);
    assert_true(fabs((double)y[1] - 7.0463766 * sum) < 2e-6 * 22);
    p = moe(ARMQ_DTYPE_BF16, x_bf16, ids, router, scales);
    run(&p, y_bf16);
    assert_true(armq_bf16_to_f32(y_bf16[0]) == 6.8125f);
    assert_true(armq_bf16_to_f32(y_bf16[1]) == 22.125f);
}

/* Groups of both products, of every expert: one weight of each in the second group of 32. */
static void test_moe_groups(void **state) {
    (void)state;
    enum { H = 64, I = 64, E = 2 };
    uint8_t *a = calloc(E * 2 * I, H / 2), *b = calloc(E * H, I / 2);
    uint16_t *a_scales = calloc(E * 2 * I, 4), *b_scales = calloc(E * H, 4);
    float x[H] = {[40] = 1.0f}, y[H];
    static const float router[1] = {1.0f};
    assert_true(a && b && a_scales && b_scales);
    /* Expert 1: gate 63 = 2*x[40], up 63 = 4*x[40], y[5] = 3 * h[63]. */
    a[(2 * I + 63) * (H / 2) + 20] = 0x02;
    a[(2 * I + I + 63) * (H / 2) + 20] = 0x04;
    a_scales[(2 * I + 63) * 2 + 1] = a_scales[(2 * I + I + 63) * 2 + 1] = 0x3f80;
    b[(H + 5) * (I / 2) + 31] = 0x30;
    b_scales[(H + 5) * 2 + 1] = 0x3f80;
    static const int32_t ids[1] = {1};
    problem p = moe(ARMQ_DTYPE_F32, x, ids, router, NULL);
    p.d.hidden = H;
    p.d.intermediate = I;
    p.d.experts = E;
    p.d.top_k = 1;
    p.d.group_size = 32;
    dialect(&p.d, ARMQ_ACT_SILU);
    p.weights[0].w = a;
    p.weights[0].scales = a_scales;
    p.weights[1].w = b;
    p.weights[1].scales = b_scales;
    run(&p, y);
    for (int i = 0; i < H; i++)
        assert_true(fabs((double)y[i] - (i == 5 ? 3 * 7.0463766 : 0)) < 4e-6 * 21);
    free(a);
    free(b);
    free(a_scales);
    free(b_scales);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_odd_rows),
        cmocka_unit_test(test_group_accumulators),
        cmocka_unit_test(test_group_scales),
        cmocka_unit_test(test_zero_points_of_rows),
        cmocka_unit_test(test_moe),
        cmocka_unit_test(test_moe_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
