/* SPDX-License-Identifier: Apache-2.0 */
/* Before and after the tiles of the bf16 baseline, with BFCVTN: a baseline that converts in five
 * instructions where the CPU has one would flatter the int8 kernels. */
#ifndef ARMQ_KERNELS_BF16_STAGES_H
#define ARMQ_KERNELS_BF16_STAGES_H

#include "kernels/common/stages.h"

armq_pack_row_fn armq_bf16_pack_row;

extern armq_epilogue_fn *const armq_bf16_to_bf16[ARMQ_BIAS_MODES];

#endif
