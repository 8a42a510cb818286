/* SPDX-License-Identifier: Apache-2.0 */
/* The sweeps that come with armq: they can be read, cover what they promise, and stay in budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case.h"
#include "kernels/api/dialects.h"
#include "kernels/api/names.h"

static bool some_tiles(void *ctx, const armq_case *provisional, int64_t tile_mnk[3]) {
    (void)provisional;
    memcpy(tile_mnk, ctx, 3 * sizeof *tile_mnk);
    return true;
}

static case_list load(const char *name, int64_t m, int64_t n, int64_t k) {
    int64_t sizes[3] = {m, n, k};
    case_tiles tiles = {some_tiles, sizes};
    case_list list = {0};
    case_error error;
    if (!sweep_load(name, &tiles, &list, &error))
        fail_msg("%s:%d:%d: %s", error.file, (int)error.line, (int)error.column, error.message);
    print_message("%s: %d cases, %d undefined combinations dropped\n", name, (int)list.count,
                  (int)list.dropped);
    return list;
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void test_ci_budget(void **state) {
    (void)state;
    case_list list = load("ci", 1, 1, 1);
    assert_in_range(list.count, 1500, 1800);
    int64_t *macs = calloc((size_t)list.count, sizeof *macs), products = 0, large = 0;
    assert_non_null(macs);
    for (int64_t i = 0; i < list.count; i++) {
        int64_t m = case_macs(&list.items[i]);
        large += m > 10000000;
        assert_true(!armq_op_is_bf16(list.items[i].desc.op) || m <= 1000000);
        if (list.items[i].desc.format != ARMQ_WEIGHT_NONE)
            macs[products++] = m;
    }
    assert_true(large <= 10);
    qsort(macs, (size_t)products, sizeof *macs, ascending);
    assert_true(macs[products / 2] <= 500000);
    free(macs);
    case_list_free(&list);
}

static bool has(const case_list *list, armq_op op, const char *dialect, armq_dtype in,
                data_kind data) {
    for (int64_t i = 0; i < list->count; i++) {
        const armq_case *c = &list->items[i];
        if (c->desc.op == op && c->desc.in == in && c->data == data &&
            strcmp(c->dialect, dialect) == 0)
            return true;
    }
    return false;
}

/* Every op, dialect and dtype of today meets every kind of data it has. */
static void test_ci_covers(void **state) {
    (void)state;
    static const armq_op ops[] = {ARMQ_OP_QUANTIZE,    ARMQ_OP_GEMM_S8S8S32, ARMQ_OP_GEMM_S8S4S32,
                                  ARMQ_OP_LINEAR_W8A8, ARMQ_OP_LINEAR_W4A8,  ARMQ_OP_LINEAR_BF16};
    case_list list = load("ci", 1, 1, 1);
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++)
        for (const char *const *dialect = armq_dialect_names; *dialect; dialect++)
            for (int in = 1; in < ARMQ_DTYPE_COUNT; in++)
                for (int data = 0; data < DATA_KIND_COUNT; data++) {
                    armq_dialect preset;
                    bool defined = data_kind_exists(ops[o], (data_kind)data) &&
                                   armq_dialect_preset(*dialect, ops[o], (armq_dtype)in, 0,
                                                       ARMQ_ACT_NONE, &preset, NULL);
                    /* vllm-w4a8 quantises by the same rules as kleidi-w8a8. */
                    if (ops[o] == ARMQ_OP_QUANTIZE && strcmp(*dialect, "vllm-w4a8") == 0 &&
                        data > DATA_TIES)
                        defined = false;
                    if (defined && !has(&list, ops[o], *dialect, (armq_dtype)in, (data_kind)data))
                        fail_msg("ci has no op %d, dialect %s, in %d, data %s", (int)ops[o],
                                 *dialect, in, data_kind_name((data_kind)data));
                }
    uint32_t uses = 0;
    int64_t threads = 0, empty = 0;
    for (int64_t i = 0; i < list.count; i++) {
        if (armq_op_is_moe(list.items[i].desc.op))
            continue;
        uses |= list.items[i].desc.uses;
        threads += list.items[i].threads > 1;
        empty += list.items[i].desc.tokens == 0 || list.items[i].desc.k == 0;
    }
    assert_int_equal(uses, ARMQ_USES_BIAS | ARMQ_USES_WEIGHT_ZERO | ARMQ_USES_X_STRIDE |
                               ARMQ_USES_Y_STRIDE);
    assert_true(threads >= 4 && empty >= 8);
    case_list_free(&list);
}

/* What a kernel may do only beyond some size, and what only another description shows. */
typedef struct {
    unsigned caches;
    bool many_rows, one_expert, many_slots, many_experts, many_groups, many_threads, many_channels,
        long_k, long_stride, threads[8], both[2], away_first, even_first;
} thresholds;

static void take_thresholds(thresholds *o, const armq_case *c) {
    const armq_desc *d = &c->desc;
    bool moe = armq_op_is_moe(d->op), linear = armq_op_is_linear(d->op);
    o->caches |= 1u << c->caches;
    o->many_rows |= d->tokens > 1024;
    o->many_slots |= d->top_k > 32;
    o->many_experts |= d->experts > 512;
    o->many_groups |= d->group_size > 0 && d->k / d->group_size > 256;
    o->many_threads |= c->threads > 128;
    o->one_expert |= moe && d->tokens > 1024 && c->routing == ROUTING_ONE;
    o->many_channels |= d->n > 1024 || d->hidden > 1024;
    o->long_k |= d->k > 4096 || (armq_op_is_bf16(d->op) && d->k > 2048) || d->intermediate > 2048;
    o->long_stride |= c->y_pad > 2 * (moe ? d->hidden : linear ? d->n : 31);
    for (int n = 0; n < 8; n++)
        o->threads[n] |= c->threads == n;
    bool first = d->dialect.linear_round_before_bias, bias = d->uses & ARMQ_USES_BIAS;
    o->away_first |= first && bias && d->dialect.q_rounding == ARMQ_ROUND_TIES_AWAY;
    o->even_first |= first && bias && d->dialect.q_rounding == ARMQ_ROUND_TIES_EVEN;
    if (d->dialect.quant != ARMQ_QUANT_NONE && c->data == DATA_TIES)
        o->both[d->dialect.q_rounding == ARMQ_ROUND_TIES_AWAY] |= d->in == ARMQ_DTYPE_F16;
}

static void test_ci_thresholds(void **state) {
    (void)state;
    static const armq_op ops[] = {ARMQ_OP_QUANTIZE,     ARMQ_OP_ACTIVATION,  ARMQ_OP_GEMM_S8S8S32,
                                  ARMQ_OP_GEMM_S8S4S32, ARMQ_OP_LINEAR_W8A8, ARMQ_OP_LINEAR_W4A8,
                                  ARMQ_OP_LINEAR_BF16,  ARMQ_OP_MOE_W8A8,    ARMQ_OP_MOE_W4A8,
                                  ARMQ_OP_MOE_BF16};
    case_list list = load("ci", 1, 1, 1), edge = load("edge", 8, 12, 16);
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        thresholds o = {0}, at_edge = {0};
        for (int64_t j = 0; j < list.count; j++)
            if (list.items[j].desc.op == ops[i])
                take_thresholds(&o, &list.items[j]);
        for (int64_t j = 0; j < edge.count; j++)
            if (edge.items[j].desc.op == ops[i])
                take_thresholds(&at_edge, &edge.items[j]);
        bool moe = armq_op_is_moe(ops[i]);
        bool channels = ops[i] != ARMQ_OP_QUANTIZE && ops[i] != ARMQ_OP_ACTIVATION;
        bool groups = ops[i] == ARMQ_OP_GEMM_S8S4S32 || ops[i] == ARMQ_OP_LINEAR_W4A8;
        assert_int_equal(o.caches, (1u << CACHES_KIND_COUNT) - 1);
        assert_true(o.many_threads && (!groups || o.many_groups));
        assert_true(!moe || (o.many_slots && o.many_experts));
        assert_true(at_edge.caches & 1u << CACHES_SMALL);
        assert_true(o.many_rows && o.long_k && o.long_stride);
        assert_true(!channels || (o.many_channels && at_edge.caches == 7));
        assert_true(o.threads[2] && o.threads[4] && o.threads[5] && o.threads[7]);
        assert_true(!moe || o.one_expert);
        if (ops[i] == ARMQ_OP_LINEAR_W8A8)
            assert_true(o.away_first && o.even_first);
        if (ops[i] == ARMQ_OP_QUANTIZE)
            assert_true(o.both[0] && o.both[1]);
    }
    case_list_free(&list);
    case_list_free(&edge);
}

/* Every op whose x is rounded to a working dtype is judged with one that is neither f32 nor x's. */
static void test_ci_working_dtypes(void **state) {
    (void)state;
    case_list list = load("ci", 1, 1, 1);
    unsigned seen[ARMQ_OP_COUNT] = {0};
    for (int64_t i = 0; i < list.count; i++) {
        const armq_desc *d = &list.items[i].desc;
        if (d->dialect.work != ARMQ_DTYPE_F32 && d->dialect.work != d->in)
            seen[d->op] |= 1u << d->dialect.work;
    }
    unsigned both = 1u << ARMQ_DTYPE_BF16 | 1u << ARMQ_DTYPE_F16;
    for (int op = 0; op < ARMQ_OP_COUNT; op++)
        if (armq_op_is_bf16((armq_op)op) || armq_op_is_gemm((armq_op)op))
            assert_int_equal(seen[op] & ~(1u << ARMQ_DTYPE_BF16 | 1u), 0);
        else
            assert_int_equal(seen[op], both);
    case_list_free(&list);
}

/* --- MoE and activation ----------------------------------------------------------------------- */

static void test_moe_ci_budget(void **state) {
    (void)state;
    case_list list = load("moe-ci", 1, 1, 1);
    int64_t *macs = calloc((size_t)list.count, sizeof *macs), total = 0, large = 0;
    assert_non_null(macs);
    assert_in_range(list.count, 250, 380);
    for (int64_t i = 0; i < list.count; i++) {
        macs[i] = case_macs(&list.items[i]);
        total += macs[i];
        large += macs[i] > 2000000;
        assert_true(list.items[i].desc.op != ARMQ_OP_MOE_BF16 || macs[i] <= 1000000);
    }
    assert_true(large <= 3 && total <= 40000000);
    qsort(macs, (size_t)list.count, sizeof *macs, ascending);
    assert_true(macs[list.count / 2] <= 500000);
    free(macs);
    case_list_free(&list);
}

static bool has_activation(const case_list *list, armq_op op, armq_dtype in, int activation,
                           int layout) {
    for (int64_t i = 0; i < list->count; i++) {
        const armq_desc *d = &list->items[i].desc;
        if (d->op == op && (in == ARMQ_DTYPE_NONE || d->in == in) &&
            (int)d->dialect.activation == activation && (int)d->dialect.gate_layout == layout)
            return true;
    }
    return false;
}

static void test_moe_ci_activations(void **state) {
    (void)state;
    case_list moe = load("moe-ci", 1, 1, 1), alone = load("activation-ci", 1, 1, 1);
    assert_in_range(alone.count, 100, 160);
    for (int a = ARMQ_ACT_SILU; a <= ARMQ_ACT_SWIGLUOAI; a++)
        for (int layout = 0; layout < 2; layout++) {
            for (int in = ARMQ_DTYPE_F32; in <= ARMQ_DTYPE_F16; in++)
                assert_true(has_activation(&alone, ARMQ_OP_ACTIVATION, (armq_dtype)in, a, layout));
            assert_true(has_activation(&moe, ARMQ_OP_MOE_BF16, ARMQ_DTYPE_NONE, a, layout));
            if (a != ARMQ_ACT_GELU_TANH)
                assert_true(has_activation(&moe, ARMQ_OP_MOE_W8A8, ARMQ_DTYPE_NONE, a, layout));
        }
    for (int in = ARMQ_DTYPE_F32; in <= ARMQ_DTYPE_F16; in++)
        assert_true(has_activation(&moe, ARMQ_OP_MOE_W8A8, (armq_dtype)in, ARMQ_ACT_GELU_TANH, 0));
    for (int data = 0; data < DATA_KIND_COUNT; data++)
        if (data_kind_exists(ARMQ_OP_ACTIVATION, (data_kind)data))
            for (int in = ARMQ_DTYPE_F32; in <= ARMQ_DTYPE_F16; in++)
                assert_true(
                    has(&alone, ARMQ_OP_ACTIVATION, "vllm-w8a8", (armq_dtype)in, (data_kind)data));
    case_list_free(&moe);
    case_list_free(&alone);
}

/* What occurs in the cases of one op. */
typedef struct {
    unsigned routings, uses, top_ks, shapes, tokens, layouts;
    bool biases_in, one_expert, five_experts, alpha, limit, poisoned_experts, threads;
} occurrences;

enum { TWICE = 1, EQUAL = 2, NARROW = 4, WIDE = 8, MORE_TOKENS = 16, FEWER_TOKENS = 32 };

static void take(occurrences *o, const armq_case *c) {
    const armq_desc *d = &c->desc;
    int64_t h = d->hidden, i = d->intermediate;
    o->routings |= 1u << c->routing;
    o->uses |= d->uses;
    o->top_ks |= d->top_k < 32 ? 1u << d->top_k : 0;
    o->tokens |= d->tokens < 4 ? 1u << d->tokens : d->tokens > 16 ? 16u : 0;
    o->shapes |= (h == 2 * i ? TWICE : 0u) | (h == i ? EQUAL : 0u) | (h < i ? NARROW : 0u) |
                 (h > i ? WIDE : 0u) | (d->tokens > h && d->tokens > i ? MORE_TOKENS : 0u) |
                 (d->tokens < h && d->tokens < i ? FEWER_TOKENS : 0u);
    o->layouts |= 1u << d->dialect.gate_layout;
    o->biases_in |= d->bias_dtype != ARMQ_DTYPE_NONE && d->bias_dtype != ARMQ_DTYPE_F32;
    o->one_expert |= d->experts == 1;
    o->five_experts |= d->experts == 5;
    o->alpha |= d->dialect.alpha > 0 && d->dialect.alpha != 1.702f;
    o->limit |= d->dialect.limit > 0 && d->dialect.limit != 7.0f;
    o->poisoned_experts |= c->data == DATA_POISON && c->routing == ROUTING_EMPTY;
    o->threads |= c->threads > 1;
}

static void test_moe_ci_covers(void **state) {
    (void)state;
    static const armq_op ops[] = {ARMQ_OP_MOE_W8A8, ARMQ_OP_MOE_BF16};
    case_list list = load("moe-ci", 1, 1, 1);
    for (int op = 0; op < 2; op++) {
        occurrences o = {0};
        for (int64_t i = 0; i < list.count; i++)
            if (list.items[i].desc.op == ops[op])
                take(&o, &list.items[i]);
        assert_int_equal(o.routings, (1u << ROUTING_KIND_COUNT) - 1);
        assert_int_equal(o.uses, ARMQ_USES_W13_BIAS | ARMQ_USES_W2_BIAS | ARMQ_USES_SKIP_IDS |
                                     ARMQ_USES_X_STRIDE | ARMQ_USES_Y_STRIDE |
                                     ARMQ_USES_WEIGHT_ON_INPUT | ARMQ_USES_NO_ROUTER_WEIGHT);
        assert_true(o.layouts == 3 && o.biases_in && o.five_experts && o.alpha && o.limit);
        assert_true(o.poisoned_experts && o.threads);
        assert_int_equal(o.top_ks & (1u << 1 | 1u << 2 | 1u << 4 | 1u << 8), 0x116);
        if (op == 0) {
            assert_int_equal(o.shapes, TWICE | EQUAL | NARROW | WIDE | MORE_TOKENS | FEWER_TOKENS);
            assert_true(o.one_expert && (o.top_ks & 1));
            assert_int_equal(o.tokens & 0x17, 0x17); /* 0, 1, 2, many */
        }
    }
    for (int data = 0; data < DATA_KIND_COUNT; data++) {
        assert_true(has(&list, ARMQ_OP_MOE_W8A8, "sglang-w8a8", ARMQ_DTYPE_BF16, (data_kind)data));
        for (int in = ARMQ_DTYPE_F32; in <= ARMQ_DTYPE_F16; in++) {
            assert_true(has(&list, ARMQ_OP_MOE_W8A8, "vllm-w8a8", (armq_dtype)in, (data_kind)data));
            assert_true(!data_kind_exists(ARMQ_OP_MOE_BF16, (data_kind)data) ||
                        has(&list, ARMQ_OP_MOE_BF16, "bf16", (armq_dtype)in, (data_kind)data));
        }
    }
    case_list_free(&list);
}

static void test_moe_full_and_edge(void **state) {
    (void)state;
    case_list full = load("moe-full", 1, 1, 1), edge = load("moe-edge", 8, 12, 16);
    case_list baseline = load("moe-edge", 1, 1, 1);
    assert_in_range(full.count, 2500, 5000);
    assert_in_range(edge.count, 200, 500);
    assert_true(baseline.count < edge.count);
    bool beyond = false;
    for (int64_t i = 0; i < edge.count; i++)
        beyond |= edge.items[i].desc.hidden == 33 && edge.items[i].desc.intermediate == 25;
    assert_true(beyond);
    case_list_free(&full);
    case_list_free(&edge);
    case_list_free(&baseline);
}

typedef struct {
    int64_t hidden, intermediate, top_k;
    armq_activation activation;
} model;

/* The layer in each dialect that knows its activation, and as a baseline of 1 token; every sampled
 * token is whole; weights and their packed copy stay within 1 GiB. */
static void assert_model(const case_list *list, const model *m) {
    int64_t vllm = 0, sglang = 0, baseline = 0, by_32 = 0, by_128 = 0;
    for (int64_t i = 0; i < list->count; i++) {
        const armq_case *c = &list->items[i];
        const armq_desc *d = &c->desc;
        if (d->hidden != m->hidden || d->intermediate != m->intermediate)
            continue;
        assert_int_equal(d->top_k, m->top_k);
        assert_int_equal(d->dialect.activation, m->activation);
        bool swigluoai = m->activation == ARMQ_ACT_SWIGLUOAI;
        assert_int_equal((d->uses & ARMQ_USES_W13_BIAS) != 0, swigluoai);
        assert_int_equal(c->routing, ROUTING_SOFTMAX);
        assert_true(c->sample >= 2048 && d->experts >= d->top_k);
        bool bf16 = d->op == ARMQ_OP_MOE_BF16;
        assert_true(3 * d->experts * d->hidden * d->intermediate * (bf16 ? 2 : 1) <= 1 << 30);
        baseline += bf16 && d->tokens == 1;
        vllm += strcmp(c->dialect, "vllm-w8a8") == 0;
        sglang += strcmp(c->dialect, "sglang-w8a8") == 0;
        by_32 += d->group_size == 32;
        by_128 += d->group_size == 128;
    }
    assert_true(by_32 == 2 && by_128 == 2);
    if (vllm < 2 || sglang < (m->activation == ARMQ_ACT_SILU ? 2 : 0) || baseline != 1)
        fail_msg("%d x %d: %d vllm, %d sglang, %d bf16", (int)m->hidden, (int)m->intermediate,
                 (int)vllm, (int)sglang, (int)baseline);
}

static void test_moe_models(void **state) {
    (void)state;
    static const model models[] = {
        {2048, 768, 8, ARMQ_ACT_SILU},   {2880, 2880, 4, ARMQ_ACT_SWIGLUOAI},
        {4096, 14336, 2, ARMQ_ACT_SILU}, {2048, 1408, 6, ARMQ_ACT_SILU},
        {2048, 1024, 8, ARMQ_ACT_SILU},  {4096, 6400, 2, ARMQ_ACT_SILU},
    };
    case_list list = load("models-moe", 1, 1, 1);
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        assert_model(&list, &models[i]);
    assert_int_equal(list.count, 6 + 5 * 4 + 2 + 1 + 6 * 4 + 2);
    case_list_free(&list);
}

/* --- int4 ------------------------------------------------------------------------------------- */

/* Two groups and more, unless there is one of all of K; but for refusals in models, and cases of
 * K = 0. */
static void test_groups(void **state) {
    (void)state;
    static const char *const sweeps[] = {"w4a8-ci", "w4a8-edge", "w4a8-full", "models", "overflow"};
    for (size_t s = 0; s < sizeof sweeps / sizeof sweeps[0]; s++) {
        case_list list = load(sweeps[s], 8, 12, 16);
        int64_t refused = 0;
        for (int64_t i = 0; i < list.count; i++) {
            const armq_desc *d = &list.items[i].desc;
            const char *name;
            int64_t size;
            bool divide = case_groups_divide(&list.items[i], &name, &size);
            refused += !divide;
            assert_true(divide || (d->hidden == 2880 && d->group_size == 128));
        }
        assert_int_equal(refused, s == 3 ? 2 : 0);
        case_list_free(&list);
    }
}

static void test_w4a8_ci_budget(void **state) {
    (void)state;
    case_list list = load("w4a8-ci", 1, 1, 1);
    int64_t *macs = calloc((size_t)list.count, sizeof *macs), total = 0;
    assert_non_null(macs);
    assert_in_range(list.count, 450, 600);
    for (int64_t i = 0; i < list.count; i++) {
        macs[i] = case_macs(&list.items[i]);
        total += macs[i];
        assert_true(macs[i] <= 1000000);
    }
    assert_true(total <= 30000000);
    qsort(macs, (size_t)list.count, sizeof *macs, ascending);
    assert_true(macs[list.count / 2] <= 100000);
    free(macs);
    case_list_free(&list);
}

/* What occurs in the cases of one int4 op. */
typedef struct {
    uint32_t uses;
    unsigned group_sizes, formats, dtypes, quants, routings, activations, biases;
    bool of_k, one_token, two_tokens, zeros_of_groups, zeros_of_channels;
} int4_occurrences;

static void take_int4(int4_occurrences *o, const armq_case *c) {
    const armq_desc *d = &c->desc;
    int64_t k = armq_op_is_moe(d->op) ? d->hidden : d->k;
    bool grouped = d->group_size > 0, zeros = d->uses & ARMQ_USES_WEIGHT_ZERO;
    o->uses |= d->uses;
    o->group_sizes |= grouped && d->group_size < 1024 ? 1u << (d->group_size / 32) : 0;
    o->formats |= 1u << d->format;
    o->dtypes |= 1u << (8 * grouped + d->in);
    o->quants |= 1u << (2 * grouped + (d->dialect.quant == ARMQ_QUANT_ASYMMETRIC));
    o->routings |= 1u << c->routing;
    o->activations |= 1u << (8 * grouped + d->dialect.activation);
    o->biases |= 1u << d->bias_dtype;
    o->of_k |= grouped && k == d->group_size;
    o->one_token |= d->tokens == 1 && grouped && zeros;
    o->two_tokens |= d->tokens == 2 && grouped;
    o->zeros_of_groups |= zeros && grouped;
    o->zeros_of_channels |= zeros && !grouped;
}

static void test_w4a8_ci_covers(void **state) {
    (void)state;
    static const armq_op ops[] = {ARMQ_OP_GEMM_S8S4S32, ARMQ_OP_LINEAR_W4A8, ARMQ_OP_MOE_W4A8};
    case_list list = load("w4a8-ci", 1, 1, 1);
    for (int op = 0; op < 3; op++) {
        int4_occurrences o = {0};
        for (int64_t i = 0; i < list.count; i++)
            if (list.items[i].desc.op == ops[op])
                take_int4(&o, &list.items[i]);
        unsigned sizes = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 8, floats = 0xe0e;
        assert_int_equal(o.group_sizes & sizes, sizes); /* 32, 64, 96, 128, 256 */
        assert_int_equal(o.formats, 1u << ARMQ_WEIGHT_S4_LOW | 1u << ARMQ_WEIGHT_S4_WORD8);
        assert_true(o.of_k && o.two_tokens && o.zeros_of_groups && o.zeros_of_channels);
        assert_true(o.one_token && (o.uses & ARMQ_USES_X_STRIDE) && (o.uses & ARMQ_USES_Y_STRIDE));
        if (op == 0)
            continue;
        assert_int_equal(o.dtypes, floats);
        assert_int_equal(o.quants, 15);
        assert_int_equal(o.biases, 0xf); /* none, f32, bf16, f16 */
        if (op == 2) {
            assert_int_equal(o.routings, (1u << ROUTING_KIND_COUNT) - 1);
            assert_int_equal(o.activations, (1u << ARMQ_ACT_SILU | 1u << ARMQ_ACT_SWIGLUOAI) * 257);
            assert_true(o.uses & ARMQ_USES_WEIGHT_ON_INPUT);
        }
    }
    for (int in = ARMQ_DTYPE_F32; in <= ARMQ_DTYPE_F16; in++)
        for (int data = 0; data < DATA_KIND_COUNT; data++)
            assert_true(has(&list, ARMQ_OP_MOE_W4A8, "vllm-w4a8", (armq_dtype)in, (data_kind)data));
    case_list_free(&list);
}

/* --- All ops ---------------------------------------------------------------------------------- */

static void test_full(void **state) {
    (void)state;
    case_list list = load("full", 1, 1, 1);
    assert_in_range(list.count, 15000, 25000);
    case_list_free(&list);
}

static void test_edge(void **state) {
    (void)state;
    case_list one = load("edge", 1, 1, 1), other = load("edge", 8, 12, 16);
    assert_in_range(other.count, 900, 2000);
    bool beyond = false;
    for (int64_t i = 0; i < other.count; i++)
        beyond |= other.items[i].desc.tokens == 17 && other.items[i].desc.n == 25 &&
                  other.items[i].desc.k == 33;
    assert_true(beyond);
    assert_true(one.count < other.count);
    case_list_free(&one);
    case_list_free(&other);
}

/* Layers as N x K, from the models' configurations. */
static void assert_layer(const case_list *list, int64_t n, int64_t k, int64_t tokens) {
    int gemm = 0, linear = 0, baseline = 0;
    for (int64_t i = 0; i < list->count; i++) {
        const armq_case *c = &list->items[i];
        if (c->desc.n != n || c->desc.k != k)
            continue;
        gemm += c->desc.op == ARMQ_OP_GEMM_S8S8S32 && c->desc.tokens == tokens;
        linear +=
            c->desc.op == ARMQ_OP_LINEAR_W8A8 && c->desc.tokens == tokens && c->sample >= 4096;
        baseline += c->desc.op == ARMQ_OP_LINEAR_BF16 && c->desc.tokens == 1;
    }
    if (gemm != 1 || linear != 1 || baseline != 1)
        fail_msg("%d x %d at %d tokens: %d gemm, %d linear, %d bf16", (int)n, (int)k, (int)tokens,
                 gemm, linear, baseline);
}

static void assert_dialects(const case_list *list) {
    static const char *const names[] = {"sglang-w8a8", "vllm-w8a8", "kleidi-w8a8"};
    for (int i = 0; i < 3; i++) {
        bool found = false;
        for (int64_t j = 0; j < list->count; j++)
            found |= strcmp(list->items[j].dialect, names[i]) == 0;
        assert_true(found);
    }
}

static void test_models(void **state) {
    (void)state;
    static const int64_t llama[4][2] = {{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}};
    static const int64_t qwen[2][2] = {{5120, 2048}, {2048, 4096}};
    static const int64_t tokens[3] = {1, 7, 128};
    case_list all = load("models", 1, 1, 1), quick = load("models-quick", 1, 1, 1);
    case_list llama_only = load("models-llama3", 1, 1, 1),
              qwen_only = load("models-qwen3", 1, 1, 1);
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < 4; i++)
            assert_layer(&all, llama[i][0], llama[i][1], tokens[t]);
        for (int i = 0; i < 2; i++)
            assert_layer(&all, qwen[i][0], qwen[i][1], tokens[t]);
    }
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 2; i++)
            assert_layer(&quick, qwen[i][0], qwen[i][1], tokens[t]);
    assert_int_equal(all.count, 6 * 7 + 29 + 20 + 12 + 26);
    assert_int_equal(quick.count, 2 * 5 + 5);
    assert_dialects(&llama_only);
    assert_dialects(&qwen_only);
    assert_dialects(&quick);
    case_list_free(&all);
    case_list_free(&quick);
    case_list_free(&llama_only);
    case_list_free(&qwen_only);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ci_budget),      cmocka_unit_test(test_ci_covers),
        cmocka_unit_test(test_ci_thresholds),  cmocka_unit_test(test_ci_working_dtypes),
        cmocka_unit_test(test_moe_ci_budget),  cmocka_unit_test(test_moe_ci_activations),
        cmocka_unit_test(test_moe_ci_covers),  cmocka_unit_test(test_moe_full_and_edge),
        cmocka_unit_test(test_moe_models),     cmocka_unit_test(test_groups),
        cmocka_unit_test(test_w4a8_ci_budget), cmocka_unit_test(test_w4a8_ci_covers),
        cmocka_unit_test(test_full),           cmocka_unit_test(test_edge),
        cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
