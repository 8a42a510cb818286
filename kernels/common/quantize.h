/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of activations into A panels: quantised to int8 per row, or copied. */
#ifndef ARMQ_KERNELS_QUANTIZE_H
#define ARMQ_KERNELS_QUANTIZE_H

#include "kernels/armq.h"
#include "kernels/common/tile.h"

/* For the A panels of `set`: its own if it has one; else quantises float rows by the dialect to
 * int8, or copies int8 rows. */
armq_row_packer armq_row_packer_for(const armq_tile_set *set, const armq_dialect *dialect,
                                    armq_dtype in);

/* Packs row `row` of a tile's A panel, as often as the tile wants it there. */
armq_row_quant armq_pack_tile_row(const armq_row_packer *packer, const armq_tile *tile, int32_t row,
                                  const void *x, int64_t k, void *panel);

/* Fills the rows of a tile's panel from `first` on with zeros. */
void armq_clear_tile_rows(const armq_row_packer *packer, const armq_tile *tile, int32_t first,
                          int64_t k_steps, void *panel);

/* One row to k dense int8: the op quantize. */
armq_row_quant armq_quantize_row(const armq_dialect *dialect, armq_dtype in, const void *x,
                                 int64_t k, int8_t *q);

#endif
