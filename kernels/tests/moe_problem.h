/* SPDX-License-Identifier: Apache-2.0 */
/* Small mixtures of experts for the kernel tests, and the same op in plain C. */
#ifndef ARMQ_KERNELS_TESTS_MOE_PROBLEM_H
#define ARMQ_KERNELS_TESTS_MOE_PROBLEM_H

#include <stdbool.h>

#include "kernels/armq.h"

typedef struct {
    armq_desc desc;
    void *x;
    int32_t *ids;
    float *router;
    armq_weights w13, w2;
    int64_t x_stride, y_stride; /* elements */
} moe_problem;

typedef struct {
    armq_op op; /* MOE_W8A8, MOE_W4A8 or MOE_BF16 */
    const char *dialect;
    armq_activation activation;
    armq_dtype dtype, bias; /* bias NONE: no biases */
    int64_t tokens, hidden, intermediate, experts, top_k;
    uint32_t uses; /* SKIP_IDS, X_STRIDE, Y_STRIDE, WEIGHT_ON_INPUT, NO_ROUTER_WEIGHT */
    int32_t max_threads;
    int64_t group_size; /* int4, and what follows */
    bool word8, zero_points;
} moe_spec;

/* Random data; with SKIP_IDS every third slot is skipped. All arrays may be changed afterwards. */
moe_problem moe_make(moe_spec spec);

/* Packs one or two experts at a time, runs with exactly the workspace that query asked for, filled
 * with garbage, and gives y [tokens, y_stride], whose bytes are 0xA5 where nothing was written.
 * Fails the test if the provider refuses. */
void *moe_run(const armq_provider *provider, const moe_problem *p, const armq_threads *threads);

/* The status of a run, y being left at y_fill (of the size of the output). */
armq_status moe_try(const armq_provider *provider, const moe_problem *p,
                    const armq_threads *threads, void *y);

size_t moe_y_bytes(const moe_problem *p);

/* y [hidden] of one token, before the last rounding, the activations by libm; and for each element
 * how much it moves if a second-stage integer is off by one. */
void moe_scalar(const moe_problem *p, int64_t token, double *y, double *step);

/* Runs the problem and compares with moe_scalar. An activation that is off in its last bit may move
 * a second-stage integer by one: every element is within a few such steps, and nearly all are
 * within roundings. */
void moe_compare(const armq_provider *provider, const moe_problem *p);

#endif
