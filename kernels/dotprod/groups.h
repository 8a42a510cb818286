/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles for weights with a scale per group, for the table of tiles. */
#ifndef ARMQ_KERNELS_DOTPROD_GROUPS_H
#define ARMQ_KERNELS_DOTPROD_GROUPS_H

#include "kernels/common/tile.h"

#define ARMQ_GROUP_TILES(name)                                                                     \
    armq_group_tile_fn armq_dotprod_##name##_groups, armq_dotprod_##name##_groups_s4
ARMQ_GROUP_TILES(sdot_8x8);
ARMQ_GROUP_TILES(sdot_6x8);
ARMQ_GROUP_TILES(sdot_4x8);
ARMQ_GROUP_TILES(sdot_2x8);
ARMQ_GROUP_TILES(sdot_1x8);
armq_group_tile_fn armq_dotprod_sdot_4x16_groups_s4, armq_dotprod_sdot_2x32_groups_s4,
    armq_dotprod_sdot_1x32_groups_s4;
#undef ARMQ_GROUP_TILES

#endif
