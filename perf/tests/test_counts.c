/* SPDX-License-Identifier: Apache-2.0 */
/* Operation and byte counts against numbers worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "perf/counts.h"

static armq_case parse(const char *text) {
    case_list list = {.count = 0};
    case_error error;
    if (!case_parse_line(text, NULL, &list, &error))
        fail_msg("%s: %s", text, error.message);
    assert_int_equal(list.count, 1);
    const armq_case c = list.items[0];
    case_list_free(&list);
    return c;
}

static void expect(const char *text, int64_t macs, int64_t tokens, int64_t bytes) {
    const armq_case c = parse(text);
    const bench_counts counts = bench_count(&c, 0);
    assert_int_equal(counts.macs, macs);
    assert_int_equal(counts.tokens, tokens);
    assert_int_equal(counts.bytes, bytes);
}

/* 7 * 64 * 512 products; w 64*512, scales 64*4, x 7*512*2, y 7*64*2. */
static void linear_w8a8(void **state) {
    (void)state;
    expect("linear_w8a8 tokens=7 n=64 k=512 in=bf16 out=bf16 dialect=sglang-w8a8", 229376, 7,
           32768 + 256 + 7168 + 896);
}

/* Bias 64*4 more; x and y in f32; the gaps of a stride are not touched. */
static void linear_w8a8_bias_and_stride(void **state) {
    (void)state;
    expect("linear_w8a8 tokens=7 n=64 k=512 in=f32 out=f32 bias=f32 x_pad=9 y_pad=5 "
           "dialect=kleidi-w8a8",
           229376, 7, 32768 + 256 + 256 + 14336 + 1792);
}

/* Weights of two bytes, no scales. */
static void linear_bf16(void **state) {
    (void)state;
    expect("linear_bf16 tokens=1 n=64 k=512 in=bf16 out=bf16", 32768, 1, 65536 + 1024 + 128);
}

/* Weights of half a byte: 4*64/2; bf16 scales 4*2*2; x 64*4; y 4*4. */
static void linear_w4a8(void **state) {
    (void)state;
    expect("linear_w4a8 tokens=1 n=4 k=64 in=f32 out=f32 group_size=32 dialect=vllm-w4a8", 256, 1,
           128 + 16 + 256 + 16);
}

/* x 3*16, w 5*16, y 3*5*4. */
static void gemm(void **state) {
    (void)state;
    expect("gemm_s8s8s32 tokens=3 n=5 k=16", 240, 3, 48 + 80 + 60);
}

/* No products; x 2*10*4, q 2*10, a scale and a zero point of 4 bytes for each row. */
static void quantize(void **state) {
    (void)state;
    expect("quantize tokens=2 k=10 in=f32 dialect=vllm-w8a8", 0, 2, 80 + 20 + 8);
    expect("quantize tokens=2 k=10 in=f32 dialect=kleidi-w8a8", 0, 2, 80 + 20 + 8 + 8);
}

/* Sizes beyond 2^31: 2^17 tokens, 2^16 x 2^12 weights. */
static void large(void **state) {
    (void)state;
    expect("linear_w8a8 tokens=131072 n=65536 k=4096 in=bf16 out=bf16 dialect=vllm-w8a8",
           INT64_C(35184372088832), 131072,
           INT64_C(268435456) + 262144 + INT64_C(1073741824) + INT64_C(17179869184));
}

/* 2*2*3*64*32 products. One expert: w13 64*64, w2 64*32, scales 64*4 twice = 6656 bytes; three are
 * used. x and y 2*64*2, ids and router weights 2*2*4. */
static void moe_w8a8(void **state) {
    (void)state;
    const armq_case c = parse("moe_w8a8 tokens=2 hidden=64 intermediate=32 experts=4 top_k=2 "
                              "in=bf16 out=bf16 dialect=vllm-w8a8");
    const bench_counts counts = bench_count(&c, 3);
    assert_int_equal(counts.macs, 24576);
    assert_int_equal(counts.tokens, 2);
    assert_int_equal(counts.bytes, 3 * 6656 + 256 + 256 + 16 + 16);
    assert_int_equal(counts.weight_bytes, 3 * 6656);
    assert_int_equal(counts.read_bytes, 3 * 6656 + 256 + 16 + 16);
}

/* Group scales: w13 64*2*2 scales, w2 64*2 (K = 64), two bytes each, and as many zero points. */
static void moe_w4a8(void **state) {
    (void)state;
    const armq_case c = parse("moe_w4a8 tokens=2 hidden=64 intermediate=64 experts=4 top_k=2 "
                              "in=bf16 group_size=32 zero_points=1");
    const bench_counts counts = bench_count(&c, 3);
    assert_int_equal(counts.macs, 2 * 2 * 3 * 64 * 64);
    assert_int_equal(counts.bytes, 3 * (3 * 64 * 64 / 2 + 3 * (3 * 64 * 2)) + 256 + 256 + 16 + 16);
}

/* As packed; of a MoE the experts in use. */
static void weight_bytes(void **state) {
    (void)state;
    const armq_support support = {.packed_bytes = {1000, 500}, .packed_expert_stride = {100, 50}};
    armq_case c = parse("linear_w4a8 tokens=2 n=4 k=64 group_size=32");
    assert_int_equal(bench_weight_bytes(&c, &support, 0), 1000);
    c = parse("moe_w4a8 tokens=2 hidden=64 intermediate=64 experts=10 top_k=2");
    assert_int_equal(bench_weight_bytes(&c, &support, 3), 450);
    c = parse("quantize tokens=2 k=10");
    assert_int_equal(bench_weight_bytes(&c, &(armq_support){.size = 0}, 0), 0);
}

static void experts_used(void **state) {
    (void)state;
    const armq_case c = parse("moe_w8a8 tokens=3 hidden=64 intermediate=32 experts=5 top_k=2 "
                              "in=bf16 out=bf16 dialect=vllm-w8a8");
    const int32_t some[] = {4, 1, 1, 4, 4, 1}, skipped[] = {-1, -1, 0, -1, -1, 2};
    assert_int_equal(bench_experts_used(&c, some), 2);
    assert_int_equal(bench_experts_used(&c, skipped), 2);
    const armq_case linear = parse("gemm_s8s8s32 tokens=3 n=5 k=16");
    assert_int_equal(bench_experts_used(&linear, NULL), 0);
}

int main(void) {
    const struct CMUnitTest counts[] = {
        cmocka_unit_test(linear_w8a8),  cmocka_unit_test(linear_w8a8_bias_and_stride),
        cmocka_unit_test(linear_bf16),  cmocka_unit_test(linear_w4a8),
        cmocka_unit_test(gemm),         cmocka_unit_test(quantize),
        cmocka_unit_test(large),        cmocka_unit_test(moe_w8a8),
        cmocka_unit_test(moe_w4a8),     cmocka_unit_test(weight_bytes),
        cmocka_unit_test(experts_used),
    };
    return cmocka_run_group_tests(counts, NULL, NULL);
}
