/* SPDX-License-Identifier: Apache-2.0 */
/* Packed weights: B panels, each with what its output channels need after the multiply. */
#ifndef ARMQ_KERNELS_WEIGHTS_H
#define ARMQ_KERNELS_WEIGHTS_H

#include "kernels/armq.h"
#include "kernels/common/tile.h"

/* The end of a panel; zeros for the columns past N. A NaN among scales and biases is the default
 * NaN. */
typedef struct {
    float scale[ARMQ_TILE_COLUMNS];
    float bias[ARMQ_TILE_COLUMNS];
    int32_t sum[ARMQ_TILE_COLUMNS]; /* of the channel's weights over K */
} armq_channels;

/* One [n, k] weight matrix in panels of ARMQ_TILE_COLUMNS channels. */
typedef struct {
    const armq_tile_set *set;
    int64_t n, k;
    int64_t k_steps; /* of set->k_step elements, the last one padded */
    int64_t panels;
    size_t step_bytes;      /* of one k step in a B panel */
    size_t channels_offset; /* of armq_channels in a panel */
    size_t panel_bytes;     /* a multiple of ARMQ_PACKED_ALIGN */
} armq_weight_layout;

enum { ARMQ_PACKED_ALIGN = 64 };

/* False if the packed matrix does not fit in memory that can be addressed. n, k >= 0. */
bool armq_weight_layout_init(armq_weight_layout *layout, const armq_tile_set *set, int64_t n,
                             int64_t k);

/* Writes all panels: w [n, k] int8 or bf16 as the set's kind takes it, scales [n] f32 or NULL (then
 * 0), bias [n] of bias_dtype or NULL (then 0). */
void armq_pack_weights(const armq_weight_layout *layout, const void *w, const float *scales,
                       const void *bias, armq_dtype bias_dtype, void *packed);

#endif
