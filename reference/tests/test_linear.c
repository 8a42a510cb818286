/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_s8s8s32, linear_w8a8 and linear_bf16: answers worked out by hand, and soaks in which every
 * permitted order of f32 operations must land inside the interval. */
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

static uint64_t next_random(void) {
    static uint64_t seed = 0x9e3779b97f4a7c15u;
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed >> 16;
}

static float random_float(float size) {
    return size * ((float)(next_random() % 2000001) * 1e-6f - 1.0f);
}

static int8_t random_s8(void) { return (int8_t)(next_random() % 256); }

/* One problem with one tensor each; the caller fills the pointers. */
typedef struct {
    armq_desc desc;
    armq_weights weights;
    ref_problem problem;
} setup;

static void set_up(setup *s, armq_op op, const char *dialect, armq_dtype in, int64_t tokens,
                   int64_t n, int64_t k) {
    memset(s, 0, sizeof *s);
    s->desc = (armq_desc){.size = sizeof(armq_desc), .abi = ARMQ_ABI_VERSION, .op = op};
    s->desc.tokens = tokens;
    s->desc.n = n;
    s->desc.k = k;
    s->desc.in = in;
    s->desc.out = op == ARMQ_OP_GEMM_S8S8S32 ? ARMQ_DTYPE_S32 : in;
    s->desc.scale_dtype = op == ARMQ_OP_LINEAR_W8A8 ? ARMQ_DTYPE_F32 : ARMQ_DTYPE_NONE;
    s->desc.format = op == ARMQ_OP_LINEAR_BF16 ? ARMQ_WEIGHT_BF16 : ARMQ_WEIGHT_S8;
    assert_true(armq_dialect_preset(dialect, op, in, 0, ARMQ_ACT_NONE, &s->desc.dialect, NULL));
    s->weights.size = sizeof s->weights;
    s->problem = (ref_problem){.desc = &s->desc, .weights = {&s->weights, NULL}, .x_stride = k};
}

static void use_bias(setup *s, armq_dtype dtype, const void *bias) {
    s->desc.uses |= ARMQ_USES_BIAS;
    s->desc.bias_dtype = dtype;
    s->weights.bias = bias;
}

static void intervals_of(setup *s, int64_t row, ref_interval *y) {
    ref_context *context = ref_open(&s->problem);
    assert_non_null(context);
    ref_row_intervals(context, row, NULL, s->desc.n, y);
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

/* --- gemm_s8s8s32
 * --------------------------------------------------------------------------------- */

static void gemm_extremes(void **state) {
    (void)state;
    static const struct {
        int x, w;
        int64_t k;
    } cases[] = {{-128, -128, 16},     {127, 127, 512},      {-128, 127, 33},
                 {-128, -128, 131071}, {-127, -128, 132104}, {-128, -128, 131072}};
    int8_t *x = malloc(132104), *w = malloc(132104);
    assert_true(x && w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setup s;
        ref_interval y;
        set_up(&s, ARMQ_OP_GEMM_S8S8S32, "exact", ARMQ_DTYPE_S8, 1, 1, cases[i].k);
        memset(x, cases[i].x, (size_t)cases[i].k);
        memset(w, cases[i].w, (size_t)cases[i].k);
        s.problem.x = x;
        s.weights.w = w;
        intervals_of(&s, 0, &y);
        double sum = (double)(cases[i].k * cases[i].x * cases[i].w);
        assert_true(y.lo == sum && y.mid == sum && y.hi == sum && y.kind == REF_VALUE);
        if (sum <= INT32_MAX) {
            assert_true(accepts(&y, ARMQ_DTYPE_S32, sum));
            assert_false(accepts(&y, ARMQ_DTYPE_S32, sum - 1));
        } else {
            assert_false(accepts(&y, ARMQ_DTYPE_S32, INT32_MIN)); /* wrapped */
            assert_false(accepts(&y, ARMQ_DTYPE_S32, INT32_MAX)); /* saturated */
        }
    }
    free(w);
    free(x);
}

static void gemm_strides_and_columns(void **state) {
    (void)state;
    const int8_t x[2][4] = {{1, 2, 3, 99}, {-4, 5, -6, 99}};
    const int8_t w[3][3] = {{1, 0, 0}, {0, 1, 0}, {1, 1, 1}};
    setup s;
    set_up(&s, ARMQ_OP_GEMM_S8S8S32, "exact", ARMQ_DTYPE_S8, 2, 3, 3);
    s.problem.x = x;
    s.problem.x_stride = 4;
    s.weights.w = w;
    ref_context *context = ref_open(&s.problem);
    assert_non_null(context);
    ref_interval y[3];
    const int64_t columns[] = {2, 0};
    ref_row_intervals(context, 1, columns, 2, y);
    assert_true(y[0].mid == -5 && y[1].mid == -4);
    ref_row_intervals(context, 0, NULL, 3, y);
    assert_true(y[0].mid == 1 && y[1].mid == 2 && y[2].mid == 6);
    ref_row_intervals(context, 1, NULL, 3, y);
    assert_true(y[0].mid == -4 && y[1].mid == 5 && y[2].mid == -5);
    assert_true(ref_unquantized(context, 0, 2) == 6);
    ref_close(context);
}

/* --- linear_w8a8: known answers
 * ------------------------------------------------------------------- */

/* Rows with k = 1 and zero points 3 and -3 against one-hot weights give x back, exactly. */
static void zero_point_is_subtracted(void **state) {
    (void)state;
    const float x[2][4] = {{-131, 124, 0, 7}, {-125, 130, 0, 7}}, scales[4] = {1, 2, 4, 0.5f};
    const int8_t w[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    setup s;
    set_up(&s, ARMQ_OP_LINEAR_W8A8, "kleidi-w8a8", ARMQ_DTYPE_F32, 2, 4, 4);
    s.problem.x = x;
    s.weights.w = w;
    s.weights.scales = scales;
    for (int row = 0; row < 2; row++) {
        ref_interval y[4];
        intervals_of(&s, row, y);
        for (int n = 0; n < 4; n++) {
            assert_true(y[n].lo == (double)(x[row][n] * scales[n]) && y[n].hi == y[n].lo);
            assert_false(accepts(&y[n], ARMQ_DTYPE_F32, y[n].mid + (double)(6 * scales[n])));
        }
    }
}

static void zero_rows_give_the_bias(void **state) {
    (void)state;
    static const char *const dialects[] = {"vllm-w8a8", "kleidi-w8a8"};
    const float x[3][3] = {{0, 0, 0}, {-0.0f, -0.0f, -0.0f}, {0x1p-130f, 0, -0x1p-131f}};
    const int8_t w[2][3] = {{-128, 5, 77}, {127, 127, 127}};
    const float scales[2] = {0.03f, 0.7f}, bias[2] = {0.1f, -3000.7f};
    for (int d = 0; d < 2; d++)
        for (int row = 0; row < 3; row++) {
            setup s;
            ref_interval y[2];
            set_up(&s, ARMQ_OP_LINEAR_W8A8, dialects[d], ARMQ_DTYPE_F32, 3, 2, 3);
            s.problem.x = x;
            s.weights.w = w;
            s.weights.scales = scales;
            use_bias(&s, ARMQ_DTYPE_F32, bias);
            intervals_of(&s, row, y);
            for (int n = 0; n < 2; n++)
                assert_true(y[n].lo == (double)bias[n] && y[n].hi == (double)bias[n]);
        }
}

static void no_k_gives_the_bias_or_zero(void **state) {
    (void)state;
    static const char *const dialects[] = {"sglang-w8a8", "vllm-w8a8", "kleidi-w8a8", "bf16"};
    const uint16_t bias[2] = {0x3f81, 0xc2f7};
    for (int d = 0; d < 4; d++) {
        armq_op op = d == 3 ? ARMQ_OP_LINEAR_BF16 : ARMQ_OP_LINEAR_W8A8;
        const float scales[2] = {INFINITY, NAN}; /* of no product, so without effect */
        setup s;
        ref_interval y[2];
        set_up(&s, op, dialects[d], ARMQ_DTYPE_BF16, 1, 2, 0);
        s.weights.scales = op == ARMQ_OP_LINEAR_W8A8 ? scales : NULL;
        intervals_of(&s, 0, y);
        assert_true(y[1].lo == 0 && y[1].hi == 0 && y[1].kind == REF_VALUE);
        use_bias(&s, ARMQ_DTYPE_BF16, bias);
        intervals_of(&s, 0, y);
        for (int n = 0; n < 2; n++)
            assert_true(y[n].lo == (double)armq_bf16_to_f32(bias[n]) && y[n].hi == y[n].lo);
    }
}

/* bias[n] = 1000 n: dropped, doubled, of the next channel, or scaled, each is far outside. */
static void bias_enters_once_after_scaling(void **state) {
    (void)state;
    enum { N = 5 };
    static const armq_dtype dtypes[] = {ARMQ_DTYPE_F32, ARMQ_DTYPE_BF16, ARMQ_DTYPE_F16};
    const int8_t w[N][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}};
    const float scales[N] = {0.5f, 0.25f, 1, 2, 4};
    for (int t = 0; t < 3; t++) {
        float x[2], bias[N]; /* room for two or five of any dtype */
        armq_store(dtypes[t], x, 0, 127);
        armq_store(dtypes[t], x, 1, -64);
        for (int n = 0; n < N; n++)
            armq_store(dtypes[t], bias, n, 1000 * n);
        setup s;
        ref_interval y[N];
        set_up(&s, ARMQ_OP_LINEAR_W8A8, "vllm-w8a8", dtypes[t], 1, N, 2);
        s.problem.x = x;
        s.weights.w = w;
        s.weights.scales = scales;
        use_bias(&s, dtypes[t], bias);
        intervals_of(&s, 0, y);
        for (int n = 0; n < N; n++) {
            double wanted = (127 * w[n][0] - 64 * w[n][1]) * (double)scales[n];
            double b = armq_load(dtypes[t], bias, n);
            assert_true(accepts(&y[n], dtypes[t], wanted + b));
            assert_false(accepts(&y[n], dtypes[t], wanted + b + 1000));
            assert_false(n && accepts(&y[n], dtypes[t], wanted));
            assert_false(n && accepts(&y[n], dtypes[t], wanted + 2 * b));
        }
    }
}

/* 257 is a tie of bf16: rounded to 256 before the bias 1 is added, and 257 again goes to 256.
 * Without the first rounding 258 is exact. */
static void sglang_rounds_before_the_bias(void **state) {
    (void)state;
    uint16_t x[2], y_right = armq_f32_to_bf16(256), y_wrong = armq_f32_to_bf16(258);
    x[0] = armq_f32_to_bf16(127);
    x[1] = armq_f32_to_bf16(3);
    const int8_t w[2] = {2, 1}; /* 254 + 3 = 257 */
    const float scale = 1, bias = 1;
    setup s;
    ref_interval y;
    set_up(&s, ARMQ_OP_LINEAR_W8A8, "sglang-w8a8", ARMQ_DTYPE_BF16, 1, 1, 2);
    s.problem.x = x;
    s.weights.w = w;
    s.weights.scales = &scale;
    use_bias(&s, ARMQ_DTYPE_F32, &bias);
    intervals_of(&s, 0, &y);
    assert_true(ref_accepts(&y, ARMQ_DTYPE_BF16, &y_right));
    assert_false(ref_accepts(&y, ARMQ_DTYPE_BF16, &y_wrong));
    set_up(&s, ARMQ_OP_LINEAR_W8A8, "vllm-w8a8", ARMQ_DTYPE_BF16, 1, 1, 2);
    s.problem.x = x;
    s.weights.w = w;
    s.weights.scales = &scale;
    use_bias(&s, ARMQ_DTYPE_F32, &bias);
    intervals_of(&s, 0, &y);
    assert_true(ref_accepts(&y, ARMQ_DTYPE_BF16, &y_wrong));
    assert_false(ref_accepts(&y, ARMQ_DTYPE_BF16, &y_right));
}

static void rows_that_are_not_finite(void **state) {
    (void)state;
    const float x[3][2] = {{1, NAN}, {INFINITY, 1}, {1, 2}};
    const int8_t w[2] = {1, 1};
    const uint16_t w_bf16[2] = {0x3f80, 0x3f80};
    const float scale = 1;
    for (int op = 0; op < 2; op++)
        for (int claimed = 0; claimed < 2; claimed++) {
            setup s;
            ref_interval y[3];
            set_up(&s, op ? ARMQ_OP_LINEAR_BF16 : ARMQ_OP_LINEAR_W8A8, op ? "bf16" : "vllm-w8a8",
                   ARMQ_DTYPE_F32, 3, 1, 2);
            s.problem.claims = claimed ? ARMQ_CLAIM_NONFINITE_ROW_NAN : 0;
            s.problem.x = x;
            s.weights.w = op ? (const void *)w_bf16 : w;
            s.weights.scales = op ? NULL : &scale;
            for (int row = 0; row < 3; row++)
                intervals_of(&s, row, &y[row]);
            assert_int_equal(y[0].kind, claimed ? REF_NAN : REF_ANY);
            assert_int_equal(y[1].kind, claimed ? REF_NAN : REF_ANY);
            assert_int_equal(y[2].kind, REF_VALUE);
            assert_true(fabs(y[2].mid - 3) < 0.02);
        }
}

static void what_the_reference_does_not_do(void **state) {
    (void)state;
    setup s;
    set_up(&s, ARMQ_OP_LINEAR_W8A8, "vllm-w8a8", ARMQ_DTYPE_F32, 1, 1, 4);
    s.desc.format = ARMQ_WEIGHT_S4_LOW;
    assert_null(ref_open(&s.problem));
    s.desc.format = ARMQ_WEIGHT_S8;
    s.desc.group_size = 2;
    assert_null(ref_open(&s.problem));
    s.desc.group_size = 0;
    s.desc.op = ARMQ_OP_COUNT;
    assert_null(ref_open(&s.problem));
    ref_close(NULL);
}

/* --- Soaks
 * ---------------------------------------------------------------------------------------- */

enum { ORDERS = 8 };

/* What a build may compute: order of the factors, bias added or fused. Without bias addend is 0. */
static float in_order(int order, float acc, float s_x, float s_w, float addend) {
    switch (order) {
    case 0:
        return acc * (s_x * s_w) + addend;
    case 1:
        return acc * s_x * s_w + addend;
    case 2:
        return acc * s_w * s_x + addend;
    case 3:
        return fmaf(acc, s_x * s_w, addend);
    case 4:
        return fmaf(acc * s_x, s_w, addend);
    case 5:
        return fmaf(acc * s_w, s_x, addend);
    case 6:
        return fmaf(s_x * s_w, acc, addend);
    default:
        return (float)((double)acc * (double)s_x * (double)s_w + (double)addend);
    }
}

/* Factors of any size: normal, large, and so small that products are subnormal or vanish. */
static float random_scale(int least, int most) {
    float mantissa = 1.0f + (float)(next_random() % 8388608) * 0x1p-23f;
    return ldexpf(mantissa, least + (int)(next_random() % (uint64_t)(most - least)));
}

static void soak_products_of_any_size(void **state) {
    (void)state;
    double largest = 0;
    for (int i = 0; i < 200000; i++) {
        int64_t acc = (int32_t)(next_random() >> (next_random() % 31));
        float s_x = i % 5 ? random_scale(-100, 60) : random_scale(-126, 127);
        float s_w = i % 3 ? random_scale(-100, 60) : random_scale(-126, 127);
        bool biased = i % 2;
        ref_interval y = ref_scaled(acc, s_x, s_w);
        float addend = biased ? (float)y.mid * random_float(2) : 0;
        if (!isfinite(addend))
            continue;
        if (biased)
            y = ref_plus_f32(y, (double)addend);
        for (int order = 0; order < ORDERS; order++) {
            float got = in_order(order, (float)acc, s_x, s_w, addend);
            if (!ref_accepts(&y, ARMQ_DTYPE_F32, &got))
                fail_msg("order %d of %lld * %a * %a + %a: %a not in [%a, %a]", order,
                         (long long)acc, (double)s_x, (double)s_w, (double)addend, (double)got,
                         y.lo, y.hi);
            largest = fmax(largest, ref_usage(&y, ARMQ_DTYPE_F32, &got));
        }
    }
    assert_true(largest > 0.3 && largest <= 1.0);
}

/* The quantities that the suite promises about its intervals. */
typedef struct {
    double half_width[4096], squares, usage;
    int count;
} quality;

static int ascending(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static double median_over_rms(quality *q) {
    qsort(q->half_width, (size_t)q->count, sizeof q->half_width[0], ascending);
    return q->half_width[q->count / 2] / sqrt(q->squares / q->count);
}

enum { TOKENS = 8, CHANNELS = 64, LENGTH = 300 };

typedef struct {
    int8_t w[CHANNELS][LENGTH];
    float x[TOKENS][LENGTH], scales[CHANNELS], bias[CHANNELS];
    uint16_t half[TOKENS][LENGTH];
} tensors;

static void fill(tensors *t, armq_dtype in) {
    for (int n = 0; n < CHANNELS; n++) {
        for (int i = 0; i < LENGTH; i++)
            t->w[n][i] = random_s8();
        t->scales[n] = 1e-3f * (2.0f + random_float(1));
        t->bias[n] = random_float(3);
    }
    for (int m = 0; m < TOKENS; m++)
        for (int i = 0; i < LENGTH; i++) {
            t->x[m][i] = random_float(1 + (float)m);
            if (in != ARMQ_DTYPE_F32)
                armq_store(in, t->half[m], i, (double)t->x[m][i]);
        }
}

/* An implementation of its own: int32 sums, then f32 in the given order. */
static double computed(const setup *s, const tensors *t, const int8_t *q, ref_row_quant row, int n,
                       int order) {
    int32_t acc = 0, row_sum = 0;
    for (int i = 0; i < LENGTH; i++) {
        acc += q[i] * t->w[n][i];
        row_sum += t->w[n][i];
    }
    float sum = (float)(acc - row.zero_point * row_sum);
    if (!s->desc.dialect.linear_round_before_bias)
        return (double)in_order(order, sum, row.scale, t->scales[n], t->bias[n]);
    float product = in_order(order, sum, row.scale, t->scales[n], 0);
    return (double)(armq_bf16_to_f32(armq_f32_to_bf16(product)) + t->bias[n]);
}

/* ARMQ_QUANT_NONE: as the dialect has it. */
static void soak_one_dialect(const char *dialect, armq_dtype in, armq_dtype out, armq_quant quant) {
    setup s;
    tensors *t = malloc(sizeof *t);
    quality q = {.count = 0};
    assert_non_null(t);
    fill(t, in);
    set_up(&s, ARMQ_OP_LINEAR_W8A8, dialect, in, TOKENS, CHANNELS, LENGTH);
    s.desc.out = out;
    s.desc.dialect.quant = quant ? quant : s.desc.dialect.quant;
    s.problem.x = in == ARMQ_DTYPE_F32 ? (const void *)t->x : t->half;
    s.weights.w = t->w;
    s.weights.scales = t->scales;
    use_bias(&s, ARMQ_DTYPE_F32, t->bias);
    for (int m = 0; m < TOKENS; m++) {
        int8_t row_q[LENGTH];
        ref_interval y[CHANNELS];
        const void *x = in == ARMQ_DTYPE_F32 ? (const void *)t->x[m] : t->half[m];
        ref_row_quant row = ref_quantize_row(&s.desc.dialect, in, x, LENGTH, row_q);
        intervals_of(&s, m, y);
        for (int n = 0; n < CHANNELS; n++) {
            for (int order = 0; order < ORDERS; order++) {
                float got = 0; /* room for any dtype */
                armq_store(out, &got, 0, computed(&s, t, row_q, row, n, order));
                assert_true(ref_accepts(&y[n], out, &got));
                q.usage = fmax(q.usage, ref_usage(&y[n], out, &got));
            }
            q.half_width[q.count++] = 0.5 * (y[n].hi - y[n].lo);
            q.squares += y[n].mid * y[n].mid;
        }
    }
    assert_true(median_over_rms(&q) <= 2e-5);
    assert_true(out != ARMQ_DTYPE_F32 || (q.usage > 0.1 && q.usage <= 0.9));
    free(t);
}

static void soak_linear_in_every_order(void **state) {
    (void)state;
    static const armq_dtype dtypes[] = {ARMQ_DTYPE_F32, ARMQ_DTYPE_BF16, ARMQ_DTYPE_F16};
    for (int in = 0; in < 3; in++)
        for (int out = 0; out < 3; out++) {
            soak_one_dialect("vllm-w8a8", dtypes[in], dtypes[out], ARMQ_QUANT_NONE);
            soak_one_dialect("vllm-w8a8", dtypes[in], dtypes[out], ARMQ_QUANT_ASYMMETRIC);
            soak_one_dialect("kleidi-w8a8", dtypes[in], dtypes[out], ARMQ_QUANT_NONE);
            soak_one_dialect("kleidi-w8a8", dtypes[in], dtypes[out], ARMQ_QUANT_SYMMETRIC);
        }
    for (int i = 0; i < 6; i++)
        soak_one_dialect("sglang-w8a8", ARMQ_DTYPE_BF16, ARMQ_DTYPE_BF16,
                         i % 2 ? ARMQ_QUANT_ASYMMETRIC : ARMQ_QUANT_NONE);
}

/* --- linear_bf16
 * ---------------------------------------------------------------------------------- */

static void bf16_known_answers(void **state) {
    (void)state;
    enum { K = 1024 };
    uint16_t x[K], w[K];
    for (int i = 0; i < K; i++)
        x[i] = w[i] = 0x3f80;
    setup s;
    ref_interval y;
    set_up(&s, ARMQ_OP_LINEAR_BF16, "bf16", ARMQ_DTYPE_BF16, 1, 1, K);
    s.problem.x = x;
    s.weights.w = w;
    intervals_of(&s, 0, &y);
    assert_true(y.mid == 1024 && accepts(&y, ARMQ_DTYPE_BF16, 1024));
    assert_false(accepts(&y, ARMQ_DTYPE_BF16, 256) || accepts(&y, ARMQ_DTYPE_BF16, 1020));
    assert_false(accepts(&y, ARMQ_DTYPE_F32, 1024.1));
    memset(x, 0, sizeof x);
    intervals_of(&s, 0, &y);
    assert_true(y.lo == 0 && y.hi == 0);
    x[1023] = 0x4040; /* a single product: nothing to round */
    w[1023] = 0xc0e0;
    intervals_of(&s, 0, &y);
    assert_true(y.lo == -21 && y.hi == -21);
}

static void bf16_inputs_are_rounded_first(void **state) {
    (void)state;
    const float x[2] = {1.0f + 0x1p-8f, 3.0f}; /* a tie: 1 */
    const uint16_t w[2] = {0x3f80, 0};
    const float bias = 0.5f;
    setup s;
    ref_interval y;
    set_up(&s, ARMQ_OP_LINEAR_BF16, "bf16", ARMQ_DTYPE_F32, 1, 1, 2);
    s.problem.x = x;
    s.weights.w = w;
    use_bias(&s, ARMQ_DTYPE_F32, &bias);
    intervals_of(&s, 0, &y);
    assert_true(y.lo == 1.5 && y.hi == 1.5);
}

/* x [1, 2], w [n, 2] as bf16 patterns. */
static void bf16_beyond_the_range(void **state) {
    (void)state;
    static const struct {
        uint16_t x[2], w[2];
        ref_kind kind;
        double value;
    } cases[] = {
        {{0x3f80, 0x3f80}, {0xff80, 0x4000}, REF_VALUE, -(double)INFINITY}, /* 1*-inf + 1*2 */
        {{0x3f80, 0x3f80}, {0x7f80, 0xff80}, REF_NAN, 0},                   /* inf - inf */
        {{0x0000, 0x3f80}, {0x7f80, 0x3f80}, REF_NAN, 0},                   /* 0*inf */
        {{0x3f80, 0x3f80}, {0x7fc0, 0x3f80}, REF_NAN, 0},
        {{0x0001, 0x3f80}, {0x7f80, 0x3f80}, REF_ANY, 0}, /* subnormal*inf: flushed or not */
        {{0x7f00, 0x7f00}, {0x4000, 0xc000}, REF_ANY, 0}, /* 2^128 - 2^128 */
        {{0x7f00, 0x7f00}, {0x4000, 0x4000}, REF_VALUE, (double)INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setup s;
        ref_interval y;
        set_up(&s, ARMQ_OP_LINEAR_BF16, "bf16", ARMQ_DTYPE_BF16, 1, 1, 2);
        s.problem.x = cases[i].x;
        s.weights.w = cases[i].w;
        intervals_of(&s, 0, &y);
        assert_int_equal(y.kind, cases[i].kind);
        if (y.kind == REF_VALUE)
            assert_true(accepts(&y, ARMQ_DTYPE_F32, cases[i].value) &&
                        !accepts(&y, ARMQ_DTYPE_F32, 1e38));
    }
}

/* Rounds a sum to odd as BFMMLA does: truncate, and set the last bit if anything was lost. */
static float to_odd(double value) {
    float nearest = armq_f64_to_f32(value);
    if ((double)nearest == value)
        return nearest;
    float below = fabs((double)nearest) > fabs(value) ? nextafterf(nearest, 0.0f) : nearest;
    uint32_t bits;
    memcpy(&bits, &below, sizeof bits);
    bits |= 1;
    memcpy(&below, &bits, sizeof below);
    return below;
}

static float flushed(float value) { return fabsf(value) < 0x1p-126f ? 0.0f : value; }

/* Sums as real hardware does. 0: f32 FMA in order; 1: four partial sums; 2: BFDOT, pairs rounded to
 * odd; 3: BFMMLA, quads of two pairs; 4: backwards. Inputs that are subnormal are flushed by 2, 3.
 */
static float dot_in_order(int order, const float *x, const float *w, int k) {
    float part[4] = {0, 0, 0, 0};
    for (int i = 0; i < k; i++) {
        int at = order == 4 ? k - 1 - i : i;
        if (order == 2 || order == 3) {
            if (i % 2)
                continue;
            double second = i + 1 < k ? (double)flushed(x[i + 1]) * (double)flushed(w[i + 1]) : 0;
            float pair = flushed(to_odd((double)flushed(x[i]) * (double)flushed(w[i]) + second));
            int lane = order == 3 ? i / 2 % 2 : 0;
            part[lane] = flushed(to_odd((double)part[lane] + (double)pair));
        } else {
            int lane = order == 1 ? i % 4 : 0;
            part[lane] = fmaf(x[at], w[at], part[lane]);
        }
    }
    return (part[0] + part[1]) + (part[2] + part[3]);
}

/* Exponents spread over 12 binades, so that sums of few products lose bits too. */
static float spread(float size) { return ldexpf(random_float(size), -(int)(next_random() % 12)); }

static void soak_bf16_one_length(int k, float x_size, float w_size) {
    float x[4096], w[4096];
    uint16_t x_bits[4096], w_bits[4096];
    for (int i = 0; i < k; i++) {
        x_bits[i] = armq_f32_to_bf16(spread(x_size));
        w_bits[i] = armq_f32_to_bf16(spread(w_size));
        x[i] = armq_bf16_to_f32(x_bits[i]);
        w[i] = armq_bf16_to_f32(w_bits[i]);
    }
    setup s;
    ref_interval y;
    set_up(&s, ARMQ_OP_LINEAR_BF16, "bf16", ARMQ_DTYPE_BF16, 1, 1, k);
    s.problem.x = x_bits;
    s.weights.w = w_bits;
    intervals_of(&s, 0, &y);
    for (int order = 0; order < 5; order++) {
        float got = dot_in_order(order, x, w, k);
        if (!ref_accepts(&y, ARMQ_DTYPE_F32, &got))
            fail_msg("order %d, k %d: %a not in [%a, %a]", order, k, (double)got, y.lo, y.hi);
    }
}

static void soak_bf16_in_every_order(void **state) {
    (void)state;
    static const int lengths[] = {1, 2, 3, 4, 5, 7, 8, 16, 33, 100, 512, 4096};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (int repeat = 0; repeat < (lengths[i] > 512 ? 20 : 300); repeat++) {
            soak_bf16_one_length(lengths[i], 1.0f, 1.0f);
            soak_bf16_one_length(lengths[i], 0x1p-118f, 1.0f);    /* subnormal products */
            soak_bf16_one_length(lengths[i], 0x1p-122f, 0x1p60f); /* subnormal operands only */
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_extremes),
        cmocka_unit_test(gemm_strides_and_columns),
        cmocka_unit_test(zero_point_is_subtracted),
        cmocka_unit_test(zero_rows_give_the_bias),
        cmocka_unit_test(no_k_gives_the_bias_or_zero),
        cmocka_unit_test(bias_enters_once_after_scaling),
        cmocka_unit_test(sglang_rounds_before_the_bias),
        cmocka_unit_test(rows_that_are_not_finite),
        cmocka_unit_test(what_the_reference_does_not_do),
        cmocka_unit_test(soak_products_of_any_size),
        cmocka_unit_test(soak_linear_in_every_order),
        cmocka_unit_test(bf16_known_answers),
        cmocka_unit_test(bf16_inputs_are_rounded_first),
        cmocka_unit_test(bf16_beyond_the_range),
        cmocka_unit_test(soak_bf16_in_every_order),
    };
    return cmocka_run_group_tests_name("linear", tests, NULL, NULL);
}
