/* SPDX-License-Identifier: Apache-2.0 */
/* Routing: which rows each expert gets. A block of tokens at a time, so that the index does not
 * grow with tokens; slots that are skipped take no room in it.
 *
 * A row is one slot of one token that an expert works on. The rows of a block are in the order
 * (expert, token, slot). */
#ifndef ARMQ_KERNELS_ROUTE_H
#define ARMQ_KERNELS_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/armq.h"

/* Whether all ids are in [0, experts), or -1 where desc uses SKIP_IDS. */
bool armq_ids_are_valid(const armq_desc *desc, const int32_t *ids);

/* What the router works through, and the room it has. */
typedef struct {
    const int32_t *ids;   /* [tokens, top_k], valid */
    const float *weights; /* [tokens, top_k]; NULL: all 1 */
    int64_t tokens, top_k, experts;
    bool skips;                   /* ids may be -1 */
    armq_combine_order order;     /* of a token's rows when they are summed */
    armq_dtype weight_round;      /* the weights are rounded to it */
    int64_t max_rows, max_tokens; /* of a block, at least 1 */

    /* Where the next block begins; zeros at first. A token with more than max_rows rows comes in
     * several blocks: inside it, the rows up to that of (expert, slot) are done. */
    int64_t token;
    bool inside;
    int64_t expert, slot;
} armq_router;

/* One block, in memory of the caller. */
typedef struct {
    int64_t token, tokens; /* [token, token + tokens) */
    int64_t rows;
    bool begins, ends; /* the first, the last rows of its tokens are here; false only for a block of
                          one token */
    int64_t *row_begin; /* [experts + 1] expert e has rows [row_begin[e], row_begin[e + 1]) */
    int64_t *row_token; /* [max_rows] relative to `token` */
    float *row_weight;  /* [max_rows] rounded; no NaN but the default NaN */
    int64_t *sum_begin; /* [max_tokens + 1] token t sums rows sum_row[sum_begin[t] ...], in order */
    int64_t *sum_row;   /* [max_rows] */
} armq_routed;

/* Bytes for the arrays of a block, each aligned to 8 bytes; false if that overflows. */
bool armq_routed_bytes(int64_t experts, int64_t max_rows, int64_t max_tokens, size_t *bytes);

/* Places the arrays in memory aligned to 8 bytes. */
void armq_routed_place(armq_routed *block, const armq_router *router, void *memory);

/* The next block; false when all tokens are done. A block has at least one token, and may have no
 * rows. */
bool armq_route_next(armq_router *router, armq_routed *block);

#endif
