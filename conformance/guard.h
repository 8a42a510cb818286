/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded memory: a buffer that ends (or starts) flush against an inaccessible page, with known
 * bytes in the rest of its pages, so that a byte read past it faults and a byte written past it
 * shows. */
#ifndef ARMQ_CONFORMANCE_GUARD_H
#define ARMQ_CONFORMANCE_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    GUARD_END = 0,   /* the last byte is followed by the inaccessible page */
    GUARD_START = 1, /* the first byte is preceded by it */
    GUARD_ODD = 2    /* neither: one alignment unit past a 64-byte boundary, canaries around */
} guard_side;

typedef struct {
    const char *name; /* operand name, static storage */
    void *data;       /* the buffer; never NULL while open */
    size_t bytes;
    size_t align;
    guard_side side;
    uint8_t *region; /* first accessible byte */
    size_t region_bytes;
    void *mapping;
    size_t mapping_bytes;
    int slot; /* among the open ones */
} guarded;

/* Maps room for `bytes` on every side, aligned to `align` bytes (a power of two), and places the
 * buffer. False: out of address space, or too many buffers open. With 0 bytes, data points to an
 * inaccessible page: any access faults. *g must not move until guard_close. */
bool guard_open(guarded *g, const char *name, size_t bytes, size_t align, guard_side side);
void guard_close(guarded *g);

/* Moves the buffer to another side; its content is not kept. Where an alignment leaves bytes
 * between the buffer and the inaccessible page, these hold canaries like the rest of the region. */
void guard_place(guarded *g, guard_side side);

/* Makes the buffer inaccessible, or accessible again with its content kept. */
void guard_hide(guarded *g, bool hidden);

/* Canaries around the buffer are as guard_place left them; else writes where the first differs, in
 * bytes relative to the start of the buffer, to *offset. */
bool guard_intact(const guarded *g, int64_t *offset);

/* Index of the first of `bytes` bytes that is not `value`, or `bytes`. */
size_t bytes_first_other(const uint8_t *p, size_t bytes, uint8_t value);

/* For signal handlers (async-signal-safe): says in words where `address` lies relative to an open
 * buffer; false if it is near none. */
bool guard_describe(uint64_t address, char *text, size_t bytes);

#endif
