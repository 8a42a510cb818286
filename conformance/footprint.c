/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/footprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the line "KEY   N kB". */
static bool read_line(const char *line, const char *key, int64_t *bytes) {
    int64_t kibibytes;
    size_t length = strlen(key);
    if (strncmp(line, key, length) != 0 || sscanf(line + length, "%" SCNd64 " kB", &kibibytes) != 1)
        return false;
    *bytes = kibibytes * 1024;
    return true;
}

/* Opened once for all keys: each time the kernel walks every page. False: one is not there. */
static bool read_lines(const char *path, int count, const char *const *keys, int64_t *bytes) {
    char line[256];
    int found = 0;
    FILE *file = fopen(path, "re");
    while (file && found < count && fgets(line, sizeof line, file))
        for (int i = 0; i < count; i++)
            found += read_line(line, keys[i], &bytes[i]);
    if (file)
        fclose(file);
    return found == count;
}

bool footprint_get(footprint *f) {
    static const char *const pages[] = {"Pss:", "SwapPss:"}, *const tables[] = {"VmPTE:"};
    int64_t sizes[2] = {0};
    *f = (footprint){0};
    if (!read_lines("/proc/self/smaps_rollup", 2, pages, sizes) ||
        !read_lines("/proc/self/status", 1, tables, &f->tables))
        return false;
    f->pages = sizes[0] + sizes[1];
    return true;
}
