/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that this process really takes, unlike its resident set: a page that is mapped many times
 * counts once, one that is shared with other processes in part. Under emulation it is that of the
 * emulator, with the program in it. */
#ifndef ARMQ_CONFORMANCE_FOOTPRINT_H
#define ARMQ_CONFORMANCE_FOOTPRINT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t pages;  /* bytes: proportional share of what is mapped, swapped out or not */
    int64_t tables; /* bytes of page tables, which also map what takes no memory */
} footprint;

/* From /proc/self/smaps_rollup and status. False: they cannot be read (Linux before 4.14). */
bool footprint_get(footprint *f);

static inline int64_t footprint_bytes(const footprint *f) { return f->pages + f->tables; }

#endif
