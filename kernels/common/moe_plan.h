/* SPDX-License-Identifier: Apache-2.0 */
/* How a mixture of experts is cut into blocks, and where things stand in the workspace. From the
 * description alone, so that query, pack and run agree.
 *
 * Block: tokens with at most max_rows slots. Large enough that an expert's weights are used for
 * some dozens of rows, bounded whatever the number of tokens.
 * Chunk: rows of one expert that are multiplied together, at most chunk_rows.
 * Slice: memory for the first half (gather, gate/up) of one chunk. */
#ifndef ARMQ_KERNELS_MOE_PLAN_H
#define ARMQ_KERNELS_MOE_PLAN_H

#include "kernels/common/multiply.h"

enum { ARMQ_W13 = 0, ARMQ_W2 = 1, ARMQ_SLICES_PER_THREAD = 4 };

typedef struct {
    int64_t expert;
    int64_t row, rows; /* of the block */
    int64_t panel_row; /* where its A panels for w2 begin; a multiple of the tallest tile's rows */
} armq_moe_chunk;

typedef struct {
    const armq_tile_set *set;
    armq_weight_layout layout[2];
    size_t expert_stride[2], packed_bytes[2];
    int64_t k_block[2];
    size_t panel_row_bytes[2]; /* of one row in an A panel */
    bool quantizes_tokens;     /* each token once per block, before its rows are gathered */
    bool weighs_input;

    int64_t max_rows, max_tokens, max_chunks, chunk_rows;
    int64_t column_panels; /* B panels of w2 that one job multiplies at most */
    size_t y13_stride, y2_stride;

    /* Offsets in the workspace. Shared: */
    size_t index, chunks, tokens, token_scales, token_zeros, panels, scales, zeros, carry;
    /* Per slice, and offsets in it: */
    size_t slices, slice_bytes, slice_scales, slice_zeros, slice_y13;
    /* Per thread, and offsets in it: */
    size_t threads, thread_bytes, thread_row, thread_y2;
    size_t workspace_bytes;
} armq_moe_plan;

/* False if packed weights or workspace would exceed what can be addressed. */
bool armq_moe_plan_init(armq_moe_plan *plan, const armq_tile_set *set, const armq_desc *desc);

/* Chunks of `rows` rows of one expert. */
int64_t armq_moe_chunk_count(const armq_moe_plan *plan, int64_t rows);

#endif
