/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_s8s4s32 and linear_w4a8: answers worked out by hand. The soak stands in test_int4_soak.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/describe.h"
#include "kernels/api/dialects.h"
#include "reference/formats.h"
#include "reference/int4.h"

/* One problem; the caller fills the pointers. */
typedef struct {
    armq_desc desc;
    armq_weights weights;
    ref_problem problem;
} setup;

static void set_up(setup *s, armq_op op, armq_dtype in, int64_t tokens, int64_t n, int64_t k,
                   int64_t group_size) {
    bool gemm = op == ARMQ_OP_GEMM_S8S4S32;
    memset(s, 0, sizeof *s);
    s->desc = (armq_desc){.size = sizeof(armq_desc), .abi = ARMQ_ABI_VERSION, .op = op};
    s->desc.tokens = tokens;
    s->desc.n = n;
    s->desc.k = k;
    s->desc.in = in;
    s->desc.out = gemm ? ARMQ_DTYPE_S32 : in;
    s->desc.scale_dtype = gemm ? ARMQ_DTYPE_NONE : group_size ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
    s->desc.format = ARMQ_WEIGHT_S4_LOW;
    s->desc.group_size = group_size;
    s->desc.max_threads = 1;
    assert_true(armq_dialect_preset(gemm ? "exact" : "vllm-w4a8", op, in, group_size, ARMQ_ACT_NONE,
                                    &s->desc.dialect, NULL));
    s->weights.size = sizeof s->weights;
    s->problem = (ref_problem){.desc = &s->desc, .weights = {&s->weights, NULL}};
}

static void use_bias(setup *s, armq_dtype dtype, const void *bias) {
    s->desc.uses |= ARMQ_USES_BIAS;
    s->desc.bias_dtype = dtype;
    s->weights.bias = bias;
}

static void use_zero_points(setup *s, const int8_t *zero_points) {
    s->desc.uses |= ARMQ_USES_WEIGHT_ZERO;
    s->weights.zero_points = zero_points;
}

static void intervals_of(setup *s, int64_t row, ref_interval *y) {
    char reason[256] = "";
    if (armq_desc_check(&s->desc, reason, sizeof reason) != ARMQ_OK)
        fail_msg("%s", reason);
    ref_context *context = ref_open(&s->problem);
    assert_non_null(context);
    ref_row_intervals(context, row, NULL, armq_y_row(&s->desc), y);
    ref_close(context);
}

static bool accepts(const ref_interval *y, armq_dtype dtype, double value) {
    union {
        float f32;
        uint16_t half;
        int32_t s32;
    } got;
    armq_store(dtype, &got, 0, value);
    return ref_accepts(y, dtype, &got);
}

static bool is_exactly(const ref_interval *y, double value) {
    return y->kind == REF_VALUE && y->lo == value && y->mid == value && y->hi == value;
}

/* Values of random_int4 in [-8, 7]. */
static void random_int4(int8_t *w, int64_t count) {
    static uint64_t seed = 0x9e3779b97f4a7c15u;
    for (int64_t i = 0; i < count; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        w[i] = (int8_t)((int)(seed >> 40 & 15) - 8);
    }
}

/* --- Formats -------------------------------------------------------------------------------------
 */

/* Byte 0x21 is w[0] = 1, w[1] = 2. A row of three takes two bytes; the last nibble is not read. */
static void low_nibble_first(void **state) {
    (void)state;
    const uint8_t w[2][2] = {{0x21, 0x73}, {0x8f, 0x7a}}; /* 1 2 3, -1 -8 -6 */
    static const int wanted[3][2] = {{1, -1}, {2, -8}, {3, -6}};
    const int8_t x[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    setup s;
    set_up(&s, ARMQ_OP_GEMM_S8S4S32, ARMQ_DTYPE_S8, 3, 2, 3, 0);
    s.problem.x = x;
    s.weights.w = w;
    for (int row = 0; row < 3; row++) {
        ref_interval y[2];
        intervals_of(&s, row, y);
        assert_true(is_exactly(&y[0], wanted[row][0]) && is_exactly(&y[1], wanted[row][1]));
    }
}

/* All 16 codes against one-hot activations. */
static void sign_of_a_nibble(void **state) {
    (void)state;
    const uint8_t low[8] = {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe};
    const uint32_t words[2] = {0x76543210, 0xfedcba98};
    for (int k = 0; k < 16; k++) {
        int8_t x[16] = {0};
        ref_interval y;
        setup s;
        x[k] = 1;
        set_up(&s, ARMQ_OP_GEMM_S8S4S32, ARMQ_DTYPE_S8, 1, 1, 16, 0);
        s.problem.x = x;
        s.weights.w = low;
        intervals_of(&s, 0, &y);
        assert_true(is_exactly(&y, k < 8 ? k : k - 16));
        s.desc.format = ARMQ_WEIGHT_S4_WORD8;
        s.weights.w = words;
        intervals_of(&s, 0, &y);
        assert_true(is_exactly(&y, k - 8));
    }
}

/* Nine values take two words, and the rest of the second is not read. */
static void words_of_eight(void **state) {
    (void)state;
    const uint32_t w[2][2] = {{0x88888889, 0xffffffff}, {0x0f888888, 0x12345670}};
    static const int wanted[9][2] = {{1, 0}, {0, 0}, {0, 0},  {0, 0}, {0, 0},
                                     {0, 0}, {0, 7}, {0, -8}, {7, -8}};
    for (int k = 0; k < 9; k++) {
        int8_t x[9] = {0};
        ref_interval y[2];
        setup s;
        x[k] = 1;
        set_up(&s, ARMQ_OP_GEMM_S8S4S32, ARMQ_DTYPE_S8, 1, 2, 9, 0);
        s.desc.format = ARMQ_WEIGHT_S4_WORD8;
        s.problem.x = x;
        s.weights.w = w;
        intervals_of(&s, 0, y);
        assert_true(is_exactly(&y[0], wanted[k][0]) && is_exactly(&y[1], wanted[k][1]));
    }
}

static void formats_hold_the_same(void **state) {
    (void)state;
    enum { N = 3 };
    for (int64_t k = 1; k <= 200; k += k < 20 ? 1 : 9) {
        int8_t w[N * 200], row[200];
        uint32_t low[N * 100], words[N * 25];
        const armq_weights as_low = {.w = low}, as_words = {.w = words};
        armq_desc desc = {.op = ARMQ_OP_GEMM_S8S4S32, .format = ARMQ_WEIGHT_S4_LOW};
        random_int4(w, N * k);
        ref_int4_pack(ARMQ_WEIGHT_S4_LOW, w, N, k, low);
        ref_int4_pack(ARMQ_WEIGHT_S4_WORD8, w, N, k, words);
        for (int64_t n = 0; n < N; n++) {
            desc.format = ARMQ_WEIGHT_S4_LOW;
            ref_int4_row(&desc, &as_low, n, k, row);
            assert_memory_equal(row, w + n * k, (size_t)k);
            desc.format = ARMQ_WEIGHT_S4_WORD8;
            ref_int4_row(&desc, &as_words, n, k, row);
            assert_memory_equal(row, w + n * k, (size_t)k);
        }
    }
}

/* --- gemm_s8s4s32 --------------------------------------------------------------------------------
 */

static void groups_are_fastest(void **state) {
    (void)state;
    enum { K = 96, N = 2 };
    int8_t x[K], w[N][K];
    uint8_t packed[N * K / 2];
    for (int i = 0; i < K; i++) {
        x[i] = (int8_t)(i < 32 ? 1 : i < 64 ? -3 : 100);
        w[0][i] = 7;
        w[1][i] = (int8_t)(i % 2 ? -8 : 1);
    }
    ref_int4_pack(ARMQ_WEIGHT_S4_LOW, w[0], N, K, packed);
    static const int wanted[N * 3] = {224, -672, 22400, -112, 336, -11200};
    setup s;
    ref_interval y[N * 3];
    set_up(&s, ARMQ_OP_GEMM_S8S4S32, ARMQ_DTYPE_S8, 1, N, K, 32);
    s.problem.x = x;
    s.weights.w = packed;
    intervals_of(&s, 0, y);
    for (int i = 0; i < N * 3; i++)
        assert_true(is_exactly(&y[i], wanted[i]));
    ref_context *context = ref_open(&s.problem);
    const int64_t columns[3] = {5, 0, 2};
    ref_row_intervals(context, 0, columns, 3, y);
    assert_true(y[0].mid == -11200 && y[1].mid == 224 && y[2].mid == 22400);
    assert_true(ref_unquantized(context, 0, 4) == 336);
    ref_close(context);
}

/* Every weight with every zero point, per channel: w - z. */
static void zero_points_of_the_whole_range(void **state) {
    (void)state;
    int8_t w[16][16], zero_points[16];
    uint8_t packed[128];
    for (int n = 0; n < 16; n++) {
        zero_points[n] = (int8_t)(n - 8);
        for (int i = 0; i < 16; i++)
            w[n][i] = (int8_t)(i - 8);
    }
    ref_int4_pack(ARMQ_WEIGHT_S4_LOW, w[0], 16, 16, packed);
    for (int k = 0; k < 16; k++) {
        int8_t x[16] = {0};
        ref_interval y[16];
        setup s;
        x[k] = -128;
        set_up(&s, ARMQ_OP_GEMM_S8S4S32, ARMQ_DTYPE_S8, 1, 16, 16, 0);
        s.problem.x = x;
        s.weights.w = packed;
        use_zero_points(&s, zero_points);
        intervals_of(&s, 0, y);
        for (int n = 0; n < 16; n++)
            assert_true(is_exactly(&y[n], -128 * (k - n)));
    }
}

static void zero_points_per_group(void **state) {
    (void)state;
    enum { K = 64, N = 2 };
    int8_t x[K], w[N][K];
    const int8_t zero_points[N * 2] = {3, -8, 7, 0};
    uint32_t packed[N * K / 8];
    memset(x, 2, sizeof x);
    memset(w[0], 5, K);
    memset(w[1], -8, K);
    ref_int4_pack(ARMQ_WEIGHT_S4_WORD8, w[0], N, K, packed);
    setup s;
    ref_interval y[N * 2];
    set_up(&s, ARMQ_OP_GEMM_S8S4S32, ARMQ_DTYPE_S8, 1, N, K, 32);
    s.desc.format = ARMQ_WEIGHT_S4_WORD8;
    s.problem.x = x;
    s.weights.w = packed;
    use_zero_points(&s, zero_points);
    intervals_of(&s, 0, y);
    assert_true(is_exactly(&y[0], 64 * 2) && is_exactly(&y[1], 64 * 13));
    assert_true(is_exactly(&y[2], 64 * -15) && is_exactly(&y[3], 64 * -8));
}

/* -128 * -15: the longest sum that int32 holds, and one more, which nothing can match. */
static void longest_sum(void **state) {
    (void)state;
    const int64_t longest = INT32_MAX / 1920;
    const int8_t zero_point = 7;
    int8_t *x = malloc((size_t)longest + 1);
    uint8_t *w = malloc((size_t)longest);
    assert_true(x && w);
    memset(x, -128, (size_t)longest + 1);
    memset(w, 0x88, (size_t)longest);
    for (int64_t k = longest; k <= longest + 1; k++) {
        setup s;
        ref_interval y;
        set_up(&s, ARMQ_OP_GEMM_S8S4S32, ARMQ_DTYPE_S8, 1, 1, k, 0);
        s.problem.x = x;
        s.weights.w = w;
        use_zero_points(&s, &zero_point);
        intervals_of(&s, 0, &y);
        assert_true(is_exactly(&y, 1920.0 * (double)k));
        assert_true(k > longest || accepts(&y, ARMQ_DTYPE_S32, y.mid));
        assert_false(accepts(&y, ARMQ_DTYPE_S32, INT32_MAX));
        assert_false(accepts(&y, ARMQ_DTYPE_S32, (double)(int32_t)(uint32_t)(1920 * (k + 1))));
    }
    free(w);
    free(x);
}

/* --- linear_w4a8: known answers ------------------------------------------------------------------
 */

/* x = 255 everywhere is q = 127, zp = -128, scale 1; every product and sum is a whole number. */
static void each_group_has_its_scale(void **state) {
    (void)state;
    enum { K = 64 };
    static const struct {
        uint16_t scales[2];
        double y;
    } cases[] = {{{0x3f80, 0x4180}, 269280}, {{0x4180, 0x3f80}, 146880}, {{0x3f80, 0x3f80}, 24480}};
    float x[K];
    int8_t w[K];
    uint8_t packed[K / 2];
    for (int i = 0; i < K; i++) {
        x[i] = 255;
        w[i] = i < 32 ? 1 : 2;
    }
    ref_int4_pack(ARMQ_WEIGHT_S4_LOW, w, 1, K, packed);
    for (int i = 0; i < 3; i++) {
        setup s;
        ref_interval y;
        set_up(&s, ARMQ_OP_LINEAR_W4A8, ARMQ_DTYPE_F32, 1, 1, K, 32);
        s.problem.x = x;
        s.weights.w = packed;
        s.weights.scales = cases[i].scales;
        intervals_of(&s, 0, &y);
        assert_true(is_exactly(&y, cases[i].y));
        for (int other = 0; other < 3; other++)
            assert_int_equal(accepts(&y, ARMQ_DTYPE_F32, cases[other].y), i == other);
    }
}

/* Rows with k = 1 and zero points 3 and -3 against one-hot weights give x back, exactly. */
static void zero_point_is_subtracted(void **state) {
    (void)state;
    enum { K = 64, N = 4 };
    const float x[2][K] = {{-131, 124, 0, 7}, {-125, 130, 0, 7}};
    const float scales[N] = {1, 2, 4, 0.5f};
    const uint16_t group_scales[N][2] = {
        {0x3f80, 0x4040}, {0x4000, 0x4040}, {0x4080, 0x4040}, {0x3f00, 0x4040}};
    int8_t w[N][K] = {{0}};
    uint8_t packed[N * K / 2];
    for (int n = 0; n < N; n++)
        w[n][n] = 1;
    ref_int4_pack(ARMQ_WEIGHT_S4_LOW, w[0], N, K, packed);
    for (int grouped = 0; grouped < 2; grouped++)
        for (int row = 0; row < 2; row++) {
            setup s;
            ref_interval y[N];
            set_up(&s, ARMQ_OP_LINEAR_W4A8, ARMQ_DTYPE_F32, 2, N, K, grouped ? 32 : 0);
            s.problem.x = x;
            s.weights.w = packed;
            s.weights.scales = grouped ? (const void *)group_scales : scales;
            intervals_of(&s, row, y);
            for (int n = 0; n < N; n++) {
                assert_true(is_exactly(&y[n], (double)(x[row][n] * scales[n])));
                assert_false(accepts(&y[n], ARMQ_DTYPE_F32, y[n].mid + (double)(6 * scales[n])));
            }
        }
}

/* Zero points of x and of the weights at once: sum (q - 3) * (w - wz). */
static void both_zero_points(void **state) {
    (void)state;
    enum { K = 64 };
    float x[K] = {-131, 124};
    int8_t w[K];
    const int8_t zero_points[2] = {-8, 7};
    const uint16_t scales[2] = {0x3f80, 0x4000};
    uint8_t packed[K / 2];
    memset(w, -3, sizeof w); /* 5, then -10 */
    x[40] = 10;
    ref_int4_pack(ARMQ_WEIGHT_S4_LOW, w, 1, K, packed);
    setup s;
    ref_interval y;
    set_up(&s, ARMQ_OP_LINEAR_W4A8, ARMQ_DTYPE_F32, 1, 1, K, 32);
    s.problem.x = x;
    s.weights.w = packed;
    s.weights.scales = scales;
    use_zero_points(&s, zero_points);
    intervals_of(&s, 0, &y);
    assert_true(is_exactly(&y, -7 * 5 + 10 * -10 * 2));
    ref_context *context = ref_open(&s.problem);
    assert_true(ref_unquantized(context, 0, 0) == y.mid);
    ref_close(context);
}

/* Exactly the bias, but for groups with a zero point: f32 sums of 127 * rowsum cancel nearly. */
static void zero_rows_give_the_bias(void **state) {
    (void)state;
    enum { K = 96, N = 2 };
    static const float bias[N] = {0.1f, -3000.7f};
    float x[3][K] = {{0}};
    int8_t w[N][K];
    uint8_t packed[N * K / 2];
    const float scales[N] = {0.03f, 0.7f};
    const uint16_t group_scales[N][3] = {{0x3d01, 0x3477, 0x3c13}, {0x3f2f, 0x3f81, 0x3805}};
    for (int i = 0; i < K; i++) {
        x[1][i] = -0.0f;
        x[2][i] = i % 2 ? 0x1p-130f : -0x1p-131f;
    }
    random_int4(w[0], (int64_t)N * K);
    ref_int4_pack(ARMQ_WEIGHT_S4_LOW, w[0], N, K, packed);
    for (int i = 0; i < 12; i++) {
        bool grouped = i % 2, symmetric = i / 2 % 2;
        setup s;
        ref_interval y[N];
        set_up(&s, ARMQ_OP_LINEAR_W4A8, ARMQ_DTYPE_F32, 3, N, K, grouped ? 32 : 0);
        if (symmetric)
            s.desc.dialect.quant = ARMQ_QUANT_SYMMETRIC;
        s.problem.x = x;
        s.weights.w = packed;
        s.weights.scales = grouped ? (const void *)group_scales : scales;
        use_bias(&s, ARMQ_DTYPE_F32, bias);
        intervals_of(&s, i / 4, y);
        for (int n = 0; n < N; n++) {
            assert_true(y[n].mid == (double)bias[n] && accepts(&y[n], ARMQ_DTYPE_F32, y[n].mid));
            assert_int_equal(is_exactly(&y[n], (double)bias[n]), !grouped || symmetric);
        }
    }
}

static void no_k(void **state) {
    (void)state;
    const float bias[2] = {0.1f, -7};
    for (int grouped = 0; grouped < 2; grouped++) {
        setup s;
        ref_interval y[2] = {{9, 9, 9, REF_VALUE}, {9, 9, 9, REF_VALUE}};
        set_up(&s, ARMQ_OP_LINEAR_W4A8, ARMQ_DTYPE_F32, 1, 2, 0, grouped ? 32 : 0);
        intervals_of(&s, 0, y);
        assert_true(is_exactly(&y[0], 0) && is_exactly(&y[1], 0));
        use_bias(&s, ARMQ_DTYPE_F32, bias);
        intervals_of(&s, 0, y);
        assert_true(is_exactly(&y[0], (double)bias[0]) && is_exactly(&y[1], -7));
        set_up(&s, ARMQ_OP_GEMM_S8S4S32, ARMQ_DTYPE_S8, 1, 2, 0, grouped ? 32 : 0);
        y[0] = y[1] = (ref_interval){9, 9, 9, REF_VALUE};
        intervals_of(&s, 0, y); /* [tokens, N], or no group and so no column */
        assert_true(is_exactly(&y[0], grouped ? 9 : 0) && is_exactly(&y[1], grouped ? 9 : 0));
    }
}

/* 2.501 is 2.5 in bf16, a tie that goes to 2. */
static void converted_to_the_working_dtype_first(void **state) {
    (void)state;
    const float x[2] = {255, 2.501f};
    const uint8_t w = 0x10; /* 0, 1 */
    const float scale = 1;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        setup s;
        ref_interval y;
        set_up(&s, ARMQ_OP_LINEAR_W4A8, ARMQ_DTYPE_F32, 1, 1, 2, 0);
        s.problem.x = x;
        s.weights.w = &w;
        s.weights.scales = &scale;
        if (bf16) {
            s.desc.dialect.work = ARMQ_DTYPE_BF16;
            s.desc.dialect.q_rounding = ARMQ_ROUND_TIES_EVEN;
        }
        intervals_of(&s, 0, &y);
        assert_true(is_exactly(&y, bf16 ? 2 : 3));
    }
}

/* bias[n] = 1000 n in f32 and in the dtype of x: dropped, doubled or scaled is outside. */
static void bias_enters_once_after_scaling(void **state) {
    (void)state;
    enum { K = 32, N = 3 };
    static const armq_dtype dtypes[] = {ARMQ_DTYPE_F32, ARMQ_DTYPE_BF16, ARMQ_DTYPE_F16};
    int8_t w[N][K] = {{1}, {2}, {-5}};
    uint8_t packed[N * K / 2];
    const uint16_t scales[N] = {0x3f80, 0x4000, 0x3f00};
    ref_int4_pack(ARMQ_WEIGHT_S4_LOW, w[0], N, K, packed);
    for (int i = 0; i < 6; i++) {
        armq_dtype in = dtypes[i / 2], bias_dtype = i % 2 ? in : ARMQ_DTYPE_F32;
        float x[K] = {0}, bias[N]; /* room for any dtype */
        armq_store(in, x, 0, 255);
        for (int n = 0; n < N; n++)
            armq_store(bias_dtype, bias, n, 1000 * n);
        setup s;
        ref_interval y[N];
        set_up(&s, ARMQ_OP_LINEAR_W4A8, in, 1, N, K, K);
        s.problem.x = x;
        s.weights.w = packed;
        s.weights.scales = scales;
        use_bias(&s, bias_dtype, bias);
        intervals_of(&s, 0, y);
        for (int n = 0; n < N; n++) {
            double product = 255.0 * w[n][0] * armq_load(ARMQ_DTYPE_BF16, scales, n);
            assert_true(accepts(&y[n], in, product + 1000 * n));
            assert_false(accepts(&y[n], in, product + 1000 * n + 1000));
            assert_false(n && accepts(&y[n], in, product));
            assert_false(n && accepts(&y[n], in, product + 2000 * n));
        }
    }
}

/* 257 is a tie of bf16, as for int8. */
static void rounded_before_the_bias_if_asked(void **state) {
    (void)state;
    uint16_t x[2];
    const uint8_t w = 0x12; /* 2, 1: 254 + 3 */
    const float scale = 1, bias = 1;
    armq_store(ARMQ_DTYPE_BF16, x, 0, 127);
    armq_store(ARMQ_DTYPE_BF16, x, 1, 3);
    for (uint32_t before = 0; before < 2; before++) {
        setup s;
        ref_interval y;
        set_up(&s, ARMQ_OP_LINEAR_W4A8, ARMQ_DTYPE_BF16, 1, 1, 2, 0);
        s.desc.dialect.quant = ARMQ_QUANT_SYMMETRIC;
        s.desc.dialect.linear_round_before_bias = before;
        s.problem.x = x;
        s.weights.w = &w;
        s.weights.scales = &scale;
        use_bias(&s, ARMQ_DTYPE_F32, &bias);
        intervals_of(&s, 0, &y);
        assert_int_equal(accepts(&y, ARMQ_DTYPE_BF16, 256), before);
        assert_int_equal(accepts(&y, ARMQ_DTYPE_BF16, 258), !before);
    }
}

/* --- Uncertain integers --------------------------------------------------------------------------
 */

/* q of element 3 may be 5 or 6, of 40 one of -1 .. 1; w is 2 and 3, scales 1 and 4. Each flip
 * counts in its own group, once. */
static void flips_of_each_group(void **state) {
    (void)state;
    enum { K = 64 };
    int16_t centered[K] = {[3] = 5, [40] = 0, [41] = 7};
    ref_flip flips[2] = {{3, 5, 6}, {40, -1, 1}};
    const ref_variant x = {
        .centered = centered, .flips = flips, .flip_count = 2, .scale = {1, 1, 1, REF_VALUE}};
    int8_t w[K] = {[3] = 2, [40] = 3, [41] = -1}, scratch[K];
    uint8_t packed[K / 2];
    const uint16_t scales[2] = {0x3f80, 0x4080};
    setup s;
    ref_int4_pack(ARMQ_WEIGHT_S4_LOW, w, 1, K, packed);
    set_up(&s, ARMQ_OP_LINEAR_W4A8, ARMQ_DTYPE_F32, 1, 1, K, 32);
    s.desc.dialect.quant = ARMQ_QUANT_SYMMETRIC;
    s.weights.w = packed;
    s.weights.scales = scales;
    ref_interval y = ref_int4_product(&s.desc, &s.weights, 0, K, &x, 1, scratch);
    const double lo = 2 * 5 + 4 * (-3 - 7), mid = 10 - 28, hi = 12 + 4 * (3 - 7);
    assert_true(y.mid == mid && fabs(y.lo - lo) < 1e-4 && fabs(y.hi - hi) < 1e-4);
    assert_true(y.lo <= lo && hi <= y.hi);
}

/* Two possibilities for the whole row: both are inside, mid is the first one's. */
static void hull_of_variants(void **state) {
    (void)state;
    int16_t first[2] = {3, 1}, second[2] = {4, 1};
    const ref_variant x[2] = {{.centered = first, .scale = {2, 2, 2, REF_VALUE}},
                              {.centered = second, .scale = {1, 1, 1, REF_VALUE}}};
    const uint8_t w = 0x12; /* 2, 1 */
    const float scale = 1;
    int8_t scratch[2];
    setup s;
    set_up(&s, ARMQ_OP_LINEAR_W4A8, ARMQ_DTYPE_F32, 1, 1, 2, 0);
    s.weights.w = &w;
    s.weights.scales = &scale;
    ref_interval y = ref_int4_product(&s.desc, &s.weights, 0, 2, x, 2, scratch);
    assert_true(y.lo == 9 && y.mid == 14 && y.hi == 14);
}

/* --- Ends of the range ---------------------------------------------------------------------------
 */

/* Two groups whose sums of (q - zp) * w are 127 * wanted signs, symmetric. */
static ref_interval of_scales(armq_quant quant, uint16_t first, uint16_t second, int8_t w_second) {
    enum { K = 64 };
    float x[K] = {0};
    int8_t w[K] = {1};
    uint8_t packed[K / 2];
    const uint16_t scales[2] = {first, second};
    x[0] = x[32] = 127;
    w[32] = w_second;
    ref_int4_pack(ARMQ_WEIGHT_S4_LOW, w, 1, K, packed);
    setup s;
    ref_interval y;
    set_up(&s, ARMQ_OP_LINEAR_W4A8, ARMQ_DTYPE_F32, 1, 1, K, 32);
    s.desc.dialect.quant = quant;
    s.problem.x = x;
    s.weights.w = packed;
    s.weights.scales = scales;
    intervals_of(&s, 0, &y);
    return y;
}

static void bad_scales(void **state) {
    (void)state;
    enum { ONE = 0x3f80, INF = 0x7f80, MINUS_INF = 0xff80, QUIET = 0x7fc0, HUGE_SCALE = 0x7f00 };
    const armq_quant sym = ARMQ_QUANT_SYMMETRIC, asym = ARMQ_QUANT_ASYMMETRIC;
    ref_interval y = of_scales(sym, INF, ONE, 1);
    assert_true(is_exactly(&y, (double)INFINITY));
    y = of_scales(sym, ONE, MINUS_INF, 1);
    assert_true(is_exactly(&y, -(double)INFINITY));
    y = of_scales(sym, ONE, MINUS_INF, -1);
    assert_true(is_exactly(&y, (double)INFINITY));
    assert_int_equal(of_scales(sym, INF, INF, -1).kind, REF_NAN);
    assert_int_equal(of_scales(sym, ONE, INF, 0).kind, REF_NAN);
    assert_int_equal(of_scales(sym, QUIET, INF, 1).kind, REF_NAN);
    assert_int_equal(of_scales(asym, ONE, QUIET, 1).kind, REF_NAN);
    assert_int_equal(of_scales(asym, ONE, INF, 0).kind, REF_NAN);
    assert_int_equal(of_scales(asym, ONE, INF, 1).kind, REF_ANY); /* inf - inf, or 1 * inf */
    assert_int_equal(of_scales(sym, INF, HUGE_SCALE, 1).kind, REF_ANY);
    y = of_scales(sym, HUGE_SCALE, ONE, 1); /* 127 * 2^127, surely infinite */
    assert_true(accepts(&y, ARMQ_DTYPE_F32, (double)INFINITY) &&
                !accepts(&y, ARMQ_DTYPE_F32, 1e38));
    assert_int_equal(of_scales(sym, HUGE_SCALE, HUGE_SCALE, -1).kind, REF_ANY);
    y = of_scales(sym, 0, 0x8000, 1);
    assert_true(is_exactly(&y, 0));
    y = of_scales(sym, ONE, 0xc000, 1);
    assert_true(is_exactly(&y, -127));
    y = of_scales(sym, 0x0001, 0x0001, 1); /* subnormal scales: 254 * 2^-133 is an f32 */
    assert_true(is_exactly(&y, 254 * 0x1p-133));
}

static void rows_that_are_not_finite(void **state) {
    (void)state;
    const float x[2][2] = {{1, NAN}, {3, -INFINITY}};
    const uint8_t w = 0x11;
    const float scale = 1;
    for (int i = 0; i < 4; i++) {
        setup s;
        ref_interval y;
        set_up(&s, ARMQ_OP_LINEAR_W4A8, ARMQ_DTYPE_F32, 2, 1, 2, 0);
        s.problem.claims = i / 2 ? ARMQ_CLAIM_NONFINITE_ROW_NAN : 0;
        s.problem.x = x;
        s.weights.w = &w;
        s.weights.scales = &scale;
        intervals_of(&s, i % 2, &y);
        assert_int_equal(y.kind, i / 2 ? REF_NAN : REF_ANY);
    }
}

static void what_the_reference_does_not_do(void **state) {
    (void)state;
    for (int op = 0; op < 2; op++) {
        setup s;
        set_up(&s, op ? ARMQ_OP_LINEAR_W4A8 : ARMQ_OP_GEMM_S8S4S32,
               op ? ARMQ_DTYPE_F32 : ARMQ_DTYPE_S8, 1, 1, 64, 32);
        ref_context *context = ref_open(&s.problem);
        assert_non_null(context);
        ref_close(context);
        s.desc.group_size = 48;
        assert_null(ref_open(&s.problem));
        s.desc.group_size = -1;
        assert_null(ref_open(&s.problem));
        s.desc.group_size = 32;
        s.desc.format = ARMQ_WEIGHT_S8;
        assert_null(ref_open(&s.problem));
        s.desc.format = ARMQ_WEIGHT_S4_LOW;
        s.desc.group_size = 0;
        s.desc.scale_dtype = op ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
        assert_null(ref_open(&s.problem));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(low_nibble_first),
        cmocka_unit_test(sign_of_a_nibble),
        cmocka_unit_test(words_of_eight),
        cmocka_unit_test(formats_hold_the_same),
        cmocka_unit_test(groups_are_fastest),
        cmocka_unit_test(zero_points_of_the_whole_range),
        cmocka_unit_test(zero_points_per_group),
        cmocka_unit_test(longest_sum),
        cmocka_unit_test(each_group_has_its_scale),
        cmocka_unit_test(zero_point_is_subtracted),
        cmocka_unit_test(both_zero_points),
        cmocka_unit_test(zero_rows_give_the_bias),
        cmocka_unit_test(no_k),
        cmocka_unit_test(converted_to_the_working_dtype_first),
        cmocka_unit_test(bias_enters_once_after_scaling),
        cmocka_unit_test(rounded_before_the_bias_if_asked),
        cmocka_unit_test(flips_of_each_group),
        cmocka_unit_test(hull_of_variants),
        cmocka_unit_test(bad_scales),
        cmocka_unit_test(rows_that_are_not_finite),
        cmocka_unit_test(what_the_reference_does_not_do),
    };
    return cmocka_run_group_tests_name("int4", tests, NULL, NULL);
}
