/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __aarch64__
#include "perf/peaks/loops.h"

#include <arm_neon.h>

/* Eight times 1.0078125 and -0.99609375. */
static bfloat16x8_t operand(uint16_t bits) {
    bfloat16x8_t value = vreinterpretq_bf16_u16(vdupq_n_u16(bits));
    PEAK_HIDE(value);
    return value;
}

void peak_loop_bfdot(int64_t rounds) {
    const bfloat16x8_t a = operand(0x3f81), b = operand(0xbf7f);
    PEAK_LOOP(float32x4_t, vdupq_n_f32(0), vbfdotq_f32(sum[i], a, b));
}

void peak_loop_bfmmla(int64_t rounds) {
    const bfloat16x8_t a = operand(0x3f81), b = operand(0xbf7f);
    PEAK_LOOP(float32x4_t, vdupq_n_f32(0), vbfmmlaq_f32(sum[i], a, b));
}
#else
typedef int peaks_bf16_is_for_aarch64;
#endif
