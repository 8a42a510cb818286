/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for the f32 fallback of the bf16 baseline: rounded to bf16, and widened again. */
#ifndef ARMQ_KERNELS_NEON_PACK_BF16_H
#define ARMQ_KERNELS_NEON_PACK_BF16_H

#include "kernels/common/stages.h"

armq_pack_row_fn armq_neon_pack_bf16;

#endif
