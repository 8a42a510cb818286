/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded memory: a buffer that ends (or starts) flush against an inaccessible page, with known
 * bytes in the rest of its pages, so that a byte read past it faults and a byte written past it
 * shows. */
#ifndef ARMQ_CONFORMANCE_GUARD_H
#define ARMQ_CONFORMANCE_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { GUARD_END = 0, GUARD_START = 1 } guard_side;

typedef struct {
    const char *name; /* operand name, static storage */
    void *data;       /* the buffer; NULL if bytes is 0 and nothing was asked for */
    size_t bytes;
    size_t align;
    guard_side side;
    uint8_t *region; /* first accessible byte */
    size_t region_bytes;
    void *mapping;
    size_t mapping_bytes;
} guarded;

/* Reserves room for `bytes` at either side. False: out of address space. With 0 bytes, data points
 * to the inaccessible page: any access faults. */
bool guard_open(guarded *g, const char *name, size_t bytes, size_t align, guard_side side);
void guard_close(guarded *g);

/* Moves the buffer to the other side; its content is not kept. With an alignment above the element
 * the last bytes before the page can be slack: then they hold canaries. */
void guard_place(guarded *g, guard_side side);

/* Canaries around the buffer are as guard_place left them; else writes where the first differs
 * (bytes before the start are negative) to *offset. */
bool guard_intact(const guarded *g, int64_t *offset);

/* For signal handlers (async-signal-safe): says in words where `address` lies relative to an open
 * buffer; false if it is near none. */
bool guard_describe(uint64_t address, char *text, size_t bytes);

#endif
