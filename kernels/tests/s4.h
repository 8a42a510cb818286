/* SPDX-License-Identifier: Apache-2.0 */
/* int4 weights for the kernel tests: random ones as checkpoints store them, and single values read
 * back nibble by nibble. */
#ifndef ARMQ_KERNELS_TESTS_S4_H
#define ARMQ_KERNELS_TESTS_S4_H

#include "kernels/armq.h"

/* w, scales and zero points of `rows` channels of k elements, as desc says; each array ends at an
 * inaccessible page. All sixteen values occur, unused nibbles are not zero, neighbouring groups'
 * scales differ by 2 and more. `unit`: of the scales. */
void s4_fill(const armq_desc *desc, armq_weights *weights, int64_t rows, int64_t k, double unit,
             uint64_t *state);

/* Weight less zero point: within [-15, 15]. */
int32_t s4_value(const armq_desc *desc, const armq_weights *weights, int64_t k, int64_t row,
                 int64_t i);

/* Sets the weight itself. */
void s4_set(const armq_desc *desc, const armq_weights *weights, int64_t k, int64_t row, int64_t i,
            int32_t value);

/* Scale of element i. */
float s4_scale(const armq_desc *desc, const armq_weights *weights, int64_t k, int64_t row,
               int64_t i);

/* Bytes of a row of w. */
int64_t s4_row_bytes(const armq_desc *desc, int64_t k);

#endif
