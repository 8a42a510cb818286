/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/api/names.h"

#include <string.h>

static const char *const op_names[ARMQ_OP_COUNT] = {
    [ARMQ_OP_QUANTIZE] = "quantize",         [ARMQ_OP_ACTIVATION] = "activation",
    [ARMQ_OP_GEMM_S8S8S32] = "gemm_s8s8s32", [ARMQ_OP_GEMM_S8S4S32] = "gemm_s8s4s32",
    [ARMQ_OP_LINEAR_W8A8] = "linear_w8a8",   [ARMQ_OP_LINEAR_W4A8] = "linear_w4a8",
    [ARMQ_OP_LINEAR_BF16] = "linear_bf16",   [ARMQ_OP_MOE_W8A8] = "moe_w8a8",
    [ARMQ_OP_MOE_W4A8] = "moe_w4a8",         [ARMQ_OP_MOE_BF16] = "moe_bf16",
};

static const char *const dtype_names[ARMQ_DTYPE_COUNT] = {
    [ARMQ_DTYPE_NONE] = "none", [ARMQ_DTYPE_F32] = "f32", [ARMQ_DTYPE_BF16] = "bf16",
    [ARMQ_DTYPE_F16] = "f16",   [ARMQ_DTYPE_S8] = "s8",   [ARMQ_DTYPE_S32] = "s32",
};

static const char *const activation_names[] = {
    [ARMQ_ACT_NONE] = "none",           [ARMQ_ACT_SILU] = "silu",
    [ARMQ_ACT_GELU] = "gelu",           [ARMQ_ACT_GELU_TANH] = "gelu_tanh",
    [ARMQ_ACT_SWIGLUOAI] = "swigluoai",
};

static const char *const status_names[] = {
    [ARMQ_OK] = "ok",
    [ARMQ_UNSUPPORTED] = "unsupported",
    [ARMQ_INVALID_ARGUMENT] = "invalid argument",
    [ARMQ_NO_MEMORY] = "no memory",
};

static const char *const weight_format_names[ARMQ_WEIGHT_COUNT] = {
    [ARMQ_WEIGHT_NONE] = "none",     [ARMQ_WEIGHT_S8] = "s8",
    [ARMQ_WEIGHT_S4_LOW] = "s4_low", [ARMQ_WEIGHT_S4_WORD8] = "s4_word8",
    [ARMQ_WEIGHT_BF16] = "bf16",
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *name_of(const char *const *table, size_t count, size_t value) {
    return value < count ? table[value] : "?";
}

static bool value_of(const char *const *table, size_t count, const char *text, size_t *value) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i], text) == 0) {
            *value = i;
            return true;
        }
    return false;
}

const char *armq_op_name(armq_op op) { return name_of(op_names, COUNT(op_names), (size_t)op); }

const char *armq_dtype_name(armq_dtype dtype) {
    return name_of(dtype_names, COUNT(dtype_names), (size_t)dtype);
}

const char *armq_activation_name(armq_activation activation) {
    return name_of(activation_names, COUNT(activation_names), (size_t)activation);
}

const char *armq_status_name(armq_status status) {
    return name_of(status_names, COUNT(status_names), (size_t)status);
}

const char *armq_weight_format_name(armq_weight_format format) {
    return name_of(weight_format_names, COUNT(weight_format_names), (size_t)format);
}

bool armq_op_parse(const char *text, armq_op *op) {
    size_t value;
    if (!value_of(op_names, COUNT(op_names), text, &value))
        return false;
    *op = (armq_op)value;
    return true;
}

bool armq_dtype_parse(const char *text, armq_dtype *dtype) {
    size_t value;
    if (!value_of(dtype_names, COUNT(dtype_names), text, &value))
        return false;
    *dtype = (armq_dtype)value;
    return true;
}

bool armq_activation_parse(const char *text, armq_activation *activation) {
    size_t value;
    if (!value_of(activation_names, COUNT(activation_names), text, &value))
        return false;
    *activation = (armq_activation)value;
    return true;
}

bool armq_weight_format_parse(const char *text, armq_weight_format *format) {
    size_t value;
    if (!value_of(weight_format_names, COUNT(weight_format_names), text, &value))
        return false;
    *format = (armq_weight_format)value;
    return true;
}

size_t armq_dtype_bytes(armq_dtype dtype) {
    static const size_t bytes[ARMQ_DTYPE_COUNT] = {
        [ARMQ_DTYPE_F32] = 4, [ARMQ_DTYPE_BF16] = 2, [ARMQ_DTYPE_F16] = 2,
        [ARMQ_DTYPE_S8] = 1,  [ARMQ_DTYPE_S32] = 4,
    };
    return (size_t)dtype < ARMQ_DTYPE_COUNT ? bytes[dtype] : 0;
}
