/* SPDX-License-Identifier: Apache-2.0 */
/* Zero points of int4 weights where tiles read the nibbles as they are: sum of q*(w - z) is sum of
 * q*w less z times the sum of q, which a row has once for all columns. */
#ifndef ARMQ_KERNELS_ZERO_POINTS_H
#define ARMQ_KERNELS_ZERO_POINTS_H

#include "kernels/common/weights.h"

/* Bytes that armq_panel_group_sums writes at most. */
size_t armq_group_sum_bytes(const armq_weight_layout *layout);

/* Sums of the A panel's rows over each group, as armq_groups.row_sums wants them. */
void armq_panel_group_sums(const armq_weight_layout *layout, const armq_tile *tile, const int8_t *a,
                           int16_t *sums);

/* Sums of the A panel's rows over all of K: [tile->rows]. */
void armq_panel_row_sums(const armq_weight_layout *layout, const armq_tile *tile, const int8_t *a,
                         int32_t *sums);

/* From 16 times the sums of q*w of one panel, [rows, ARMQ_TILE_COLUMNS], to those of q*(w - z), for
 * weights without groups. */
void armq_take_zero_points(const armq_weight_layout *layout, const char *panel,
                           const int32_t *row_sums, int32_t rows, int32_t *acc);

#endif
