/* SPDX-License-Identifier: Apache-2.0 */
/* The optimised kernels, as providers. AArch64 only. */
#ifndef ARMQ_KERNELS_H
#define ARMQ_KERNELS_H

#include "kernels/armq.h"

/* All tiers, whether or not this CPU has their features: query refuses where it does not. */
const armq_provider *const *armq_builtin_providers(size_t *count);

#endif
