/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/headroom.h"

#include <math.h>
#include <stdio.h>

double headroom_bytes(void) {
    char line[128];
    double bytes = (double)INFINITY;
    long long kibibytes;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lld kB", &kibibytes) == 1)
            bytes = 1024.0 * (double)kibibytes;
    if (file)
        fclose(file);
    return bytes;
}
