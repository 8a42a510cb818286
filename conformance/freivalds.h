/* SPDX-License-Identifier: Apache-2.0 */
/* Freivalds' check of an integer matrix product: y r = x (w^T r) for random vectors r, modulo the
 * prime 2^61 - 1. O(tokens*n + n*k + tokens*k) instead of O(tokens*n*k), and it shares nothing with
 * the reference. A wrong row passes one vector with probability at most 2^-60.
 * R. Freivalds, "Probabilistic machines can use less running time", 1977. */
#ifndef ARMQ_CONFORMANCE_FREIVALDS_H
#define ARMQ_CONFORMANCE_FREIVALDS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const int8_t *x; /* [tokens, k], rows x_stride elements apart */
    int64_t x_stride;
    const int8_t *w;  /* [n, k] */
    const int32_t *y; /* [tokens, n, groups]: sums over each group of k/groups elements */
    int64_t tokens, n, k, groups; /* groups >= 1 divides k */
} freivalds_product;

typedef enum {
    FREIVALDS_EQUAL = 0,
    FREIVALDS_DIFFERENT = 1, /* *row is the first row of y that is wrong */
    FREIVALDS_NO_MEMORY = 2
} freivalds_verdict;

/* y = x w^T, as true integers? Every group has random numbers of its own, so that errors of groups
 * cannot cancel. */
freivalds_verdict freivalds_check(const freivalds_product *p, uint64_t seed, int32_t vectors,
                                  int64_t *row);

#endif
