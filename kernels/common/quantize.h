/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of activations into A panels: quantised to int8 per row, copied, or converted to bf16 or
 * f32. */
#ifndef ARMQ_KERNELS_QUANTIZE_H
#define ARMQ_KERNELS_QUANTIZE_H

#include "kernels/armq.h"
#include "kernels/common/tile.h"

typedef struct {
    float scale; /* NaN for a row with NaN, Inf or an overflowing range; 1 if not quantised */
    int32_t zero_point; /* 0 if symmetric */
} armq_row_quant;

typedef struct armq_row_packer armq_row_packer;

/* Packs the k elements at x into one row of a panel: k step i goes to out + i * step_bytes, the
 * last one filled up. x is read exactly, no byte before or after it. */
typedef armq_row_quant armq_pack_row_fn(const armq_row_packer *packer, const void *x, int64_t k,
                                        void *out, size_t step_bytes);

struct armq_row_packer {
    armq_pack_row_fn *run;
    armq_dialect dialect;
    armq_dtype in;
    int32_t k_step;     /* 4, 8 or 16 for int8; 4 for bf16; 1 for f32 */
    size_t group_bytes; /* k_step elements in the panel */
};

/* For the A panels of `set`: quantises float rows by the dialect to int8, copies int8 rows, or
 * rounds rows to the dialect's working dtype for the bf16 baseline, by the kind of set and `in`. */
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
