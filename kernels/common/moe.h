/* SPDX-License-Identifier: Apache-2.0 */
/* moe_w8a8, moe_w4a8 and moe_bf16: per block of tokens, route; quantise each token; per expert
 * gather, gate/up product, activation, quantise again, down product; weighted sum per token.
 *
 * A token is quantised once although top_k experts read it: copying its int8 row into each panel
 * costs a fifth of quantising it again, and a block's int8 rows are small beside the rest. (Not
 * where the router weight multiplies x: then each slot has a row of its own.) No job waits for
 * another: the first half is cut by experts, the second by columns of y, where a job has all rows
 * of its columns and sums each token in the order that the dialect says. Neither the number of
 * threads nor the tokens beside it enter a token's arithmetic. */
#ifndef ARMQ_KERNELS_MOE_H
#define ARMQ_KERNELS_MOE_H

#include "kernels/common/moe_plan.h"

/* Packs w13 or w2 of `experts` consecutive experts. Everything has been checked. */
void armq_moe_pack(const armq_moe_plan *plan, const armq_desc *desc, int32_t which, int64_t experts,
                   const armq_weights *weights, void *packed);

/* desc and args have been checked, the ids have not: INVALID_ARGUMENT, with nothing written, if one
 * is outside its range. */
armq_status armq_moe_run(const armq_tile_set *set, const armq_desc *desc, const armq_args *args);

#endif
