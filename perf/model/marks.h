/* SPDX-License-Identifier: Apache-2.0 */
/* Marks: instructions that do nothing on any AArch64 CPU (a move to the zero register) and that the
 * counting plugin knows by their bits. They stand in functions of their own, so that the plugin can
 * leave the marks' own blocks out of what it counts. */
#ifndef ARMQ_MODEL_MARKS_H
#define ARMQ_MODEL_MARKS_H

#include <stdint.h>

enum {
    MARK_BEGIN = 0xa490,  /* counting starts, with what runs on the calling thread alone */
    MARK_END = 0xa491,    /* counting stops */
    MARK_REGION = 0xa492, /* what follows is shared by logical threads, which run one by one */
    MARK_THREAD = 0xa493, /* the next logical thread of the region */
    MARK_SERIAL = 0xa494, /* the region is over */
    MARK_FIRST = MARK_BEGIN,
    MARK_LAST = MARK_SERIAL
};

/* The encoding of `movz xzr, #payload`. */
static inline uint32_t mark_encoding(uint32_t payload) { return 0xd280001fu | payload << 5; }

#define MARK_FUNCTION(name, payload)                                                               \
    __attribute__((noinline, unused)) static void name(void) {                                     \
        __asm__ volatile("movz xzr, %0" : : "i"(payload) : "memory");                              \
    }

#endif
