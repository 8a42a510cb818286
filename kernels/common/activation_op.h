/* SPDX-License-Identifier: Apache-2.0 */
/* The op activation: x [tokens, 2*intermediate] -> y [tokens, intermediate], element by element. */
#ifndef ARMQ_KERNELS_ACTIVATION_OP_H
#define ARMQ_KERNELS_ACTIVATION_OP_H

#include "kernels/armq.h"

/* Fills in kernel and tile. No workspace. */
void armq_activation_op_query(armq_support *support);

/* desc and args have been checked. */
void armq_activation_op_run(const armq_desc *desc, const armq_args *args);

#endif
