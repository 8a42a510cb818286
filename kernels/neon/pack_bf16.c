/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/neon/pack_bf16.h"

#include "kernels/common/pack_bf16.h"

armq_row_quant armq_neon_pack_bf16(const armq_row_packer *packer, const void *x, int64_t k,
                                   void *out, size_t step_bytes) {
    return pack_bf16(ARMQ_TILE_F32, packer->in, x, k, out, step_bytes);
}
