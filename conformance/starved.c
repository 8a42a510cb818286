/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/starved.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

/* The second of its numbers: time on the run queue. */
static int64_t waited(pid_t pid, const char *thread) {
    char path[320];
    int64_t ran = 0, ready = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)pid, thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%" SCNd64 " %" SCNd64, &ran, &ready) != 2)
        ready = 0;
    fclose(file);
    return ready;
}

int64_t starved_ns(pid_t pid) {
    char path[64];
    int64_t sum = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (!threads)
        return 0;
    for (const struct dirent *entry; (entry = readdir(threads));)
        if (entry->d_name[0] != '.')
            sum += waited(pid, entry->d_name);
    closedir(threads);
    return sum;
}
