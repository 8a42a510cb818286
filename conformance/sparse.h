/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of many GiB in little memory: reserved address space whose pages are zero until something
 * else is written to them. What 32-bit arithmetic makes of an offset beyond 2^31 lands in the
 * region too, among zeros (or ids of -1) instead of the data. */
#ifndef ARMQ_CONFORMANCE_SPARSE_H
#define ARMQ_CONFORMANCE_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    SPARSE_ZEROS = 0,  /* read by the provider: pages that are only read cost nothing */
    SPARSE_IDS = 1,    /* all bytes 0xff: one piece of memory, mapped over and over */
    SPARSE_WRITTEN = 2 /* written by the provider: pages are given back when zeros were written */
} sparse_kind;

typedef struct {
    const char *name; /* operand name, static storage */
    uint8_t *data;    /* ends flush against an inaccessible page, but for its alignment */
    size_t bytes;
    uint8_t *mapping; /* NULL: closed */
    size_t mapping_bytes;
    uint8_t *region; /* what may be accessed: `below` bytes and more before data */
    size_t region_bytes;
    sparse_kind kind;
    int shared; /* file descriptor of SPARSE_IDS, else -1 */
} sparse;

/* Reserves `bytes` for data and at least `below` before it. align: a power of two. False: no
 * address space, or too many open regions. *s must not move until sparse_close. */
bool sparse_open(sparse *s, const char *name, sparse_kind kind, size_t bytes, size_t below,
                 size_t align);
void sparse_close(sparse *s);

/* Makes the pages of data[at, at+bytes) ordinary memory, to be filled by the caller. */
bool sparse_expose(sparse *s, size_t at, size_t bytes);

/* Makes all of a SPARSE_WRITTEN region accessible; from now on written pages stay. */
bool sparse_settle(sparse *s);

/* Calls f(arg) while SPARSE_WRITTEN regions give back what is zero. False: more than sparse_limit
 * bytes were not zero; f was left then, and *name is the region's. Not reentrant, and f must stay
 * on its thread. */
bool sparse_call(void (*f)(void *arg), void *arg, const char **name);

/* Bytes that all regions together may hold. */
extern const size_t sparse_limit;

#endif
