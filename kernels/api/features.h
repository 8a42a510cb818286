/* SPDX-License-Identifier: Apache-2.0 */
/* CPU features from the kernel's HWCAP words, never from the CPU's name. */
#ifndef ARMQ_API_FEATURES_H
#define ARMQ_API_FEATURES_H

#include <stdint.h>

#include "kernels/armq.h"

/* ARMQ_FEATURE_* of AT_HWCAP and AT_HWCAP2 as an AArch64 Linux kernel reports them. */
uint64_t armq_features_from_hwcap(unsigned long hwcap, unsigned long hwcap2);

/* Features of this machine; 0 on one that is not AArch64. */
uint64_t armq_features(void);

/* Name of a single feature bit ("dotprod"), NULL if it is none. */
const char *armq_feature_name(uint64_t feature);

#endif
