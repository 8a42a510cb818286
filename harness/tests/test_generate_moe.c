/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor generator for MoE and activation: routing, sizes, special values. The op itself is
 * recomputed here in double, unquantised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/generate.h"
#include "harness/tests/tensors.h"
#include "kernels/api/names.h"

/* --- Routing ---------------------------------------------------------------------------------- */

static int32_t id_at(const tensors *t, int64_t token, int64_t slot) {
    return ((const int32_t *)t->data.at[OPERAND_TOPK_IDS])[token * t->c.desc.top_k + slot];
}

static double weight_at(const tensors *t, int64_t token, int64_t slot) {
    return at(t, OPERAND_TOPK_WEIGHTS, token, slot);
}

typedef struct {
    int64_t slots[64]; /* per expert */
    int64_t skipped, tokens_skipped, tokens_repeating, busiest, least;
} counted;

static counted count_slots(const tensors *t) {
    counted n = {.least = INT64_MAX};
    for (int64_t token = 0; token < t->c.desc.tokens; token++) {
        int64_t skipped = 0;
        bool repeats = false;
        for (int64_t s = 0; s < t->c.desc.top_k; s++) {
            int32_t id = id_at(t, token, s);
            assert_true(id >= -1 && id < t->c.desc.experts);
            skipped += id < 0;
            n.slots[id < 0 ? 63 : id] += id >= 0;
            for (int64_t before = 0; before < s; before++)
                repeats |= id >= 0 && id_at(t, token, before) == id;
        }
        n.skipped += skipped;
        n.tokens_skipped += skipped == t->c.desc.top_k;
        n.tokens_repeating += repeats;
    }
    for (int64_t e = 0; e < t->c.desc.experts; e++) {
        n.busiest = n.slots[e] > n.busiest ? n.slots[e] : n.busiest;
        n.least = n.slots[e] < n.least ? n.slots[e] : n.least;
    }
    return n;
}

static counted routed(const char *routing, int tokens, int experts, int top_k) {
    char text[160];
    snprintf(text, sizeof text,
             "moe_w8a8 tokens=%d hidden=4 intermediate=2 experts=%d top_k=%d routing=%s", tokens,
             experts, top_k, routing);
    tensors *t = make(text);
    counted n = count_slots(t);
    drop(t);
    return n;
}

static void test_router_like_routing(void **state) {
    (void)state;
    counted n = routed("softmax", 700, 16, 4);
    assert_int_equal(n.tokens_repeating, 0);
    assert_int_equal(n.skipped, 0);
    assert_true(n.least > 40 && n.busiest > 2 * n.least);
    n = routed("mixed", 700, 16, 4);
    assert_int_equal(n.tokens_repeating, 175);
    assert_true(n.least > 40);
    n = routed("mixed", 5, 3, 1);
    assert_int_equal(n.tokens_repeating, 0);
    /* One token uses the first and the last expert; all of them when it must. */
    n = routed("mixed", 1, 9, 2);
    assert_true(n.slots[0] == 1 && n.slots[8] == 1);
    n = routed("softmax", 3, 5, 5);
    assert_true(n.least == 3 && n.busiest == 3);
    /* More slots than experts. */
    n = routed("softmax", 3, 2, 8);
    assert_true(n.least == 12 && n.busiest == 12);
    n = routed("softmax", 3, 1, 8);
    assert_int_equal(n.slots[0], 24);
}

static void test_directed_routing(void **state) {
    (void)state;
    counted n = routed("balanced", 45, 12, 4);
    assert_true(n.least == 15 && n.busiest == 15 && n.tokens_repeating == 0);
    n = routed("one", 9, 5, 3);
    assert_int_equal(n.slots[2], 27);
    n = routed("one", 9, 1, 3);
    assert_int_equal(n.slots[0], 27);
    n = routed("last", 9, 5, 3);
    assert_int_equal(n.slots[4], 27);
    n = routed("empty", 60, 5, 2);
    assert_true(n.slots[1] == 60 && n.slots[4] == 60);
    n = routed("empty", 60, 16, 2);
    for (int e = 0; e < 16; e++)
        assert_int_equal(n.slots[e] > 0, e % 3 == 1);
    n = routed("empty", 6, 1, 2);
    assert_int_equal(n.slots[0], 12);
    n = routed("repeat", 40, 16, 4);
    assert_int_equal(n.tokens_repeating, 40);
    n = routed("repeat", 40, 16, 3);
    assert_int_equal(n.tokens_repeating, 40);
    n = routed("skip", 70, 16, 4);
    assert_int_equal(n.tokens_repeating, 0);
    assert_true(n.tokens_skipped >= 10 && n.tokens_skipped < 20);
    assert_in_range(n.skipped, 280 * 35 / 100, 280 * 50 / 100);
    /* Ids of -1 are the only ones without experts. */
    n = routed("skip", 3, 0, 2);
    assert_int_equal(n.skipped, 6);
}

static void test_skipping_with_one_token(void **state) {
    (void)state;
    tensors *t = make("moe_w8a8 tokens=1 hidden=4 intermediate=2 experts=6 top_k=3 routing=skip");
    assert_int_equal(id_at(t, 0, 0), 5);
    assert_int_equal(id_at(t, 0, 1), 0);
    assert_int_equal(id_at(t, 0, 2), -1);
    drop(t);
    t = make("moe_w8a8 tokens=1 hidden=4 intermediate=2 experts=6 top_k=1 routing=skip");
    assert_int_equal(id_at(t, 0, 0), 5);
    drop(t);
}

/* Slots need not be sorted by expert, or the order of summation could not show. */
static void test_balanced_slots_are_not_sorted(void **state) {
    (void)state;
    tensors *t =
        make("moe_w8a8 tokens=2 hidden=4 intermediate=2 experts=8 top_k=3 routing=balanced");
    assert_true(id_at(t, 0, 0) < id_at(t, 0, 1) && id_at(t, 0, 1) < id_at(t, 0, 2));
    assert_true(id_at(t, 1, 0) > id_at(t, 1, 1) && id_at(t, 1, 1) > id_at(t, 1, 2));
    drop(t);
}

/* In a row, repeated experts stand side by side; in the next, they do not. */
static void test_places_of_repeated_experts(void **state) {
    (void)state;
    tensors *t = make("moe_bf16 tokens=2 hidden=4 intermediate=2 experts=9 top_k=4 routing=repeat");
    for (int64_t token = 0; token < 2; token++) {
        int64_t apart = token == 0 ? 1 : 2, other = token == 0 ? 2 : 1;
        assert_int_equal(id_at(t, token, 0), id_at(t, token, apart));
        assert_int_equal(id_at(t, token, 3 - apart), id_at(t, token, 3));
        assert_int_not_equal(id_at(t, token, 0), id_at(t, token, other));
    }
    drop(t);
}

static void test_router_weights(void **state) {
    (void)state;
    static const int top_ks[] = {1, 2, 4, 8};
    for (int i = 0; i < 4; i++) {
        char text[120];
        snprintf(text, sizeof text, "moe_w8a8 tokens=60 hidden=4 intermediate=2 experts=9 top_k=%d",
                 top_ks[i]);
        tensors *t = make(text);
        int64_t count = 60 * top_ks[i];
        const float *weights = t->data.at[OPERAND_TOPK_WEIGHTS];
        for (int64_t a = 0; a < count; a++)
            for (int64_t b = 0; b < a; b++)
                assert_true(weights[a] != weights[b]);
        for (int64_t token = 0; token < 60; token++) {
            double sum = 0;
            for (int64_t s = 0; s < top_ks[i]; s++) {
                double w = weight_at(t, token, s);
                sum += w;
                if (s > 0)
                    assert_true(w >= 2 * weight_at(t, token, s - 1) ||
                                weight_at(t, token, s - 1) >= 2 * w);
                if (token > 0)
                    assert_true(w >= 2 * weight_at(t, token - 1, s) ||
                                weight_at(t, token - 1, s) >= 2 * w);
            }
            assert_true(sum > 0.35 && sum < 2);
        }
        drop(t);
    }
    /* On the input they may not round. */
    tensors *t = make("moe_w8a8 tokens=9 hidden=4 intermediate=2 experts=9 top_k=3 router=input");
    for (int64_t token = 0; token < 9; token++)
        for (int64_t s = 0; s < 3; s++) {
            int exponent;
            assert_true(frexp(weight_at(t, token, s), &exponent) == 0.5);
        }
    drop(t);
}

/* Of no weight, below zero, and on the input such that products with it round. */
static void test_extreme_router_weights(void **state) {
    (void)state;
    int64_t zero = 0, negative = 0, long_ones = 0;
    tensors *t = make("moe_w8a8 tokens=9 hidden=4 intermediate=2 experts=9 top_k=2 router=input "
                      "data=extremes");
    for (int64_t i = 0; i < 18; i++) {
        double w = weight_at(t, i / 2, i % 2);
        zero += w == 0;
        negative += w < 0;
        int exponent;
        long_ones += fmod(ldexp(frexp(w, &exponent), 11), 1.0) != 0;
    }
    assert_true(zero == 2 && negative == 2 && long_ones > 10);
    drop(t);
}

static void test_weights_of_skipped_slots(void **state) {
    (void)state;
    int64_t skipped = 0;
    tensors *t = make("moe_w8a8 tokens=20 hidden=4 intermediate=2 experts=9 top_k=3 routing=skip");
    for (int64_t i = 0; i < 60; i++) {
        bool none = ((const int32_t *)t->data.at[OPERAND_TOPK_IDS])[i] < 0;
        assert_true(none == isnan(weight_at(t, i / 3, i % 3)));
        skipped += none;
    }
    assert_true(skipped > 10);
    drop(t);
}

static void test_routing_does_not_depend_on_the_batch(void **state) {
    (void)state;
    static const char *const kinds[] = {"mixed", "softmax", "balanced", "one",
                                        "last",  "empty",   "repeat",   "skip"};
    for (int i = 0; i < 8; i++) {
        char text[120];
        tensors *t[2];
        for (int j = 0; j < 2; j++) {
            snprintf(text, sizeof text,
                     "moe_w8a8 tokens=%d hidden=4 intermediate=2 experts=9 top_k=3 routing=%s",
                     j ? 40 : 12, kinds[i]);
            t[j] = make(text);
        }
        for (operand_id id = OPERAND_TOPK_IDS; id <= OPERAND_TOPK_WEIGHTS; id++)
            assert_memory_equal(t[0]->data.at[id], t[1]->data.at[id], 12 * 3 * 4);
        drop(t[0]);
        drop(t[1]);
    }
}

/* --- A MoE in double -------------------------------------------------------------------------- */

typedef struct {
    const tensors *t;
    int64_t hidden, width;
    double *inner, *sum; /* [width], [hidden] */
    int64_t gates, beyond, ups_beyond, curved;
} moe;

static double bias(const moe *m, operand_id id, int64_t expert, int64_t n) {
    return m->t->shapes[id].present ? at(m->t, id, expert, n) : 0;
}

static double activate(const armq_dialect *d, double gate, double up) {
    switch (d->activation) {
    case ARMQ_ACT_SILU:
        return gate / (1 + exp(-gate)) * up;
    case ARMQ_ACT_SWIGLUOAI: {
        double limit = (double)d->limit, g = fmin(gate, limit), u = fmax(-limit, fmin(up, limit));
        return (u + 1) * g / (1 + exp(-(double)d->alpha * g));
    }
    default:
        return 0.5 * gate * (1 + erf(gate / sqrt(2))) * up;
    }
}

static double gate_or_up(const moe *m, int64_t token, int64_t expert, int64_t n) {
    double sum = bias(m, OPERAND_W_BIAS, expert, n);
    for (int64_t k = 0; k < m->hidden; k++)
        sum += at(m->t, OPERAND_X, token, k) * real_weight(m->t, OPERAND_W, expert, n, k);
    return sum;
}

static void count_gates(moe *m, double gate, double up) {
    const armq_dialect *d = &m->t->c.desc.dialect;
    m->gates++;
    m->beyond += gate > (double)d->limit;
    m->ups_beyond += fabs(up) > (double)d->limit;
    m->curved += fabs(gate) > 0.2 && fabs(gate) < 6;
}

static void add_slot(moe *m, int64_t token, int64_t expert, double share) {
    const armq_dialect *d = &m->t->c.desc.dialect;
    bool interleaved = d->gate_layout == ARMQ_GATE_INTERLEAVED;
    for (int64_t i = 0; i < m->width; i++) {
        double gate = gate_or_up(m, token, expert, interleaved ? 2 * i : i);
        double up = gate_or_up(m, token, expert, interleaved ? 2 * i + 1 : m->width + i);
        count_gates(m, gate, up);
        m->inner[i] = activate(d, gate, up);
    }
    for (int64_t n = 0; n < m->hidden; n++) {
        double sum = bias(m, OPERAND_W2_BIAS, expert, n);
        for (int64_t k = 0; k < m->width; k++)
            sum += m->inner[k] * real_weight(m->t, OPERAND_W2, expert, n, k);
        m->sum[n] += sum * share;
    }
}

/* Root mean square of one row of y. */
static double row_rms(moe *m, int64_t token) {
    double square = 0;
    memset(m->sum, 0, (size_t)m->hidden * sizeof *m->sum);
    for (int64_t s = 0; s < m->t->c.desc.top_k; s++)
        add_slot(m, token, id_at(m->t, token, s), weight_at(m->t, token, s));
    for (int64_t n = 0; n < m->hidden; n++)
        square += m->sum[n] * m->sum[n];
    return sqrt(square / (double)m->hidden);
}

static moe open_moe(const char *text) {
    const tensors *t = make(text);
    moe m = {.t = t, .hidden = t->c.desc.hidden, .width = t->c.desc.intermediate};
    m.inner = calloc((size_t)m.width, sizeof *m.inner);
    m.sum = calloc((size_t)m.hidden, sizeof *m.sum);
    assert_true(m.inner && m.sum);
    return m;
}

static void close_moe(moe *m) {
    free(m->inner);
    free(m->sum);
    drop((tensors *)(uintptr_t)m->t);
}

static void test_output_size(void **state) {
    (void)state;
    static const char *const cases[] = {
        "moe_w8a8 tokens=9 hidden=64 intermediate=48 experts=5 top_k=2 dialect=sglang-w8a8",
        "moe_w8a8 tokens=9 hidden=48 intermediate=64 experts=5 top_k=1",
        "moe_w8a8 tokens=9 hidden=64 intermediate=48 experts=9 top_k=8 w13_bias=1 w2_bias=1",
        "moe_w8a8 tokens=9 hidden=64 intermediate=48 experts=5 top_k=2 activation=gelu",
        "moe_w8a8 tokens=9 hidden=64 intermediate=48 experts=5 top_k=2 activation=swigluoai",
        "moe_w8a8 tokens=9 hidden=256 intermediate=16 experts=5 top_k=2 activation=swigluoai",
        "moe_w8a8 tokens=9 hidden=64 intermediate=48 experts=5 top_k=4 activation=swigluoai "
        "w13_bias=1 w2_bias=1",
        "moe_w8a8 tokens=9 hidden=8 intermediate=200 experts=5 top_k=2",
        "moe_bf16 tokens=9 hidden=64 intermediate=48 experts=5 top_k=2",
        "moe_bf16 tokens=9 hidden=64 intermediate=48 experts=5 top_k=2 activation=swigluoai",
        "moe_w8a8 tokens=9 hidden=256 intermediate=48 experts=5 top_k=2 data=outliers",
        "moe_w8a8 tokens=9 hidden=64 intermediate=48 experts=5 top_k=2 data=ties",
        "moe_w4a8 tokens=9 hidden=64 intermediate=48 experts=5 top_k=2",
        "moe_w4a8 tokens=9 hidden=64 intermediate=96 experts=5 top_k=2 group_size=32",
        "moe_w4a8 tokens=9 hidden=64 intermediate=64 experts=5 top_k=2 group_size=32 zero_points=1 "
        "activation=swigluoai w13_bias=1 w2_bias=1",
        "moe_w4a8 tokens=9 hidden=256 intermediate=64 experts=5 top_k=2 zero_points=1",
        "moe_w4a8 tokens=9 hidden=256 intermediate=128 experts=5 top_k=2 group_size=128 "
        "quant=symmetric",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        moe m = open_moe(cases[i]);
        double lowest = INFINITY, highest = 0;
        for (int64_t token = 0; token < 9; token++) {
            double rms = row_rms(&m, token);
            lowest = fmin(lowest, rms);
            highest = fmax(highest, rms);
        }
        if (!(lowest >= 0.2 && highest <= 80))
            fail_msg("%s: rms of rows from %g to %g", cases[i], lowest, highest);
        bool clamps = m.t->c.desc.dialect.activation == ARMQ_ACT_SWIGLUOAI;
        double gates = (double)m.gates, beyond = (double)m.beyond / gates;
        double ups = (double)m.ups_beyond / gates, curved = (double)m.curved / gates;
        if (clamps ? !(beyond > 0.2 && beyond < 0.35 && ups > 0.2 && ups < 0.4) : !(curved > 0.65))
            fail_msg("%s: beyond the limit %g of gates, %g of ups; where it is curved %g", cases[i],
                     beyond, ups, curved);
        close_moe(&m);
    }
}

/* --- Scales and biases ------------------------------------------------------------------------ */

static bool differ(double a, double b) {
    a = fabs(a);
    b = fabs(b);
    return a >= 2 * b || b >= 2 * a;
}

/* A neighbouring expert, or one a power of two away, has other sizes in the same place. */
static void assert_experts_differ(const tensors *t, operand_id id) {
    const operand_shape *shape = &t->shapes[id];
    for (int64_t e = 1; e < shape->rows; e++)
        for (int64_t step = 1; step <= e; step *= 2)
            for (int64_t n = 0; n < shape->row; n++)
                assert_true(differ(at(t, id, e, n), at(t, id, e - step, n)));
}

/* Channels [first, last) of an expert. */
static void assert_channels_differ(const tensors *t, operand_id id, int64_t first, int64_t last) {
    for (int64_t e = 0; e < t->shapes[id].rows; e++)
        for (int64_t n = first + 1; n < last; n++)
            for (int64_t step = 1; step <= n - first; step *= 2)
                assert_true(differ(at(t, id, e, n), at(t, id, e, n - step)));
}

static void test_scales_and_biases(void **state) {
    (void)state;
    static const char *const activations[] = {"silu", "swigluoai", "silu gate=interleaved"};
    for (int i = 0; i < 3; i++) {
        char text[160];
        snprintf(text, sizeof text,
                 "moe_w8a8 tokens=1 hidden=35 intermediate=34 experts=9 top_k=1 w13_bias=1 "
                 "w2_bias=1 activation=%s",
                 activations[i]);
        tensors *t = make(text);
        for (operand_id id = OPERAND_W_SCALES; id <= OPERAND_W2_BIAS; id++)
            if (t->shapes[id].present && id != OPERAND_W2)
                assert_experts_differ(t, id);
        assert_channels_differ(t, OPERAND_W2_SCALES, 0, 35);
        assert_channels_differ(t, OPERAND_W2_BIAS, 0, 35);
        assert_channels_differ(t, OPERAND_W_BIAS, 0, 68);
        bool interleaved = t->c.desc.dialect.gate_layout == ARMQ_GATE_INTERLEAVED;
        assert_int_equal(interleaved, i > 0);
        if (interleaved) {
            assert_channels_differ(t, OPERAND_W_SCALES, 0, 68);
        } else {
            assert_channels_differ(t, OPERAND_W_SCALES, 0, 34);
            assert_channels_differ(t, OPERAND_W_SCALES, 34, 68);
            for (int64_t n = 0; n < 34; n++)
                assert_true(
                    differ(at(t, OPERAND_W_SCALES, 4, n), at(t, OPERAND_W_SCALES, 4, n + 34)));
        }
        drop(t);
    }
}

/* Largest of a row of bf16 weights: the size of its channel. */
static double largest(const tensors *t, operand_id id, int64_t row) {
    double most = 0;
    for (int64_t k = 0; k < t->shapes[id].row; k++)
        most = fmax(most, fabs(at(t, id, row, k)));
    return most;
}

static void test_bf16_weights(void **state) {
    (void)state;
    tensors *t = make("moe_bf16 tokens=1 hidden=300 intermediate=12 experts=5 top_k=1");
    for (int64_t e = 0; e < 5; e++)
        for (int64_t n = 0; n < 12; n++) {
            double gate = largest(t, OPERAND_W, 24 * e + n);
            double up = largest(t, OPERAND_W, 24 * e + 12 + n);
            assert_true(gate > 1.8 * up);
            if (e > 0)
                assert_true(differ(gate * 1.1, largest(t, OPERAND_W, 24 * (e - 1) + n)) ||
                            differ(gate / 1.1, largest(t, OPERAND_W, 24 * (e - 1) + n)));
        }
    drop(t);
    t = make("moe_bf16 tokens=4 hidden=1000 intermediate=24 experts=2 top_k=1 data=extremes");
    for (int64_t n = 0; n < 96; n++) {
        int exponent;
        assert_true(frexp(largest(t, OPERAND_W, n), &exponent) == 0.5);
        assert_true(largest(t, OPERAND_W, n) * 1000 >= 4 && largest(t, OPERAND_W, n) * 1000 <= 16);
    }
    drop(t);
}

/* What no token uses is NaN where it can be; the rest is as in normal data. */
static void test_unused_experts_are_poisoned(void **state) {
    (void)state;
    static const char *const ops[] = {"moe_w8a8", "moe_bf16", "moe_w4a8"};
    static const char *const kinds[] = {"one", "last", "empty", "mixed"};
    for (int i = 0; i < 12; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "%s tokens=9 hidden=6 intermediate=4 experts=5 top_k=2 w13_bias=1 w2_bias=in "
                 "in=f32 routing=%s data=poison",
                 ops[i / 4], kinds[i % 4]);
        tensors *t = make(text);
        counted n = count_slots(t);
        for (int64_t e = 0; e < 5; e++) {
            bool poisoned = isnan(at(t, OPERAND_W_BIAS, e, 0));
            assert_int_equal(poisoned, n.slots[e] == 0);
            assert_int_equal(poisoned, isnan(at(t, OPERAND_W2_BIAS, e, 5)));
            assert_int_equal(poisoned, i / 4 != 1 ? isnan(at(t, OPERAND_W_SCALES, e, 7))
                                                  : isnan(at(t, OPERAND_W2, 6 * e + 5, 3)));
        }
        drop(t);
    }
}

/* Gates and outputs of the edge of the integer contract stay within f16, but for the row in which
 * it is to overflow. */
static void test_extremes_of_moe(void **state) {
    (void)state;
    static const char *const ops[] = {"moe_w8a8", "moe_bf16", "moe_w4a8", "moe_w4a8 zero_points=1"};
    static const int sizes[3][2] = {{64, 48}, {16, 100}, {300, 8}};
    for (int i = 0; i < 12; i++) {
        char text[160];
        snprintf(text, sizeof text,
                 "%s tokens=8 hidden=%d intermediate=%d experts=5 top_k=2 in=f16 data=extremes",
                 ops[i / 3], sizes[i % 3][0], sizes[i % 3][1]);
        moe m = open_moe(text);
        for (int64_t token = 0; token < 8; token++) {
            double rms = row_rms(&m, token);
            if (token % 4 != 3 && !(rms < 20000))
                fail_msg("%s: rms of row %d is %g", text, (int)token, rms);
        }
        assert_true(weight_at(m.t, 2, 1) == 0 && weight_at(m.t, 2, 0) > 0);
        close_moe(&m);
    }
}

/* --- Activation ------------------------------------------------------------------------------- */

static void pair_at(const tensors *t, int64_t row, int64_t i, double *gate, double *up) {
    bool interleaved = t->c.desc.dialect.gate_layout == ARMQ_GATE_INTERLEAVED;
    int64_t width = t->c.desc.intermediate;
    *gate = at(t, OPERAND_X, row, interleaved ? 2 * i : i);
    *up = at(t, OPERAND_X, row, interleaved ? 2 * i + 1 : width + i);
}

static void test_gates(void **state) {
    (void)state;
    static const char *const cases[] = {
        "activation tokens=30 intermediate=100 in=f32",
        "activation tokens=30 intermediate=100 in=bf16 gate=interleaved activation=gelu",
        "activation tokens=30 intermediate=100 in=f16 activation=swigluoai",
        "activation tokens=30 intermediate=100 activation=swigluoai gate=halves",
        "activation tokens=30 intermediate=100 activation=swigluoai limit=2.5 alpha=1",
    };
    for (int i = 0; i < 5; i++) {
        tensors *t = make(cases[i]);
        double limit = (double)t->c.desc.dialect.limit;
        int64_t beyond = 0, ups = 0, curved = 0, negative = 0, far_below = 0;
        for (int64_t row = 0; row < 30; row++)
            for (int64_t j = 0; j < 100; j++) {
                double gate, up;
                pair_at(t, row, j, &gate, &up);
                beyond += gate > limit;
                ups += fabs(up) > limit;
                curved += fabs(gate) > 0.2 && fabs(gate) < 6;
                negative += gate < 0;
                far_below += gate < -3;
            }
        if (i >= 2) {
            assert_in_range(beyond, 600, 1050);
            assert_in_range(ups, 600, 1200);
        } else {
            assert_in_range(curved, 2100, 3000);
        }
        assert_in_range(far_below, 5, 60);
        assert_in_range(negative, 1300, 1600);
        drop(t);
    }
}

/* Each layout holds the same pairs. */
static void test_gate_layouts(void **state) {
    (void)state;
    tensors *a = make("activation tokens=7 intermediate=9 in=f32");
    tensors *b = make("activation tokens=7 intermediate=9 in=f32 gate=interleaved x_pad=3");
    assert_true(at(a, OPERAND_X, 3, 9) != at(a, OPERAND_X, 3, 1));
    for (int64_t row = 0; row < 7; row++)
        for (int64_t i = 0; i < 9; i++) {
            assert_true(at(a, OPERAND_X, row, i) == at(b, OPERAND_X, row, 2 * i));
            assert_true(at(a, OPERAND_X, row, 9 + i) == at(b, OPERAND_X, row, 2 * i + 1));
        }
    drop(a);
    drop(b);
}

static void test_sigmoid_range(void **state) {
    (void)state;
    static const char *const dtypes[] = {"f32", "bf16", "f16"};
    static const double wanted[] = {-1e4, -90, -88.8, -40.1, -18, 0, 40.1, 88.8, 1e4, 7, -7};
    for (int i = 0; i < 3; i++) {
        char text[120];
        snprintf(text, sizeof text,
                 "activation tokens=5 intermediate=48 in=%s data=extremes activation=swigluoai",
                 dtypes[i]);
        tensors *t = make(text);
        double largest_gate = 0;
        for (size_t v = 0; v < sizeof wanted / sizeof wanted[0]; v++) {
            int64_t as_gate = 0, as_up = 0;
            for (int64_t j = 0; j < 48; j++) {
                double gate, up, near = 0.005 * fabs(wanted[v]);
                pair_at(t, 0, j, &gate, &up);
                assert_true(up >= 0.5 && up <= 2.5);
                as_gate += fabs(gate - wanted[v]) <= near;
                largest_gate = fmax(largest_gate, fabs(gate));
                pair_at(t, 1, j, &gate, &up);
                as_up += fabs(up - wanted[v]) <= near;
            }
            assert_true(as_gate >= 2 && as_up >= 2);
        }
        assert_true(largest_gate > (i == 2 ? 6e4 : 1e30));
        /* Both sides of the clamp, and it. */
        int64_t below = 0, above = 0, equal = 0;
        for (int64_t j = 0; j < 48; j++) {
            double gate, up;
            pair_at(t, 3, j, &gate, &up);
            below += gate > 6 && gate < 7;
            above += gate > 7 && gate < 8;
            equal += gate == 7;
        }
        assert_true(below >= 5 && above >= 5 && equal >= 1);
        drop(t);
    }
}

static void test_poison_of_activation(void **state) {
    (void)state;
    tensors *t = make("activation tokens=6 intermediate=20 in=bf16 data=poison dialect=vllm-w4a8");
    tensors *u = make("activation tokens=6 intermediate=20 in=bf16 dialect=vllm-w4a8");
    for (int64_t row = 0; row < 6; row++) {
        int64_t odd = 0;
        for (int64_t j = 0; j < 40; j++)
            odd += !isfinite(at(t, OPERAND_X, row, j));
        assert_int_equal(odd, row % 2);
        if (row % 2 == 0)
            assert_memory_equal((char *)t->data.at[OPERAND_X] + row * 80,
                                (char *)u->data.at[OPERAND_X] + row * 80, 80);
    }
    drop(t);
    drop(u);
}

/* --- The same bytes everywhere ---------------------------------------------------------------- */

#define MOE_W8A8 "moe_w8a8 tokens=9 hidden=35 intermediate=18 experts=7 top_k=3 "
#define MOE_BF16 "moe_bf16 tokens=9 hidden=35 intermediate=18 experts=7 top_k=3 "

static const struct {
    const char *text;
    uint64_t hash;
} golden[] = {
    {MOE_W8A8 "dialect=sglang-w8a8", UINT64_C(0xffb23e3b1a7f4913)},
    {MOE_W8A8 "w13_bias=1 w2_bias=1 in=f32 seed=2", UINT64_C(0x5885a9105798621d)},
    {MOE_W8A8 "activation=swigluoai w13_bias=in w2_bias=in routing=empty limit=3",
     UINT64_C(0xca7c9469e6014ecf)},
    {MOE_W8A8 "routing=softmax gate=interleaved in=f16", UINT64_C(0x7c3021f30a2e693f)},
    {MOE_W8A8 "routing=balanced router=input x_pad=3", UINT64_C(0x6b38908260c4aa1b)},
    {MOE_W8A8 "routing=repeat data=ties", UINT64_C(0x9a1e6c8000dc2a9b)},
    {MOE_W8A8 "routing=skip data=outliers in=f32", UINT64_C(0xf931b84966ba9329)},
    {MOE_W8A8 "data=extremes in=f16", UINT64_C(0xf841cc60c12122c4)},
    {MOE_W8A8 "data=extremes in=bf16", UINT64_C(0xe35832700b13916d)},
    {MOE_W8A8 "routing=last data=poison w2_bias=1", UINT64_C(0x237e12417ac9837a)},
    {MOE_W8A8 "routing=one data=zero_rows", UINT64_C(0x13358be09e4976af)},
    {MOE_BF16 "in=f32 w13_bias=in", UINT64_C(0xfdaed75bc547cd0a)},
    {MOE_BF16 "data=extremes", UINT64_C(0xeab698763a62036d)},
    {MOE_BF16 "routing=empty data=poison in=f16 w2_bias=in", UINT64_C(0x17d0de77e38c09a5)},
    {"activation tokens=9 intermediate=21 in=f32 activation=gelu", UINT64_C(0x2bf50aea23610e35)},
    {"activation tokens=9 intermediate=21 in=bf16 activation=swigluoai",
     UINT64_C(0x77d192fde1d6299f)},
    {"activation tokens=11 intermediate=21 in=f16 data=extremes", UINT64_C(0xa51eec945abc8018)},
    {"activation tokens=11 intermediate=21 in=f32 data=extremes gate=interleaved",
     UINT64_C(0x799c1802bba75ce7)},
    {"activation tokens=9 intermediate=21 in=bf16 data=subnormals", UINT64_C(0xf976e941df15c89d)},
    {"activation tokens=9 intermediate=21 in=f32 data=poison", UINT64_C(0x768ac7aeed7be023)},
};

static void test_golden_hashes(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        tensors *t = make(golden[i].text);
        uint64_t hash = generate_hash(&t->c, t->shapes, &t->data);
        if (hash != golden[i].hash) {
            print_message("%zu UINT64_C(0x%016" PRIx64 ") %s\n", i, hash, golden[i].text);
            wrong++;
        }
        drop(t);
    }
    assert_int_equal(wrong, 0);
}

/* Ids, weights and both biases count. */
static void test_hash_sees_every_byte(void **state) {
    (void)state;
    tensors *t = make("moe_w8a8 tokens=3 hidden=4 intermediate=2 experts=2 top_k=2 w13_bias=1 "
                      "w2_bias=1 in=f32");
    uint64_t hash = generate_hash(&t->c, t->shapes, &t->data);
    for (int id = 0; operand_is_input((operand_id)id); id++)
        for (size_t i = 0; i < t->shapes[id].bytes; i++) {
            char *byte = (char *)t->data.at[id] + i;
            *byte ^= 1;
            assert_true(hash != generate_hash(&t->c, t->shapes, &t->data));
            *byte ^= 1;
        }
    drop(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_router_like_routing),
        cmocka_unit_test(test_directed_routing),
        cmocka_unit_test(test_skipping_with_one_token),
        cmocka_unit_test(test_balanced_slots_are_not_sorted),
        cmocka_unit_test(test_places_of_repeated_experts),
        cmocka_unit_test(test_router_weights),
        cmocka_unit_test(test_extreme_router_weights),
        cmocka_unit_test(test_weights_of_skipped_slots),
        cmocka_unit_test(test_routing_does_not_depend_on_the_batch),
        cmocka_unit_test(test_output_size),
        cmocka_unit_test(test_scales_and_biases),
        cmocka_unit_test(test_bf16_weights),
        cmocka_unit_test(test_unused_experts_are_poisoned),
        cmocka_unit_test(test_extremes_of_moe),
        cmocka_unit_test(test_gates),
        cmocka_unit_test(test_gate_layouts),
        cmocka_unit_test(test_sigmoid_range),
        cmocka_unit_test(test_poison_of_activation),
        cmocka_unit_test(test_golden_hashes),
        cmocka_unit_test(test_hash_sees_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
