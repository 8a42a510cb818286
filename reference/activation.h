/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the reference: activation(gate) * up. Bounds: reference/README.md, "Activations". */
#ifndef ARMQ_REFERENCE_ACTIVATION_H
#define ARMQ_REFERENCE_ACTIVATION_H

#include "reference/reference.h"

/* The gated activation, every rounding that the dialect declares (activation_round) included, but
 * not the one to the intermediate or output dtype. */
ref_interval ref_activate(const armq_dialect *dialect, ref_interval gate, ref_interval up);

/* The same function in double, without any rounding. */
double ref_activate_exact(const armq_dialect *dialect, double gate, double up);

/* Where gate and up of element i stand in a row of 2 * intermediate. */
int64_t ref_gate_at(const armq_dialect *dialect, int64_t intermediate, int64_t i);
int64_t ref_up_at(const armq_dialect *dialect, int64_t intermediate, int64_t i);

#endif
