/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a provider's run with known values in every register that AAPCS64 says it must preserve,
 * and reads them back. AArch64 only. */
#ifndef ARMQ_CONFORMANCE_CALL_H
#define ARMQ_CONFORMANCE_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/armq.h"

/* Layout known to the assembly of call.c. */
typedef struct {
    uint64_t x[10];   /* x19 .. x28 */
    uint64_t d[8];    /* d8 .. d15: the lower halves of v8 .. v15 */
    uint64_t sp, x29; /* stack and frame pointer */
    uint64_t fpcr;
} call_registers;

/* False on machines where registers cannot be checked. */
bool call_checks_registers(void);

/* run(desc, plan, args); *before is what the registers held at the call, *after at the return. */
armq_status call_run(const armq_provider *provider, const armq_desc *desc, const void *plan,
                     const armq_args *args, call_registers *before, call_registers *after);

/* The same for who does not look: the harness keeps its registers, whatever the provider does to
 * them, and lives to report it (check registers). FPCR stays as the provider leaves it. Any number
 * of threads may call. */
armq_status call_run_safely(const armq_provider *provider, const armq_desc *desc, const void *plan,
                            const armq_args *args);

#endif
