/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_s8s8s32, gemm_s8s4s32, linear_w8a8, linear_w4a8 and linear_bf16: blocks of rows are packed,
 * then multiplied. */
#ifndef ARMQ_KERNELS_LINEAR_H
#define ARMQ_KERNELS_LINEAR_H

#include "kernels/common/multiply.h"

enum { ARMQ_WORKSPACE_ALIGN = 64 };

/* How one problem is cut, and where things stand in the workspace. From the description alone, so
 * that query, pack and run agree. */
typedef struct {
    armq_weight_layout layout;
    int64_t block_rows; /* packed at once; 0 if there is nothing to do */
    int64_t k_block;    /* k steps per pass */
    size_t scales_offset, zeros_offset, scratch_offset, scratch_bytes; /* scratch: per thread */
    size_t workspace_bytes;
} armq_linear_plan;

/* False if packed weights or workspace would exceed what can be addressed. */
bool armq_linear_plan_init(armq_linear_plan *plan, const armq_tile_set *set, const armq_desc *desc);

/* desc and args have been checked. */
void armq_linear_run(const armq_tile_set *set, const armq_desc *desc, const armq_args *args);

#endif
