/* SPDX-License-Identifier: Apache-2.0 */
/* Which build of a program or a library this is: by what the file holds. */
#ifndef ARMQ_CONFORMANCE_CONTENT_H
#define ARMQ_CONFORMANCE_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

/* FNV-1a (64 bit) of the bytes of a file; false: it cannot be read. */
bool content_hash(const char *path, uint64_t *hash);

/* The same of the running program. */
bool content_of_program(uint64_t *hash);

#endif
