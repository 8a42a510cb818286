/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles for weights with a scale per group, for the table of tiles. */
#ifndef ARMQ_KERNELS_NEON_GROUPS_S8_H
#define ARMQ_KERNELS_NEON_GROUPS_S8_H

#include "kernels/common/tile.h"

#define ARMQ_GROUP_TILES(name)                                                                     \
    armq_group_tile_fn armq_neon_##name##_groups, armq_neon_##name##_groups_s4
ARMQ_GROUP_TILES(smull_4x8);
ARMQ_GROUP_TILES(smull_3x8);
ARMQ_GROUP_TILES(smull_2x8);
ARMQ_GROUP_TILES(smull_1x8);
#undef ARMQ_GROUP_TILES

#endif
