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

static double weight(const moe *m, operand_id id, int64_t expert, int64_t n, int64_t k,
                     int64_t channels) {
    operand_id scales = (operand_id)(id + 1);
    double scale = m->t->shapes[scales].present ? at(m->t, scales, expert, n) : 1;
    return at(m->t, id, expert * channels + n, k) * scale;
}

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
        sum += at(m->t, OPERAND_X, token, k) * weight(m, OPERAND_W, expert, n, k, 2 * m->width);
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
            sum += m->inner[k] * weight(m, OPERAND_W2, expert, n, k, m->hidden);
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
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        moe m = open_moe(cases[i]);
        double lowest = INFINITY, highest = 0;
        for (int64_t token = 0; token < 9; token++) {
            double rms = row_rms(&m, token);
            lowest = fmin(lowest, rms);
            highest = fmax(highest, rms);
        }
        print_message("%s: %g to %g; beyond %.2f %.2f curved %.2f\n", cases[i], lowest, highest,
                      (double)m.beyond / (double)m.gates, (double)m.ups_beyond / (double)m.gates,
                      (double)m.curved / (double)m.gates);
        if (!(lowest >= 0.4 && highest <= 60))
            fail_msg("%s: rms of rows from %g to %g", cases[i], lowest, highest);
        close_moe(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_router_like_routing),
        cmocka_unit_test(test_directed_routing),
        cmocka_unit_test(test_skipping_with_one_token),
        cmocka_unit_test(test_places_of_repeated_experts),
        cmocka_unit_test(test_router_weights),
        cmocka_unit_test(test_routing_does_not_depend_on_the_batch),
        cmocka_unit_test(test_output_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
