/* SPDX-License-Identifier: Apache-2.0 */
/* What stands before and after the tiles, as functions: rows of activations into A panels, and
 * accumulators into outputs. A tile set may bring its own where its tier has better instructions.
 */
#ifndef ARMQ_KERNELS_STAGES_H
#define ARMQ_KERNELS_STAGES_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/armq.h"

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

typedef struct armq_channels armq_channels; /* kernels/common/weights.h */

/* Accumulators [rows, ARMQ_TILE_COLUMNS] to rows of y, y_stride bytes apart, all
 * columns. int8, int4: y = f32(acc - zero_point*sum) * (row_scale * scale) [+ bias], one rounding
 * to the output dtype, or rounded before the bias as well; sums that are 16 times too large become
 * right in f32(). With groups: y = (acc - zero_point*scale) * row_scale [+ bias]. bf16: y = acc
 * [+ bias]. S32: y = acc.
 * row_scales and row_zeros belong to the first row; those that the variant does not use may be
 * NULL. */
typedef void armq_epilogue_fn(const void *acc, const armq_channels *channels,
                              const float *row_scales, const int32_t *row_zeros, int64_t rows,
                              void *y, size_t y_stride);

typedef enum {
    ARMQ_NO_BIAS,
    ARMQ_BIAS,
    ARMQ_ROUND_THEN_BIAS, /* rounded to the output dtype before the bias is added, and after it */
    ARMQ_BIAS_MODES
} armq_bias_mode;

#endif
