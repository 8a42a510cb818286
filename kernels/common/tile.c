/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/tile.h"

const armq_tile *armq_tile_for(const armq_tile_set *set, int64_t rows, int64_t panels) {
    const armq_tile *best = &set->tiles[0];
    for (int i = 1; i < ARMQ_TILES_MAX && set->tiles[i].run; i++) {
        const armq_tile *tile = &set->tiles[i];
        if (tile->rows >= rows && tile->rows < best->rows && tile->panels <= panels)
            best = tile;
    }
    return best;
}

size_t armq_tile_a_bytes(armq_tile_kind kind) {
    return kind == ARMQ_TILE_S8 ? 1 : kind == ARMQ_TILE_BF16 ? 2 : 4;
}
