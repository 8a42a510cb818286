/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the ABI as text, one table per enum, used by the case language, messages and
 * reports. */
#ifndef ARMQ_API_NAMES_H
#define ARMQ_API_NAMES_H

#include <stdbool.h>

#include "kernels/armq.h"

/* Text of a value; "?" for a value outside the enum. */
const char *armq_op_name(armq_op op);
const char *armq_dtype_name(armq_dtype dtype);
const char *armq_activation_name(armq_activation activation);
const char *armq_status_name(armq_status status);
const char *armq_weight_format_name(armq_weight_format format);

/* Value of a text; false if there is none. */
bool armq_op_parse(const char *text, armq_op *op);
bool armq_dtype_parse(const char *text, armq_dtype *dtype);
bool armq_activation_parse(const char *text, armq_activation *activation);
bool armq_weight_format_parse(const char *text, armq_weight_format *format);

/* Bytes of one element; 0 for NONE. */
size_t armq_dtype_bytes(armq_dtype dtype);

/* Inline, because loops ask. linear_w8a8, linear_w4a8, linear_bf16: */
static inline bool armq_op_is_linear(armq_op op) {
    return op == ARMQ_OP_LINEAR_W8A8 || op == ARMQ_OP_LINEAR_W4A8 || op == ARMQ_OP_LINEAR_BF16;
}

/* gemm_s8s8s32, gemm_s8s4s32: */
static inline bool armq_op_is_gemm(armq_op op) {
    return op == ARMQ_OP_GEMM_S8S8S32 || op == ARMQ_OP_GEMM_S8S4S32;
}

static inline bool armq_op_is_moe(armq_op op) {
    return op == ARMQ_OP_MOE_W8A8 || op == ARMQ_OP_MOE_W4A8 || op == ARMQ_OP_MOE_BF16;
}

/* The baselines: no quantisation. */
static inline bool armq_op_is_bf16(armq_op op) {
    return op == ARMQ_OP_LINEAR_BF16 || op == ARMQ_OP_MOE_BF16;
}

#endif
