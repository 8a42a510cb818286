/* SPDX-License-Identifier: Apache-2.0 */
/* From accumulators to outputs: the one place where integers become real numbers, on every tier. */
#ifndef ARMQ_KERNELS_EPILOGUE_H
#define ARMQ_KERNELS_EPILOGUE_H

#include "kernels/armq.h"
#include "kernels/common/weights.h"

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
