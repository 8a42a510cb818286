/* SPDX-License-Identifier: Apache-2.0 */
/* A vector of an int4 panel to two of the int8 panel. */
#ifndef ARMQ_KERNELS_NIBBLES_H
#define ARMQ_KERNELS_NIBBLES_H

#include <arm_neon.h>

#include "kernels/common/inline.h"

/* Sixteen times the two's complement nibbles. */
INLINE int8x16_t armq_low_nibbles(int8x16_t packed) { return vshlq_n_s8(packed, 4); }

INLINE int8x16_t armq_high_nibbles(int8x16_t packed) { return vandq_s8(packed, vdupq_n_s8(-16)); }

#endif
