/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/bf16/stages.h"

#include "kernels/common/epilogue_rows.h"
#include "kernels/common/pack_bf16.h"

armq_row_quant armq_bf16_pack_row(const armq_row_packer *packer, const void *x, int64_t k,
                                  void *out, size_t step_bytes) {
    return pack_bf16(ARMQ_TILE_BF16, packer->in, x, k, out, step_bytes);
}

/* Rows of a turn of the loop: it is so short that its counting would show. */
enum { ROWS = 4 };

#define TO_BF16(name, bias)                                                                        \
    static void name(const void *acc, const armq_channels *channels, const float *row_scales,      \
                     const int32_t *row_zeros, int64_t rows, void *y, size_t y_stride) {           \
        epilogue_rows(ROWS, FLOATS, bias, ARMQ_DTYPE_BF16, acc, channels, row_scales, row_zeros,   \
                      rows, y, y_stride);                                                          \
    }

TO_BF16(to_bf16, ARMQ_NO_BIAS)
TO_BF16(add_bias_to_bf16, ARMQ_BIAS)
TO_BF16(round_add_bias_to_bf16, ARMQ_ROUND_THEN_BIAS)

armq_epilogue_fn *const armq_bf16_to_bf16[ARMQ_BIAS_MODES] = {
    [ARMQ_NO_BIAS] = to_bf16,
    [ARMQ_BIAS] = add_bias_to_bf16,
    [ARMQ_ROUND_THEN_BIAS] = round_add_bias_to_bf16,
};
