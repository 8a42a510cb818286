/* SPDX-License-Identifier: Apache-2.0 */
/* Every refusal of armq_desc_check and armq_args_check, one field at a time from a valid problem.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/describe.h"
#include "kernels/api/dialects.h"

static armq_desc valid_linear(void) {
    armq_desc d = {.size = sizeof d,
                   .abi = ARMQ_ABI_VERSION,
                   .op = ARMQ_OP_LINEAR_W8A8,
                   .tokens = 2,
                   .n = 3,
                   .k = 64,
                   .in = ARMQ_DTYPE_F32,
                   .out = ARMQ_DTYPE_F32,
                   .bias_dtype = ARMQ_DTYPE_F32,
                   .scale_dtype = ARMQ_DTYPE_F32,
                   .format = ARMQ_WEIGHT_S8,
                   .uses = ARMQ_USES_BIAS,
                   .max_threads = 4};
    assert_true(armq_dialect_preset("vllm-w8a8", d.op, d.in, 0, ARMQ_ACT_NONE, &d.dialect, NULL));
    return d;
}

static armq_desc valid_moe_w4a8(void) {
    armq_desc d = {.size = sizeof d,
                   .abi = ARMQ_ABI_VERSION,
                   .op = ARMQ_OP_MOE_W4A8,
                   .tokens = 2,
                   .hidden = 256,
                   .intermediate = 128,
                   .experts = 4,
                   .top_k = 2,
                   .in = ARMQ_DTYPE_BF16,
                   .out = ARMQ_DTYPE_BF16,
                   .scale_dtype = ARMQ_DTYPE_BF16,
                   .format = ARMQ_WEIGHT_S4_LOW,
                   .group_size = 64,
                   .max_threads = 1};
    assert_true(armq_dialect_preset("vllm-w4a8", d.op, d.in, d.group_size, ARMQ_ACT_SILU,
                                    &d.dialect, NULL));
    return d;
}

static armq_desc valid_activation(void) {
    armq_desc d = {.size = sizeof d,
                   .abi = ARMQ_ABI_VERSION,
                   .op = ARMQ_OP_ACTIVATION,
                   .tokens = 2,
                   .intermediate = 3,
                   .in = ARMQ_DTYPE_F16,
                   .out = ARMQ_DTYPE_F16,
                   .max_threads = 1};
    assert_true(armq_dialect_preset("vllm-w8a8", d.op, d.in, 0, ARMQ_ACT_SILU, &d.dialect, NULL));
    return d;
}

static armq_desc valid_moe_clamped(void) {
    armq_desc d = valid_moe_w4a8();
    assert_true(armq_dialect_preset("vllm-w4a8", d.op, d.in, d.group_size, ARMQ_ACT_SWIGLUOAI,
                                    &d.dialect, NULL));
    return d;
}

static void refused(const armq_desc *d, const char *word) {
    char reason[256] = "";
    assert_int_equal(armq_desc_check(d, reason, sizeof reason), ARMQ_INVALID_ARGUMENT);
    if (!strstr(reason, word))
        fail_msg("reason '%s' does not say '%s'", reason, word);
}

static void accepted(const armq_desc *d) {
    char reason[256] = "";
    if (armq_desc_check(d, reason, sizeof reason) != ARMQ_OK)
        fail_msg("refused: %s", reason);
}

#define REFUSED(make, change, word)                                                                \
    do {                                                                                           \
        armq_desc d = make();                                                                      \
        d.change;                                                                                  \
        refused(&d, word);                                                                         \
    } while (0)

static void test_valid_descriptions(void **state) {
    (void)state;
    armq_desc linear = valid_linear(), moe = valid_moe_w4a8(), clamped = valid_moe_clamped();
    accepted(&linear);
    accepted(&clamped);
    accepted(&moe);
    linear.tokens = linear.n = linear.k = 0;
    accepted(&linear);
    armq_desc per_channel = moe;
    per_channel.group_size = 0;
    per_channel.scale_dtype = ARMQ_DTYPE_F32;
    accepted(&per_channel);
}

static void test_linear_refusals(void **state) {
    (void)state;
    REFUSED(valid_linear, size = 8, "desc.size = 8");
    REFUSED(valid_linear, abi = 7, "desc.abi = 7");
    REFUSED(valid_linear, op = (armq_op)99, "op = 99");
    REFUSED(valid_linear, tokens = -1, "tokens = -1");
    REFUSED(valid_linear, n = -5, "n = -5");
    REFUSED(valid_linear, experts = 2, "experts = 2");
    REFUSED(valid_linear, hidden = 64, "hidden = 64");
    REFUSED(valid_linear, k = INT64_MAX / 2, "2^62");
    REFUSED(valid_linear, in = ARMQ_DTYPE_S8, "input dtype s8");
    REFUSED(valid_linear, out = ARMQ_DTYPE_S32, "output dtype s32");
    REFUSED(valid_linear, bias_dtype = ARMQ_DTYPE_BF16, "bias dtype bf16");
    REFUSED(valid_linear, bias_dtype = ARMQ_DTYPE_NONE, "bias dtype none");
    REFUSED(valid_linear, scale_dtype = ARMQ_DTYPE_BF16, "scale dtype bf16");
    REFUSED(valid_linear, format = ARMQ_WEIGHT_S4_LOW, "weight format s4_low");
    REFUSED(valid_linear, group_size = 32, "group_size = 32");
    REFUSED(valid_linear, uses = ARMQ_USES_SKIP_IDS, "uses = 0x10");
    REFUSED(valid_linear, uses = 1u << 31, "uses = 0x80000000");
    REFUSED(valid_linear, max_threads = 0, "max_threads = 0");
    REFUSED(valid_linear, l2 = -1, "cache size");
    REFUSED(valid_linear, dialect.size = 4, "dialect.size = 4");
    REFUSED(valid_linear, dialect.quant = ARMQ_QUANT_NONE, "dialect.quant = 0");
    REFUSED(valid_linear, dialect.q_rounding = (armq_rounding)7, "q_rounding = 7");
}

static void test_moe_refusals(void **state) {
    (void)state;
    REFUSED(valid_moe_w4a8, group_size = 96, "does not divide hidden = 256");
    REFUSED(valid_moe_w4a8, group_size = 256, "does not divide intermediate = 128");
    REFUSED(valid_moe_w4a8, group_size = 16, "group_size = 16");
    REFUSED(valid_moe_w4a8, group_size = -1, "group_size = -1");
    REFUSED(valid_moe_w4a8, out = ARMQ_DTYPE_F32, "needs them equal");
    REFUSED(valid_moe_w4a8, experts = 0, "experts = 0");
    REFUSED(valid_moe_w4a8, uses = ARMQ_USES_NO_ROUTER_WEIGHT, "top_k = 2");
    REFUSED(valid_moe_w4a8, dialect.activation = ARMQ_ACT_NONE, "dialect.activation = 0");
    REFUSED(valid_moe_w4a8, experts = INT64_MAX / 4, "2^62");
    REFUSED(valid_moe_w4a8, dialect.alpha = 1.702f, "both must be 0 for silu");
    REFUSED(valid_moe_w4a8, dialect.limit = 7.0f, "both must be 0 for silu");
    REFUSED(valid_moe_w4a8, dialect.y13_round = ARMQ_DTYPE_S8, "dialect.y13_round is s8");
    REFUSED(valid_moe_w4a8, dialect.combine_round = ARMQ_DTYPE_NONE, "dialect.combine_round is");
    REFUSED(valid_moe_clamped, dialect.limit = -1.0f, "dialect.limit = -1");
    REFUSED(valid_moe_clamped, dialect.limit = (float)NAN, "dialect.limit = ");
    REFUSED(valid_moe_w4a8, dialect.gate_layout = (armq_gate_layout)2, "dialect.gate_layout = 2");
    REFUSED(valid_moe_w4a8, dialect.combine_order = (armq_combine_order)2, "combine_order = 2");
    REFUSED(valid_moe_w4a8, dialect.work = ARMQ_DTYPE_NONE, "dialect.work is");
    REFUSED(valid_activation, dialect.work = ARMQ_DTYPE_NONE, "dialect.work is");
    REFUSED(valid_linear, dialect.linear_round_before_bias = 2, "linear_round_before_bias = 2");
    REFUSED(valid_moe_clamped, dialect.alpha = (float)INFINITY, "dialect.alpha = inf");
}

/* gpt-oss-20b: 2880 is no multiple of 128, but of 64. */
static void test_group_size_of_gpt_oss(void **state) {
    (void)state;
    armq_desc d = valid_moe_w4a8();
    d.hidden = d.intermediate = 2880;
    d.group_size = 128;
    refused(&d, "group_size = 128 does not divide hidden = 2880");
    d.group_size = 64;
    accepted(&d);
}

static void test_longest_k(void **state) {
    (void)state;
    char reason[256] = "";
    armq_desc linear = valid_linear(), moe = valid_moe_w4a8();
    assert_int_equal(armq_k_check(&linear, 64, reason, sizeof reason), ARMQ_OK);
    assert_int_equal(armq_k_check(&linear, 63, reason, sizeof reason), ARMQ_UNSUPPORTED);
    assert_string_equal(reason, "k = 64; beyond 63 an int32 accumulator can wrap");
    assert_int_equal(armq_k_check(&moe, 256, reason, sizeof reason), ARMQ_OK);
    assert_int_equal(armq_k_check(&moe, 255, reason, sizeof reason), ARMQ_UNSUPPORTED);
    assert_string_equal(reason, "hidden = 256; beyond 255 an int32 accumulator can wrap");
    moe.intermediate = 512;
    assert_int_equal(armq_k_check(&moe, 256, reason, sizeof reason), ARMQ_UNSUPPORTED);
    assert_string_equal(reason, "intermediate = 512; beyond 256 an int32 accumulator can wrap");
}

/* --- Arguments -----------------------------------------------------------------------------------
 */

typedef struct {
    armq_desc desc;
    armq_support support;
    armq_args args;
    float x[2 * 80], y[2 * 8];
    _Alignas(64) uint8_t workspace[64], packed[64];
} call;

static void no_run(void *ctx, int64_t jobs, void (*f)(void *, int64_t, int32_t), void *arg) {
    (void)ctx, (void)jobs, (void)f, (void)arg;
}

static armq_threads four_threads = {.n = 4, .run = no_run};

static void valid_call(call *c) {
    memset(c, 0, sizeof *c);
    c->desc = valid_linear();
    c->support = (armq_support){.size = sizeof c->support,
                                .workspace_bytes = 64,
                                .packed_bytes = {64, 0},
                                .workspace_align = 64,
                                .packed_align = 64};
    c->args = (armq_args){.size = sizeof c->args,
                          .x = c->x,
                          .y = c->y,
                          .packed = {c->packed, NULL},
                          .workspace = c->workspace,
                          .threads = &four_threads};
}

static armq_status check(const call *c) { return armq_args_check(&c->desc, &c->support, &c->args); }

#define ARGS_REFUSED(change)                                                                       \
    do {                                                                                           \
        call c;                                                                                    \
        valid_call(&c);                                                                            \
        c.change;                                                                                  \
        assert_int_equal(check(&c), ARMQ_INVALID_ARGUMENT);                                        \
    } while (0)

static void test_valid_arguments(void **state) {
    (void)state;
    call c;
    valid_call(&c);
    assert_int_equal(check(&c), ARMQ_OK);
    c.args.threads = NULL;
    assert_int_equal(check(&c), ARMQ_OK);
    c.desc.uses |= ARMQ_USES_X_STRIDE | ARMQ_USES_Y_STRIDE;
    c.args.x_stride = 80;
    c.args.y_stride = 8;
    assert_int_equal(check(&c), ARMQ_OK);
}

static void test_empty_tensors_may_be_null(void **state) {
    (void)state;
    call c;
    valid_call(&c);
    c.desc.tokens = 0;
    c.args.x = c.args.y = NULL;
    assert_int_equal(check(&c), ARMQ_OK);
    valid_call(&c);
    c.desc.n = 0;
    c.args.y = NULL;
    assert_int_equal(check(&c), ARMQ_OK);
}

static void test_argument_refusals(void **state) {
    (void)state;
    ARGS_REFUSED(args.size = 0);
    ARGS_REFUSED(args.x = NULL);
    ARGS_REFUSED(args.y = NULL);
    ARGS_REFUSED(args.packed[0] = NULL);
    ARGS_REFUSED(args.packed[0] = c.packed + 1);
    ARGS_REFUSED(args.workspace = NULL);
    ARGS_REFUSED(args.workspace = c.workspace + 4);
    ARGS_REFUSED(args.x = (const char *)c.x + 1);
    ARGS_REFUSED(args.y = (char *)c.y + 2);
    ARGS_REFUSED(args.y = c.x + 2 * 64 - 1);
    ARGS_REFUSED(args.x_stride = 64);
    ARGS_REFUSED(args.y_stride = 3);
    ARGS_REFUSED(args.y_scales = c.y);
    ARGS_REFUSED(args.topk_weights = c.x);
    ARGS_REFUSED(args.threads = &((armq_threads){.n = 0, .run = no_run}));
    ARGS_REFUSED(args.threads = &((armq_threads){.n = 5, .run = no_run}));
    ARGS_REFUSED(args.threads = &((armq_threads){.n = 1, .run = NULL}));
}

static void test_strides_below_the_row(void **state) {
    (void)state;
    call c;
    valid_call(&c);
    c.desc.uses |= ARMQ_USES_X_STRIDE;
    c.args.x_stride = 63;
    assert_int_equal(check(&c), ARMQ_INVALID_ARGUMENT);
    c.args.x_stride = INT64_MAX;
    assert_int_equal(check(&c), ARMQ_INVALID_ARGUMENT);
    c.args.x_stride = -64;
    assert_int_equal(check(&c), ARMQ_INVALID_ARGUMENT);
    c.args.x_stride = 64;
    assert_int_equal(check(&c), ARMQ_OK);
}

static void test_weights(void **state) {
    (void)state;
    armq_desc d = valid_linear();
    float data[64] = {0};
    armq_weights w = {.size = sizeof w, .w = data, .scales = data, .bias = data};
    assert_int_equal(armq_weights_check(&d, 0, 0, 1, &w, data), ARMQ_OK);
    assert_int_equal(armq_weights_check(&d, 1, 0, 1, &w, data), ARMQ_INVALID_ARGUMENT);
    assert_int_equal(armq_weights_check(&d, 0, 0, 2, &w, data), ARMQ_INVALID_ARGUMENT);
    assert_int_equal(armq_weights_check(&d, 0, 1, 0, &w, data), ARMQ_INVALID_ARGUMENT);
    assert_int_equal(armq_weights_check(&d, 0, 0, 1, &w, NULL), ARMQ_INVALID_ARGUMENT);
    armq_weights no_bias = w, zeros = w, no_scales = w;
    no_bias.bias = NULL;
    zeros.zero_points = (const int8_t *)data;
    no_scales.scales = NULL;
    assert_int_equal(armq_weights_check(&d, 0, 0, 1, &no_bias, data), ARMQ_INVALID_ARGUMENT);
    assert_int_equal(armq_weights_check(&d, 0, 0, 1, &zeros, data), ARMQ_INVALID_ARGUMENT);
    assert_int_equal(armq_weights_check(&d, 0, 0, 1, &no_scales, data), ARMQ_INVALID_ARGUMENT);
    d.n = 0;
    armq_weights none = {.size = sizeof none};
    assert_int_equal(armq_weights_check(&d, 0, 0, 1, &none, NULL), ARMQ_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_descriptions),
        cmocka_unit_test(test_linear_refusals),
        cmocka_unit_test(test_moe_refusals),
        cmocka_unit_test(test_group_size_of_gpt_oss),
        cmocka_unit_test(test_longest_k),
        cmocka_unit_test(test_valid_arguments),
        cmocka_unit_test(test_empty_tensors_may_be_null),
        cmocka_unit_test(test_argument_refusals),
        cmocka_unit_test(test_strides_below_the_row),
        cmocka_unit_test(test_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
