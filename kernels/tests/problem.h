/* SPDX-License-Identifier: Apache-2.0 */
/* Small problems for the kernel tests: memory that ends at an inaccessible page, data, and the same
 * op in plain C. */
#ifndef ARMQ_KERNELS_TESTS_PROBLEM_H
#define ARMQ_KERNELS_TESTS_PROBLEM_H

#include <stdbool.h>

#include "kernels/armq.h"

/* Bytes that end flush at an inaccessible page (up to `align`), filled with `fill`. Never freed: a
 * test program is short. NULL for 0 bytes. */
void *guarded(size_t bytes, size_t align, int fill);

uint32_t random_u32(uint64_t *state);

typedef struct {
    armq_desc desc;
    void *x;
    armq_weights weights;
    int64_t y_row;              /* outputs of a row */
    int64_t x_stride, y_stride; /* elements */
} problem;

typedef struct {
    const char *dialect;
    armq_op op;
    armq_dtype in, out;
    int64_t tokens, n, k;
    bool bias, strides;
    uint64_t features;
    int64_t l1; /* 0: unknown */
    int32_t max_threads;
    int64_t group_size; /* int4, and what follows */
    bool word8, zero_points;
    armq_quant quant; /* NONE: the dialect's */
} problem_spec;

/* Random data: x about normal size, rows of different size, all weight values incl. -128. */
problem problem_make(problem_spec spec);

/* Packs, runs with exactly the workspace that query asked for, and gives y [tokens, y_stride],
 * whose bytes are 0xA5 where nothing was written. Fails the test if the provider refuses. */
void *problem_run(const armq_provider *provider, const problem *p, const armq_threads *threads);

size_t problem_y_bytes(const problem *p);

/* One output of linear_w8a8, linear_w4a8 or a gemm as the dialect defines it, as bits in the output
 * dtype. With groups in the kernels' order: ascending, fused. */
uint32_t scalar_output(const problem *p, int64_t row, int64_t column);

/* linear_bf16: the exact result before its one rounding, and the sum of |terms|. */
double exact_bf16(const problem *p, int64_t row, int64_t column, double *magnitude);

/* Bits of output (row, column) of y. */
uint32_t output_bits(const problem *p, const void *y, int64_t row, int64_t column);

/* Runs jobs on one real thread with n logical ones, forwards or backwards, and counts what it saw.
 */
typedef struct {
    armq_threads threads;
    bool reverse;
    int64_t jobs_run;
    uint64_t indices_used; /* bit per thread index */
} serial_pool;

void serial_pool_init(serial_pool *pool, int32_t n, bool reverse);

#endif
