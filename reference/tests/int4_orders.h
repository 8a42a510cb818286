/* SPDX-License-Identifier: Apache-2.0 */
/* A row of quantised activations times a row of int4 weights as correct kernels compute it in f32:
 * in several orders of groups and factors, fused or not. Helper of the soaks. */
#ifndef ARMQ_REFERENCE_TESTS_INT4_ORDERS_H
#define ARMQ_REFERENCE_TESTS_INT4_ORDERS_H

#include <stdint.h>

enum { INT4_ORDERS = 10 };

/* q [k] with its zero point and scale; w [k]: weights less their zero points; scales [k / group],
 * or one if group = k and `channel`. bias is added in any case (0: none). */
typedef struct {
    const int8_t *q;
    float zero_point, s_x;
    const int8_t *w;
    const float *scales;
    int k, group;
    int channel; /* correction in integers, one scale */
    float bias;
} int4_row;

float int4_in_order(int order, const int4_row *row);

#endif
