/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/activation.h"

#include "kernels/common/convert.h"

enum { CHUNK = 16, QUADS = CHUNK / 4 };

/* --- Functions of four numbers --------------------------------------------------------------- */

/* e^x for x <= 0, 0 below -87 (where f32 is about to leave its normal range). Relative error below
 * 2e-7. NaN gives anything: callers multiply with a number that is NaN then.
 * x = n*ln2 + r; 2^n comes from the low bits of a sum with 1.5 * 2^23 + 127; e^r is a polynomial
 * with least relative error on [-ln2/2, ln2/2]. */
INLINE float32x4_t exp_of_negative(float32x4_t x) {
    const float32x4_t magic = vdupq_n_f32(12582912.0f + 127.0f);
    float32x4_t biased = vfmaq_f32(magic, x, vdupq_n_f32(0x1.715476p+0f));
    float32x4_t n = vsubq_f32(biased, magic);
    float32x4_t r = vfmsq_f32(x, n, vdupq_n_f32(0x1.62e43p-1f));
    r = vfmsq_f32(r, n, vdupq_n_f32(-0x1.05c61p-29f));
    float32x4_t scale = vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(biased), 23));
    float32x4_t p = vfmaq_f32(vdupq_n_f32(0x1.572a06p-5f), r, vdupq_n_f32(0x1.106280p-7f));
    p = vfmaq_f32(vdupq_n_f32(0x1.5557aep-3f), r, p);
    p = vfmaq_f32(vdupq_n_f32(0x1.fffdfcp-2f), r, p);
    p = vfmaq_f32(r, vmulq_f32(r, r), p);
    float32x4_t e = vfmaq_f32(scale, scale, p);
    uint32x4_t gone = vcltq_f32(x, vdupq_n_f32(-87.0f));
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(e), gone));
}

/* 1 / (1 + e^-x), by e^-|x|, which cannot overflow. */
INLINE float32x4_t sigmoid(float32x4_t x) {
    const float32x4_t one = vdupq_n_f32(1);
    float32x4_t e = exp_of_negative(vnegq_f32(vabsq_f32(x)));
    float32x4_t numerator = vbslq_f32(vcltzq_f32(x), e, one);
    return vdivq_f32(numerator, vaddq_f32(one, e));
}

/* The normal distribution function P(x). P(-a) = e^(-a*a/2) * q(1 / (1 + a/4)) with q a polynomial
 * of least relative error (2.3e-8) up to where e^(-a*a/2) is gone. */
INLINE float32x4_t normal_distribution(float32x4_t x) {
    const float32x4_t one = vdupq_n_f32(1);
    float32x4_t a = vminq_f32(vabsq_f32(x), vdupq_n_f32(14.0f));
    float32x4_t t = vdivq_f32(one, vfmaq_f32(one, a, vdupq_n_f32(0.25f)));
    float32x4_t e = exp_of_negative(vmulq_f32(a, vmulq_f32(a, vdupq_n_f32(-0.5f))));
    static const float q[] = {0.098808430f, 0.11223998f, 0.024755351f, 0.28109393f,
                              -0.26675323f, 0.34138364f, -0.091528080f};
    float32x4_t p = vdupq_n_f32(q[6]);
    UNROLL for (int i = 5; i >= 0; i--) { p = vfmaq_f32(vdupq_n_f32(q[i]), t, p); }
    float32x4_t lower = vmulq_f32(vmulq_f32(p, t), e);
    return vbslq_f32(vcltzq_f32(x), lower, vsubq_f32(one, lower));
}

/* x/2 * (1 + tanh z) = x * sigmoid(2z), z = sqrt(2/pi) * (x + 0.044715 x^3). Beyond 12 sigmoid is 0
 * or 1. */
INLINE float32x4_t gelu_tanh(float32x4_t x) {
    const float32x4_t far = vdupq_n_f32(12.0f), k = vdupq_n_f32(1.5957691216f);
    float32x4_t y = vmaxq_f32(vminq_f32(x, far), vnegq_f32(far));
    float32x4_t factor = vfmaq_f32(k, vmulq_f32(y, y), vdupq_n_f32(1.5957691216f * 0.044715f));
    return vmulq_f32(x, sigmoid(vmulq_f32(y, factor)));
}

INLINE float32x4_t swigluoai(const armq_dtype round, float32x4_t gate, float32x4_t up,
                             float32x4_t alpha, float32x4_t limit) {
    float32x4_t g = armq_round4(round, vminq_f32(gate, limit));
    float32x4_t u = armq_round4(round, vmaxq_f32(vminq_f32(up, limit), vnegq_f32(limit)));
    float32x4_t s = armq_round4(round, sigmoid(armq_round4(round, vmulq_f32(alpha, g))));
    float32x4_t f = armq_round4(round, vmulq_f32(g, s));
    return vmulq_f32(armq_round4(round, vaddq_f32(u, vdupq_n_f32(1))), f);
}

/* --- Sixteen elements ------------------------------------------------------------------------- */

INLINE void unzip(float32x4x4_t *gate, float32x4x4_t *up) {
    const float32x4x4_t low = *gate, high = *up;
    UNROLL for (int i = 0; i < 2; i++) {
        gate->val[i] = vuzp1q_f32(low.val[2 * i], low.val[2 * i + 1]);
        gate->val[i + 2] = vuzp1q_f32(high.val[2 * i], high.val[2 * i + 1]);
        up->val[i] = vuzp2q_f32(low.val[2 * i], low.val[2 * i + 1]);
        up->val[i + 2] = vuzp2q_f32(high.val[2 * i], high.val[2 * i + 1]);
    }
}

INLINE void round16(const armq_dtype dtype, float32x4x4_t *x) {
    UNROLL for (int i = 0; i < QUADS; i++) { x->val[i] = armq_round4(dtype, x->val[i]); }
}

/* Away from the usual path. */
static void round_operands(const armq_gate *gate, float32x4x4_t *g, float32x4x4_t *u) {
    if (gate->any_nan)
        UNROLL for (int i = 0; i < QUADS; i++) {
            g->val[i] = armq_default_nan4(g->val[i]);
            u->val[i] = armq_default_nan4(u->val[i]);
        }
    round16(gate->work, g);
    round16(gate->work, u);
}

INLINE float32x4_t activate4(const armq_activation kind, const armq_dtype round,
                             const armq_gate *gate, float32x4_t g, float32x4_t u) {
    if (kind == ARMQ_ACT_SWIGLUOAI)
        return swigluoai(round, g, u, vdupq_n_f32(gate->alpha), vdupq_n_f32(gate->limit));
    if (kind == ARMQ_ACT_GELU)
        return vmulq_f32(vmulq_f32(g, normal_distribution(g)), u);
    if (kind == ARMQ_ACT_GELU_TANH)
        return vmulq_f32(gelu_tanh(g), u);
    return vmulq_f32(vmulq_f32(g, sigmoid(g)), u);
}

INLINE void activate_chunk(const armq_activation kind, const armq_dtype round,
                           const armq_gate *gate, const char *g, const char *u, char *y) {
    float32x4x4_t x = armq_load16(gate->in, g), up = armq_load16(gate->in, u);
    if (gate->layout == ARMQ_GATE_INTERLEAVED)
        unzip(&x, &up);
    if (gate->any_nan || gate->work != ARMQ_DTYPE_F32)
        round_operands(gate, &x, &up);
    UNROLL for (int i = 0; i < QUADS; i++) {
        x.val[i] = activate4(kind, round, gate, x.val[i], up.val[i]);
    }
    if (gate->round != ARMQ_DTYPE_F32)
        round16(gate->round, &x);
    armq_store16(gate->out, y, x);
}

static size_t bytes_of(armq_dtype dtype) { return dtype == ARMQ_DTYPE_F32 ? 4 : 2; }

/* The last elements go through buffers. */
INLINE void activate_all(const armq_activation kind, const armq_dtype round, const armq_gate *gate,
                         const char *g, const char *u, int64_t count, char *y) {
    const bool interleaved = gate->layout == ARMQ_GATE_INTERLEAVED;
    const size_t in = bytes_of(gate->in), out = bytes_of(gate->out);
    const size_t step = CHUNK * in * (interleaved ? 2 : 1);
    for (int64_t i = 0; i < count / CHUNK; i++) {
        activate_chunk(kind, round, gate, g, u, y);
        g += step;
        u += step;
        y += CHUNK * out;
    }
    const size_t rest = (size_t)(count % CHUNK);
    if (rest) {
        char x[2 * CHUNK * sizeof(float)] = {0}, result[CHUNK * sizeof(float)];
        memcpy(x, g, rest * in * (interleaved ? 2 : 1));
        if (!interleaved)
            memcpy(x + CHUNK * in, u, rest * in);
        activate_chunk(kind, round, gate, x, x + CHUNK * in, result);
        memcpy(y, result, rest * out);
    }
}

#define INSTANCE(kind, round)                                                                      \
    static void kind##_##round(const armq_gate *gate, const char *g, const char *u, int64_t count, \
                               char *y) {                                                          \
        activate_all(ARMQ_ACT_##kind, ARMQ_DTYPE_##round, gate, g, u, count, y);                   \
    }
INSTANCE(SILU, F32)
INSTANCE(GELU, F32)
INSTANCE(GELU_TANH, F32)
INSTANCE(SWIGLUOAI, F32)
INSTANCE(SWIGLUOAI, BF16)
INSTANCE(SWIGLUOAI, F16)

/* --- Rows --------------------------------------------------------------------------------------
 */

armq_gate armq_gate_for(const armq_dialect *dialect, armq_dtype in, armq_dtype out) {
    return (armq_gate){
        .kind = dialect->activation,
        .layout = dialect->gate_layout,
        .alpha = dialect->alpha,
        .limit = dialect->limit,
        .in = in,
        .work = ARMQ_DTYPE_F32,
        .round = dialect->activation_round,
        .out = out,
    };
}

void armq_activate(const armq_gate *gate, const void *x, int64_t intermediate, int64_t first,
                   int64_t count, void *y) {
    if (count <= 0)
        return;
    const bool interleaved = gate->layout == ARMQ_GATE_INTERLEAVED;
    const size_t in = bytes_of(gate->in);
    const char *g = (const char *)x + (size_t)(interleaved ? 2 * first : first) * in;
    const char *u = g + (size_t)(interleaved ? CHUNK : intermediate) * in;
    char *to = (char *)y + (size_t)first * bytes_of(gate->out);
    if (gate->kind == ARMQ_ACT_SILU)
        SILU_F32(gate, g, u, count, to);
    else if (gate->kind == ARMQ_ACT_GELU)
        GELU_F32(gate, g, u, count, to);
    else if (gate->kind == ARMQ_ACT_GELU_TANH)
        GELU_TANH_F32(gate, g, u, count, to);
    else if (gate->round == ARMQ_DTYPE_BF16)
        SWIGLUOAI_BF16(gate, g, u, count, to);
    else if (gate->round == ARMQ_DTYPE_F16)
        SWIGLUOAI_F16(gate, g, u, count, to);
    else
        SWIGLUOAI_F32(gate, g, u, count, to);
}
