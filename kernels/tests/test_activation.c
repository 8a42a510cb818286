/* SPDX-License-Identifier: Apache-2.0 */
/* Gated activations against libm in double: every bf16 value, a dense sample of f32, every dtype,
 * layout and rounding, and the ends of the range. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/dialects.h"
#include "kernels/api/features.h"
#include "kernels/api/names.h"
#include "kernels/common/activation.h"
#include "kernels/kernels.h"
#include "kernels/tests/problem.h"
#include "reference/formats.h"

static const armq_activation all[] = {ARMQ_ACT_SILU, ARMQ_ACT_GELU, ARMQ_ACT_GELU_TANH,
                                      ARMQ_ACT_SWIGLUOAI};
enum { KINDS = sizeof all / sizeof *all };

static armq_gate gate_of(armq_activation kind) {
    return (armq_gate){.kind = kind,
                       .alpha = 1.702f,
                       .limit = 7.0f,
                       .in = ARMQ_DTYPE_F32,
                       .work = ARMQ_DTYPE_F32,
                       .round = ARMQ_DTYPE_F32,
                       .out = ARMQ_DTYPE_F32};
}

/* f without up, in double; for swigluoai the clamp of the gate included. */
static double exact(const armq_gate *gate, double x) {
    switch (gate->kind) {
    case ARMQ_ACT_GELU:
        return 0.5 * x * erfc(-x * M_SQRT1_2);
    case ARMQ_ACT_GELU_TANH:
        return x / (1 + exp(-2 * sqrt(M_2_PI) * (x + 0.044715 * x * x * x)));
    case ARMQ_ACT_SWIGLUOAI:
        x = fmin(x, (double)gate->limit);
        return x / (1 + exp(-(double)gate->alpha * x));
    default:
        return x / (1 + exp(-x));
    }
}

static double factor_of(const armq_gate *gate, double up) {
    const double limit = (double)gate->limit;
    return gate->kind == ARMQ_ACT_SWIGLUOAI ? fmin(fmax(up, -limit), limit) + 1 : up;
}

/* What |got - exact| is of what is allowed. The least step of f32 counts for each rounding. */
static double use_of_limit(const armq_gate *gate, double x, double up, double got) {
    const double f = exact(gate, x), factor = factor_of(gate, up);
    const double units = gate->kind == ARMQ_ACT_GELU_TANH ? 8 : 4;
    const double allowed =
        (1e-6 * fabs(f) + units * (0x1p-24 * fabs(x) + 0x1p-149)) * fabs(factor) + 0x1p-149;
    return fabs(got - f * factor) / allowed;
}

static float activate_one(const armq_gate *gate, float x, float up) {
    float row[2] = {x, up}, y = 0;
    armq_activate(gate, row, 1, 0, 1, &y);
    return y;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The values float_of(i * step): halves of a row at a time. */
static void sample(armq_activation kind, uint64_t step) {
    enum { ROW = 4096 };
    static float row[2 * ROW], y[ROW];
    const armq_gate gate = gate_of(kind);
    double worst = 0;
    float where = 0;
    for (uint64_t first = 0; first < UINT64_C(1) << 32; first += ROW * step) {
        for (uint64_t i = 0; i < ROW; i++) {
            row[i] = float_of((uint32_t)(first + i * step));
            row[ROW + i] = i % 3 == 0 ? 1.0f : i % 3 == 1 ? -0.37f : 0.02f * (float)(i % 500);
        }
        armq_activate(&gate, row, ROW, 0, ROW, y);
        for (uint64_t i = 0; i < ROW; i++) {
            if (!isfinite(row[i]))
                continue;
            if (!isfinite(y[i]) && fabsf(row[i]) < 1e37f)
                fail_msg("%s(%a) = %a", armq_activation_name(kind), (double)row[i], (double)y[i]);
            const double use =
                use_of_limit(&gate, (double)row[i], (double)row[ROW + i], (double)y[i]);
            /* Near the least f32 all of the use is rounding. */
            assert_true(!isfinite(y[i]) || use < 0.5);
            if (isfinite(y[i]) && fabsf(row[i]) > 0x1p-100f && use > worst) {
                worst = use;
                where = row[i];
            }
        }
    }
    print_message("%s: %.3f of the limit, at %a\n", armq_activation_name(kind), worst,
                  (double)where);
    assert_true(worst > 0 && worst < 0.34);
}

static void test_every_bf16(void **state) {
    (void)state;
    for (int i = 0; i < KINDS; i++)
        sample(all[i], 1 << 16);
}

static void test_dense_f32(void **state) {
    (void)state;
    for (int i = 0; i < KINDS; i++)
        sample(all[i], 16381); /* odd: all low bits occur */
}

static void test_finite_in_finite_out(void **state) {
    (void)state;
    const float ends[] = {3.4028235e38f, -3.4028235e38f, 1e20f, -1e20f, 1e-40f, -1e-40f, 0.0f};
    for (int i = 0; i < KINDS; i++)
        for (size_t j = 0; j < sizeof ends / sizeof *ends; j++) {
            const armq_gate gate = gate_of(all[i]);
            const float y = activate_one(&gate, ends[j], 1.0f);
            assert_true(isfinite(y));
            if (ends[j] < -1e3f)
                assert_true(y == 0);
        }
}

/* silu(x) / x, where sigmoid could leave [0, 1] or turn around. */
static void test_sigmoid(void **state) {
    (void)state;
    const float points[] = {-1e4f, -90.0f, -88.8f, -87.4f, -87.0f, -86.9f, -40.1f, -18.0f, -1e-3f,
                            1e-3f, 18.0f,  40.1f,  86.9f,  87.4f,  88.8f,  90.0f,  1e4f};
    const armq_gate gate = gate_of(ARMQ_ACT_SILU);
    float before = 0;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        const float s = activate_one(&gate, points[i], 1.0f) / points[i];
        assert_true(s >= before && s <= 1);
        before = s;
    }
    assert_true(before == 1);
}

static void test_known_answers(void **state) {
    (void)state;
    const armq_gate clamped = gate_of(ARMQ_ACT_SWIGLUOAI);
    assert_true(fabs((double)activate_one(&clamped, 1, 3) - 3.38318) < 1e-5);
    assert_true(fabs((double)activate_one(&clamped, 7, 7) - 55.9996) < 1e-4);
    assert_true(fabs((double)activate_one(&clamped, 1000, 1000) - 55.9996) < 1e-4);
    assert_true(fabsf(activate_one(&clamped, -100, 7)) < 1e-6f);
    assert_true(fabs((double)activate_one(&clamped, 1, -100) - -6 * 0.845796) < 1e-5);
    /* gelu and gelu_tanh differ by up to 4.73e-4, farthest near 2.7. */
    const armq_gate erf_gate = gate_of(ARMQ_ACT_GELU), tanh_gate = gate_of(ARMQ_ACT_GELU_TANH);
    const float difference =
        activate_one(&erf_gate, -2.68f, 1) - activate_one(&tanh_gate, -2.68f, 1);
    assert_true(fabsf(difference) > 3e-4f && fabsf(difference) < 4.8e-4f);
}

/* NaN stays NaN, also through clamps; -inf * sigmoid(-inf) is NaN; +inf is what it is. */
static void test_not_finite(void **state) {
    (void)state;
    const float nans[] = {NAN, -NAN, float_of(0x7fffffffu), float_of(0xff800001u)};
    for (int i = 0; i < KINDS; i++) {
        const armq_gate gate = gate_of(all[i]);
        for (size_t j = 0; j < sizeof nans / sizeof *nans; j++) {
            assert_true(isnan(activate_one(&gate, nans[j], 1)));
            assert_true(isnan(activate_one(&gate, 1, nans[j])));
        }
        assert_true(isnan(activate_one(&gate, -INFINITY, 1)));
        const float y = activate_one(&gate, INFINITY, 1);
        assert_true(gate.kind == ARMQ_ACT_SWIGLUOAI ? y == activate_one(&gate, 7, 1) : isinf(y));
    }
}

/* Any payload survives the rounding to bf16. */
static void test_nan_is_rounded_to_nan(void **state) {
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        armq_gate gate = gate_of(all[i]);
        gate.round = ARMQ_DTYPE_BF16;
        gate.any_nan = true;
        assert_true(isnan(activate_one(&gate, float_of(0x7fffffffu), 1)));
        assert_true(isnan(activate_one(&gate, 1, float_of(0xffffffffu))));
    }
}

/* Every operation of swigluoai rounded; the sigmoid may be off by a unit in the last place of f32.
 */
static float op_by_op(const armq_gate *gate, float x, float up, double off) {
    const armq_dtype r = gate->round;
    const float g = (float)armq_round_to(r, (double)fminf(x, gate->limit));
    const float u = (float)armq_round_to(r, (double)fmaxf(fminf(up, gate->limit), -gate->limit));
    const double z = armq_round_to(r, (double)(gate->alpha * g));
    const float s = (float)armq_round_to(r, (1 + off) / (1 + exp(-z)));
    const float f = (float)armq_round_to(r, (double)(g * s));
    const float v = (float)armq_round_to(r, (double)(u + 1));
    return (float)armq_round_to(r, (double)(v * f));
}

static void test_swigluoai_op_by_op(void **state) {
    (void)state;
    uint64_t seed = 5;
    const armq_dtype rounds[] = {ARMQ_DTYPE_BF16, ARMQ_DTYPE_F16};
    int exact_twice = 0;
    for (int i = 0; i < 20000; i++) {
        armq_gate gate = gate_of(ARMQ_ACT_SWIGLUOAI);
        gate.round = rounds[i % 2];
        gate.limit = i % 3 ? 7.0f : 6.7f;
        const float x = (float)(int32_t)random_u32(&seed) * 0x1p-28f;
        const float up = (float)(int32_t)random_u32(&seed) * 0x1p-28f;
        const float y = activate_one(&gate, x, up);
        const float low = op_by_op(&gate, x, up, -3e-7), high = op_by_op(&gate, x, up, 3e-7);
        assert_true(y == low || y == high);
        exact_twice += low == high;
    }
    assert_true(exact_twice > 19000);
}

static void test_result_is_rounded(void **state) {
    (void)state;
    for (int i = 0; i < KINDS - 1; i++) {
        armq_gate gate = gate_of(all[i]);
        const float y = activate_one(&gate, 1.2345f, 0.777f);
        gate.round = ARMQ_DTYPE_BF16;
        const float rounded = activate_one(&gate, 1.2345f, 0.777f);
        assert_true(rounded == (float)armq_round_to(ARMQ_DTYPE_BF16, (double)y) && rounded != y);
        gate.round = ARMQ_DTYPE_F32;
        gate.work = ARMQ_DTYPE_BF16;
        const armq_gate plain = gate_of(all[i]);
        assert_true(activate_one(&gate, 1.2345f, 0.777f) ==
                    activate_one(&plain, (float)armq_round_to(ARMQ_DTYPE_BF16, 1.2345),
                                 (float)armq_round_to(ARMQ_DTYPE_BF16, 0.777)));
    }
}

/* --- The op --------------------------------------------------------------------------------------
 */

static armq_desc describe(armq_activation kind, armq_dtype dtype, int64_t tokens,
                          int64_t intermediate) {
    armq_desc d = {.size = sizeof d,
                   .abi = ARMQ_ABI_VERSION,
                   .op = ARMQ_OP_ACTIVATION,
                   .tokens = tokens,
                   .intermediate = intermediate,
                   .in = dtype,
                   .out = dtype,
                   .uses = ARMQ_USES_X_STRIDE | ARMQ_USES_Y_STRIDE,
                   .max_threads = 8,
                   .features = ARMQ_FEATURE_NEON};
    const char *why = "";
    if (!armq_dialect_preset("vllm-w8a8", d.op, dtype, 0, kind, &d.dialect, &why))
        fail_msg("%s", why);
    return d;
}

static const armq_provider *neon(void) {
    size_t count;
    return armq_builtin_providers(&count)[0];
}

/* Both ends of x and y at an inaccessible page, every element as if it stood alone, nothing written
 * between rows, on any number of threads. */
static void op(armq_desc d) {
    const size_t bytes = armq_dtype_bytes(d.in);
    const int64_t row = d.intermediate, x_stride = 2 * row + 3, y_stride = row + 1;
    const int64_t x_count = (d.tokens - 1) * x_stride + 2 * row;
    const int64_t y_count = (d.tokens - 1) * y_stride + row;
    char *x = guarded((size_t)x_count * bytes, bytes, 0), *y;
    uint64_t seed = (uint64_t)row;
    for (int64_t i = 0; i < x_count; i++)
        armq_store(d.in, x, i, armq_round_to(d.in, (double)(int32_t)random_u32(&seed) * 0x1p-28));
    for (int32_t n = 1; n <= d.max_threads; n += 3) {
        serial_pool pool;
        serial_pool_init(&pool, n, n > 4);
        y = guarded((size_t)y_count * bytes, bytes, 0x5a);
        armq_args args = {.size = sizeof args,
                          .x = x,
                          .x_stride = x_stride,
                          .y = y,
                          .y_stride = y_stride,
                          .threads = &pool.threads};
        assert_int_equal(neon()->run(&d, NULL, &args), ARMQ_OK);
        for (int64_t i = 0; i < y_count; i++) {
            const int64_t t = i / y_stride, column = i % y_stride;
            uint16_t poison = 0x5a5a, raw;
            memcpy(&raw, y + (size_t)i * bytes, 2);
            if (column == row) {
                assert_int_equal(raw, poison);
                continue;
            }
            const bool halves = d.dialect.gate_layout == ARMQ_GATE_HALVES;
            const int64_t gate_at = halves ? column : 2 * column;
            const int64_t up_at = halves ? row + column : 2 * column + 1;
            const armq_gate alone = armq_gate_for(&d.dialect, ARMQ_DTYPE_F32, ARMQ_DTYPE_F32);
            const float want =
                activate_one(&alone, (float)armq_load(d.in, x, t * x_stride + gate_at),
                             (float)armq_load(d.in, x, t * x_stride + up_at));
            assert_true(armq_load(d.out, y, i) == armq_round_to(d.out, (double)want));
        }
    }
}

static void test_op(void **state) {
    (void)state;
    const armq_dtype dtypes[] = {ARMQ_DTYPE_F32, ARMQ_DTYPE_BF16, ARMQ_DTYPE_F16};
    const int64_t lengths[] = {1, 2, 15, 16, 17, 33};
    for (int k = 0; k < KINDS; k++)
        for (int t = 0; t < 3; t++)
            for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
                for (int layout = 0; layout < 2; layout++) {
                    armq_desc d = describe(all[k], dtypes[t], 3, lengths[i]);
                    d.dialect.gate_layout = layout ? ARMQ_GATE_INTERLEAVED : ARMQ_GATE_HALVES;
                    op(d);
                }
    op(describe(ARMQ_ACT_SILU, ARMQ_DTYPE_F32, 2, 9001));  /* several pieces of a row */
    op(describe(ARMQ_ACT_GELU, ARMQ_DTYPE_BF16, 500, 20)); /* several rows of a job */
}

static void test_nothing_to_do(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        armq_desc d = describe(ARMQ_ACT_SILU, ARMQ_DTYPE_F32, i, 1 - i);
        armq_args args = {.size = sizeof args, .x_stride = 2, .y_stride = 2};
        assert_int_equal(neon()->run(&d, NULL, &args), ARMQ_OK);
    }
}

static void test_refusals(void **state) {
    (void)state;
    armq_support support = {.size = sizeof support};
    armq_desc d = describe(ARMQ_ACT_SILU, ARMQ_DTYPE_F32, 1, 1);
    assert_int_equal(neon()->query(&d, &support), ARMQ_OK);
    assert_int_equal(support.workspace_bytes, 0);
    d.dialect.alpha = 1.702f;
    assert_int_equal(neon()->query(&d, &support), ARMQ_INVALID_ARGUMENT);
    assert_non_null(strstr(support.reason, "alpha"));
    d = describe(ARMQ_ACT_SWIGLUOAI, ARMQ_DTYPE_F32, 1, 1);
    d.dialect.limit = -1;
    assert_int_equal(neon()->query(&d, &support), ARMQ_INVALID_ARGUMENT);
    assert_non_null(strstr(support.reason, "limit"));
    d.dialect.limit = NAN;
    assert_int_equal(neon()->query(&d, &support), ARMQ_INVALID_ARGUMENT);
    d = describe(ARMQ_ACT_SWIGLUOAI, ARMQ_DTYPE_F32, 1, 1);
    d.dialect.alpha = INFINITY;
    assert_int_equal(neon()->query(&d, &support), ARMQ_INVALID_ARGUMENT);
    d = describe(ARMQ_ACT_SILU, ARMQ_DTYPE_F32, 1, 1);
    d.dialect.gate_layout = (armq_gate_layout)2;
    assert_int_equal(neon()->query(&d, &support), ARMQ_INVALID_ARGUMENT);
    assert_non_null(strstr(support.reason, "gate_layout"));
    d = describe(ARMQ_ACT_SILU, ARMQ_DTYPE_F32, 1, 1);
    d.dialect.activation_round = ARMQ_DTYPE_S8;
    assert_int_equal(neon()->query(&d, &support), ARMQ_INVALID_ARGUMENT);
    assert_non_null(strstr(support.reason, "activation_round"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_bf16),
        cmocka_unit_test(test_dense_f32),
        cmocka_unit_test(test_finite_in_finite_out),
        cmocka_unit_test(test_sigmoid),
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_nan_is_rounded_to_nan),
        cmocka_unit_test(test_swigluoai_op_by_op),
        cmocka_unit_test(test_result_is_rounded),
        cmocka_unit_test(test_op),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("activation", tests, NULL, NULL);
}
