/* SPDX-License-Identifier: Apache-2.0 */
/* The op quantize: the quantiser that the linear ops fuse with packing, on its own. */
#ifndef ARMQ_KERNELS_QUANTIZE_OP_H
#define ARMQ_KERNELS_QUANTIZE_OP_H

#include "kernels/armq.h"

void armq_quantize_op_query(armq_support *support);

/* desc and args have been checked. */
void armq_quantize_op_run(const armq_desc *desc, const armq_args *args);

#endif
