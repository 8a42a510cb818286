/* SPDX-License-Identifier: Apache-2.0 */
/* moe_w4a8: answers worked out by hand, and what it must share with moe_w8a8. The soak stands in
 * test_moe_soak.c. */
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
#include "reference/interval.h"

static uint64_t next_random(void) {
    static uint64_t seed = 0x2545f4914f6cdd1du;
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed >> 16;
}

static float random_float(float size) {
    return size * ((float)(next_random() % 2000001) * 1e-6f - 1.0f);
}

typedef struct {
    armq_desc desc;
    armq_weights w13, w2;
    ref_problem problem;
} setup;

static void set_up(setup *s, armq_dtype in, armq_activation activation, int64_t hidden,
                   int64_t intermediate, int64_t experts, int64_t top_k, int64_t group_size) {
    memset(s, 0, sizeof *s);
    s->desc = (armq_desc){.size = sizeof(armq_desc), .abi = ARMQ_ABI_VERSION};
    s->desc.op = ARMQ_OP_MOE_W4A8;
    s->desc.tokens = 4;
    s->desc.hidden = hidden;
    s->desc.intermediate = intermediate;
    s->desc.experts = experts;
    s->desc.top_k = top_k;
    s->desc.in = s->desc.out = in;
    s->desc.group_size = group_size;
    s->desc.scale_dtype = group_size ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
    s->desc.format = ARMQ_WEIGHT_S4_LOW;
    s->desc.max_threads = 1;
    assert_true(armq_dialect_preset("vllm-w4a8", s->desc.op, in, group_size, activation,
                                    &s->desc.dialect, NULL));
    s->w13.size = s->w2.size = sizeof(armq_weights);
}

static void use_bias(setup *s, armq_dtype dtype, const void *b13, const void *b2) {
    s->desc.uses |= ARMQ_USES_W13_BIAS | ARMQ_USES_W2_BIAS;
    s->desc.bias_dtype = dtype;
    s->w13.bias = b13;
    s->w2.bias = b2;
}

/* All columns of a row; the number of tie flips in it. */
static int64_t intervals_of(const setup *s, int64_t row, ref_interval *y) {
    char reason[256] = "";
    if (armq_desc_check(&s->desc, reason, sizeof reason) != ARMQ_OK)
        fail_msg("%s", reason);
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

/* --- Per channel: the same numbers as int8 -------------------------------------------------------
 */

enum { TOKENS = 4, HIDDEN = 21, INTER = 15, EXPERTS = 3, TOP = 2 };

typedef struct {
    float x[TOKENS * HIDDEN], weights[TOKENS * TOP];
    int32_t ids[TOKENS * TOP];
    int8_t w13[EXPERTS * 2 * INTER * HIDDEN], w2[EXPERTS * HIDDEN * INTER]; /* int4 values */
    int8_t z13[EXPERTS * 2 * INTER], z2[EXPERTS * HIDDEN];
    float s13[EXPERTS * 2 * INTER], s2[EXPERTS * HIDDEN];
    float b13[EXPERTS * 2 * INTER], b2[EXPERTS * HIDDEN]; /* room for any dtype */
    uint32_t packed13[EXPERTS * 2 * INTER * HIDDEN / 4], packed2[EXPERTS * HIDDEN * INTER / 4];
} tensors;

static void random_channels(int64_t count, int8_t *zero_points, float *scales, void *bias,
                            armq_dtype bias_dtype) {
    for (int64_t i = 0; i < count; i++) {
        zero_points[i] = (int8_t)((int)(next_random() % 16) - 8);
        scales[i] = 0.02f + random_float(0.015f);
        armq_store(bias_dtype, bias, i, (double)random_float(2));
    }
}

static void fill(tensors *t, armq_dtype in, armq_dtype bias_dtype) {
    for (int i = 0; i < EXPERTS * 2 * INTER * HIDDEN; i++)
        t->w13[i] = (int8_t)((int)(next_random() % 16) - 8);
    for (int i = 0; i < EXPERTS * HIDDEN * INTER; i++)
        t->w2[i] = (int8_t)((int)(next_random() % 16) - 8);
    random_channels(EXPERTS * 2 * INTER, t->z13, t->s13, t->b13, bias_dtype);
    random_channels(EXPERTS * HIDDEN, t->z2, t->s2, t->b2, bias_dtype);
    for (int i = 0; i < TOKENS * HIDDEN; i++)
        armq_store(in, t->x, i, (double)random_float(3));
    for (int i = 0; i < TOKENS * TOP; i++) {
        t->ids[i] = (int32_t)(next_random() % EXPERTS);
        t->weights[i] = 0.1f + fabsf(random_float(1));
    }
}

/* w - zero point as int8, as the same problem with int8 weights has it. */
static void as_int8(setup *s, tensors *t) {
    bool zero = s->desc.uses & ARMQ_USES_WEIGHT_ZERO;
    for (int i = 0; zero && i < EXPERTS * 2 * INTER * HIDDEN; i++)
        t->w13[i] = (int8_t)(t->w13[i] - t->z13[i / HIDDEN]);
    for (int i = 0; zero && i < EXPERTS * HIDDEN * INTER; i++)
        t->w2[i] = (int8_t)(t->w2[i] - t->z2[i / INTER]);
    s->desc.op = ARMQ_OP_MOE_W8A8;
    s->desc.format = ARMQ_WEIGHT_S8;
    s->desc.uses &= ~(uint32_t)ARMQ_USES_WEIGHT_ZERO;
    s->w13.zero_points = s->w2.zero_points = NULL;
    s->w13.w = t->w13;
    s->w2.w = t->w2;
}

static void pack(setup *s, tensors *t, armq_weight_format format) {
    s->desc.format = format;
    ref_int4_pack(format, t->w13, EXPERTS * 2 * INTER, HIDDEN, t->packed13);
    ref_int4_pack(format, t->w2, EXPERTS * HIDDEN, INTER, t->packed2);
    s->w13.w = t->packed13;
    s->w2.w = t->packed2;
}

static void compare_with_int8(setup *s, tensors *t, bool word8) {
    ref_interval four[TOKENS][HIDDEN], eight[HIDDEN];
    pack(s, t, word8 ? ARMQ_WEIGHT_S4_WORD8 : ARMQ_WEIGHT_S4_LOW);
    for (int row = 0; row < TOKENS; row++)
        (void)intervals_of(s, row, four[row]);
    as_int8(s, t);
    for (int row = 0; row < TOKENS; row++) {
        (void)intervals_of(s, row, eight);
        for (int n = 0; n < HIDDEN; n++) {
            assert_int_equal(four[row][n].kind, REF_VALUE);
            assert_true(four[row][n].lo == eight[n].lo && four[row][n].mid == eight[n].mid &&
                        four[row][n].hi == eight[n].hi);
        }
    }
}

static void channels_are_as_int8(void **state) {
    (void)state;
    static const armq_dtype dtypes[] = {ARMQ_DTYPE_F32, ARMQ_DTYPE_BF16, ARMQ_DTYPE_F16};
    tensors *t = malloc(sizeof *t);
    assert_non_null(t);
    for (int i = 0; i < 96; i++) {
        armq_dtype in = dtypes[i % 3], bias_dtype = i % 2 ? in : ARMQ_DTYPE_F32;
        setup s;
        set_up(&s, in, i / 3 % 2 ? ARMQ_ACT_SWIGLUOAI : ARMQ_ACT_SILU, HIDDEN, INTER, EXPERTS, TOP,
               0);
        fill(t, in, bias_dtype);
        s.problem.x = t->x;
        s.problem.topk_ids = t->ids;
        s.problem.topk_weights = t->weights;
        s.w13.scales = t->s13;
        s.w2.scales = t->s2;
        s.desc.dialect.quant = i / 6 % 2 ? ARMQ_QUANT_SYMMETRIC : ARMQ_QUANT_ASYMMETRIC;
        s.desc.uses = i / 12 % 2 ? ARMQ_USES_WEIGHT_ON_INPUT : 0;
        if (i / 24 % 2) {
            s.desc.uses |= ARMQ_USES_WEIGHT_ZERO;
            s.w13.zero_points = t->z13;
            s.w2.zero_points = t->z2;
        }
        if (i % 4)
            use_bias(&s, bias_dtype, t->b13, t->b2);
        compare_with_int8(&s, t, i / 48);
    }
    free(t);
}

/* --- Per group, by hand --------------------------------------------------------------------------
 *
 * x = 255 (q = 127, zp = -128, scale 1). w13: gate row i holds 1 in its first group, 2 in its
 * second, up row i the other way round, times i % 3 - 1; so that y13 follows from scales and zero
 * points alone. */
enum { H = 64, I = 96, G = 32 };

typedef struct {
    int8_t w13[2 * I][H], w2[H][I], z13[2 * I][H / G], z2[H][I / G];
    uint16_t s13[2 * I][H / G], s2[H][I / G];
    uint8_t packed13[I * H], packed2[H * I / 2];
    float x[H];
} grouped_model;

static void fill_model(grouped_model *m) {
    for (int n = 0; n < 2 * I; n++)
        for (int g = 0; g < H / G; g++) {
            m->z13[n][g] = (int8_t)((n + 3 * g) % 16 - 8);
            m->s13[n][g] = armq_f32_to_bf16(ldexpf(1.0f + (float)(n % 7) / 8, -15 - g));
            memset(m->w13[n] + g * G, (n < I) == (g == 0) ? n % 3 - 1 : 2 - n % 5, G);
        }
    for (int n = 0; n < H; n++)
        for (int i = 0; i < I; i++) {
            m->w2[n][i] = (int8_t)((7 * n + 5 * i) % 16 - 8);
            m->z2[n][i / G] = (int8_t)((5 * n + i / G) % 16 - 8);
            m->s2[n][i / G] = armq_f32_to_bf16(ldexpf(1.0f + (float)(n % 5) / 8, -2 - i / G));
        }
    for (int i = 0; i < H; i++)
        m->x[i] = 255;
    ref_int4_pack(ARMQ_WEIGHT_S4_LOW, m->w13[0], 2 * I, H, m->packed13);
    ref_int4_pack(ARMQ_WEIGHT_S4_LOW, m->w2[0], H, I, m->packed2);
}

static double y13_of(const grouped_model *m, int n) {
    double y = 0;
    for (int i = 0; i < H; i++)
        y += 255.0 * (m->w13[n][i] - m->z13[n][i / G]) *
             armq_load(ARMQ_DTYPE_BF16, m->s13[n], i / G);
    return y;
}

/* y from the definition, in double but for the second quantiser. */
static void model_y(const grouped_model *m, const armq_dialect *dialect, double y[H]) {
    float act[I];
    int8_t q[I];
    for (int i = 0; i < I; i++) {
        double gate = y13_of(m, i);
        act[i] = (float)(gate / (1 + exp(-gate)) * y13_of(m, I + i));
    }
    ref_row_quant quant = ref_quantize_row(dialect, ARMQ_DTYPE_F32, act, I, q);
    for (int n = 0; n < H; n++) {
        y[n] = 0;
        for (int i = 0; i < I; i++)
            y[n] += (double)((q[i] - quant.zero_point) * (m->w2[n][i] - m->z2[n][i / G])) *
                    armq_load(ARMQ_DTYPE_BF16, m->s2[n], i / G);
        y[n] *= (double)quant.scale;
    }
}

static void groups_by_hand(void **state) {
    (void)state;
    static grouped_model m;
    const int32_t id = 0;
    const float weight = 0.5f;
    fill_model(&m);
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        setup s;
        ref_interval y[H];
        double wanted[H], rms = 0;
        set_up(&s, ARMQ_DTYPE_F32, ARMQ_ACT_SILU, H, I, 1, 1, G);
        s.desc.uses |= ARMQ_USES_WEIGHT_ZERO;
        if (symmetric) /* q = 127, scale 255 / 127: the same x but for a rounding */
            s.desc.dialect.quant = ARMQ_QUANT_SYMMETRIC;
        s.problem.x = m.x;
        s.problem.topk_ids = &id;
        s.problem.topk_weights = &weight;
        s.w13.w = m.packed13;
        s.w13.scales = m.s13;
        s.w13.zero_points = m.z13[0];
        s.w2.w = m.packed2;
        s.w2.scales = m.s2;
        s.w2.zero_points = m.z2[0];
        int64_t flips = intervals_of(&s, 0, y);
        model_y(&m, &s.desc.dialect, wanted);
        for (int n = 0; n < H; n++)
            rms += wanted[n] * wanted[n] / H;
        assert_int_equal(flips, 0);
        for (int n = 0; n < H; n++) {
            assert_true(fabs(y[n].mid - wanted[n] / 2) <= 1e-6 * sqrt(rms));
            assert_true(accepts(&y[n], ARMQ_DTYPE_F32, wanted[n] / 2));
            assert_true(y[n].hi - y[n].lo <= 2e-5 * sqrt(rms));
        }
    }
}

/* --- Sum over slots, in bf16 ---------------------------------------------------------------------
 */

/* x = 0 and no w13 bias: y2 is the w2 bias, exactly; 256 and twice 1. */
static void sum_of_biases(int64_t top_k, const int32_t *ids, const float *weights, uint32_t uses,
                          armq_combine_order order, ref_interval *y) {
    static const uint8_t w13[3 * 4] = {0}, w2[3 * 2] = {0};
    static const float s13[12] = {0}, s2[6] = {0}, b13[12] = {0};
    static const float b2[6] = {256, 3, 1, 5, 1, 7};
    const uint16_t x[2] = {0, 0};
    setup s;
    set_up(&s, ARMQ_DTYPE_BF16, ARMQ_ACT_SILU, 2, 2, 3, top_k, 0);
    s.desc.uses |= uses;
    s.desc.dialect.combine_order = order;
    s.problem.x = x;
    s.problem.topk_ids = ids;
    s.problem.topk_weights = weights;
    s.w13.w = w13;
    s.w13.scales = s13;
    s.w2.w = w2;
    s.w2.scales = s2;
    use_bias(&s, ARMQ_DTYPE_F32, b13, b2);
    (void)intervals_of(&s, 0, y);
}

static bool is_exactly(const ref_interval *y, double value) {
    return y->kind == REF_VALUE && y->lo == value && y->hi == value;
}

/* 256 + 1 is a tie of bf16 and stays 256, twice; 1 + 1 + 256 is 258. */
static void each_addition_is_rounded(void **state) {
    (void)state;
    const int32_t ids[3] = {2, 1, 0};
    const float ones[3] = {1, 1, 1};
    ref_interval y[2];
    sum_of_biases(3, ids, ones, 0, ARMQ_COMBINE_EXPERT_ORDER, y);
    assert_true(is_exactly(&y[0], 256) && is_exactly(&y[1], 15));
    sum_of_biases(3, ids, ones, 0, ARMQ_COMBINE_SLOT_ORDER, y);
    assert_true(is_exactly(&y[0], 258));
    const int32_t again[3] = {1, 0, 1}; /* an expert twice: ascending (expert, slot) */
    sum_of_biases(3, again, ones, 0, ARMQ_COMBINE_EXPERT_ORDER, y);
    assert_true(is_exactly(&y[0], 256) && is_exactly(&y[1], 13));
}

/* 1 + 2^-9 is 1 in bf16; 7 * 1.0078125 = 7.0546875 goes to 7.0625, 256 + 1.0078125 to 258. */
static void weights_and_products_are_rounded(void **state) {
    (void)state;
    const int32_t ids[2] = {0, 2};
    const float weights[2] = {1 + 0x1p-9f, 1 + 0x1p-7f};
    ref_interval y[2];
    sum_of_biases(2, ids, weights, 0, ARMQ_COMBINE_EXPERT_ORDER, y);
    assert_true(is_exactly(&y[0], 258) && is_exactly(&y[1], 10.0625));
    sum_of_biases(2, ids, weights, ARMQ_USES_WEIGHT_ON_INPUT, ARMQ_COMBINE_EXPERT_ORDER, y);
    assert_true(is_exactly(&y[0], 256) && is_exactly(&y[1], 10));
}

/* The weight 0.5 + 2^-10 is 0.5 in bf16, and 254 * 0.5 is exact. */
static void weight_on_the_input_is_rounded(void **state) {
    (void)state;
    const uint8_t w13[4] = {0x01, 0, 0x01, 0}, w2[2] = {0x01, 0x00}; /* gate 0 and up 0 are x0 */
    const float s13[4] = {0x1p-6f, 1, 0x1p-6f, 1}, s2[2] = {1, 1};
    const int32_t id = 0;
    uint16_t x[2] = {armq_f32_to_bf16(254), 0};
    for (int i = 0; i < 2; i++) {
        const float weight = i ? 0.5f : 0.5f + 0x1p-10f;
        setup s;
        ref_interval y[2];
        set_up(&s, ARMQ_DTYPE_BF16, ARMQ_ACT_SILU, 2, 2, 1, 1, 0);
        s.desc.uses |= ARMQ_USES_WEIGHT_ON_INPUT;
        s.problem.x = x;
        s.problem.topk_ids = &id;
        s.problem.topk_weights = &weight;
        s.w13.w = w13;
        s.w13.scales = s13;
        s.w2.w = w2;
        s.w2.scales = s2;
        assert_int_equal(intervals_of(&s, 0, y), 0);
        double g = 127.0 / 64, act = armq_round_to(ARMQ_DTYPE_BF16, g / (1 + exp(-g)) * g);
        assert_true(near(y[0].mid, act) && accepts(&y[0], ARMQ_DTYPE_BF16, act));
        assert_false(accepts(&y[0], ARMQ_DTYPE_BF16, 4 * act) ||
                     accepts(&y[0], ARMQ_DTYPE_BF16, act * (1 + 0x1p-7)));
    }
}

static void what_the_reference_does_not_do(void **state) {
    (void)state;
    setup s;
    set_up(&s, ARMQ_DTYPE_F32, ARMQ_ACT_SILU, 64, 96, 1, 1, 32);
    s.problem.desc = &s.desc;
    ref_context *context = ref_open(&s.problem);
    assert_non_null(context);
    ref_close(context);
    s.desc.group_size = 64; /* does not divide 96 */
    assert_null(ref_open(&s.problem));
    s.desc.group_size = 32;
    s.desc.scale_dtype = ARMQ_DTYPE_F32;
    assert_null(ref_open(&s.problem));
    s.desc.scale_dtype = ARMQ_DTYPE_BF16;
    s.desc.format = ARMQ_WEIGHT_S8;
    assert_null(ref_open(&s.problem));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_as_int8),
        cmocka_unit_test(groups_by_hand),
        cmocka_unit_test(each_addition_is_rounded),
        cmocka_unit_test(weights_and_products_are_rounded),
        cmocka_unit_test(weight_on_the_input_is_rounded),
        cmocka_unit_test(what_the_reference_does_not_do),
    };
    return cmocka_run_group_tests_name("moe int4", tests, NULL, NULL);
}
