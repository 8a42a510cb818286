/* SPDX-License-Identifier: Apache-2.0 */
/* int4 weights: into panels, and from panels to what tiles of many rows read. */
#ifndef ARMQ_KERNELS_WEIGHTS_S4_H
#define ARMQ_KERNELS_WEIGHTS_S4_H

#include "kernels/common/weights.h"

/* Bytes of a channel in armq_weights.w. */
size_t armq_s4_row_bytes(const armq_weight_layout *layout);

/* Channel n as column c of a panel of zeros: everything but the bias. */
void armq_pack_s4_channel(const armq_weight_layout *layout, const armq_weights *weights, int64_t n,
                          int64_t c, char *panel);

/* k steps [step, step + steps) of a panel as an int8 panel. Whole groups, if there are any. */
void armq_unpack_panel(const armq_weight_layout *layout, const char *panel, int64_t step,
                       int64_t steps, int8_t *out);

/* Floats that the scales of one group become for the tiles of int8 panels. */
int64_t armq_group_scale_count(const armq_weight_layout *layout);

/* The scales of groups [group, group + count) in the order that those tiles want. */
void armq_unpack_scales(const armq_weight_layout *layout, const char *panel, int64_t group,
                        int64_t count, float *out);

#endif
