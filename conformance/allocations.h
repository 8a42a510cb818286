/* SPDX-License-Identifier: Apache-2.0 */
/* Counts heap allocations, by whatever library: this program's malloc and its like stand before
 * those of the C library. */
#ifndef ARMQ_CONFORMANCE_ALLOCATIONS_H
#define ARMQ_CONFORMANCE_ALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

/* False where another library has taken malloc already (sanitizers). */
bool allocations_are_counted(void);

/* Allocations so far, by all threads. */
int64_t allocations_count(void);

#endif
