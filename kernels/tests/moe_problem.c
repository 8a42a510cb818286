/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/tests/moe_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/dialects.h"
#include "kernels/api/features.h"
#include "kernels/api/names.h"
#include "kernels/tests/problem.h"
#include "kernels/tests/s4.h"
#include "reference/formats.h"

static double uniform(uint64_t *state) { return (int32_t)random_u32(state) * 0x1p-31; }

/* --- Data ----------------------------------------------------------------------------------------
 */

static armq_desc describe(moe_spec spec) {
    armq_desc d = {.size = sizeof d, .abi = ARMQ_ABI_VERSION, .op = spec.op};
    const char *why = "";
    const bool bf16 = spec.op == ARMQ_OP_MOE_BF16, s4 = spec.op == ARMQ_OP_MOE_W4A8;
    /* The dialect of int4 has no gelu; kernels have it with all of its other properties. */
    const bool gelu = spec.activation == ARMQ_ACT_GELU || spec.activation == ARMQ_ACT_GELU_TANH;
    if (!armq_dialect_preset(spec.dialect, spec.op, spec.dtype, spec.group_size,
                             s4 && gelu ? ARMQ_ACT_SILU : spec.activation, &d.dialect, &why))
        fail_msg("%s: %s", spec.dialect, why);
    d.dialect.activation = spec.activation;
    d.tokens = spec.tokens;
    d.hidden = spec.hidden, d.intermediate = spec.intermediate;
    d.experts = spec.experts, d.top_k = spec.top_k;
    d.in = d.out = spec.dtype;
    d.bias_dtype = spec.bias;
    d.scale_dtype = bf16 ? ARMQ_DTYPE_NONE : spec.group_size ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
    d.format = bf16         ? ARMQ_WEIGHT_BF16
               : !s4        ? ARMQ_WEIGHT_S8
               : spec.word8 ? ARMQ_WEIGHT_S4_WORD8
                            : ARMQ_WEIGHT_S4_LOW;
    d.group_size = spec.group_size;
    d.uses = spec.uses | (spec.zero_points ? ARMQ_USES_WEIGHT_ZERO : 0);
    if (spec.bias != ARMQ_DTYPE_NONE)
        d.uses |= ARMQ_USES_W13_BIAS | ARMQ_USES_W2_BIAS;
    d.max_threads = spec.max_threads ? spec.max_threads : 1;
    d.features = armq_features();
    return d;
}

static bool is_s4(const armq_desc *d) {
    return d->format == ARMQ_WEIGHT_S4_LOW || d->format == ARMQ_WEIGHT_S4_WORD8;
}

static void fill(const armq_desc *d, armq_weights *weights, size_t rows, int64_t k,
                 uint64_t *state) {
    const bool bf16 = d->format == ARMQ_WEIGHT_BF16;
    char *w = guarded(rows * (size_t)k * (bf16 ? 2 : 1), 2, 0);
    for (int64_t i = 0; i < (int64_t)rows * k; i++) {
        if (bf16)
            armq_store(ARMQ_DTYPE_BF16, w, i,
                       armq_round_to(ARMQ_DTYPE_BF16, uniform(state) / sqrt((double)k)));
        else
            w[i] = (char)random_u32(state);
    }
    weights->w = w;
    float *scales = bf16 ? NULL : guarded(rows * 4, 4, 0);
    for (size_t i = 0; scales && i < rows; i++)
        scales[i] = 0.01f * (float)(1 + i % 5) / sqrtf((float)(k + 1));
    weights->scales = scales;
}

static armq_weights weights_of(const armq_desc *d, int64_t n, int64_t k, uint64_t *state) {
    const size_t rows = (size_t)(d->experts * n);
    armq_weights weights = {.size = sizeof weights};
    if (is_s4(d))
        s4_fill(d, &weights, (int64_t)rows, k, 0.1 / sqrt((double)k + 1), state);
    else
        fill(d, &weights, rows, k, state);
    const size_t element = armq_dtype_bytes(d->bias_dtype); /* 0: no bias */
    char *bias = guarded(rows * element, element ? element : 1, 0);
    for (size_t i = 0; bias && i < rows; i++)
        armq_store(d->bias_dtype, bias, (int64_t)i, (double)(i % 9) * 0.25 - 1);
    weights.bias = bias;
    return weights;
}

moe_problem moe_make(moe_spec spec) {
    uint64_t state = (uint64_t)(spec.tokens * 1009 + spec.hidden * 11 + spec.intermediate);
    moe_problem p = {.desc = describe(spec)};
    const armq_desc *d = &p.desc;
    const size_t element = armq_dtype_bytes(d->in), slots = (size_t)(d->tokens * d->top_k);
    p.x_stride = d->hidden + (d->uses & ARMQ_USES_X_STRIDE ? 3 : 0);
    p.y_stride = d->hidden + (d->uses & ARMQ_USES_Y_STRIDE ? 5 : 0);
    const int64_t count = d->tokens ? (d->tokens - 1) * p.x_stride + d->hidden : 0;
    p.x = guarded((size_t)count * element, element, 0);
    for (int64_t i = 0; i < count; i++)
        armq_store(d->in, p.x, i,
                   armq_round_to(d->in, 3 * uniform(&state) * (double)(1 + i / p.x_stride % 3)));
    p.ids = guarded(slots * 4, 4, 0);
    p.router = d->uses & ARMQ_USES_NO_ROUTER_WEIGHT ? NULL : guarded(slots * 4, 4, 0);
    for (size_t i = 0; i < slots; i++) {
        const bool skip = (d->uses & ARMQ_USES_SKIP_IDS) && i % 3 == 1;
        p.ids[i] = skip ? -1 : (int32_t)(random_u32(&state) % (uint32_t)d->experts);
        if (p.router)
            p.router[i] = (float)fabs(uniform(&state)) * (float)(1 + i % 2);
    }
    p.w13 = weights_of(d, 2 * d->intermediate, d->hidden, &state);
    p.w2 = weights_of(d, d->hidden, d->intermediate, &state);
    return p;
}

/* --- Running -------------------------------------------------------------------------------------
 */

size_t moe_y_bytes(const moe_problem *p) {
    const armq_desc *d = &p->desc;
    if (d->tokens == 0 || d->hidden == 0)
        return 0;
    return (size_t)((d->tokens - 1) * p->y_stride + d->hidden) * armq_dtype_bytes(d->out);
}

/* Two experts at a time and one, the last ones first: each must find its own place. */
static void *pack(const armq_provider *provider, const moe_problem *p, int32_t which,
                  const armq_support *support) {
    const armq_desc *d = &p->desc;
    const armq_weights *all = which == 0 ? &p->w13 : &p->w2;
    const int64_t n = which == 0 ? 2 * d->intermediate : d->hidden;
    const int64_t k = which == 0 ? d->hidden : d->intermediate;
    const int64_t row_bytes = is_s4(d)                        ? s4_row_bytes(d, k)
                              : d->format == ARMQ_WEIGHT_BF16 ? 2 * k
                                                              : k;
    const int64_t scales = n * (d->group_size ? k / d->group_size : 1);
    char *packed = guarded(support->packed_bytes[which], support->packed_align, 0x5a);
    for (int64_t end = d->experts, e; end > 0; end = e) {
        e = end > 1 ? end - 2 : 0;
        armq_weights one = *all;
        if (one.w)
            one.w = (const char *)all->w + e * n * row_bytes;
        if (one.scales)
            one.scales =
                (const char *)all->scales + (size_t)(e * scales) * armq_dtype_bytes(d->scale_dtype);
        if (one.zero_points)
            one.zero_points = all->zero_points + e * scales;
        if (one.bias)
            one.bias = (const char *)all->bias + (size_t)(e * n) * armq_dtype_bytes(d->bias_dtype);
        char *to = packed ? packed + (size_t)e * support->packed_expert_stride[which] : NULL;
        assert_int_equal(provider->pack(d, which, e, end, &one, to), ARMQ_OK);
    }
    return packed;
}

armq_status moe_try(const armq_provider *provider, const moe_problem *p,
                    const armq_threads *threads, void *y) {
    armq_support support = {.size = sizeof support};
    if (provider->query(&p->desc, &support) != ARMQ_OK)
        fail_msg("%s refuses: %s", provider->name, support.reason);
    const armq_args args = {
        .size = sizeof args,
        .x = p->x,
        .x_stride = p->desc.uses & ARMQ_USES_X_STRIDE ? p->x_stride : 0,
        .y = y,
        .y_stride = p->desc.uses & ARMQ_USES_Y_STRIDE ? p->y_stride : 0,
        .topk_ids = p->ids,
        .topk_weights = p->router,
        .packed = {pack(provider, p, 0, &support), pack(provider, p, 1, &support)},
        .workspace = guarded(support.workspace_bytes, support.workspace_align, 0xff),
        .threads = threads,
    };
    return provider->run(&p->desc, NULL, &args);
}

void *moe_run(const armq_provider *provider, const moe_problem *p, const armq_threads *threads) {
    void *y = guarded(moe_y_bytes(p), armq_dtype_bytes(p->desc.out), 0xa5);
    assert_int_equal(moe_try(provider, p, threads, y), ARMQ_OK);
    return y;
}

/* --- The op in plain C ---------------------------------------------------------------------------
 */

static double rounded(armq_dtype dtype, double value) { return armq_round_to(dtype, value); }

/* A row as the multiply sees it: q - zero point and scale; or bf16 and 1. */
static double quantize(const armq_dialect *d, double *row, int64_t k) {
    if (d->quant == ARMQ_QUANT_NONE) {
        for (int64_t i = 0; i < k; i++)
            row[i] = rounded(ARMQ_DTYPE_BF16, row[i]);
        return 1;
    }
    float min = 0, max = 0;
    for (int64_t i = 0; i < k; i++) {
        min = fminf(min, (float)row[i]);
        max = fmaxf(max, (float)row[i]);
    }
    const bool symmetric = d->quant == ARMQ_QUANT_SYMMETRIC;
    const float amax = fmaxf(fmaxf(max, -min), 1e-7f);
    const float range = max - min == 0 ? 255.0f : max - min;
    const float multiplier = symmetric ? 127.0f / amax : 255.0f / range;
    float zero = 0;
    if (!symmetric) {
        const float low = min * multiplier, high = max * multiplier;
        zero = rintf((-128.0f + low) + (127.0f + high) > 0 ? -128.0f - low : 127.0f - high);
    }
    for (int64_t i = 0; i < k; i++) {
        const float product = (float)row[i] * multiplier;
        const float q = d->q_rounding == ARMQ_ROUND_TIES_AWAY ? roundf(product) : rintf(product);
        row[i] = (double)(fminf(fmaxf(q + zero, -128), 127) - zero);
    }
    return symmetric ? (double)(amax / 127.0f) : (double)(1.0f / multiplier);
}

static double bias_at(const moe_problem *p, const armq_weights *weights, int64_t row) {
    return weights->bias ? armq_load(p->desc.bias_dtype, weights->bias, row) : 0;
}

/* One output of expert-major row `row`; in *step what an integer off by one adds at most. */
static double product(const moe_problem *p, const armq_weights *weights, int64_t row,
                      const double *x, double scale, int64_t k, double *step) {
    const armq_desc *d = &p->desc;
    const bool bf16 = d->format == ARMQ_WEIGHT_BF16, s4 = is_s4(d);
    double sum = 0;
    for (int64_t i = 0; i < k; i++) {
        const double w =
            s4 ? s4_value(d, weights, k, row, i)
               : armq_load(bf16 ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_S8, weights->w, row * k + i);
        const double unit = bf16 ? 1
                            : s4 ? (double)s4_scale(d, weights, k, row, i)
                                 : (double)((const float *)weights->scales)[row];
        sum += x[i] * w * unit;
        *step = fmax(*step, scale * unit * (s4 ? 15 : 128));
    }
    return sum * scale + bias_at(p, weights, row);
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double activated(const armq_dialect *d, double gate, double up) {
    const armq_dtype r = d->activation_round;
    switch (d->activation) {
    case ARMQ_ACT_SILU:
        return rounded(r, gate * sigmoid(gate) * up);
    case ARMQ_ACT_GELU:
        return rounded(r, 0.5 * gate * erfc(-gate * M_SQRT1_2) * up);
    case ARMQ_ACT_GELU_TANH:
        return rounded(
            r, gate * sigmoid(2 * sqrt(M_2_PI) * (gate + 0.044715 * gate * gate * gate)) * up);
    default:
        break;
    }
    const double limit = (double)d->limit;
    const double g = rounded(r, fmin(gate, limit)), u = rounded(r, fmin(fmax(up, -limit), limit));
    const double s = rounded(r, sigmoid(rounded(r, (double)d->alpha * g)));
    return rounded(r, rounded(r, u + 1) * rounded(r, g * s));
}

/* y2 [hidden] of one slot, and what an integer off by one adds to it. */
static void expert(const moe_problem *p, int64_t e, const double *x_row, double *y2, double *step) {
    const armq_desc *d = &p->desc;
    const int64_t hidden = d->hidden, inner = d->intermediate;
    double *x = calloc((size_t)(hidden + 3 * inner) + 1, sizeof *x);
    double *y13 = x + hidden, *h = y13 + 2 * inner;
    if (!x) {
        fail_msg("no memory");
        return;
    }
    for (int64_t i = 0; i < hidden; i++)
        x[i] = x_row[i];
    const double scale = quantize(&d->dialect, x, hidden);
    double unused = 0, integer_step = 0;
    for (int64_t i = 0; i < 2 * inner; i++)
        y13[i] = rounded(d->dialect.y13_round,
                         product(p, &p->w13, e * 2 * inner + i, x, scale, hidden, &unused));
    const bool halves = d->dialect.gate_layout == ARMQ_GATE_HALVES;
    for (int64_t i = 0; i < inner; i++)
        h[i] = rounded(d->dialect.intermediate, activated(&d->dialect, y13[halves ? i : 2 * i],
                                                          y13[halves ? inner + i : 2 * i + 1]));
    double largest = 0;
    for (int64_t i = 0; i < inner; i++)
        largest = fmax(largest, fabs(h[i]));
    const double scale2 = quantize(&d->dialect, h, inner);
    for (int64_t i = 0; i < hidden; i++)
        y2[i] = rounded(d->dialect.y2_round,
                        product(p, &p->w2, e * hidden + i, h, scale2, inner, &integer_step));
    *step = d->format == ARMQ_WEIGHT_BF16 ? largest / 128 : integer_step;
    free(x);
}

/* The next slot of the token in the order of summation, after `previous`; -1: none. */
static int64_t next_slot(const moe_problem *p, const int32_t *ids, int64_t previous) {
    const bool by_expert = p->desc.dialect.combine_order == ARMQ_COMBINE_EXPERT_ORDER;
    int64_t best = -1;
    for (int64_t slot = 0; slot < p->desc.top_k; slot++) {
        const int64_t key = by_expert ? ids[slot] * p->desc.top_k + slot : slot;
        const int64_t before = previous < 0 ? -1
                               : by_expert  ? ids[previous] * p->desc.top_k + previous
                                            : previous;
        const int64_t so_far = best < 0    ? INT64_MAX
                               : by_expert ? ids[best] * p->desc.top_k + best
                                           : best;
        if (ids[slot] >= 0 && key > before && key < so_far)
            best = slot;
    }
    return best;
}

void moe_scalar(const moe_problem *p, int64_t token, double *y, double *step) {
    const armq_desc *d = &p->desc;
    const armq_dialect *dialect = &d->dialect;
    const int32_t *ids = p->ids + token * d->top_k;
    const bool on_input = (d->uses & ARMQ_USES_WEIGHT_ON_INPUT) != 0;
    double *x = calloc((size_t)d->hidden + 1, sizeof *x),
           *y2 = calloc((size_t)d->hidden + 1, sizeof *y2);
    *step = 0;
    for (int64_t i = 0; i < d->hidden; i++)
        y[i] = 0;
    for (int64_t slot = next_slot(p, ids, -1); x && y2 && slot >= 0;
         slot = next_slot(p, ids, slot)) {
        const double given = p->router ? (double)p->router[token * d->top_k + slot] : 1;
        const double weight = rounded(dialect->combine_round, given);
        for (int64_t i = 0; i < d->hidden; i++) {
            x[i] = rounded(dialect->work, armq_load(d->in, p->x, token * p->x_stride + i));
            if (on_input)
                x[i] = rounded(dialect->work, (double)(float)(x[i] * weight));
        }
        double slot_step = 0;
        expert(p, ids[slot], x, y2, &slot_step);
        *step += slot_step * (on_input ? 1 : fabs(weight));
        for (int64_t i = 0; i < d->hidden; i++) {
            const double term = on_input ? y2[i] : rounded(dialect->combine_round, y2[i] * weight);
            y[i] = rounded(dialect->combine_round, y[i] + term);
        }
    }
    free(x);
    free(y2);
}

void moe_compare(const armq_provider *provider, const moe_problem *p) {
    const armq_desc *d = &p->desc;
    const void *y = moe_run(provider, p, NULL);
    double *want = calloc((size_t)d->hidden + 1, sizeof *want), step = 0;
    const double unit = d->out == ARMQ_DTYPE_F32   ? 0x1p-20
                        : d->out == ARMQ_DTYPE_F16 ? 0x1p-10
                                                   : 0x1p-7;
    int64_t near = 0, all = 0;
    for (int64_t t = 0; want && t < d->tokens; t++) {
        moe_scalar(p, t, want, &step);
        for (int64_t i = 0; i < d->hidden; i++) {
            const double got = armq_load(d->out, y, t * p->y_stride + i);
            const double error = fabs(got - want[i]), fine = unit * fabs(want[i]);
            if (!(error <= 4 * step + 2 * fine))
                fail_msg("%s: token %d, column %d: %g, want %g, step %g", provider->name, (int)t,
                         (int)i, got, want[i], step);
            near += error <= fine + 1e-3 * step;
            all++;
        }
    }
    free(want);
    if (near < all * 9 / 10)
        fail_msg("%s: only %d of %d outputs are exact", provider->name, (int)near, (int)all);
}
