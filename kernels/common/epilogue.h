/* SPDX-License-Identifier: Apache-2.0 */
/* From accumulators to outputs: the one place where integers become real numbers, on every tier. */
#ifndef ARMQ_KERNELS_EPILOGUE_H
#define ARMQ_KERNELS_EPILOGUE_H

#include "kernels/armq.h"
#include "kernels/common/weights.h"

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

typedef struct {
    armq_epilogue_fn *run;
    size_t out_bytes; /* of one output */
} armq_epilogue;

/* round_first: round to `out` before the bias is added (armq_dialect.linear_round_before_bias). */
armq_epilogue armq_epilogue_for(const armq_weight_layout *layout, armq_dtype out, bool zero_points,
                                bool bias, bool round_first);

/* Runs it for the first `columns` columns only; nothing is written beyond them. */
void armq_epilogue_columns(const armq_epilogue *epilogue, const void *acc,
                           const armq_channels *channels, const float *row_scales,
                           const int32_t *row_zeros, int64_t rows, int64_t columns, void *y,
                           size_t y_stride);

#endif
