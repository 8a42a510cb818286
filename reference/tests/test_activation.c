/* SPDX-License-Identifier: Apache-2.0 */
/* The op `activation`: answers worked out by hand, the ends of the range, both layouts, and a soak
 * of f32 implementations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/dialects.h"
#include "reference/activation.h"
#include "reference/formats.h"
#include "reference/interval.h"

static uint64_t next_random(void) {
    static uint64_t seed = 0x2545f4914f6cdd1du;
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed >> 16;
}

static float random_float(float size) {
    return size * ((float)(next_random() % 2000001) * 1e-6f - 1.0f);
}

static armq_desc description(const char *dialect, armq_dtype in, armq_activation activation,
                             int64_t tokens, int64_t intermediate) {
    armq_desc desc = {.size = sizeof desc, .abi = ARMQ_ABI_VERSION, .op = ARMQ_OP_ACTIVATION};
    desc.tokens = tokens;
    desc.intermediate = intermediate;
    desc.in = desc.out = in;
    assert_true(armq_dialect_preset(dialect, desc.op, in, 0, activation, &desc.dialect, NULL));
    return desc;
}

static bool accepts(const ref_interval *y, armq_dtype dtype, double value) {
    union {
        float f32;
        uint16_t half;
    } got;
    armq_store(dtype, &got, 0, value);
    return ref_accepts(y, dtype, &got);
}

static ref_interval activated(armq_activation activation, float gate, float up) {
    armq_desc desc = description("vllm-w8a8", ARMQ_DTYPE_F32, activation, 1, 1);
    return ref_activate(&desc.dialect, ref_exact((double)gate), ref_exact((double)up));
}

/* --- Known answers -------------------------------------------------------------------------------
 */

static void known_answers(void **state) {
    (void)state;
    static const struct {
        armq_activation activation;
        float gate, up;
        double right, wrong;
    } cases[] = {
        {ARMQ_ACT_SWIGLUOAI, 7, 7, 55.99963, 48.99967},         /* without the 1 of up + 1 */
        {ARMQ_ACT_SWIGLUOAI, 1, 3, 3.3831836, 2.5373877},       /* the same */
        {ARMQ_ACT_SWIGLUOAI, 100, 0, 6.9999535, 100},           /* gate not clamped */
        {ARMQ_ACT_SWIGLUOAI, 1, -100, -5.0747756, -83.7337},    /* up not clamped */
        {ARMQ_ACT_SWIGLUOAI, -8, 0, -9.766429e-06, -4.687e-05}, /* gate clamped from below */
        {ARMQ_ACT_SILU, 1, 3, 2.1931757, 0.7310586},            /* up dropped */
        {ARMQ_ACT_SILU, -1, 2, -0.5378828, 1.4621172},          /* sigmoid(-x) */
        {ARMQ_ACT_GELU, 1, 1, 0.84134475, 0.84119199},          /* tanh for erf */
        {ARMQ_ACT_GELU_TANH, 1, 1, 0.84119199, 0.84134475},     /* erf for tanh */
        {ARMQ_ACT_GELU, -2.2f, 1, -0.030587585, -0.030321473},
        {ARMQ_ACT_SILU, 0, 5, 0, 1e-30},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ref_interval y = activated(cases[i].activation, cases[i].gate, cases[i].up);
        assert_true(fabs(y.mid - cases[i].right) <= 2e-6 * fabs(cases[i].right) + 1e-9);
        assert_true(y.lo <= y.mid && y.mid <= y.hi);
        assert_false(accepts(&y, ARMQ_DTYPE_F32, cases[i].wrong));
    }
}

/* Both functions differ by at most 4.73e-4; where they differ by a tenth of it, the bounds still
 * tell them apart. */
static void gelu_is_not_its_approximation(void **state) {
    (void)state;
    double largest = 0;
    int told = 0, differ = 0;
    for (int i = -256; i <= 256; i++) {
        float x = (float)i / 64;
        ref_interval erf = activated(ARMQ_ACT_GELU, x, 1);
        ref_interval tanh = activated(ARMQ_ACT_GELU_TANH, x, 1);
        double difference = fabs(erf.mid - tanh.mid);
        largest = fmax(largest, difference);
        if (difference > 4.73e-5) {
            differ++;
            told += erf.hi < tanh.lo || tanh.hi < erf.lo;
        }
    }
    assert_true(largest > 4.7e-4 && largest < 4.74e-4);
    assert_true(differ > 100 && told == differ);
}

static void minima_inside_an_interval(void **state) {
    (void)state;
    static const struct {
        armq_activation activation;
        double at, least;
    } minima[] = {{ARMQ_ACT_SILU, -1.2784645, -0.27846454},
                  {ARMQ_ACT_GELU, -0.7517915, -0.16997121},
                  {ARMQ_ACT_GELU_TANH, -0.7524614, -0.17004073},
                  {ARMQ_ACT_SWIGLUOAI, -0.7511543, -0.16361019}};
    for (int i = 0; i < 4; i++) {
        armq_desc desc = description("vllm-w8a8", ARMQ_DTYPE_F32, minima[i].activation, 1, 1);
        ref_interval wide = {minima[i].at - 0.5, minima[i].at + 0.2, minima[i].at + 0.5, REF_VALUE};
        double up = minima[i].activation == ARMQ_ACT_SWIGLUOAI ? 0 : 1;
        ref_interval y = ref_activate(&desc.dialect, wide, ref_exact(up));
        assert_true(fabs(y.lo - minima[i].least) < 2e-6 && y.hi < -0.05 && y.hi > y.mid);
    }
}

/* The sigmoid stays in [0, 1]: x and up = 1 give a value between 0 and x, at any distance. */
static void far_from_zero(void **state) {
    (void)state;
    static const float far[] = {-1e4f, -90,   -88.8f, -40.1f, -18,   0,
                                40.1f, 88.8f, 1e4f,   3e38f,  -3e38f};
    for (int a = ARMQ_ACT_SILU; a <= ARMQ_ACT_GELU_TANH; a++)
        for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
            ref_interval y = activated((armq_activation)a, far[i], 1);
            double x = (double)far[i], slack = 8 * 0x1p-24 * fabs(x);
            assert_int_equal(y.kind, REF_VALUE);
            assert_true(y.mid >= fmin(0, x) && y.mid <= fmax(0, x));
            assert_true(x > 0 ? y.lo >= x * (1 - 2e-6) - slack : y.lo >= -2e-6 - slack);
            assert_true(accepts(&y, ARMQ_DTYPE_F32, x > 0 ? x : 0));
        }
    ref_interval y = activated(ARMQ_ACT_SWIGLUOAI, -100, 7);
    assert_true(fabs(y.mid) < 1e-6 && accepts(&y, ARMQ_DTYPE_F32, 0));
}

/* Op by op in bf16: 1.702 -> 1.703125, sigmoid 0.84594 -> 0.84765625, u + 1 = 3, product 2.54296875
 * -> 2.546875. In one rounding: 2.53739 -> 2.53125. Another alpha or limit gives another value. */
static void each_op_rounded(void **state) {
    (void)state;
    armq_desc desc = description("vllm-w4a8", ARMQ_DTYPE_BF16, ARMQ_ACT_SWIGLUOAI, 1, 1);
    assert_int_equal(desc.dialect.activation_round, ARMQ_DTYPE_BF16);
    ref_interval y = ref_activate(&desc.dialect, ref_exact(1), ref_exact(2));
    assert_true(y.lo == 2.546875 && y.mid == 2.546875 && y.hi == 2.546875);
    desc.dialect.activation_round = ARMQ_DTYPE_F32;
    y = ref_activate(&desc.dialect, ref_exact(1), ref_exact(2));
    assert_true(accepts(&y, ARMQ_DTYPE_BF16, 2.53125) && !accepts(&y, ARMQ_DTYPE_BF16, 2.546875));
    desc.dialect.alpha = 1;
    y = ref_activate(&desc.dialect, ref_exact(1), ref_exact(2));
    assert_true(fabs(y.mid - 3 * 0.7310585786300049) < 1e-12);
    desc.dialect.limit = 1.5f;
    y = ref_activate(&desc.dialect, ref_exact(1), ref_exact(2));
    assert_true(fabs(y.mid - 2.5 * 0.7310585786300049) < 1e-12);
}

/* silu(1) * 3 = 2.193 in f32, then one rounding to the dialect's bf16. */
static void others_rounded_once(void **state) {
    (void)state;
    armq_desc desc = description("vllm-w4a8", ARMQ_DTYPE_BF16, ARMQ_ACT_SILU, 1, 1);
    ref_interval y = ref_activate(&desc.dialect, ref_exact(1), ref_exact(3));
    assert_true(y.lo == 2.1875 && y.hi == 2.1875);
}

/* --- The op --------------------------------------------------------------------------------------
 */

static void layouts_strides_and_columns(void **state) {
    (void)state;
    const float halves[2][5] = {{9, 9, 9, 9, 99}, {1, 2, 3, 4, 99}};
    const float pairs[4] = {1, 3, 2, 4};
    const double wanted[2] = {2.1931757358900147, 7.046376623823};
    armq_desc desc = description("vllm-w8a8", ARMQ_DTYPE_F32, ARMQ_ACT_SILU, 2, 2);
    ref_problem problem = {.desc = &desc, .x = halves, .x_stride = 5};
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        desc.dialect.gate_layout = interleaved ? ARMQ_GATE_INTERLEAVED : ARMQ_GATE_HALVES;
        problem.x = interleaved ? pairs : halves[0];
        problem.x_stride = interleaved ? 0 : 5;
        ref_context *context = ref_open(&problem);
        assert_non_null(context);
        ref_interval y[2];
        const int64_t backwards[2] = {1, 0};
        int64_t row = interleaved ? 0 : 1;
        ref_row_intervals(context, row, NULL, 2, y);
        assert_true(fabs(y[0].mid - wanted[0]) < 1e-12 && fabs(y[1].mid - wanted[1]) < 1e-11);
        ref_row_intervals(context, row, backwards, 2, y);
        assert_true(fabs(y[1].mid - wanted[0]) < 1e-12 && fabs(y[0].mid - wanted[1]) < 1e-11);
        assert_true(fabs(ref_unquantized(context, row, 1) - wanted[1]) < 1e-11);
        assert_int_equal(ref_tie_flips(context), 0);
        ref_close(context);
    }
    armq_desc swiglu = description("vllm-w8a8", ARMQ_DTYPE_F32, ARMQ_ACT_SWIGLUOAI, 1, 2);
    assert_int_equal(swiglu.dialect.gate_layout, ARMQ_GATE_INTERLEAVED);
}

static void nan_and_infinity(void **state) {
    (void)state;
    const float x[2][6] = {{1, NAN, -INFINITY, 1, 1, 1}, {1, 2, 3, 1, 1, 1}};
    armq_desc desc = description("vllm-w8a8", ARMQ_DTYPE_F32, ARMQ_ACT_SILU, 2, 3);
    ref_problem problem = {.desc = &desc, .x = x};
    for (int claimed = 0; claimed < 2; claimed++) {
        problem.claims = claimed ? ARMQ_CLAIM_NONFINITE_ROW_NAN : 0;
        ref_context *context = ref_open(&problem);
        ref_interval y[3];
        ref_row_intervals(context, 0, NULL, 3, y);
        assert_int_equal(y[0].kind, claimed ? REF_NAN : REF_VALUE);
        assert_int_equal(y[1].kind, claimed ? REF_NAN : REF_ANY);
        assert_int_equal(y[2].kind, claimed ? REF_NAN : REF_ANY);
        ref_row_intervals(context, 1, NULL, 3, y);
        assert_true(y[0].kind == REF_VALUE && y[2].kind == REF_VALUE);
        ref_close(context);
    }
}

/* Infinities that come out of an overflow before the activation. */
static void infinite_operands(void **state) {
    (void)state;
    const float inf = INFINITY;
    ref_interval y = activated(ARMQ_ACT_SILU, inf, 2);
    assert_true(y.kind == REF_VALUE && y.lo == (double)inf);
    assert_int_equal(activated(ARMQ_ACT_SILU, inf, 0).kind, REF_NAN);
    assert_int_equal(activated(ARMQ_ACT_SILU, -inf, 2).kind, REF_ANY);
    assert_int_equal(activated(ARMQ_ACT_GELU_TANH, -inf, 2).kind, REF_ANY);
    assert_int_equal(activated(ARMQ_ACT_SWIGLUOAI, -inf, 2).kind, REF_ANY);
    y = activated(ARMQ_ACT_SWIGLUOAI, inf, inf); /* clamped: 7 and 7 */
    assert_true(y.kind == REF_VALUE && fabs(y.mid - 55.99963) < 1e-4);
}

static void f16_overflows(void **state) {
    (void)state;
    uint16_t x[2] = {0x5bf8, 0x5bf8}; /* 255 * 255 = 65025 */
    armq_desc desc = description("vllm-w8a8", ARMQ_DTYPE_F16, ARMQ_ACT_SILU, 1, 1);
    ref_problem problem = {.desc = &desc, .x = x};
    ref_interval y;
    for (int big = 0; big < 2; big++) {
        x[0] = big ? 0x5c08 : 0x5bf8; /* 258 * 255 = 65790 */
        ref_context *context = ref_open(&problem);
        ref_row_intervals(context, 0, NULL, 1, &y);
        assert_true(accepts(&y, ARMQ_DTYPE_F16, big ? (double)INFINITY : 65024));
        assert_false(accepts(&y, ARMQ_DTYPE_F16, big ? 65504 : (double)INFINITY));
        ref_close(context);
    }
}

/* --- Soak ----------------------------------------------------------------------------------------
 */

/* Plain f32 forms, as a kernel may compute them with an exact enough exp, erf or tanh. */
static float in_f32(armq_activation activation, int form, float g, float u) {
    switch (activation) {
    case ARMQ_ACT_SILU:
        return form == 0   ? g / (1.0f + expf(-g)) * u
               : form == 1 ? g * (1.0f / (1.0f + expf(-g))) * u
                           : 0.5f * g * (1.0f + tanhf(0.5f * g)) * u;
    case ARMQ_ACT_GELU:
        return form == 0   ? 0.5f * g * (1.0f + erff(g * (float)M_SQRT1_2)) * u
               : form == 1 ? g * (0.5f + 0.5f * erff(g * (float)M_SQRT1_2)) * u
                           : 0.5f * g * erfcf(-g * (float)M_SQRT1_2) * u;
    case ARMQ_ACT_GELU_TANH: {
        const float c = 0.79788456f;
        float z = form == 0   ? c * (g + 0.044715f * g * g * g)
                  : form == 1 ? c * g * fmaf(0.044715f * g, g, 1.0f)
                              : c * fmaf(0.044715f * (g * g), g, g);
        return 0.5f * g * (1.0f + tanhf(z)) * u;
    }
    default:
        g = fminf(g, 7.0f);
        u = fminf(fmaxf(u, -7.0f), 7.0f);
        return form == 0 ? (u + 1.0f) * (g / (1.0f + expf(-1.702f * g)))
               : form == 1
                   ? (u + 1.0f) * g * (1.0f / (1.0f + expf(g * -1.702f)))
                   : fmaf(u, g / (1.0f + expf(-1.702f * g)), g / (1.0f + expf(-1.702f * g)));
    }
}

static void soak_f32_forms(void **state) {
    (void)state;
    static const float sizes[] = {1e-30f, 1e-3f, 1, 4, 20, 90, 1000};
    for (int a = ARMQ_ACT_SILU; a <= ARMQ_ACT_SWIGLUOAI; a++) {
        double usage = 0;
        for (int i = 0; i < 70000; i++) {
            float g = random_float(sizes[i % 7]), u = random_float(8);
            ref_interval y = activated((armq_activation)a, g, u);
            for (int form = 0; form < 3; form++) {
                float got = in_f32((armq_activation)a, form, g, u);
                if (!ref_accepts(&y, ARMQ_DTYPE_F32, &got))
                    fail_msg("activation %d, form %d of %a, %a: %a not in [%a, %a]", a, form,
                             (double)g, (double)u, (double)got, y.lo, y.hi);
                usage = fmax(usage, ref_usage(&y, ARMQ_DTYPE_F32, &got));
            }
        }
        assert_true(usage > 0.05 && usage <= 0.9);
    }
}

/* Over all bf16 gates: finite in, finite out. */
static void every_bf16_gate(void **state) {
    (void)state;
    for (int a = ARMQ_ACT_SILU; a <= ARMQ_ACT_SWIGLUOAI; a++) {
        int finite = 0;
        for (uint32_t bits = 0; bits < 65536; bits++) {
            float g = armq_bf16_to_f32((uint16_t)bits);
            if (!isfinite(g))
                continue;
            ref_interval y = activated((armq_activation)a, g, 0.25f);
            assert_true(y.kind == REF_VALUE && y.lo <= y.mid && y.mid <= y.hi);
            assert_true(isfinite(armq_round_to(ARMQ_DTYPE_F32, y.lo)) &&
                        isfinite(armq_round_to(ARMQ_DTYPE_F32, y.hi)));
            finite++;
        }
        assert_int_equal(finite, 65280);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(gelu_is_not_its_approximation),
        cmocka_unit_test(minima_inside_an_interval),
        cmocka_unit_test(far_from_zero),
        cmocka_unit_test(each_op_rounded),
        cmocka_unit_test(others_rounded_once),
        cmocka_unit_test(layouts_strides_and_columns),
        cmocka_unit_test(nan_and_infinity),
        cmocka_unit_test(infinite_operands),
        cmocka_unit_test(f16_overflows),
        cmocka_unit_test(soak_f32_forms),
        cmocka_unit_test(every_bf16_gate),
    };
    return cmocka_run_group_tests_name("activation", tests, NULL, NULL);
}
