/* SPDX-License-Identifier: Apache-2.0 */
/* What a tier does with each op: the provider functions of kernels/armq.h with the tier as context.
 */
#ifndef ARMQ_KERNELS_OPS_H
#define ARMQ_KERNELS_OPS_H

#include "kernels/registry.h"

armq_status armq_tier_query(const armq_tier *tier, const armq_desc *desc, armq_support *support);
armq_status armq_tier_pack(const armq_tier *tier, const armq_desc *desc, int32_t which,
                           int64_t first, int64_t last, const armq_weights *weights, void *packed);
armq_status armq_tier_run(const armq_tier *tier, const armq_desc *desc, const armq_args *args);

#endif
