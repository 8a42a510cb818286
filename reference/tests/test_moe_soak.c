/* SPDX-License-Identifier: Apache-2.0 */
/* moe_w8a8, moe_w4a8 and moe_bf16: an f32 implementation written here, in several orders of its
 * operations and with several activation formulas, must always land inside the intervals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/dialects.h"
#include "reference/formats.h"
#include "reference/int4.h"
#include "reference/tests/int4_orders.h"

enum { TOKENS = 4, HIDDEN = 64, INTER = 64, EXPERTS = 4, TOP = 3, MOST = 64, GROUP = 32 };

/* Rows of both weight tensors, and groups in them. */
enum { ROWS13 = EXPERTS * 2 * INTER, ROWS2 = EXPERTS * HIDDEN };
enum { GROUPS13 = HIDDEN / GROUP, GROUPS2 = INTER / GROUP };

static uint64_t next_random(void) {
    static uint64_t seed = 0x853c49e6748fea9bu;
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed >> 16;
}

static float random_float(float size) {
    return size * ((float)(next_random() % 2000001) * 1e-6f - 1.0f);
}

typedef struct {
    float x[TOKENS][HIDDEN]; /* values of the input dtype */
    uint16_t x_half[TOKENS][HIDDEN];
    int8_t w13[EXPERTS][2 * INTER][HIDDEN], w2[EXPERTS][HIDDEN][INTER];
    uint16_t w13_half[EXPERTS][2 * INTER][HIDDEN], w2_half[EXPERTS][HIDDEN][INTER];
    float s13[EXPERTS][2 * INTER], s2[EXPERTS][HIDDEN];
    float b13[EXPERTS][2 * INTER], b2[EXPERTS][HIDDEN];
    int32_t ids[TOKENS][TOP];
    float weights[TOKENS][TOP];
    /* int4 only: w13 and w2 packed; zero points and group scales, dense for the groups in use. */
    uint32_t packed13[ROWS13 * HIDDEN / 8], packed2[ROWS2 * INTER / 8];
    int8_t z13[ROWS13 * GROUPS13], z2[ROWS2 * GROUPS2];
    uint16_t g13[ROWS13 * GROUPS13], g2[ROWS2 * GROUPS2];
} tensors;

static float rounded(armq_dtype dtype, float value) {
    return (float)armq_round_to(dtype, (double)value);
}

static void fill_weights(tensors *t, bool bf16) {
    float scale = bf16 ? 1.0f : 1 / 74.0f; /* rms of a weight is about 0.6 either way */
    for (int e = 0; e < EXPERTS; e++) {
        for (int n = 0; n < 2 * INTER; n++) {
            t->s13[e][n] = scale * (1.5f + random_float(1)) / sqrtf(HIDDEN);
            t->b13[e][n] = random_float(1);
            for (int i = 0; i < HIDDEN; i++) {
                t->w13[e][n][i] = (int8_t)(next_random() % 256);
                t->w13_half[e][n][i] = armq_f32_to_bf16(random_float(0.3f));
            }
        }
        for (int n = 0; n < HIDDEN; n++) {
            t->s2[e][n] = scale * (1.5f + random_float(1)) / sqrtf(INTER);
            t->b2[e][n] = random_float(1);
            for (int i = 0; i < INTER; i++) {
                t->w2[e][n][i] = (int8_t)(next_random() % 256);
                t->w2_half[e][n][i] = armq_f32_to_bf16(random_float(0.3f));
            }
        }
    }
}

/* The int8 weights cut down to int4; scales 16 times as large. */
static void int4_tensor(armq_weight_format format, int64_t rows, int64_t k, int8_t *w,
                        float *scales, uint32_t *packed, uint16_t *group_scales,
                        int8_t *zero_points) {
    int64_t groups = k / GROUP;
    for (int64_t i = 0; i < rows * k; i++)
        w[i] = (int8_t)((w[i] & 15) - 8);
    for (int64_t i = 0; i < rows; i++)
        scales[i] *= 16;
    for (int64_t i = 0; i < rows * groups; i++) {
        float scale = ldexpf(scales[i / groups], (int)(next_random() % 3) - 1);
        group_scales[i] = armq_f32_to_bf16(scale);
        zero_points[i] = (int8_t)((int)(next_random() % 16) - 8);
    }
    ref_int4_pack(format, w, rows, k, packed);
}

static void fill_int4(tensors *t, armq_weight_format format) {
    int4_tensor(format, ROWS13, HIDDEN, t->w13[0][0], t->s13[0], t->packed13, t->g13, t->z13);
    int4_tensor(format, ROWS2, INTER, t->w2[0][0], t->s2[0], t->packed2, t->g2, t->z2);
}

static void fill(tensors *t, armq_dtype in, bool bf16) {
    fill_weights(t, bf16);
    for (int m = 0; m < TOKENS; m++) {
        for (int i = 0; i < HIDDEN; i++) {
            t->x[m][i] = rounded(in, random_float(1 + 2 * (float)(m % 3)));
            if (in != ARMQ_DTYPE_F32)
                armq_store(in, t->x_half[m], i, (double)t->x[m][i]);
        }
        for (int j = 0; j < TOP; j++) {
            t->ids[m][j] = (int32_t)(next_random() % EXPERTS);
            t->weights[m][j] = 0.1f + fabsf(random_float(1));
        }
    }
}

/* --- An implementation in f32 --------------------------------------------------------------------
 */

/* How a build computes: order of factors, fused or not, formula of the activation, and by how much
 * (relative) its exp is off. */
typedef struct {
    int order, form;
    bool fused;
    float sloppy;
    int int4_order;
} build;

static float scaled(const build *b, float acc, float s_x, float s_w, float bias) {
    float y = b->order == 0 ? acc * (s_x * s_w) : b->order == 1 ? acc * s_x * s_w : acc * s_w * s_x;
    return b->fused && b->order == 0 ? fmaf(acc, s_x * s_w, bias) : y + bias;
}

static float activated(const armq_dialect *d, const build *b, float g, float u) {
    float e = 1 + b->sloppy;
    switch (d->activation) {
    case ARMQ_ACT_GELU:
        return 0.5f * g * erfcf(-g * (float)M_SQRT1_2) * e * u;
    case ARMQ_ACT_GELU_TANH:
        return 0.5f * g * (1 + tanhf(0.79788456f * (g + 0.044715f * g * g * g))) * e * u;
    case ARMQ_ACT_SWIGLUOAI:
        g = fminf(g, d->limit);
        u = fminf(fmaxf(u, -d->limit), d->limit);
        return (u + 1) * g * (e / (1 + expf(-d->alpha * g)));
    default:
        return b->form ? g * (e / (1 + expf(-g))) * u : g / (1 + expf(-g)) * e * u;
    }
}

/* swigluoai, each op rounded to the dialect's dtype. */
static float activated_op_by_op(const armq_dialect *d, float g, float u) {
    armq_dtype w = d->activation_round;
    g = fminf(g, d->limit);
    u = fminf(fmaxf(u, -d->limit), d->limit);
    float s = rounded(w, 1 / (1 + expf(-rounded(w, d->alpha * g))));
    return rounded(w, rounded(w, u + 1) * rounded(w, g * s));
}

static float whole(const armq_dialect *d, float v) {
    return d->q_rounding == ARMQ_ROUND_TIES_AWAY ? roundf(v) : rintf(v);
}

/* q - zero point of k values into q; returns the scale. */
static float quantized(const armq_dialect *d, const float *v, int k, int32_t *q,
                       float *zero_point) {
    *zero_point = 0;
    float least = 0, most = 0;
    for (int i = 0; i < k; i++) {
        least = fminf(least, v[i]);
        most = fmaxf(most, v[i]);
    }
    if (d->quant == ARMQ_QUANT_SYMMETRIC) {
        float amax = fmaxf(fmaxf(-least, most), 1e-7f), factor = 127 / amax;
        for (int i = 0; i < k; i++)
            q[i] = (int32_t)whole(d, v[i] * factor);
        return amax / 127;
    }
    float factor = most == least ? 1 : 255 / (most - least);
    float lo = least * factor, hi = most * factor;
    float zero = (-128 + lo) + (127 + hi) > 0 ? -128 - lo : 127 - hi;
    zero = rintf(fminf(fmaxf(zero, -128), 127));
    for (int i = 0; i < k; i++)
        q[i] = (int32_t)(fminf(fmaxf(whole(d, v[i] * factor) + zero, -128), 127) - zero);
    *zero_point = zero;
    return 1 / factor;
}

static float dot(const int32_t *q, const int8_t *w, int k) {
    int32_t sum = 0;
    for (int i = 0; i < k; i++)
        sum += q[i] * w[i];
    return (float)sum;
}

/* bf16 operands: forwards, backwards, or in four parts. */
static float dot_bf16(const build *b, const float *v, const uint16_t *w, int k) {
    float part[4] = {0, 0, 0, 0};
    for (int i = 0; i < k; i++) {
        int at = b->order == 1 ? k - 1 - i : i, lane = b->order == 2 ? i % 4 : 0;
        part[lane] = fmaf(v[at], armq_bf16_to_f32(w[at]), part[lane]);
    }
    return (part[0] + part[1]) + (part[2] + part[3]);
}

typedef struct {
    const armq_desc *desc;
    const tensors *t;
    build how;
} soak;

static float biased(const soak *s, float y, uint32_t flag, float bias) {
    return s->desc->uses & flag ? y + bias : y;
}

/* With row n of expert e, whose weights are int4. q: less the zero point. */
static float int4_product(const soak *s, int which, int e, int n, const int32_t *q,
                          float zero_point, float s_x, float bias) {
    const tensors *t = s->t;
    int k = which ? INTER : HIDDEN, row = e * (which ? HIDDEN : 2 * INTER) + n;
    int group = s->desc->group_size ? GROUP : k, groups = k / group;
    const int8_t *w = which ? t->w2[e][n] : t->w13[e][n], *zeros = which ? t->z2 : t->z13;
    const uint16_t *group_scales = which ? t->g2 : t->g13;
    int8_t whole_q[MOST], centered[MOST];
    float scales[MOST / GROUP] = {which ? t->s2[e][n] : t->s13[e][n]};
    for (int i = 0; i < k; i++) {
        int8_t zero = zeros[row * groups + i / group];
        centered[i] = (int8_t)(w[i] - (s->desc->uses & ARMQ_USES_WEIGHT_ZERO ? zero : 0));
        whole_q[i] = (int8_t)(q[i] + (int32_t)zero_point);
    }
    for (int g = 0; s->desc->group_size && g < groups; g++)
        scales[g] = armq_bf16_to_f32(group_scales[row * groups + g]);
    const int4_row r = {.q = whole_q,
                        .zero_point = zero_point,
                        .s_x = s_x,
                        .w = centered,
                        .scales = scales,
                        .k = k,
                        .group = group,
                        .channel = s->desc->group_size == 0,
                        .bias = bias};
    return int4_in_order(s->how.int4_order, &r);
}

/* Rows x k products of one stage: y[n] for n in [0, count). */
static void stage(const soak *s, int which, int e, const float *v, float *y) {
    const armq_dialect *d = &s->desc->dialect;
    const tensors *t = s->t;
    int k = which ? INTER : HIDDEN, count = which ? HIDDEN : 2 * INTER;
    int32_t q[MOST];
    float zero_point = 0;
    float scale = d->quant == ARMQ_QUANT_NONE ? 0 : quantized(d, v, k, q, &zero_point);
    uint32_t flag = which ? ARMQ_USES_W2_BIAS : ARMQ_USES_W13_BIAS;
    for (int n = 0; n < count; n++) {
        float bias = which ? t->b2[e][n] : t->b13[e][n], s_w = which ? t->s2[e][n] : t->s13[e][n];
        if (d->quant == ARMQ_QUANT_NONE)
            y[n] = biased(s, dot_bf16(&s->how, v, which ? t->w2_half[e][n] : t->w13_half[e][n], k),
                          flag, bias);
        else if (s->desc->op == ARMQ_OP_MOE_W4A8)
            y[n] =
                int4_product(s, which, e, n, q, zero_point, scale, s->desc->uses & flag ? bias : 0);
        else
            y[n] = scaled(&s->how, dot(q, which ? t->w2[e][n] : t->w13[e][n], k), scale, s_w,
                          s->desc->uses & flag ? bias : 0);
        y[n] = rounded(which ? d->y2_round : d->y13_round, y[n]);
    }
}

/* y of one slot before the router weight. */
static void expert(const soak *s, int e, const float *x, float *y) {
    const armq_dialect *d = &s->desc->dialect;
    float y13[2 * INTER], act[INTER];
    stage(s, 0, e, x, y13);
    bool pairs = d->gate_layout == ARMQ_GATE_INTERLEAVED;
    for (int i = 0; i < INTER; i++) {
        float g = y13[pairs ? 2 * i : i], u = y13[pairs ? 2 * i + 1 : INTER + i];
        bool op_by_op =
            d->activation == ARMQ_ACT_SWIGLUOAI && d->activation_round != ARMQ_DTYPE_F32;
        float v = op_by_op ? activated_op_by_op(d, g, u) : activated(d, &s->how, g, u);
        act[i] = rounded(d->intermediate, rounded(d->activation_round, v));
    }
    stage(s, 1, e, act, y);
}

static int slot_at(const soak *s, int m, int place) {
    int chosen = 0;
    if (s->desc->dialect.combine_order == ARMQ_COMBINE_SLOT_ORDER)
        return place;
    for (int j = 0; j < TOP; j++) {
        int before = 0;
        for (int i = 0; i < TOP; i++)
            before +=
                s->t->ids[m][i] < s->t->ids[m][j] || (s->t->ids[m][i] == s->t->ids[m][j] && i < j);
        chosen = before == place ? j : chosen;
    }
    return chosen;
}

static void compute(const soak *s, int m, float *y) {
    const armq_dialect *d = &s->desc->dialect;
    armq_dtype round = d->combine_round;
    bool on_input = s->desc->uses & ARMQ_USES_WEIGHT_ON_INPUT;
    for (int place = 0; place < TOP; place++) {
        int slot = slot_at(s, m, place);
        float weight = rounded(round, s->t->weights[m][slot]), x[HIDDEN], one[HIDDEN];
        for (int i = 0; i < HIDDEN; i++) {
            x[i] = rounded(d->work, s->t->x[m][i]);
            x[i] = on_input ? rounded(d->work, x[i] * weight) : x[i];
        }
        expert(s, s->t->ids[m][slot], x, one);
        for (int n = 0; n < HIDDEN; n++) {
            float factor = on_input ? 1 : weight, before = place ? y[n] : 0;
            if (round == ARMQ_DTYPE_F32)
                y[n] = s->how.fused ? fmaf(one[n], factor, before) : one[n] * factor + before;
            else
                y[n] = rounded(round, before + rounded(round, one[n] * factor));
        }
    }
}

/* --- Soaks ---------------------------------------------------------------------------------------
 */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct {
    double half[1 << 16], squares, usage;
    int64_t count, flips, ambiguous, judged;
} quality;

static void judge_row(const soak *s, int m, const ref_interval *wanted, int64_t flips, quality *q) {
    static const float sloppy[] = {0, 4e-7f, -4e-7f, 8e-7f, -8e-7f};
    soak now = *s;
    for (int i = 0; i < 12; i++) {
        float y[HIDDEN];
        now.how = (build){i % 3, i % 2, i / 2 % 2, sloppy[i % 5], i % INT4_ORDERS};
        compute(&now, m, y);
        for (int n = 0; n < HIDDEN; n++) {
            float got = 0; /* room for any dtype */
            armq_store(s->desc->out, &got, 0, (double)y[n]);
            if (!ref_accepts(&wanted[n], s->desc->out, &got))
                fail_msg("build %d, token %d, column %d: %a not in [%a, %a]", i, m, n, (double)y[n],
                         wanted[n].lo, wanted[n].hi);
            if (flips == 0)
                q->usage = fmax(q->usage, ref_usage(&wanted[n], s->desc->out, &got));
        }
    }
    for (int n = 0; n < HIDDEN; n++) {
        assert_true(wanted[n].kind == REF_VALUE);
        assert_true(wanted[n].lo <= wanted[n].mid && wanted[n].mid <= wanted[n].hi);
        q->judged++;
        q->ambiguous += ref_is_ambiguous(&wanted[n], s->desc->out);
        if (q->count < 1 << 16)
            q->half[q->count++] = 0.5 * (wanted[n].hi - wanted[n].lo);
        q->squares += wanted[n].mid * wanted[n].mid;
    }
    q->flips += flips;
}

static void soak_once(armq_desc *desc, tensors *t, quality *q) {
    bool bf16 = desc->op == ARMQ_OP_MOE_BF16, int4 = desc->op == ARMQ_OP_MOE_W4A8;
    fill(t, desc->in, bf16);
    if (int4)
        fill_int4(t, desc->format);
    armq_weights w13 = {.size = sizeof w13, .w = t->w13, .scales = t->s13, .bias = t->b13};
    armq_weights w2 = {.size = sizeof w2, .w = t->w2, .scales = t->s2, .bias = t->b2};
    if (bf16) {
        w13.w = t->w13_half;
        w2.w = t->w2_half;
        w13.scales = w2.scales = NULL;
    }
    if (int4) {
        w13.w = t->packed13;
        w2.w = t->packed2;
        w13.zero_points = desc->uses & ARMQ_USES_WEIGHT_ZERO ? t->z13 : NULL;
        w2.zero_points = desc->uses & ARMQ_USES_WEIGHT_ZERO ? t->z2 : NULL;
    }
    if (desc->group_size) {
        w13.scales = t->g13;
        w2.scales = t->g2;
    }
    ref_problem problem = {.desc = desc, .weights = {&w13, &w2}};
    problem.x = desc->in == ARMQ_DTYPE_F32 ? (const void *)t->x : t->x_half;
    problem.topk_ids = t->ids[0];
    problem.topk_weights = t->weights[0];
    ref_context *context = ref_open(&problem);
    assert_non_null(context);
    soak s = {.desc = desc, .t = t};
    for (int m = 0; m < TOKENS; m++) {
        ref_interval wanted[HIDDEN];
        ref_row_intervals(context, m, NULL, HIDDEN, wanted);
        judge_row(&s, m, wanted, ref_tie_flips(context), q);
    }
    ref_close(context);
}

static armq_desc description(const char *dialect, armq_dtype in, armq_activation activation) {
    bool bf16 = strcmp(dialect, "bf16") == 0;
    armq_desc desc = {.size = sizeof desc, .abi = ARMQ_ABI_VERSION};
    desc.op = bf16 ? ARMQ_OP_MOE_BF16 : ARMQ_OP_MOE_W8A8;
    desc.tokens = TOKENS;
    desc.hidden = HIDDEN;
    desc.intermediate = INTER;
    desc.experts = EXPERTS;
    desc.top_k = TOP;
    desc.in = desc.out = in;
    desc.scale_dtype = bf16 ? ARMQ_DTYPE_NONE : ARMQ_DTYPE_F32;
    desc.format = bf16 ? ARMQ_WEIGHT_BF16 : ARMQ_WEIGHT_S8;
    assert_true(armq_dialect_preset(dialect, desc.op, in, 0, activation, &desc.dialect, NULL));
    return desc;
}

/* Six problems: with and without biases, some weighted on the input. */
static quality *soak_dialect(armq_desc desc, const char *name) {
    tensors *t = malloc(sizeof *t);
    quality *q = calloc(1, sizeof *q);
    assert_true(t && q);
    for (int i = 0; i < 6; i++) {
        desc.uses = i % 2 ? ARMQ_USES_W13_BIAS | ARMQ_USES_W2_BIAS : 0;
        desc.uses |= i % 3 == 2 ? ARMQ_USES_WEIGHT_ON_INPUT : 0;
        if (desc.op == ARMQ_OP_MOE_W4A8) {
            desc.uses |= i / 2 % 2 ? ARMQ_USES_WEIGHT_ZERO : 0;
            desc.format = i / 3 ? ARMQ_WEIGHT_S4_WORD8 : ARMQ_WEIGHT_S4_LOW;
        }
        desc.bias_dtype = i % 2 ? ARMQ_DTYPE_F32 : ARMQ_DTYPE_NONE;
        soak_once(&desc, t, q);
    }
    qsort(q->half, (size_t)q->count, sizeof q->half[0], ascending);
    print_message(
        "%s, group %d, activation %d, dtype %d: median half-width %.1e of rms, %lld flips in %lld "
        "rows, ambiguous %.1f %%, usage %.2f\n",
        name, (int)desc.group_size, (int)desc.dialect.activation, (int)desc.in,
        q->half[q->count / 2] / sqrt(q->squares / (double)q->judged), (long long)q->flips,
        (long long)q->judged / HIDDEN, 100.0 * (double)q->ambiguous / (double)q->judged, q->usage);
    free(t);
    return q;
}

static double median_over_rms(const quality *q) {
    return q->half[q->count / 2] / sqrt(q->squares / (double)q->judged);
}

static const armq_dtype dtypes[] = {ARMQ_DTYPE_F32, ARMQ_DTYPE_BF16, ARMQ_DTYPE_F16};

static void soak_vllm(void **state) {
    (void)state;
    for (int a = ARMQ_ACT_SILU; a <= ARMQ_ACT_SWIGLUOAI; a++)
        for (int in = 0; in < 3; in++) {
            quality *q =
                soak_dialect(description("vllm-w8a8", dtypes[in], (armq_activation)a), "vllm-w8a8");
            assert_true(median_over_rms(q) <= 2e-5);
            assert_true(in > 0 || (q->usage > 0.1 && q->usage <= 0.9));
            free(q);
        }
}

static void soak_sglang(void **state) {
    (void)state;
    quality *q =
        soak_dialect(description("sglang-w8a8", ARMQ_DTYPE_BF16, ARMQ_ACT_SILU), "sglang-w8a8");
    assert_true(median_over_rms(q) <= 2e-5);
    free(q);
}

static void soak_bf16(void **state) {
    (void)state;
    for (int a = ARMQ_ACT_SILU; a <= ARMQ_ACT_SWIGLUOAI; a++)
        for (int in = 0; in < 3; in++) {
            quality *q = soak_dialect(description("bf16", dtypes[in], (armq_activation)a), "bf16");
            assert_true(median_over_rms(q) <= 2e-3);
            free(q);
        }
}

/* Properties in other combinations: zero points in both stages, and every value rounded to w. */
static void soak_asymmetric(void **state) {
    (void)state;
    for (int in = 0; in < 3; in++) {
        armq_desc desc = description("vllm-w8a8", dtypes[in], ARMQ_ACT_SWIGLUOAI);
        desc.dialect.quant = ARMQ_QUANT_ASYMMETRIC;
        quality *q = soak_dialect(desc, "vllm-w8a8, asymmetric");
        assert_true(median_over_rms(q) <= 2e-5);
        assert_true(in > 0 || (q->usage > 0.1 && q->usage <= 0.9));
        free(q);
    }
    for (int in = 0; in < 2; in++)
        for (int swiglu = 0; swiglu < 2; swiglu++) {
            armq_desc desc = description("vllm-w8a8", dtypes[in], ARMQ_ACT_SILU);
            assert_true(armq_dialect_preset("vllm-w4a8", ARMQ_OP_MOE_W4A8, dtypes[in], 0,
                                            swiglu ? ARMQ_ACT_SWIGLUOAI : ARMQ_ACT_SILU,
                                            &desc.dialect, NULL));
            quality *q = soak_dialect(desc, "vllm-w4a8's arithmetic");
            assert_true(in || median_over_rms(q) <= 2e-5);
            free(q);
        }
}

/* As production has it, and symmetric. */
static void soak_int4(void **state) {
    (void)state;
    for (int i = 0; i < 24; i++) {
        armq_dtype in = dtypes[i % 3];
        armq_desc desc = description("vllm-w8a8", in, ARMQ_ACT_SILU);
        desc.op = ARMQ_OP_MOE_W4A8;
        desc.group_size = i / 3 % 2 ? GROUP : 0;
        desc.scale_dtype = desc.group_size ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
        assert_true(armq_dialect_preset("vllm-w4a8", desc.op, in, desc.group_size,
                                        i / 6 % 2 ? ARMQ_ACT_SWIGLUOAI : ARMQ_ACT_SILU,
                                        &desc.dialect, NULL));
        if (i / 12)
            desc.dialect.quant = ARMQ_QUANT_SYMMETRIC;
        quality *q = soak_dialect(desc, i / 12 ? "int4, symmetric" : "vllm-w4a8");
        assert_true(median_over_rms(q) <= 2e-5);
        assert_true(in != ARMQ_DTYPE_F32 || (q->usage > 0.05 && q->usage <= 0.9));
        free(q);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(soak_vllm), cmocka_unit_test(soak_sglang),
        cmocka_unit_test(soak_bf16), cmocka_unit_test(soak_asymmetric),
        cmocka_unit_test(soak_int4),
    };
    return cmocka_run_group_tests_name("moe soak", tests, NULL, NULL);
}
