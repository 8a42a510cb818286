/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/content.h"

#include <stdio.h>

bool content_hash(const char *path, uint64_t *hash) {
    uint8_t bytes[16384];
    size_t got;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    *hash = UINT64_C(0xcbf29ce484222325);
    while ((got = fread(bytes, 1, sizeof bytes, file)) > 0)
        for (size_t i = 0; i < got; i++)
            *hash = (*hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    bool ok = !ferror(file);
    fclose(file);
    return ok;
}

/* An emulator that knows programs of its own opens the emulated one here. */
bool content_of_program(uint64_t *hash) { return content_hash("/proc/self/exe", hash); }
