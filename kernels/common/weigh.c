/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/weigh.h"

#include "kernels/common/convert.h"

enum { QUADS = ARMQ_SUM_STEP / 4 };

static size_t bytes_of(armq_dtype dtype) { return dtype == ARMQ_DTYPE_F32 ? 4 : 2; }

/* --- On the input ------------------------------------------------------------------------------
 */

INLINE float32x4_t weigh4(armq_dtype work, float32x4_t x, float weight) {
    x = armq_round4(work, armq_default_nan4(x));
    return armq_round4(work, armq_default_nan4(vmulq_n_f32(x, weight)));
}

void armq_weigh_row(armq_dtype in, armq_dtype work, const void *x, int64_t k, float weight,
                    float *out) {
    int64_t i = 0;
    for (; i + ARMQ_SUM_STEP <= k; i += ARMQ_SUM_STEP) {
        float32x4x4_t v = armq_load16(in, (const char *)x + (size_t)i * bytes_of(in));
        UNROLL for (int j = 0; j < QUADS; j++) {
            vst1q_f32(out + i + 4 * j, weigh4(work, v.val[j], weight));
        }
    }
    for (; i < k; i++)
        out[i] = vgetq_lane_f32(weigh4(work, vdupq_n_f32(armq_float_at(in, x, i)), weight), 0);
}

/* --- In the sum --------------------------------------------------------------------------------
 */

INLINE void add_rows(const armq_dtype round, const armq_dtype y2_dtype, const armq_sum *sum,
                     const int64_t *rows, int64_t count, const char *y2, float32x4x4_t *acc) {
    for (int64_t i = 0; i < count; i++) {
        const float weight = sum->weights[rows[i]];
        float32x4x4_t y = armq_load16(y2_dtype, y2 + (size_t)rows[i] * sum->y2_stride);
        UNROLL for (int j = 0; j < QUADS; j++) {
            if (round == ARMQ_DTYPE_F32) {
                acc->val[j] = vfmaq_n_f32(acc->val[j], y.val[j], weight);
            } else {
                float32x4_t term = armq_round4(round, vmulq_n_f32(y.val[j], weight));
                acc->val[j] = armq_round4(round, vaddq_f32(acc->val[j], term));
            }
        }
    }
}

static float32x4x4_t sum_step(const armq_sum *sum, const int64_t *rows, int64_t count,
                              int64_t column, int64_t columns) {
    float start[ARMQ_SUM_STEP] = {0};
    if (!sum->begins)
        memcpy(start, sum->carry + column, (size_t)columns * sizeof *start);
    float32x4x4_t acc = armq_load16(ARMQ_DTYPE_F32, start);
    const char *y2 = (const char *)sum->y2 + (size_t)column * bytes_of(sum->y2_dtype);
    /* The usual dialects have no dtypes to look at in the loop. */
    if (sum->round == ARMQ_DTYPE_F32 && sum->y2_dtype == ARMQ_DTYPE_F32)
        add_rows(ARMQ_DTYPE_F32, ARMQ_DTYPE_F32, sum, rows, count, y2, &acc);
    else if (sum->round == ARMQ_DTYPE_BF16 && sum->y2_dtype == ARMQ_DTYPE_BF16)
        add_rows(ARMQ_DTYPE_BF16, ARMQ_DTYPE_BF16, sum, rows, count, y2, &acc);
    else
        add_rows(sum->round, sum->y2_dtype, sum, rows, count, y2, &acc);
    return acc;
}

void armq_sum_rows(const armq_sum *sum, const int64_t *rows, int64_t count, int64_t columns,
                   void *y) {
    const armq_dtype out = sum->ends ? sum->out : ARMQ_DTYPE_F32;
    char *to = sum->ends ? y : sum->carry;
    for (int64_t column = 0; column < columns; column += ARMQ_SUM_STEP) {
        const int64_t left = columns - column;
        const int64_t step = left < ARMQ_SUM_STEP ? left : ARMQ_SUM_STEP;
        float32x4x4_t acc = sum_step(sum, rows, count, column, step);
        if (step == ARMQ_SUM_STEP) {
            armq_store16(out, to, acc);
        } else {
            float last[ARMQ_SUM_STEP];
            armq_store16(out, last, acc);
            memcpy(to, last, (size_t)step * bytes_of(out));
        }
        to += ARMQ_SUM_STEP * bytes_of(out);
    }
}
