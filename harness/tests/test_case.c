/* SPDX-License-Identifier: Apache-2.0 */
/* The case language: parsing, canonical text, products, errors, operand shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case.h"
#include "harness/generate.h"
#include "harness/operands.h"

static case_list parse_ok(const char *text) {
    case_list list = {0};
    case_error error;
    if (!case_parse_line(text, NULL, &list, &error))
        fail_msg("%s: column %d: %s", text, (int)error.column, error.message);
    return list;
}

static armq_case parse_one(const char *text) {
    case_list list = parse_ok(text);
    assert_int_equal(list.count, 1);
    armq_case c = list.items[0];
    case_list_free(&list);
    return c;
}

/* The line is refused at `column` with a message that holds `part`. */
static void refused(const char *text, int64_t column, const char *part) {
    case_list list = {0};
    case_error error = {0};
    assert_false(case_parse_line(text, NULL, &list, &error));
    if (error.column != column || !strstr(error.message, part))
        fail_msg("%s: column %d, '%s'; wanted column %d, '%s'", text, (int)error.column,
                 error.message, (int)column, part);
    assert_int_equal(list.count, 0);
    case_list_free(&list);
}

static void test_memory(void **state) {
    (void)state;
    char text[CASE_TEXT_MAX];
    armq_case c = parse_one("quantize tokens=3 k=8 x_pad=4294967311 memory=sparse");
    assert_true(c.sparse);
    assert_non_null(strstr(case_text(&c, text), " memory=sparse"));
    c = parse_one("quantize tokens=3 k=8 memory=plain");
    assert_false(c.sparse);
    assert_null(strstr(case_text(&c, text), "memory"));
    refused("quantize tokens=3 k=8 memory=dense", 30, "plain, sparse");
}

static void test_fields(void **state) {
    (void)state;
    armq_case c = parse_one("linear_w8a8 tokens=7 n=64 k=512 in=bf16 out=f32 bias=bf16 "
                            "dialect=vllm-w8a8 x_pad=3 y_pad=5 threads=4 data=outliers seed=9 "
                            "sample=100");
    assert_int_equal(c.desc.op, ARMQ_OP_LINEAR_W8A8);
    assert_int_equal(c.desc.tokens, 7);
    assert_int_equal(c.desc.n, 64);
    assert_int_equal(c.desc.k, 512);
    assert_int_equal(c.desc.in, ARMQ_DTYPE_BF16);
    assert_int_equal(c.desc.out, ARMQ_DTYPE_F32);
    assert_int_equal(c.desc.bias_dtype, ARMQ_DTYPE_BF16);
    assert_int_equal(c.desc.scale_dtype, ARMQ_DTYPE_F32);
    assert_int_equal(c.desc.format, ARMQ_WEIGHT_S8);
    assert_int_equal(c.desc.uses, ARMQ_USES_BIAS | ARMQ_USES_X_STRIDE | ARMQ_USES_Y_STRIDE);
    assert_int_equal(c.desc.dialect.quant, ARMQ_QUANT_SYMMETRIC);
    assert_int_equal(c.x_pad, 3);
    assert_int_equal(c.y_pad, 5);
    assert_int_equal(c.threads, 4);
    assert_int_equal(c.data, DATA_OUTLIERS);
    assert_int_equal(c.seed, 9);
    assert_int_equal(c.sample, 100);
    assert_int_equal(case_macs(&c), 7 * 64 * 512);
}

static void test_defaults(void **state) {
    (void)state;
    armq_case gemm = parse_one("gemm_s8s8s32 tokens=1 n=2 k=3");
    assert_int_equal(gemm.desc.in, ARMQ_DTYPE_S8);
    assert_int_equal(gemm.desc.out, ARMQ_DTYPE_S32);
    assert_string_equal(gemm.dialect, "exact");
    armq_case quantize = parse_one("quantize tokens=1 k=3 in=f16");
    assert_int_equal(quantize.desc.out, ARMQ_DTYPE_S8);
    assert_string_equal(quantize.dialect, "vllm-w8a8");
    armq_case baseline = parse_one("linear_bf16 tokens=1 n=2 k=3 in=f16 bias=1");
    assert_int_equal(baseline.desc.out, ARMQ_DTYPE_F16);
    assert_int_equal(baseline.desc.bias_dtype, ARMQ_DTYPE_F32);
    assert_string_equal(baseline.dialect, "bf16");
    assert_int_equal(baseline.seed, 1);
    assert_int_equal(baseline.threads, 1);
    assert_int_equal(baseline.sample, 0);
    armq_case moe = parse_one("moe_w4a8 tokens=3 hidden=64 intermediate=32 experts=4 top_k=2 "
                              "group_size=32 w13_bias=in zero_points=1");
    assert_string_equal(moe.dialect, "vllm-w4a8");
    assert_int_equal(moe.desc.dialect.activation, ARMQ_ACT_SILU);
    assert_int_equal(moe.desc.scale_dtype, ARMQ_DTYPE_BF16);
    assert_int_equal(moe.desc.bias_dtype, ARMQ_DTYPE_BF16);
    assert_int_equal(moe.desc.uses, ARMQ_USES_W13_BIAS | ARMQ_USES_WEIGHT_ZERO);
    assert_int_equal(case_macs(&moe), 3 * 2 * 3 * 64 * 32);
}

/* Every combination of many values: text -> case -> text, and the same bytes in the struct. */
static void test_text_round_trip(void **state) {
    (void)state;
    static const char *const lines[] = {
        "quantize tokens=0,1,7 k=0,33 in=f32,bf16,f16 dialect=sglang-w8a8,vllm-w8a8,kleidi-w8a8,"
        "vllm-w4a8 x_pad=0,5 data=normal,ties,extremes,outliers,zero_rows,subnormals,poison",
        "quantize tokens=1 k=33 in=f32,bf16,f16 "
        "dialect=sglang-w8a8,vllm-w8a8,kleidi-w8a8,vllm-w4a8 "
        "q_rounding=even,away caches=machine,none,small,huge,partly",
        "linear_w8a8 tokens=5 n=3 k=64 in=f32,bf16 bias=0,1 "
        "dialect=sglang-w8a8,vllm-w8a8,kleidi-w8a8 "
        "q_rounding=even,away round_first=0,1 data=normal,bad_scales",
        "gemm_s8s8s32 tokens=1,64 n=9 k=31 threads=1,3 data=normal,extremes seed=0,1,"
        "18446744073709551615",
        "linear_w8a8 tokens=5 n=3,1000 k=64 in=f32,bf16,f16 out=f32,bf16,f16 bias=0,1,f32,bf16,"
        "f16,in dialect=sglang-w8a8,vllm-w8a8,kleidi-w8a8 sample=0,4096 y_pad=0,1",
        "linear_w4a8 tokens=2 n=8 k=64 in=bf16,f32 group_size=0,32,64 format=s4_low,s4_word8 "
        "zero_points=0,1 bias=0,1",
        "linear_w4a8 tokens=2 n=8 k=96 in=bf16,f32,f16 group_size=0,32,64 bias=0,in "
        "quant=symmetric,asymmetric q_rounding=even,away round_first=0,1 data=normal,bad_scales",
        "linear_w8a8 tokens=2 n=8 k=9 dialect=sglang-w8a8,vllm-w8a8,kleidi-w8a8 "
        "quant=symmetric,asymmetric",
        "quantize tokens=2 k=9 dialect=vllm-w8a8,kleidi-w8a8 quant=symmetric,asymmetric",
        "quantize tokens=2 k=9 in=f32,bf16,f16 dialect=vllm-w8a8,kleidi-w8a8,vllm-w4a8 "
        "work=f32,bf16,f16 q_rounding=even,away",
        "linear_w4a8 tokens=2 n=3 k=64 in=f32,bf16,f16 group_size=0,32 work=f32,bf16,f16",
        "linear_w8a8 tokens=2 n=3 k=9 dialect=sglang-w8a8,vllm-w8a8 work=f32,bf16,f16",
        "moe_w4a8 tokens=2 hidden=64 intermediate=32 experts=3 top_k=1 in=f32,bf16,f16 "
        "group_size=0,32 work=f32,bf16,f16",
        "moe_w8a8 tokens=2 hidden=9 intermediate=3 experts=3 top_k=1 in=f32,bf16 "
        "dialect=sglang-w8a8,vllm-w8a8 work=f32,bf16,f16",
        "activation tokens=2 intermediate=9 in=f32,bf16,f16 dialect=vllm-w8a8,vllm-w4a8 "
        "work=f32,bf16,f16",
        "moe_w4a8 tokens=2 hidden=64 intermediate=96 experts=3 top_k=1 in=f32,bf16,f16 "
        "group_size=0,32,64 zero_points=0,1 format=s4_low,s4_word8 quant=symmetric,asymmetric "
        "q_rounding=even,away router=output,input activation=silu,swigluoai",
        "gemm_s8s4s32 tokens=2 n=8 k=64 group_size=0,32 zero_points=0,1 data=normal,extremes",
        "linear_bf16 tokens=1 n=8 k=64 in=f32,bf16,f16 out=f32,bf16 bias=0,f32,in",
        "activation tokens=4 intermediate=8 in=f32,bf16 activation=silu,gelu,gelu_tanh,swigluoai "
        "gate=halves,interleaved dialect=vllm-w8a8,vllm-w4a8 data=normal,extremes",
        "activation tokens=4 intermediate=8 activation=silu,swigluoai alpha=0,1.702,0.1,16777216 "
        "limit=0,7,0.33333334,1e-30",
        "moe_w8a8 tokens=4 hidden=64 intermediate=32 experts=8 top_k=1 in=bf16,f32 w13_bias=0,1 "
        "w2_bias=0,1 router=output,input,none skip_ids=0,1 activation=silu,swigluoai "
        "dialect=vllm-w8a8,sglang-w8a8",
        "moe_bf16 tokens=4 hidden=64 intermediate=32 experts=8 top_k=1,2 activation=silu,gelu,"
        "swigluoai gate=halves,interleaved skip_ids=0,1 "
        "routing=mixed,softmax,balanced,one,last,empty,repeat,skip data=normal,poison",
    };
    int64_t seen = 0;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        case_list list = parse_ok(lines[i]);
        for (int64_t j = 0; j < list.count; j++, seen++) {
            char text[CASE_TEXT_MAX], again[CASE_TEXT_MAX];
            case_text(&list.items[j], text);
            assert_true(strlen(text) < CASE_TEXT_MAX - 1);
            armq_case c = parse_one(text);
            assert_string_equal(text, case_text(&c, again));
            assert_memory_equal(&c, &list.items[j], sizeof c);
        }
        case_list_free(&list);
    }
    assert_true(seen > 1500);
}

static void test_canonical_text(void **state) {
    (void)state;
    char text[CASE_TEXT_MAX];
    armq_case c = parse_one("  linear_w8a8   seed=1 k=512 n=64\ttokens=7 bias=1 out=bf16 in=bf16 "
                            "data=normal dialect=sglang-w8a8 ");
    assert_string_equal(case_text(&c, text), "linear_w8a8 tokens=7 n=64 k=512 "
                                             "dialect=sglang-w8a8 bias=f32 seed=1");
}

/* What is the dialect's is not printed, what departs from it is. */
static void test_canonical_text_of_moe(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"moe_w8a8 experts=5 hidden=8 intermediate=4 tokens=2 top_k=1 activation=swigluoai limit=7 "
         "alpha=1.702 gate=interleaved routing=mixed skip_ids=0 dialect=vllm-w8a8 router=output",
         "moe_w8a8 tokens=2 hidden=8 intermediate=4 experts=5 top_k=1 activation=swigluoai seed=1"},
        {"moe_w8a8 tokens=2 hidden=8 intermediate=4 experts=5 top_k=1 activation=swigluoai "
         "limit=7.50 alpha=0.1 gate=halves routing=skip skip_ids=1 seed=1",
         "moe_w8a8 tokens=2 hidden=8 intermediate=4 experts=5 top_k=1 activation=swigluoai "
         "gate=halves alpha=0.1 limit=7.5 routing=skip seed=1"},
        {"moe_bf16 tokens=2 hidden=8 intermediate=4 experts=5 top_k=1 gate=interleaved skip_ids=1",
         "moe_bf16 tokens=2 hidden=8 intermediate=4 experts=5 top_k=1 gate=interleaved skip_ids=1 "
         "seed=1"},
        {"activation tokens=2 intermediate=4 dialect=vllm-w4a8 activation=swigluoai gate=halves",
         "activation tokens=2 intermediate=4 dialect=vllm-w4a8 activation=swigluoai seed=1"},
        {"activation tokens=2 intermediate=4 alpha=0 limit=0 gate=halves",
         "activation tokens=2 intermediate=4 seed=1"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char text[CASE_TEXT_MAX];
        armq_case c = parse_one(pairs[i][0]);
        assert_string_equal(case_text(&c, text), pairs[i][1]);
    }
}

static void test_dialect_overrides(void **state) {
    (void)state;
    armq_case c = parse_one("moe_w8a8 tokens=2 hidden=8 intermediate=4 experts=5 top_k=1 in=f16 "
                            "activation=swigluoai alpha=2.5");
    assert_true(c.desc.dialect.alpha == 2.5f && c.desc.dialect.limit == 7.0f);
    assert_int_equal(c.desc.dialect.gate_layout, ARMQ_GATE_INTERLEAVED);
    assert_int_equal(c.desc.dialect.intermediate, ARMQ_DTYPE_F16);
    /* A derived case keeps them, and takes the rest from its own dialect. */
    char why[200];
    c.desc.op = ARMQ_OP_MOE_BF16;
    strcpy(c.dialect, "bf16");
    assert_true(case_resolve(&c, why, sizeof why));
    assert_true(c.desc.dialect.alpha == 2.5f);
    assert_int_equal(c.desc.dialect.gate_layout, ARMQ_GATE_INTERLEAVED);
    assert_int_equal(c.desc.dialect.intermediate, ARMQ_DTYPE_BF16);
    assert_int_equal(c.desc.format, ARMQ_WEIGHT_BF16);
    c = parse_one("moe_w8a8 tokens=2 hidden=8 intermediate=4 experts=5 top_k=1 routing=skip");
    assert_int_equal(c.desc.uses, ARMQ_USES_SKIP_IDS);
    assert_int_equal(c.routing, ROUTING_SKIP);
    c = parse_one("moe_w8a8 tokens=2 hidden=8 intermediate=4 experts=5 top_k=1 router=none");
    assert_int_equal(c.desc.uses, ARMQ_USES_NO_ROUTER_WEIGHT);
}

static void test_rounding_overrides(void **state) {
    (void)state;
    static const struct {
        const char *text, *canonical;
        armq_rounding q;
        uint32_t first;
    } cases[] = {
        {"linear_w8a8 tokens=1 n=2 k=3 dialect=sglang-w8a8 round_first=0 q_rounding=even",
         "linear_w8a8 tokens=1 n=2 k=3 dialect=sglang-w8a8 q_rounding=even round_first=0 seed=1",
         ARMQ_ROUND_TIES_EVEN, 0},
        {"linear_w8a8 tokens=1 n=2 k=3 round_first=1 q_rounding=away",
         "linear_w8a8 tokens=1 n=2 k=3 q_rounding=away round_first=1 seed=1", ARMQ_ROUND_TIES_AWAY,
         1},
        {"linear_w8a8 tokens=1 n=2 k=3 dialect=sglang-w8a8 round_first=1 q_rounding=away",
         "linear_w8a8 tokens=1 n=2 k=3 dialect=sglang-w8a8 seed=1", ARMQ_ROUND_TIES_AWAY, 1},
        {"quantize tokens=1 k=3 in=f32 dialect=kleidi-w8a8 q_rounding=even",
         "quantize tokens=1 k=3 in=f32 dialect=kleidi-w8a8 q_rounding=even seed=1",
         ARMQ_ROUND_TIES_EVEN, 0},
        {"quantize tokens=1 k=3 in=bf16 dialect=kleidi-w8a8 q_rounding=even",
         "quantize tokens=1 k=3 dialect=kleidi-w8a8 seed=1", ARMQ_ROUND_TIES_EVEN, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[CASE_TEXT_MAX], why[200];
        armq_case c = parse_one(cases[i].text);
        assert_int_equal(c.desc.dialect.q_rounding, cases[i].q);
        assert_int_equal(c.desc.dialect.linear_round_before_bias, cases[i].first);
        assert_string_equal(case_text(&c, text), cases[i].canonical);
        c.desc.tokens = 5;
        assert_true(case_resolve(&c, why, sizeof why));
        assert_int_equal(c.desc.dialect.q_rounding, cases[i].q);
        assert_int_equal(c.desc.dialect.linear_round_before_bias, cases[i].first);
    }
    refused("quantize tokens=1 k=3 q_rounding=up", 34, "q_rounding=up; allowed are even, away");
    refused("linear_w8a8 tokens=1 n=1 k=3 round_first=2", 42, "round_first=2; allowed are 0, 1");
    refused("gemm_s8s8s32 tokens=1 n=1 k=3 round_first=1", 31, "has no key 'round_first'");
}

static void test_quant_overrides(void **state) {
    (void)state;
    static const struct {
        const char *text, *canonical;
        armq_quant quant;
    } cases[] = {
        {"linear_w8a8 tokens=1 n=2 k=3 dialect=sglang-w8a8 quant=asymmetric",
         "linear_w8a8 tokens=1 n=2 k=3 dialect=sglang-w8a8 quant=asymmetric seed=1",
         ARMQ_QUANT_ASYMMETRIC},
        {"linear_w4a8 tokens=1 n=2 k=64 quant=symmetric group_size=32",
         "linear_w4a8 tokens=1 n=2 k=64 group_size=32 quant=symmetric seed=1",
         ARMQ_QUANT_SYMMETRIC},
        {"linear_w4a8 tokens=1 n=2 k=64 quant=asymmetric zero_points=1 format=s4_word8",
         "linear_w4a8 tokens=1 n=2 k=64 format=s4_word8 zero_points=1 seed=1",
         ARMQ_QUANT_ASYMMETRIC},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[CASE_TEXT_MAX], why[200];
        armq_case c = parse_one(cases[i].text);
        assert_int_equal(c.desc.dialect.quant, cases[i].quant);
        assert_string_equal(case_text(&c, text), cases[i].canonical);
        c.desc.tokens = 5;
        assert_true(case_resolve(&c, why, sizeof why));
        assert_int_equal(c.desc.dialect.quant, cases[i].quant);
    }
}

/* A group size that does not divide is for query to refuse, so it can be written down. */
static void test_groups_that_do_not_divide(void **state) {
    (void)state;
    static const char moe[] = "moe_w4a8 tokens=1 hidden=2880 intermediate=2880 experts=32 top_k=4 "
                              "group_size=";
    char text[160], canonical[CASE_TEXT_MAX];
    const char *name = NULL;
    int64_t size = 0;
    for (int g = 32; g <= 128; g *= 2) {
        snprintf(text, sizeof text, "%s%d seed=1", moe, g);
        armq_case c = parse_one(text);
        assert_string_equal(case_text(&c, canonical) + strlen("moe_w4a8"),
                            text + strlen("moe_w4a8"));
        assert_int_equal(case_groups_divide(&c, &name, &size), g < 128);
        assert_string_equal(name, g < 128 ? "intermediate" : "hidden");
        assert_int_equal(size, 2880);
    }
    armq_case c = parse_one("linear_w4a8 tokens=1 n=1 k=40 group_size=32");
    assert_false(case_groups_divide(&c, &name, &size));
    assert_string_equal(name, "k");
    assert_int_equal(size, 40);
    c = parse_one("linear_w4a8 tokens=1 n=1 k=41");
    assert_true(case_groups_divide(&c, &name, &size));
    c = parse_one("moe_w4a8 tokens=1 hidden=64 intermediate=96 experts=2 top_k=1 group_size=64");
    assert_false(case_groups_divide(&c, &name, &size));
    assert_string_equal(name, "intermediate");
}

static void test_caches(void **state) {
    (void)state;
    char text[CASE_TEXT_MAX];
    armq_case c = parse_one("gemm_s8s8s32 tokens=1 n=2 k=3 caches=machine");
    case_bind(&c, 7, 100, 200, 300, 4);
    assert_true(c.desc.l1 == 100 && c.desc.l2 == 200 && c.desc.llc == 300);
    assert_true(c.desc.features == 7 && c.desc.max_threads == 4);
    assert_string_equal(case_text(&c, text), "gemm_s8s8s32 tokens=1 n=2 k=3 seed=1");
    c = parse_one("moe_bf16 tokens=1 hidden=2 intermediate=3 experts=1 top_k=1 caches=none");
    case_bind(&c, 7, 100, 200, 300, 4);
    assert_true(c.desc.l1 == 0 && c.desc.l2 == 0 && c.desc.llc == 0 && c.desc.features == 7);
    c = parse_one("gemm_s8s8s32 tokens=1 n=2 k=3 caches=small");
    case_bind(&c, 7, 100, 200, 300, 4);
    assert_true(c.desc.l1 == 1024 && c.desc.l2 == 16384 && c.desc.llc == 65536);
    assert_string_equal(case_text(&c, text), "gemm_s8s8s32 tokens=1 n=2 k=3 caches=small seed=1");
    refused("gemm_s8s8s32 tokens=1 n=2 k=3 caches=big", 38,
            "allowed are machine, none, small, huge, partly");
}

static void test_macs_and_samples(void **state) {
    (void)state;
    /* Qwen3-30B-A3B: 37,748,736 per token, skipped slots or not. */
    armq_case c = parse_one("moe_w8a8 tokens=3 hidden=2048 intermediate=768 experts=128 top_k=8 "
                            "routing=skip sample=4096");
    assert_int_equal(case_macs(&c), 3 * 37748736);
    assert_int_equal(case_sampled_rows(&c), 2);
    c.sample = 4097;
    assert_int_equal(case_sampled_rows(&c), 3);
    c.sample = 1;
    assert_int_equal(case_sampled_rows(&c), 1);
    c.sample = 1000000;
    assert_int_equal(case_sampled_rows(&c), 3);
    c.sample = 0;
    assert_int_equal(case_sampled_rows(&c), 3);
    c = parse_one("linear_w8a8 tokens=9 n=64 k=8 sample=5");
    assert_int_equal(case_sampled_rows(&c), 9);
    c = parse_one("activation tokens=9 intermediate=64");
    assert_int_equal(case_macs(&c), 0);
}

static void test_products(void **state) {
    (void)state;
    case_list list = parse_ok("linear_w8a8 tokens=1,7,64 n=64,1000 k=32,512 bias=0,1");
    assert_int_equal(list.count, 24);
    assert_int_equal(list.dropped, 0);
    case_list_free(&list);
    /* sglang is bf16 only; a bias is f32 or of the input's dtype. */
    list = parse_ok("linear_w8a8 tokens=1 n=4 k=4 in=f32,bf16,f16 dialect=sglang-w8a8");
    assert_int_equal(list.count, 1);
    assert_int_equal(list.dropped, 2);
    case_list_free(&list);
    list = parse_ok("linear_w8a8 tokens=1 n=4 k=4 in=f32,bf16 bias=f32,bf16");
    assert_int_equal(list.count, 3);
    assert_int_equal(list.dropped, 1);
    case_list_free(&list);
    list = parse_ok("moe_w8a8 tokens=1 hidden=4 intermediate=4 experts=2 top_k=1 w13_bias=0,1,in "
                    "w2_bias=0,1,in");
    assert_int_equal(list.count, 7);
    assert_int_equal(list.dropped, 2);
    case_list_free(&list);
    list = parse_ok("gemm_s8s8s32 tokens=1 n=4 k=4 data=normal,ties");
    assert_int_equal(list.count, 1);
    assert_int_equal(list.dropped, 1);
    case_list_free(&list);
}

static void test_refusals(void **state) {
    (void)state;
    refused("", 1, "starts with an op: quantize");
    refused("  linear tokens=1", 3, "unknown op 'linear'; allowed are quantize, activation");
    refused("quantize tokens=1 n=4 k=1", 19, "quantize has no key 'n'; allowed are tokens, k, in");
    refused("quantize tokens=1 k=1 wrong", 23, "'wrong' is not of the form key=value");
    refused("quantize tokens=1", 18, "quantize needs k=");
    refused("quantize tokens=1 k=1 k=2", 23, "k is given twice");
    refused("quantize tokens=1 k=1,,2", 23, "k has an empty value");
    refused("quantize tokens=1 k=", 21, "k has an empty value");
    refused("quantize tokens=1 k=-1", 21,
            "k=-1; allowed are integers from 0 to 9223372036854775807");
    refused("quantize tokens=1 k=9223372036854775808", 21, "k=9223372036854775808; allowed");
    refused("quantize tokens=1 k=8,1e3", 23, "k=1e3; allowed are integers");
    refused("quantize tokens=1 k=8 threads=0", 31, "threads=0; allowed are integers from 1");
    refused("quantize tokens=1 k=8 seed=-1", 28, "seed=-1");
    refused("quantize tokens=1 k=8 in=f64", 26, "in=f64; allowed are f32, bf16, f16");
    refused("quantize tokens=1 k=8 dialect=none", 31, "allowed are exact, sglang-w8a8, vllm-w8a8");
    refused("quantize tokens=1 k=8 data=random", 28, "allowed are normal, ties, extremes");
    refused("quantize tokens=1 k=8 in=f32 dialect=sglang-w8a8", 38, "does not define this input");
    refused("linear_w8a8 tokens=1 n=1 k=8 out=f32 dialect=sglang-w8a8", 46, "out=f32: the dialect");
    refused("quantize tokens=1 k=tile_k+1", 21, "tile sizes are known only");
    refused("linear_w8a8 tokens=1 n=1 k=8 bias=yes", 35, "bias=yes; allowed are 0, 1");
    refused("gemm_s8s8s32 tokens=1 n=1 k=8 data=ties", 36, "data=ties does not exist for gemm");
    refused("gemm_s8s8s32 tokens=1 n=4611686018427387904 k=8", 1, "more than 2^62 bytes");
    refused("gemm_s8s8s32 tokens=4 n=1 k=8 x_pad=4611686018427387904", 37, "x_pad=46116860184273");
    refused("quantize tokens=9223372036854775807 k=0", 1,
            "tensor y_scales has more than 2^48 bytes");
    refused("quantize tokens=70368744177665 k=1", 1, "tensor y_scales has more than 2^48 bytes");
    refused("gemm_s8s8s32 tokens=2 n=1 k=1 y_pad=70368744177664", 1, "tensor y has more than 2^48");
    refused("linear_w8a8 tokens=0 n=576460752303423487 k=0 bias=1", 1,
            "tensor scales has more than");
    refused(
        "moe_w8a8 tokens=0 hidden=0 intermediate=288230376151711743 experts=9223372036854775807 "
        "top_k=0",
        1, "tensor w13_scales has more than 2^48 bytes");
    refused("linear_w4a8 tokens=1 n=1 k=96 group_size=48", 42,
            "48; allowed are 0 and multiples of");
    refused("linear_w8a8 tokens=1 n=1 k=64 quant=none", 37, "allowed are symmetric, asymmetric");
    refused("linear_bf16 tokens=1 n=1 k=64 quant=symmetric", 31, "has no key 'quant'");
    refused("linear_w8a8 tokens=1 n=1 k=64 group_size=32", 31, "has no key 'group_size'");
    refused("linear_w8a8 tokens=1 n=1 k=64 zero_points=1", 31, "has no key 'zero_points'");
    refused("gemm_s8s4s32 tokens=1 n=1 k=64 format=s8", 39, "allowed are s4_low, s4_word8");
    refused("gemm_s8s4s32 tokens=1 n=1 k=64 zero_points=8", 44, "zero_points=8; allowed are 0, 1");
    refused("linear_w4a8 tokens=1 n=1 k=64 dialect=vllm-w8a8", 39, "does not define this op");
    refused("moe_w4a8 tokens=1 hidden=32 intermediate=32 experts=1 top_k=1 activation=gelu", 1,
            "does not define this activation");
    refused("quantize tokens=1 k=8 in=f32,f16 dialect=sglang-w8a8", 1, "none of the 2 comb");
    refused("moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=1 top_k=1 w13_bias=in w2_bias=f32",
            81, "both biases have one dtype");
}

static void test_refusals_of_moe(void **state) {
    (void)state;
    refused("moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=1 top_k=1 routing=all", 69,
            "routing=all; allowed are mixed, softmax");
    refused("moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=1 top_k=1 routing=skip skip_ids=0",
            69, "which need skip_ids=1");
    refused("moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=1 top_k=1 routing=repeat", 69,
            "needs a top_k of 2");
    refused("moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=1 top_k=1 gate=up", 66,
            "gate=up; allowed are halves, interleaved");
    refused("moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=1 top_k=1 dialect=sglang-w8a8 "
            "gate=interleaved",
            86, "dialect sglang-w8a8 knows halves only");
    refused("moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=1 top_k=1 alpha=2", 67,
            "alpha=2: only swigluoai has it");
    refused("moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=1 top_k=1 limit=2", 67,
            "limit=2: only swigluoai has it");
    refused(
        "moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=1 top_k=1 activation=swigluoai limit=0",
        88, "limit=0: swigluoai needs a number above 0");
    refused(
        "moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=1 top_k=1 activation=swigluoai alpha=-1",
        88, "alpha=-1; allowed are decimal numbers");
    refused("moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=1 top_k=1 activation=swigluoai "
            "alpha=1e39",
            88, "alpha=1e39; allowed");
    refused(
        "moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=1 top_k=1 activation=swigluoai alpha=1x",
        88, "alpha=1x; allowed");
    refused("moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=1 top_k=1 activation=swigluoai "
            "dialect=sglang-w8a8",
            90, "does not define this activation");
    refused("moe_w8a8 tokens=1 hidden=8 intermediate=8 experts=2 top_k=2 router=none", 59,
            "skipped for 1 only");
    refused("activation tokens=1 intermediate=8 data=ties", 41,
            "data=ties does not exist for activation");
}

static void test_key_table_is_printed(void **state) {
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    case_print_keys(out);
    assert_int_equal(fclose(out), 0);
    static const char *const wanted[] = {
        "  tokens       rows of x (M)\n                 values: integer; required\n"
        "                 ops: all\n",
        "ops: linear_w8a8 linear_w4a8 linear_bf16\n",
        "values: silu, gelu, gelu_tanh, swigluoai; default silu\n",
        "ops: quantize linear_w8a8 linear_w4a8 linear_bf16 moe_w8a8 moe_w4a8 moe_bf16\n", /* ties */
        "  bad_scales     a third of the weight scales is 0, -0, subnormal, infinite or NaN\n"
        "                 ops: linear_w8a8 linear_w4a8 moe_w8a8 moe_w4a8\n",
        "  skip           a third of the slots and every seventh token is -1 (skip_ids=1)\n",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_non_null(strstr(text, wanted[i]));
    free(text);
}

static void test_huge_product_is_refused(void **state) {
    (void)state;
    char line[2048] = "quantize in=f32,bf16,f16 x_pad=0,1,2,3 y_pad=0,1,2,3 tokens=1";
    for (int i = 2; i < 100; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), ",%d", i);
    strcat(line, " k=1");
    for (int i = 2; i < 100; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), ",%d", i);
    refused(line, 1, "more than 100000 cases");
}

/* --- Tiles ------------------------------------------------------------------------------------ */

static bool fixed_tiles(void *ctx, const armq_case *provisional, int64_t tile_mnk[3]) {
    assert_true(provisional->desc.tokens >= 63);
    tile_mnk[0] = 4;
    tile_mnk[1] = 8;
    tile_mnk[2] = 1;
    return *(bool *)ctx;
}

static void test_tiles(void **state) {
    (void)state;
    bool accept = true;
    case_tiles tiles = {fixed_tiles, &accept};
    case_list list = {0};
    case_error error;
    assert_true(
        case_parse_line("gemm_s8s8s32 tokens=tile_m-1,tile_m,2*tile_m+1 n=3*tile_n k=tile_k",
                        &tiles, &list, &error));
    assert_int_equal(list.count, 3);
    assert_int_equal(list.items[0].desc.tokens, 3);
    assert_int_equal(list.items[1].desc.tokens, 4);
    assert_int_equal(list.items[2].desc.tokens, 9);
    assert_int_equal(list.items[2].desc.n, 24);
    assert_int_equal(list.items[2].desc.k, 1);
    /* Below zero for this provider: dropped, not an error of the sweep. */
    assert_true(
        case_parse_line("gemm_s8s8s32 tokens=tile_m n=1 k=tile_k-2", &tiles, &list, &error));
    assert_int_equal(list.count, 3);
    assert_int_equal(list.dropped, 1);
    accept = false;
    assert_true(case_parse_line("gemm_s8s8s32 tokens=tile_m n=1 k=1", &tiles, &list, &error));
    assert_int_equal(list.count, 3);
    assert_int_equal(list.dropped, 2);
    assert_false(case_parse_line("gemm_s8s8s32 tokens=tile_x n=1 k=1", &tiles, &list, &error));
    assert_non_null(strstr(error.message, "tokens=tile_x; allowed"));
    assert_false(case_parse_line("gemm_s8s8s32 tokens=tile_m* n=1 k=1", &tiles, &list, &error));
    case_list_free(&list);
}

/* --- Operands --------------------------------------------------------------------------------- */

static void test_operand_shapes(void **state) {
    (void)state;
    armq_case c = parse_one("linear_w8a8 tokens=3 n=5 k=7 in=f16 out=f32 bias=f16 x_pad=2 y_pad=1");
    armq_support support = {
        .workspace_bytes = 100, .workspace_align = 64, .packed_bytes = {70, 0}, .packed_align = 16};
    operand_shape s[OPERAND_COUNT];
    operand_shapes(&c, &support, s);
    assert_int_equal(s[OPERAND_X].bytes, (2 * 9 + 7) * 2);
    assert_int_equal(s[OPERAND_X].align, 2);
    assert_int_equal(s[OPERAND_W].bytes, 35);
    assert_int_equal(s[OPERAND_W_SCALES].bytes, 20);
    assert_int_equal(s[OPERAND_W_BIAS].bytes, 10);
    assert_int_equal(s[OPERAND_PACKED].bytes, 70);
    assert_int_equal(s[OPERAND_PACKED].align, 16);
    assert_int_equal(s[OPERAND_WORKSPACE].align, 64);
    assert_int_equal(s[OPERAND_Y].bytes, (2 * 6 + 5) * 4);
    assert_false(s[OPERAND_W2].present);
    assert_false(s[OPERAND_PACKED2].present);
    assert_false(s[OPERAND_Y_SCALES].present);
    operand_shapes(&c, NULL, s);
    assert_false(s[OPERAND_PACKED].present);
    assert_true(s[OPERAND_Y].present);

    c = parse_one("quantize tokens=3 k=7 dialect=kleidi-w8a8");
    operand_shapes(&c, NULL, s);
    assert_int_equal(s[OPERAND_Y_SCALES].bytes, 12);
    assert_int_equal(s[OPERAND_Y_ZEROS].bytes, 12);
    assert_false(s[OPERAND_W].present);
    c = parse_one("quantize tokens=0 k=7");
    operand_shapes(&c, NULL, s);
    assert_true(s[OPERAND_X].present);
    assert_int_equal(s[OPERAND_X].bytes, 0);
    assert_false(s[OPERAND_Y_ZEROS].present);
}

static void test_operand_shapes_int4(void **state) {
    (void)state;
    operand_shape s[OPERAND_COUNT];
    armq_case c = parse_one("moe_w4a8 tokens=3 hidden=64 intermediate=32 experts=4 top_k=2 "
                            "group_size=32 zero_points=1 w2_bias=1 format=s4_word8");
    operand_shapes(&c, NULL, s);
    assert_int_equal(s[OPERAND_W].bytes, 4 * 64 * 32);
    assert_int_equal(s[OPERAND_W].align, 4);
    assert_int_equal(s[OPERAND_W_SCALES].bytes, 4 * 64 * 2 * 2);
    assert_int_equal(s[OPERAND_W2].bytes, 4 * 64 * 16);
    assert_int_equal(s[OPERAND_W2_ZEROS].bytes, 4 * 64);
    assert_false(s[OPERAND_W_BIAS].present);
    assert_int_equal(s[OPERAND_W2_BIAS].bytes, 4 * 64 * 4);
    assert_int_equal(s[OPERAND_TOPK_IDS].bytes, 24);
}

static void test_operand_shapes_moe(void **state) {
    (void)state;
    operand_shape s[OPERAND_COUNT];
    armq_case c = parse_one("moe_w8a8 tokens=3 hidden=5 intermediate=7 experts=4 top_k=2 in=f32 "
                            "w13_bias=1 y_pad=2");
    operand_shapes(&c, NULL, s);
    assert_int_equal(s[OPERAND_X].bytes, 3 * 5 * 4);
    assert_int_equal(s[OPERAND_W].rows, 4 * 14);
    assert_int_equal(s[OPERAND_W].bytes, 4 * 14 * 5);
    assert_int_equal(s[OPERAND_W_SCALES].bytes, 4 * 14 * 4);
    assert_int_equal(s[OPERAND_W_BIAS].bytes, 4 * 14 * 4);
    assert_int_equal(s[OPERAND_W2].bytes, 4 * 5 * 7);
    assert_int_equal(s[OPERAND_W2_SCALES].bytes, 4 * 5 * 4);
    assert_false(s[OPERAND_W2_BIAS].present);
    assert_int_equal(s[OPERAND_TOPK_WEIGHTS].bytes, 24);
    assert_int_equal(s[OPERAND_Y].bytes, (2 * 7 + 5) * 4);
    c = parse_one("moe_bf16 tokens=3 hidden=5 intermediate=7 experts=4 top_k=1 router=none "
                  "w2_bias=in");
    operand_shapes(&c, NULL, s);
    assert_int_equal(s[OPERAND_W].bytes, 4 * 14 * 5 * 2);
    assert_false(s[OPERAND_W_SCALES].present);
    assert_int_equal(s[OPERAND_W2_BIAS].bytes, 4 * 5 * 2);
    assert_false(s[OPERAND_TOPK_WEIGHTS].present);
    c = parse_one("activation tokens=3 intermediate=7 x_pad=1");
    operand_shapes(&c, NULL, s);
    assert_int_equal(s[OPERAND_X].bytes, (2 * 15 + 14) * 2);
    assert_int_equal(s[OPERAND_Y].bytes, 3 * 7 * 2);
    assert_false(s[OPERAND_W].present);
    assert_false(s[OPERAND_TOPK_IDS].present);
}

static void test_arguments(void **state) {
    (void)state;
    armq_case c = parse_one("linear_w8a8 tokens=3 n=5 k=7 bias=1 x_pad=2");
    operands data = {0};
    char bytes[OPERAND_COUNT];
    for (int i = 0; i < OPERAND_COUNT; i++)
        data.at[i] = bytes + i;
    armq_weights weights[2];
    armq_args args;
    ref_problem problem;
    operand_weights(&c, &data, weights);
    operand_args(&c, &data, weights, 0, NULL, &args);
    assert_ptr_equal(weights[0].w, data.at[OPERAND_W]);
    assert_ptr_equal(weights[0].bias, data.at[OPERAND_W_BIAS]);
    assert_int_equal(args.x_stride, 9);
    assert_int_equal(args.y_stride, 0);
    assert_ptr_equal(args.packed[0], data.at[OPERAND_PACKED]);
    assert_null(args.packed[1]);
    assert_null(args.weights[0]);
    operand_args(&c, &data, weights, ARMQ_CLAIM_READS_AFTER_PACK, NULL, &args);
    assert_ptr_equal(args.weights[0], &weights[0]);
    operand_problem(&c, &data, weights, 0, &problem);
    assert_ptr_equal(problem.desc, &c.desc);
    assert_int_equal(problem.x_stride, 9);
    assert_ptr_equal(problem.weights[0], &weights[0]);
    assert_null(problem.weights[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_text_round_trip),
        cmocka_unit_test(test_canonical_text),
        cmocka_unit_test(test_canonical_text_of_moe),
        cmocka_unit_test(test_dialect_overrides),
        cmocka_unit_test(test_rounding_overrides),
        cmocka_unit_test(test_quant_overrides),
        cmocka_unit_test(test_groups_that_do_not_divide),
        cmocka_unit_test(test_caches),
        cmocka_unit_test(test_macs_and_samples),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_refusals_of_moe),
        cmocka_unit_test(test_key_table_is_printed),
        cmocka_unit_test(test_huge_product_is_refused),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_operand_shapes),
        cmocka_unit_test(test_operand_shapes_int4),
        cmocka_unit_test(test_operand_shapes_moe),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
