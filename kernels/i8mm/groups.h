/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles for weights with a scale per group, for the table of tiles. */
#ifndef ARMQ_KERNELS_I8MM_GROUPS_H
#define ARMQ_KERNELS_I8MM_GROUPS_H

#include "kernels/common/tile.h"

#define ARMQ_GROUP_TILES(name)                                                                     \
    armq_group_tile_fn armq_i8mm_##name##_groups, armq_i8mm_##name##_groups_s4
ARMQ_GROUP_TILES(smmla_8x8);
ARMQ_GROUP_TILES(smmla_6x8);
ARMQ_GROUP_TILES(smmla_4x8);
ARMQ_GROUP_TILES(smmla_2x8);
ARMQ_GROUP_TILES(sdot_1x8);
armq_group_tile_fn armq_i8mm_smmla_4x16_groups_s4, armq_i8mm_smmla_2x32_groups_s4,
    armq_i8mm_sdot_1x32_groups_s4;
#undef ARMQ_GROUP_TILES

#endif
