/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __aarch64__
#include "perf/peaks/loops.h"

#include <arm_neon.h>

void peak_loop_sdot(int64_t rounds) {
    int8x16_t a = vdupq_n_s8(0x5b), b = vdupq_n_s8(0x35);
    PEAK_HIDE(a);
    PEAK_HIDE(b);
    PEAK_LOOP(int32x4_t, vdupq_n_s32(0), vdotq_s32(sum[i], a, b));
}
#else
typedef int peaks_dotprod_is_for_aarch64;
#endif
