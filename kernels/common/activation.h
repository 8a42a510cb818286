/* SPDX-License-Identifier: Apache-2.0 */
/* Gated activations: f(gate) * up, for silu, gelu, gelu_tanh and swigluoai, in Armv8.0
 * instructions.
 *
 * Error against the exact f, for every f32: below 1e-6*|f| + 4*2^-24*|gate| (8 for gelu_tanh),
 * times |up|; |up + 1| for swigluoai. Measured: reached is less than a third of that. Finite in,
 * finite out as long as the product with up is. Sigmoid is within [0, 1], exactly 0 below -87 and
 * exactly 1 above 18. NaN in gate or up: NaN, also where swigluoai clamps. gate = +inf: +inf * up;
 * swigluoai first clamps it to limit. gate = -inf: NaN (-inf * 0), for all four. */
#ifndef ARMQ_KERNELS_ACTIVATION_H
#define ARMQ_KERNELS_ACTIVATION_H

#include <stdbool.h>

#include "kernels/armq.h"

typedef struct {
    armq_activation kind;
    armq_gate_layout layout;
    float alpha, limit; /* swigluoai */
    armq_dtype in;      /* of gate and up */
    armq_dtype work;    /* both are rounded to it first; F32 for nothing to do */
    armq_dtype round;   /* swigluoai: after every operation; others: of the result */
    armq_dtype out;
    bool any_nan; /* input NaNs may have any payload; otherwise their low 16 bits, as f32, are 0 */
} armq_gate;

armq_gate armq_gate_for(const armq_dialect *dialect, armq_dtype in, armq_dtype out);

/* Elements [first, first + count) of a row: x [2*intermediate] in the gate's layout to
 * y [intermediate]. Reads and writes those elements only. */
void armq_activate(const armq_gate *gate, const void *x, int64_t intermediate, int64_t first,
                   int64_t count, void *y);

#endif
