/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/api/dialects.h"

#include <string.h>

#include "kernels/api/names.h"

#define OP(op) (1u << (op))
#define DTYPE(dtype) (1u << (dtype))
#define ACT(activation) (1u << (activation))
#define ANY_FLOAT (DTYPE(ARMQ_DTYPE_F32) | DTYPE(ARMQ_DTYPE_BF16) | DTYPE(ARMQ_DTYPE_F16))
#define ALL_ACTIVATIONS                                                                            \
    (ACT(ARMQ_ACT_SILU) | ACT(ARMQ_ACT_GELU) | ACT(ARMQ_ACT_GELU_TANH) | ACT(ARMQ_ACT_SWIGLUOAI))

/* A preset: which combinations it defines, and how it resolves one. */
typedef struct {
    const char *name;
    unsigned ops, dtypes, activations; /* bit sets */
    armq_quant quant;
    void (*resolve)(armq_dialect *dialect, armq_dtype in, int64_t group_size);
} preset;

static void resolve_exact(armq_dialect *d, armq_dtype in, int64_t group_size) {
    (void)d, (void)in, (void)group_size;
}

static void resolve_sglang_w8a8(armq_dialect *d, armq_dtype in, int64_t group_size) {
    (void)in, (void)group_size;
    d->q_rounding = ARMQ_ROUND_TIES_AWAY;
    d->linear_round_before_bias = 1;
    d->combine_order = ARMQ_COMBINE_EXPERT_ORDER;
}

static void resolve_vllm_w8a8(armq_dialect *d, armq_dtype in, int64_t group_size) {
    (void)group_size;
    d->intermediate = in;
    if (d->activation == ARMQ_ACT_SWIGLUOAI)
        d->gate_layout = ARMQ_GATE_INTERLEAVED;
}

static void resolve_vllm_w4a8(armq_dialect *d, armq_dtype in, int64_t group_size) {
    /* Production code widens f16, and bf16 with groups, before it does anything else. */
    armq_dtype w = in == ARMQ_DTYPE_BF16 && group_size == 0 ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
    d->work = w;
    d->q_rounding = w == ARMQ_DTYPE_F32 ? ARMQ_ROUND_TIES_AWAY : ARMQ_ROUND_TIES_EVEN;
    d->y13_round = d->activation_round = d->intermediate = d->y2_round = d->combine_round = w;
    d->combine_order = ARMQ_COMBINE_EXPERT_ORDER;
}

static void resolve_kleidi_w8a8(armq_dialect *d, armq_dtype in, int64_t group_size) {
    (void)group_size;
    d->q_rounding = in == ARMQ_DTYPE_F32 ? ARMQ_ROUND_TIES_AWAY : ARMQ_ROUND_TIES_EVEN;
}

static void resolve_bf16(armq_dialect *d, armq_dtype in, int64_t group_size) {
    (void)in, (void)group_size;
    d->work = ARMQ_DTYPE_BF16;
    d->intermediate = ARMQ_DTYPE_BF16;
}

static const preset presets[] = {
    {"exact", OP(ARMQ_OP_GEMM_S8S8S32) | OP(ARMQ_OP_GEMM_S8S4S32), DTYPE(ARMQ_DTYPE_S8), 0,
     ARMQ_QUANT_NONE, resolve_exact},
    {"sglang-w8a8", OP(ARMQ_OP_QUANTIZE) | OP(ARMQ_OP_LINEAR_W8A8) | OP(ARMQ_OP_MOE_W8A8),
     DTYPE(ARMQ_DTYPE_BF16), ACT(ARMQ_ACT_SILU), ARMQ_QUANT_SYMMETRIC, resolve_sglang_w8a8},
    {"vllm-w8a8",
     OP(ARMQ_OP_QUANTIZE) | OP(ARMQ_OP_ACTIVATION) | OP(ARMQ_OP_LINEAR_W8A8) | OP(ARMQ_OP_MOE_W8A8),
     ANY_FLOAT, ALL_ACTIVATIONS, ARMQ_QUANT_SYMMETRIC, resolve_vllm_w8a8},
    {"vllm-w4a8",
     OP(ARMQ_OP_QUANTIZE) | OP(ARMQ_OP_ACTIVATION) | OP(ARMQ_OP_LINEAR_W4A8) | OP(ARMQ_OP_MOE_W4A8),
     ANY_FLOAT, ACT(ARMQ_ACT_SILU) | ACT(ARMQ_ACT_SWIGLUOAI), ARMQ_QUANT_ASYMMETRIC,
     resolve_vllm_w4a8},
    {"kleidi-w8a8", OP(ARMQ_OP_QUANTIZE) | OP(ARMQ_OP_LINEAR_W8A8), ANY_FLOAT, 0,
     ARMQ_QUANT_ASYMMETRIC, resolve_kleidi_w8a8},
    {"bf16", OP(ARMQ_OP_LINEAR_BF16) | OP(ARMQ_OP_MOE_BF16), ANY_FLOAT, ALL_ACTIVATIONS,
     ARMQ_QUANT_NONE, resolve_bf16},
};

enum { PRESET_COUNT = sizeof presets / sizeof presets[0] };

const char *const armq_dialect_names[] = {"exact",       "sglang-w8a8", "vllm-w8a8", "vllm-w4a8",
                                          "kleidi-w8a8", "bf16",        NULL};

static const preset *find(const char *name) {
    for (int i = 0; i < PRESET_COUNT; i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}

bool armq_dialect_is_name(const char *name) { return find(name) != NULL; }

static const char *refusal(const preset *p, armq_op op, armq_dtype in, armq_activation activation) {
    bool has_activation = armq_op_is_moe(op) || op == ARMQ_OP_ACTIVATION;
    if (!p)
        return "no dialect of this name";
    if (!(p->ops & OP(op)))
        return "the dialect does not define this op";
    if (!(p->dtypes & DTYPE(in)))
        return "the dialect does not define this input dtype";
    if (has_activation && !(p->activations & ACT(activation)))
        return "the dialect does not define this activation";
    if (!has_activation && activation != ARMQ_ACT_NONE)
        return "the op has no activation";
    return NULL;
}

bool armq_dialect_preset(const char *name, armq_op op, armq_dtype in, int64_t group_size,
                         armq_activation activation, armq_dialect *dialect, const char **why) {
    const preset *p = find(name);
    const char *reason = refusal(p, op, in, activation);
    if (reason) {
        if (why)
            *why = reason;
        return false;
    }
    bool clamps = activation == ARMQ_ACT_SWIGLUOAI;
    *dialect = (armq_dialect){
        .size = sizeof(armq_dialect),
        .quant = p->quant,
        .q_rounding = ARMQ_ROUND_TIES_EVEN,
        .work = ARMQ_DTYPE_F32,
        .activation = activation,
        .alpha = clamps ? 1.702f : 0,
        .limit = clamps ? 7.0f : 0,
        .y13_round = ARMQ_DTYPE_F32,
        .activation_round = ARMQ_DTYPE_F32,
        .intermediate = ARMQ_DTYPE_F32,
        .y2_round = ARMQ_DTYPE_F32,
        .combine_round = ARMQ_DTYPE_F32,
    };
    p->resolve(dialect, in, group_size);
    return true;
}

int64_t armq_max_k(armq_op op, const armq_dialect *dialect) {
    const int64_t int32_max = INT32_MAX;
    if (armq_op_is_bf16(op) || op == ARMQ_OP_QUANTIZE || op == ARMQ_OP_ACTIVATION)
        return INT64_MAX;
    if (dialect->quant == ARMQ_QUANT_ASYMMETRIC)
        return int32_max / (255 * 128); /* |q - zp| <= 255, |w| <= 128 */
    if (dialect->quant == ARMQ_QUANT_SYMMETRIC)
        return int32_max / (127 * 128);
    return int32_max / (128 * 128);
}
