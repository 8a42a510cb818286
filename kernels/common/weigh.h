/* SPDX-License-Identifier: Apache-2.0 */
/* Router weights: on the input row, or in the sum over a token's slots. */
#ifndef ARMQ_KERNELS_WEIGH_H
#define ARMQ_KERNELS_WEIGH_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/armq.h"

/* out[k] = RN_work(RN_work(x) * weight), the product in f32. in, work: F32, BF16, F16. */
void armq_weigh_row(armq_dtype in, armq_dtype work, const void *x, int64_t k, float weight,
                    float *out);

enum { ARMQ_SUM_STEP = 16 };

/* The sum over one token's rows of y2, for some columns. */
typedef struct {
    const void *y2; /* rows y2_stride bytes apart; may be read up to a multiple of
                       ARMQ_SUM_STEP columns */
    size_t y2_stride;
    armq_dtype y2_dtype;
    const float *weights; /* of the rows of y2 */
    armq_dtype round;     /* each product and each sum is rounded to it; F32: fused in f32 */
    armq_dtype out;
    float *carry;      /* [columns] the sum between blocks of the same token, or NULL */
    bool begins, ends; /* sum from 0 or from carry; to out or to carry */
} armq_sum;

/* y[columns] = sum over i < count of y2[rows[i]] * weights[rows[i]], in this order, rounded once to
 * out. */
void armq_sum_rows(const armq_sum *sum, const int64_t *rows, int64_t count, int64_t columns,
                   void *y);

#endif
