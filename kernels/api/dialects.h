/* SPDX-License-Identifier: Apache-2.0 */
/* Named presets of armq_dialect: the arithmetic of kernels in production (reference/README.md). */
#ifndef ARMQ_API_DIALECTS_H
#define ARMQ_API_DIALECTS_H

#include <stdbool.h>

#include "kernels/armq.h"

/* Names of all presets, NULL-terminated, in the order of the documentation. */
extern const char *const armq_dialect_names[];

bool armq_dialect_is_name(const char *name);

/* Resolves preset `name` for one op, input dtype and group size (0 = per channel) into plain data:
 * a preset such as vllm-w4a8 rounds differently for bf16 channel-wise than for f32.
 * `activation` is ARMQ_ACT_NONE for ops without one.
 * False if the dialect does not define the combination; then *why (may be NULL) is a static
 * sentence. */
bool armq_dialect_preset(const char *name, armq_op op, armq_dtype in, int64_t group_size,
                         armq_activation activation, armq_dialect *dialect, const char **why);

/* Longest K for which no int32 intermediate wraps, from the integer contract of the op and dialect:
 * 132104 for q in [-127, 127], 131071 where both operands may be -128, 65793 where acc - zp*rowsum
 * is formed in int32. */
int64_t armq_max_k(armq_op op, const armq_dialect *dialect);

#endif
