/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes around the naive provider: what its calls do besides computing. */
#ifndef ARMQ_CONFORMANCE_FAULTS_PROVIDER_H
#define ARMQ_CONFORMANCE_FAULTS_PROVIDER_H

#include <stdbool.h>

#include "kernels/armq.h"

/* Reads and writes beyond a buffer, or to one that is not to be written, after a call of run (or of
 * pack) that was right. */
void fault_memory_run(const armq_desc *desc, const armq_support *support, const armq_args *args);
size_t fault_weight_row_bytes(const armq_desc *desc, int32_t which);
void fault_memory_pack(const armq_desc *desc, int32_t which, int64_t experts,
                       const armq_weights *weights, void *packed);

/* Whether what is invalid about a description, or about arguments, is what is not looked at. */
bool fault_accepts_desc(const armq_desc *desc);
bool fault_accepts_args(const armq_desc *desc, const armq_args *args);
bool fault_accepts_ids(const armq_desc *desc, const armq_args *args);

/* run with what is wrong about threads, rows and the workspace. */
armq_status fault_run(const armq_desc *desc, const void *plan, const armq_args *args);

#ifdef __aarch64__
/* fault_run, then a register of the caller's is changed (registers.S). */
armq_status fault_run_x19(const armq_desc *desc, const void *plan, const armq_args *args);
armq_status fault_run_x28(const armq_desc *desc, const void *plan, const armq_args *args);
armq_status fault_run_d8(const armq_desc *desc, const void *plan, const armq_args *args);
armq_status fault_run_d15(const armq_desc *desc, const void *plan, const armq_args *args);
armq_status fault_run_flush(const armq_desc *desc, const void *plan, const armq_args *args);
armq_status fault_run_sdot(const armq_desc *desc, const void *plan, const armq_args *args);
#endif

#endif
