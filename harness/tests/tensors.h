/* SPDX-License-Identifier: Apache-2.0 */
/* A case with all its inputs, for tests of the generator. */
#ifndef ARMQ_HARNESS_TESTS_TENSORS_H
#define ARMQ_HARNESS_TESTS_TENSORS_H

#include "harness/operands.h"

typedef struct {
    armq_case c;
    operand_shape shapes[OPERAND_COUNT];
    operands data;
} tensors;

armq_case parse(const char *text);

/* Generates every input; fails the test if that is not possible. Free with drop. */
tensors *make(const char *text);
void drop(tensors *t);

/* One element as a double; of int4 weights the one in a nibble. */
double at(const tensors *t, operand_id id, int64_t row, int64_t column);

/* What a weight stands for: w, or (w - zero point) * scale. id: OPERAND_W or OPERAND_W2. */
double real_weight(const tensors *t, operand_id id, int64_t expert, int64_t n, int64_t k);

#endif
