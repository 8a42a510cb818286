/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of tiers: what each needs, and the tiles it multiplies with. */
#ifndef ARMQ_KERNELS_REGISTRY_H
#define ARMQ_KERNELS_REGISTRY_H

#include "kernels/common/tile.h"
#include "kernels/kernels.h"

typedef struct {
    const armq_provider *provider; /* named after the tier; required_features are the tiles' */
    const armq_tile_set *s8;       /* all ops but the baselines; NULL: refused */
    const armq_tile_set *bf16;     /* linear_bf16, moe_bf16; NULL: refused */
} armq_tier;

const armq_tier *armq_tiers(size_t *count);

#endif
