/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/footprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Adds the kB of a line "KEY   N kB" of a file to *bytes. */
static bool add_line(const char *path, const char *key, int64_t *bytes) {
    char line[256];
    size_t length = strlen(key);
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        int64_t kibibytes;
        found = strncmp(line, key, length) == 0 &&
                sscanf(line + length, "%" SCNd64 " kB", &kibibytes) == 1;
        if (found)
            *bytes += kibibytes * 1024;
    }
    if (file)
        fclose(file);
    return found;
}

bool footprint_get(footprint *f) {
    static const char pages[] = "/proc/self/smaps_rollup";
    *f = (footprint){0};
    return add_line(pages, "Pss:", &f->pages) && add_line(pages, "SwapPss:", &f->pages) &&
           add_line("/proc/self/status", "VmPTE:", &f->tables);
}
