/* SPDX-License-Identifier: Apache-2.0 */
/* What is true of a description and of arguments whoever the provider is: shapes, strides, sizes,
 * and the refusals that the contract of kernels/armq.h demands. Providers may use it or not. */
#ifndef ARMQ_API_DESCRIBE_H
#define ARMQ_API_DESCRIBE_H

#include <stdbool.h>

#include "kernels/armq.h"

/* Checks everything that no provider may accept: struct sizes and ABI version, negative dimensions,
 * dtypes and flags that the op does not have, group sizes that do not divide, dimensions whose byte
 * count overflows. On failure writes a sentence with the offending value into reason. */
armq_status armq_desc_check(const armq_desc *desc, char *reason, size_t reason_bytes);

/* ARMQ_UNSUPPORTED, with the value in reason, if a product of the problem sums over more than max_k
 * elements: k, or hidden and intermediate of a MoE. */
armq_status armq_k_check(const armq_desc *desc, int64_t max_k, char *reason, size_t reason_bytes);

/* Checks args against the description and what query answered (workspace and alignment): NULL
 * pointers to tensors that are not empty, pointers or strides given but not declared in desc->uses,
 * strides below the row length, unaligned workspace or packed weights, threads outside [1,
 * max_threads], x and y overlapping. */
armq_status armq_args_check(const armq_desc *desc, const armq_support *support,
                            const armq_args *args);

/* As armq_args_check, for pack. */
armq_status armq_weights_check(const armq_desc *desc, int32_t which, int64_t first, int64_t last,
                               const armq_weights *weights, const void *packed);

/* Row lengths in elements, and weight dimensions. which: 0 = w or w13, 1 = w2. */
int64_t armq_x_row(const armq_desc *desc);
int64_t armq_y_row(const armq_desc *desc);
int64_t armq_weight_n(const armq_desc *desc, int32_t which);
int64_t armq_weight_k(const armq_desc *desc, int32_t which);

/* Distance in elements from one row to the next: the stride, or the row length if none is used. */
int64_t armq_x_stride(const armq_desc *desc, const armq_args *args);
int64_t armq_y_stride(const armq_desc *desc, const armq_args *args);

#endif
