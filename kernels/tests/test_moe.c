/* SPDX-License-Identifier: Apache-2.0 */
/* moe_w8a8, moe_w4a8 and moe_bf16 of every tier: against plain C, known answers, and what must not
 * change a result: threads, other tokens, the size of blocks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/features.h"
#include "kernels/api/names.h"
#include "kernels/registry.h"
#include "kernels/tests/moe_problem.h"
#include "kernels/tests/problem.h"
#include "reference/formats.h"

#define F32 ARMQ_DTYPE_F32
#define BF16 ARMQ_DTYPE_BF16
#define F16 ARMQ_DTYPE_F16

/* Runs test on every provider of the op that this CPU can run; at least one. */
static void for_each_tier(armq_op op, void (*test)(const armq_provider *, armq_op)) {
    size_t count;
    int ran = 0;
    const armq_tier *tiers = armq_tiers(&count);
    for (size_t i = 0; i < count; i++)
        if (!(tiers[i].provider->required_features & ~armq_features()) &&
            (op == ARMQ_OP_MOE_BF16 ? tiers[i].bf16 : tiers[i].s8)) {
            test(tiers[i].provider, op);
            ran++;
        }
    assert_true(ran > 0);
}

static void for_each(void (*test)(const armq_provider *, armq_op)) {
    for_each_tier(ARMQ_OP_MOE_W8A8, test);
    for_each_tier(ARMQ_OP_MOE_W4A8, test);
    for_each_tier(ARMQ_OP_MOE_BF16, test);
}

static const char *dialect_of(armq_op op) {
    return op == ARMQ_OP_MOE_BF16 ? "bf16" : op == ARMQ_OP_MOE_W4A8 ? "vllm-w4a8" : "vllm-w8a8";
}

static moe_spec small(armq_op op) {
    return (moe_spec){.op = op,
                      .dialect = dialect_of(op),
                      .activation = ARMQ_ACT_SILU,
                      .dtype = F32,
                      .tokens = 7,
                      .hidden = 21,
                      .intermediate = 13,
                      .experts = 5,
                      .top_k = 3};
}

static const char *row_of(const moe_problem *p, const void *y, int64_t token) {
    return (const char *)y + (size_t)(token * p->y_stride) * armq_dtype_bytes(p->desc.out);
}

static size_t row_bytes(const moe_problem *p) {
    return (size_t)p->desc.hidden * armq_dtype_bytes(p->desc.out);
}

/* --- Against plain C -----------------------------------------------------------------------------
 */

static void dialects(const armq_provider *provider, armq_op op) {
    const armq_activation activations[] = {ARMQ_ACT_SILU, ARMQ_ACT_GELU, ARMQ_ACT_GELU_TANH,
                                           ARMQ_ACT_SWIGLUOAI};
    const armq_dtype dtypes[] = {F32, BF16, F16};
    moe_spec spec = small(op);
    for (int a = 0; a < 4; a++)
        for (int t = 0; t < 3; t++) {
            spec.activation = activations[a];
            spec.dtype = dtypes[t];
            spec.bias = a % 2 ? ARMQ_DTYPE_NONE : t ? dtypes[t] : F32;
            spec.uses = t == 1 ? ARMQ_USES_X_STRIDE | ARMQ_USES_Y_STRIDE : 0;
            const moe_problem p = moe_make(spec);
            moe_compare(provider, &p);
        }
}

static void test_dialects(void **state) {
    (void)state;
    for_each(dialects);
}

static void sglang(const armq_provider *provider, armq_op op) {
    moe_spec spec = small(op);
    spec.dialect = "sglang-w8a8";
    spec.dtype = BF16;
    spec.hidden = 64;
    for (spec.bias = ARMQ_DTYPE_NONE; spec.bias <= F32; spec.bias++) {
        const moe_problem p = moe_make(spec);
        moe_compare(provider, &p);
    }
}

static void test_sglang(void **state) {
    (void)state;
    for_each_tier(ARMQ_OP_MOE_W8A8, sglang);
}

/* Every property of the dialect away from its default: asymmetric, all roundings, the other order.
 */
static void every_property(const armq_provider *provider, armq_op op) {
    const armq_dtype rounds[] = {BF16, F16};
    for (int i = 0; i < 2; i++)
        for (int interleaved = 0; interleaved < 2; interleaved++) {
            moe_spec spec = small(op);
            spec.activation = i ? ARMQ_ACT_SWIGLUOAI : ARMQ_ACT_SILU;
            spec.dtype = BF16;
            spec.bias = BF16;
            moe_problem p = moe_make(spec);
            armq_dialect *d = &p.desc.dialect;
            if (op == ARMQ_OP_MOE_W8A8) {
                d->quant = ARMQ_QUANT_ASYMMETRIC;
                d->work = rounds[i];
                d->intermediate = rounds[i];
            }
            d->q_rounding = ARMQ_ROUND_TIES_AWAY;
            d->gate_layout = interleaved ? ARMQ_GATE_INTERLEAVED : ARMQ_GATE_HALVES;
            d->y13_round = d->activation_round = rounds[i];
            d->y2_round = d->combine_round = rounds[i];
            d->combine_order = ARMQ_COMBINE_EXPERT_ORDER;
            moe_compare(provider, &p);
        }
}

static void test_every_property(void **state) {
    (void)state;
    for_each(every_property);
}

/* y of a token whose slots have these biases for y2, and these weights. */
static float sum_of(const armq_provider *provider, armq_op op, armq_dtype y2_round,
                    armq_dtype combine_round, const float *y2, const float *weights) {
    moe_spec spec = small(op);
    spec.tokens = 1, spec.intermediate = 0, spec.bias = F32, spec.top_k = 2;
    moe_problem p = moe_make(spec);
    p.desc.dialect.y2_round = y2_round;
    p.desc.dialect.combine_round = combine_round;
    for (int64_t i = 0; i < 2; i++) {
        p.ids[i] = (int32_t)i;
        p.router[i] = weights[i];
        for (int64_t c = 0; c < spec.hidden; c++)
            ((float *)(uintptr_t)p.w2.bias)[i * spec.hidden + c] = y2[i];
    }
    return *(float *)moe_run(provider, &p, NULL);
}

/* y2, the weight, the product and the sum: each rounded where the dialect says so, and only there.
 */
static void roundings(const armq_provider *provider, armq_op op) {
    const float fine = 1 + 0x1p-10f, step = 1 + 0x1p-7f;
    const float alone[] = {1, 0}, fine_alone[] = {fine, 0}, step_alone[] = {step, 0};
    assert_true(sum_of(provider, op, F32, F32, fine_alone, alone) == fine);
    assert_true(sum_of(provider, op, BF16, F32, fine_alone, alone) == 1);
    assert_true(sum_of(provider, op, F16, F32, fine_alone, alone) == fine);
    assert_true(sum_of(provider, op, F32, F32, alone, fine_alone) == fine);
    assert_true(sum_of(provider, op, F32, BF16, alone, fine_alone) == 1);
    assert_true(sum_of(provider, op, F32, F32, step_alone, step_alone) == step * step);
    assert_true(sum_of(provider, op, F32, BF16, step_alone, step_alone) == 1 + 0x1p-6f);
    const float quarter[] = {1.25f, 0}, tie[] = {1 + 0x1p-8f, 0}; /* 1.2578 if only at the end */
    assert_true(sum_of(provider, op, F32, BF16, quarter, tie) == 1.25f);
    const float large[] = {256, 1}, ones[] = {1, 1};
    assert_true(sum_of(provider, op, F32, F32, large, ones) == 257);
    assert_true(sum_of(provider, op, F32, BF16, large, ones) == 256);
    assert_true(sum_of(provider, op, F32, F16, large, ones) == 257);
}

static void test_roundings(void **state) {
    (void)state;
    for_each(roundings);
}

static void router_weights(const armq_provider *provider, armq_op op) {
    moe_spec spec = small(op);
    spec.uses = ARMQ_USES_WEIGHT_ON_INPUT;
    for (spec.dtype = F32; spec.dtype <= F16; spec.dtype++) {
        spec.bias = spec.dtype;
        moe_problem p = moe_make(spec);
        moe_compare(provider, &p);
    }
    spec.uses = ARMQ_USES_NO_ROUTER_WEIGHT;
    spec.dtype = spec.bias = F32;
    spec.top_k = 1;
    const moe_problem p = moe_make(spec);
    moe_compare(provider, &p);
}

static void test_router_weights(void **state) {
    (void)state;
    for_each(router_weights);
}

static void shapes(const armq_provider *provider, armq_op op) {
    const int64_t shape[][5] = {{1, 8, 4, 1, 1},  {1, 40, 17, 3, 2}, {2, 1, 1, 2, 2},
                                {3, 9, 33, 5, 1}, {4, 16, 8, 2, 4},  {33, 24, 8, 2, 2},
                                {5, 7, 0, 3, 2},  {70, 8, 8, 1, 1}};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        moe_spec spec = small(op);
        spec.tokens = shape[i][0], spec.hidden = shape[i][1], spec.intermediate = shape[i][2];
        spec.experts = shape[i][3], spec.top_k = shape[i][4];
        spec.bias = F32;
        const moe_problem p = moe_make(spec);
        moe_compare(provider, &p);
    }
}

static void test_shapes(void **state) {
    (void)state;
    for_each(shapes);
}

static void nothing_to_do(const armq_provider *provider, armq_op op) {
    moe_spec spec = small(op);
    spec.tokens = 0;
    moe_problem p = moe_make(spec);
    assert_null(moe_run(provider, &p, NULL));
    spec = small(op);
    spec.hidden = 0;
    p = moe_make(spec);
    assert_null(moe_run(provider, &p, NULL));
    spec = small(op);
    spec.top_k = 0;
    p = moe_make(spec);
    const float *y = moe_run(provider, &p, NULL);
    for (int64_t i = 0; i < p.desc.tokens * p.desc.hidden; i++)
        assert_true(y[i] == 0 && !signbit(y[i]));
}

static void test_nothing_to_do(void **state) {
    (void)state;
    for_each(nothing_to_do);
}

/* --- Routing -------------------------------------------------------------------------------------
 */

/* An expert twice with weights of a half is the expert once with weight 1. */
static void repeated_expert(const armq_provider *provider, armq_op op) {
    moe_spec spec = small(op);
    spec.tokens = 3, spec.top_k = 2, spec.bias = F32;
    moe_problem p = moe_make(spec);
    const int32_t twice[] = {1, 1, 1, 1, 2, 2};
    memcpy(p.ids, twice, sizeof twice);
    for (int i = 0; i < 6; i++)
        p.router[i] = 0.5f;
    const void *y = moe_run(provider, &p, NULL);
    p.desc.top_k = 1;
    const int32_t once[] = {1, 1, 2};
    memcpy(p.ids, once, sizeof once);
    for (int i = 0; i < 3; i++)
        p.router[i] = 1;
    assert_memory_equal(y, moe_run(provider, &p, NULL), moe_y_bytes(&p));
}

/* x = 0 and I = 0: y is the sum of the experts' biases, exactly, by weights that are powers of two.
 */
static void biases(const armq_provider *provider, armq_op op) {
    moe_spec spec = small(op);
    spec.intermediate = 0, spec.bias = F32;
    moe_problem p = moe_make(spec);
    for (int64_t i = 0; i < 21; i++)
        p.router[i] = (float)(1 << i % 7);
    float *bias = (float *)(uintptr_t)p.w2.bias;
    for (int64_t i = 0; i < spec.experts * spec.hidden; i++) {
        const int64_t expert = i / spec.hidden;
        bias[i] = (float)(1000 * expert + i % spec.hidden);
    }
    const float *y = moe_run(provider, &p, NULL);
    for (int64_t t = 0; t < spec.tokens; t++)
        for (int64_t i = 0; i < spec.hidden; i++) {
            float want = 0;
            for (int64_t s = 0; s < spec.top_k; s++)
                want +=
                    p.router[t * spec.top_k + s] * (float)(1000 * p.ids[t * spec.top_k + s] + i);
            assert_true(y[t * spec.hidden + i] == want);
        }
}

/* Biases that are only right in one order of summation: 1e8 - 1e8 + 1 and 1e8 + 1 - 1e8. */
static void order_of_sum(const armq_provider *provider, armq_op op) {
    moe_spec spec = small(op);
    spec.tokens = 1, spec.intermediate = 0, spec.bias = F32;
    moe_problem p = moe_make(spec);
    const int32_t ids[] = {0, 2, 1};
    const float of_expert[] = {1e8f, 1, -1e8f};
    memcpy(p.ids, ids, sizeof ids);
    for (int64_t i = 0; i < 3 * spec.hidden; i++)
        ((float *)(uintptr_t)p.w2.bias)[i] = of_expert[i / spec.hidden];
    p.router[0] = p.router[1] = p.router[2] = 1;
    p.desc.dialect.combine_order = ARMQ_COMBINE_SLOT_ORDER;
    assert_true(*(float *)moe_run(provider, &p, NULL) == 1);
    p.desc.dialect.combine_order = ARMQ_COMBINE_EXPERT_ORDER;
    assert_true(*(float *)moe_run(provider, &p, NULL) == 0);
}

/* Only the last expert; the others' weights are not finite, and no one notices. */
static void unused_experts(const armq_provider *provider, armq_op op) {
    moe_spec spec = small(op);
    spec.bias = F32;
    moe_problem p = moe_make(spec);
    for (int64_t i = 0; i < spec.tokens * spec.top_k; i++)
        p.ids[i] = (int32_t)spec.experts - 1;
    moe_compare(provider, &p);
    const void *clean = moe_run(provider, &p, NULL);
    for (int64_t i = 0; i < (spec.experts - 1) * spec.hidden; i++)
        ((float *)(uintptr_t)p.w2.bias)[i] = NAN;
    assert_memory_equal(moe_run(provider, &p, NULL), clean, moe_y_bytes(&p));
}

static void skipped(const armq_provider *provider, armq_op op) {
    moe_spec spec = small(op);
    spec.uses = ARMQ_USES_SKIP_IDS;
    moe_problem p = moe_make(spec);
    for (int64_t s = 0; s < spec.top_k; s++)
        p.ids[2 * spec.top_k + s] = -1;
    moe_compare(provider, &p);
    const float *y = (const float *)moe_run(provider, &p, NULL) + 2 * spec.hidden;
    for (int64_t i = 0; i < spec.hidden; i++)
        assert_true(y[i] == 0 && !signbit(y[i]));
    /* No expert here at all. */
    for (int64_t i = 0; i < spec.tokens * spec.top_k; i++)
        p.ids[i] = -1;
    p.desc.experts = 0;
    y = moe_run(provider, &p, NULL);
    for (int64_t i = 0; i < spec.tokens * spec.hidden; i++)
        assert_true(y[i] == 0);
}

static void invalid_ids(const armq_provider *provider, armq_op op) {
    const int32_t ids[] = {-1, 5, -2, INT32_MIN, INT32_MAX};
    for (int skips = 0; skips < 2; skips++)
        for (size_t i = skips ? 1 : 0; i < sizeof ids / sizeof *ids; i++)
            for (int64_t place = 0; place < 21; place += 10) {
                moe_spec spec = small(op);
                spec.uses = skips ? ARMQ_USES_SKIP_IDS : 0;
                const moe_problem p = moe_make(spec);
                p.ids[place] = ids[i];
                unsigned char y[7 * 21 * 4];
                memset(y, 0xa5, sizeof y);
                assert_int_equal(moe_try(provider, &p, NULL, y), ARMQ_INVALID_ARGUMENT);
                for (size_t b = 0; b < sizeof y; b++)
                    assert_int_equal(y[b], 0xa5);
            }
}

static void test_routing(void **state) {
    (void)state;
    for_each(repeated_expert);
    for_each(biases);
    for_each(order_of_sum);
    for_each(unused_experts);
    for_each(skipped);
    for_each(invalid_ids);
}

/* --- What must not change a result ---------------------------------------------------------------
 */

static void threads(const armq_provider *provider, armq_op op) {
    for (int64_t tokens = 1; tokens <= 37; tokens += 36) {
        moe_spec spec = small(op);
        spec.tokens = tokens, spec.hidden = 50, spec.bias = F32, spec.max_threads = 40;
        const moe_problem p = moe_make(spec);
        const void *want = moe_run(provider, &p, NULL);
        for (int32_t n = 2; n <= spec.max_threads; n += n < 5 ? 1 : 7)
            for (int reverse = 0; reverse < 2; reverse++) {
                serial_pool pool;
                serial_pool_init(&pool, n, reverse);
                assert_memory_equal(moe_run(provider, &p, &pool.threads), want, moe_y_bytes(&p));
                const int used = __builtin_popcountll(pool.indices_used);
                assert_true(used >= (n < 7 ? n : 7));
            }
    }
}

static void test_threads(void **state) {
    (void)state;
    for_each(threads);
}

/* The problem with only the tokens listed, in this order. */
static moe_problem pick(const moe_problem *p, const int64_t *tokens, int64_t count) {
    moe_problem q = *p;
    const size_t top_k = (size_t)p->desc.top_k, element = armq_dtype_bytes(p->desc.in);
    q.desc.tokens = count;
    q.x = guarded((size_t)(count * p->x_stride) * element, element, 0);
    q.ids = guarded((size_t)count * top_k * 4, 4, 0);
    q.router = guarded((size_t)count * top_k * 4, 4, 0);
    for (int64_t i = 0; i < count; i++) {
        const size_t from = (size_t)tokens[i], to = (size_t)i, row = (size_t)p->x_stride * element;
        memcpy((char *)q.x + to * row, (const char *)p->x + from * row,
               (size_t)p->desc.hidden * element);
        memcpy(q.ids + to * top_k, p->ids + from * top_k, top_k * 4);
        memcpy(q.router + to * top_k, p->router + from * top_k, top_k * 4);
    }
    return q;
}

/* 700 rows of two experts are two blocks of the router, and several chunks each. Alone, in another
 * order, with fewer others: the same bits. */
static void other_tokens(const armq_provider *provider, armq_op op) {
    for (int order = 0; order < 2; order++) {
        moe_spec spec = small(op);
        spec.tokens = 350, spec.hidden = 19, spec.experts = 2, spec.top_k = 2;
        spec.uses = order ? ARMQ_USES_SKIP_IDS : 0;
        moe_problem p = moe_make(spec);
        p.desc.dialect.combine_order = order ? ARMQ_COMBINE_EXPERT_ORDER : ARMQ_COMBINE_SLOT_ORDER;
        const void *y = moe_run(provider, &p, NULL);
        int64_t reversed[350];
        for (int64_t i = 0; i < 350; i++)
            reversed[i] = 349 - i;
        moe_problem q = pick(&p, reversed, 350);
        const void *z = moe_run(provider, &q, NULL);
        for (int64_t i = 0; i < 350; i++)
            assert_memory_equal(row_of(&p, y, i), row_of(&q, z, 349 - i), row_bytes(&p));
        for (int64_t i = 0; i < 350; i += 83) {
            q = pick(&p, &i, 1);
            assert_memory_equal(row_of(&p, y, i), moe_run(provider, &q, NULL), row_bytes(&p));
        }
    }
}

static void test_other_tokens(void **state) {
    (void)state;
    for_each(other_tokens);
}

/* A token with more slots than a block has rows: the sum goes on from block to block. */
static void long_tokens(const armq_provider *provider, armq_op op) {
    for (int order = 0; order < 2; order++)
        for (int skips = 0; skips < 2; skips++) {
            moe_spec spec = small(op);
            spec.tokens = 2, spec.hidden = 9, spec.intermediate = 3;
            spec.experts = 3, spec.top_k = 1700, spec.bias = F32;
            spec.uses = skips ? ARMQ_USES_SKIP_IDS : 0;
            moe_problem p = moe_make(spec);
            p.desc.dialect.combine_order =
                order ? ARMQ_COMBINE_EXPERT_ORDER : ARMQ_COMBINE_SLOT_ORDER;
            for (int64_t s = 300; s < 1000; s++) /* one expert alone exceeds a block */
                p.ids[s] = 1;
            moe_compare(provider, &p);
            moe_problem one = p;
            one.desc.tokens = 1;
            assert_memory_equal(moe_run(provider, &p, NULL), moe_run(provider, &one, NULL),
                                row_bytes(&p));
        }
}

static void test_long_tokens(void **state) {
    (void)state;
    for_each(long_tokens);
}

/* With and without a weight on the sum, and with an empty intermediate, too. */
static void poison(const armq_provider *provider, armq_op op) {
    const float values[] = {NAN, INFINITY, -INFINITY};
    const armq_activation activations[] = {ARMQ_ACT_SILU, ARMQ_ACT_SWIGLUOAI};
    for (int i = 0; i < 18; i++) {
        moe_spec spec = small(op);
        spec.activation = activations[i % 2];
        spec.intermediate = i < 12 ? 13 : 0;
        spec.uses = i / 6 == 1 ? ARMQ_USES_WEIGHT_ON_INPUT : 0;
        moe_problem p = moe_make(spec);
        for (int64_t s = 0; s < spec.top_k; s++)
            p.router[4 * spec.top_k + s] = 0; /* 0 times NaN is NaN, in that token alone */
        const void *clean = moe_run(provider, &p, NULL);
        ((float *)p.x)[4 * p.x_stride + 20] = values[i % 3];
        const float *y = moe_run(provider, &p, NULL);
        for (int64_t t = 0; t < spec.tokens; t++)
            if (t != 4)
                assert_memory_equal(row_of(&p, y, t), row_of(&p, clean, t), row_bytes(&p));
        for (int64_t c = 0; c < spec.hidden; c++)
            assert_true(isnan(y[4 * p.y_stride + c]));
    }
}

static void test_poison(void **state) {
    (void)state;
    for_each(poison);
}

/* --- What query says -----------------------------------------------------------------------------
 */

static armq_desc large(armq_op op, int64_t tokens, int32_t max_threads) {
    moe_spec spec = small(op);
    spec.dtype = BF16;
    armq_desc d = moe_make(spec).desc;
    d.tokens = tokens, d.hidden = 2048, d.intermediate = 768, d.experts = 128, d.top_k = 8;
    d.max_threads = max_threads;
    return d;
}

static size_t workspace(const armq_provider *provider, const armq_desc *d) {
    armq_support support = {.size = sizeof support};
    if (provider->query(d, &support) != ARMQ_OK)
        fail_msg("%s refuses: %s", provider->name, support.reason);
    return support.workspace_bytes;
}

static void bounded(const armq_provider *provider, armq_op op) {
    armq_desc million = large(op, 1000000, 2);
    const size_t bytes = workspace(provider, &million);
    print_message("%s %s: %.1f MiB\n", provider->name, armq_op_name(op), (double)bytes / (1 << 20));
    assert_true(bytes <= (size_t)64 << 20);
    armq_desc more = large(op, INT64_C(1) << 40, 2), threaded = large(op, 1000000, 16);
    assert_int_equal(workspace(provider, &more), bytes);
    assert_true(workspace(provider, &threaded) > bytes);
    more.uses |= ARMQ_USES_SKIP_IDS;
    assert_true(workspace(provider, &more) <= (size_t)64 << 20);
    armq_desc one = large(op, 1, 1);
    assert_true(workspace(provider, &one) < (size_t)1 << 20);
}

static void test_workspace_is_bounded(void **state) {
    (void)state;
    for_each(bounded);
}

static void assert_refused(const armq_provider *provider, const armq_desc *desc, const char *part) {
    armq_support support = {.size = sizeof support};
    assert_int_not_equal(provider->query(desc, &support), ARMQ_OK);
    if (!strstr(support.reason, part))
        fail_msg("%s: the reason \"%s\" does not say \"%s\"", provider->name, support.reason, part);
}

static void refusals(const armq_provider *provider, armq_op op) {
    const armq_desc good = moe_make(small(op)).desc;
    armq_desc d = good;
    d.dialect.combine_order = (armq_combine_order)2;
    assert_refused(provider, &d, "combine_order");
    d = good;
    d.dialect.y13_round = ARMQ_DTYPE_NONE;
    assert_refused(provider, &d, "y13_round");
    d = good;
    d.dialect.combine_round = ARMQ_DTYPE_S32;
    assert_refused(provider, &d, "combine_round");
    d = good;
    d.dialect.limit = 7;
    assert_refused(provider, &d, "limit");
    d = good;
    d.hidden = d.intermediate = 1, d.experts = INT64_C(1) << 57;
    assert_refused(provider, &d, "memory");
    if (op == ARMQ_OP_MOE_BF16) {
        d = good;
        d.dialect.intermediate = F32;
        assert_refused(provider, &d, "intermediate");
        return;
    }
    const int64_t longest = op == ARMQ_OP_MOE_W4A8 ? 65793 : 132104; /* with a zero point */
    char reason[64];
    d = good;
    d.hidden = longest + 1;
    snprintf(reason, sizeof reason, "hidden = %d; beyond %d", (int)longest + 1, (int)longest);
    assert_refused(provider, &d, reason);
    d = good;
    d.intermediate = longest + 1;
    snprintf(reason, sizeof reason, "intermediate = %d; beyond %d", (int)longest + 1, (int)longest);
    assert_refused(provider, &d, reason);
    d.intermediate = d.hidden = longest;
    assert_true(workspace(provider, &d) > 0);
}

static void test_refusals(void **state) {
    (void)state;
    for_each(refusals);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dialects),
        cmocka_unit_test(test_sglang),
        cmocka_unit_test(test_every_property),
        cmocka_unit_test(test_roundings),
        cmocka_unit_test(test_router_weights),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_routing),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_other_tokens),
        cmocka_unit_test(test_long_tokens),
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_workspace_is_bounded),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("moe", tests, NULL, NULL);
}
