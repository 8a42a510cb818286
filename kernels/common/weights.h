/* SPDX-License-Identifier: Apache-2.0 */
/* Packed weights: B panels, each with what its output channels need after the multiply. */
#ifndef ARMQ_KERNELS_WEIGHTS_H
#define ARMQ_KERNELS_WEIGHTS_H

#include "kernels/armq.h"
#include "kernels/common/tile.h"

/* The end of a panel; zeros for the columns past N. A NaN among scales and biases is the default
 * NaN. */
struct armq_channels {
    float scale[ARMQ_TILE_COLUMNS]; /* with groups: sum over them of scale * sum of weights */
    float bias[ARMQ_TILE_COLUMNS];
    int32_t sum[ARMQ_TILE_COLUMNS]; /* of the channel's weights, as the tile multiplies them */
};

/* One [n, k] weight matrix in panels of ARMQ_TILE_COLUMNS channels.
 *
 * An int4 panel holds in this order: the nibbles (kernels/common/tile.h); with groups and scales
 * their scales, bf16 [groups, 8]; if `offset` 16 times the zero points, int8 [groups or 1, 8];
 * armq_channels. Nibbles are two's complement and stand for 16 times their value. If `offset`, they
 * are unpacked to weight - zero point (or, if `eighths`, 8 times that) instead: with zero points,
 * since 16 times the difference does not fit in int8, and with groups so large that 16 times their
 * sums do not fit armq_groups.start. */
typedef struct {
    const armq_tile_set *set;
    int64_t n, k;
    int64_t k_steps; /* of set->k_step elements, the last one padded */
    int64_t panels;
    bool s4, word8; /* int4; as armq_weights has it: eight to an int32 */
    bool offset;
    bool eighths;       /* if offset: unpacked to 8 times the difference, which takes less */
    bool direct;        /* a single row tile may read the nibbles: 16 times the sums do fit */
    bool scaled;        /* weights have scales */
    int64_t group_size; /* 0: per channel */
    int64_t groups, group_steps;
    float group_start;      /* armq_groups.start for unpacked panels */
    size_t step_bytes;      /* of one k step in a B panel */
    size_t scales_offset;   /* of the groups' scales in a panel */
    size_t zeros_offset;    /* of the zero points */
    size_t channels_offset; /* of armq_channels in a panel */
    size_t panel_bytes;     /* a multiple of ARMQ_PACKED_ALIGN */
} armq_weight_layout;

enum { ARMQ_PACKED_ALIGN = 64 };

/* The weights of one expert: w13 (which = 0) or w2 (1); of a linear layer (0). False if the packed
 * matrix does not fit in memory that can be addressed. */
bool armq_weight_layout_init(armq_weight_layout *layout, const armq_tile_set *set,
                             const armq_desc *desc, int32_t which);

/* Writes all panels of the first matrix in `weights`, which has been checked. Missing scales and
 * biases are zeros. */
void armq_pack_weights(const armq_weight_layout *layout, const armq_desc *desc,
                       const armq_weights *weights, void *packed);

/* The same weights from the next matrix (expert) on. */
armq_weights armq_next_weights(const armq_weight_layout *layout, const armq_desc *desc,
                               const armq_weights *weights);

#endif
