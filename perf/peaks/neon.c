/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __aarch64__
#include "perf/peaks/loops.h"

#include <arm_neon.h>

void peak_loop_fmla(int64_t rounds) {
    float32x4_t a = vdupq_n_f32(1.0009765625F), b = vdupq_n_f32(-0.9990234375F);
    PEAK_HIDE(a);
    PEAK_HIDE(b);
    PEAK_LOOP(float32x4_t, vdupq_n_f32(0), vfmaq_f32(sum[i], a, b));
}

void peak_loop_smlal(int64_t rounds) {
    int8x8_t a = vdup_n_s8(0x5b), b = vdup_n_s8(0x35);
    PEAK_HIDE(a);
    PEAK_HIDE(b);
    PEAK_LOOP(int16x8_t, vdupq_n_s16(0), vmlal_s8(sum[i], a, b));
}

/* Assembly, because loads from C that nobody uses vanish, and uses would take pipes. */
void peak_loop_read(const uint8_t *from, int64_t bytes) {
    for (const uint8_t *end = from + bytes; from < end; from += PEAK_READ_STEP)
        __asm__ volatile("ldp q0, q1, [%0]\n\t"
                         "ldp q2, q3, [%0, #32]\n\t"
                         "ldp q4, q5, [%0, #64]\n\t"
                         "ldp q6, q7, [%0, #96]\n\t"
                         "ldp q16, q17, [%0, #128]\n\t"
                         "ldp q18, q19, [%0, #160]\n\t"
                         "ldp q20, q21, [%0, #192]\n\t"
                         "ldp q22, q23, [%0, #224]"
                         :
                         : "r"(from)
                         : "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17",
                           "v18", "v19", "v20", "v21", "v22", "v23");
}

void peak_loop_read_quarters(const uint8_t *from, int64_t bytes) {
    const int64_t quarter = bytes / 4;
    for (const uint8_t *end = from + quarter; from < end; from += PEAK_READ_STEP / 4)
        __asm__ volatile("ldp q0, q1, [%0]\n\t"
                         "ldp q2, q3, [%0, #32]\n\t"
                         "ldp q4, q5, [%1]\n\t"
                         "ldp q6, q7, [%1, #32]\n\t"
                         "ldp q16, q17, [%2]\n\t"
                         "ldp q18, q19, [%2, #32]\n\t"
                         "ldp q20, q21, [%3]\n\t"
                         "ldp q22, q23, [%3, #32]"
                         :
                         : "r"(from), "r"(from + quarter), "r"(from + 2 * quarter),
                           "r"(from + 3 * quarter)
                         : "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17",
                           "v18", "v19", "v20", "v21", "v22", "v23");
}
#else
typedef int peaks_neon_is_for_aarch64;
#endif
