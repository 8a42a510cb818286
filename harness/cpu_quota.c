/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/cpu_quota.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_line(const char *directory, const char *name, char *line, int bytes) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return false;
    FILE *in = fopen(path, "re");
    if (!in)
        return false;
    bool ok = fgets(line, bytes, in) != NULL;
    fclose(in);
    return ok;
}

/* "max 100000" or "150000 100000"; v1 has two files and -1 for no quota. */
static int64_t quota_of_directory(const char *directory) {
    char line[128], period_line[128];
    char *rest;
    int64_t quota, period;
    if (read_line(directory, "cpu.max", line, sizeof line)) {
        quota = strtoll(line, &rest, 10);
        period = strtoll(rest, NULL, 10);
    } else if (read_line(directory, "cpu.cfs_quota_us", line, sizeof line) &&
               read_line(directory, "cpu.cfs_period_us", period_line, sizeof period_line)) {
        quota = strtoll(line, NULL, 10);
        period = strtoll(period_line, NULL, 10);
    } else {
        return 0;
    }
    if (quota <= 0 || period <= 0)
        return 0;
    const double thousandths = 1e3 * (double)quota / (double)period;
    return thousandths < 1 ? 1 : thousandths < 1e12 ? (int64_t)thousandths : 0;
}

static void tighten(int64_t *quota, int64_t other) {
    if (other > 0 && (*quota == 0 || other < *quota))
        *quota = other;
}

/* The group's directory and all above it, up to the mount; in a container the group's path may not
 * be visible, and the mount itself is the group. */
static void tighten_up(int64_t *quota, const char *mount, const char *group) {
    char path[PATH_MAX];
    size_t root = strlen(mount);
    if (snprintf(path, sizeof path, "%s%s", mount, group) >= (int)sizeof path)
        return;
    for (;;) {
        tighten(quota, quota_of_directory(path));
        if (strlen(path) <= root)
            return;
        char *slash = strrchr(path, '/');
        *(slash < path + root ? path + root : slash) = '\0';
    }
}

/* Whether `name` is one of the comma-separated controllers. */
static bool has_controller(const char *controllers, const char *name) {
    size_t length = strlen(name);
    for (const char *at = controllers; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0)
            return true;
    return false;
}

/* One line of /proc/self/cgroup: id:controllers:path. v2 has no controllers. */
static void tighten_line(int64_t *quota, char *line, const char *mount) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return;
    *group++ = '\0';
    controllers++;
    if (*controllers && !has_controller(controllers, "cpu"))
        return;
    /* v2: at the mount, or beside v1; v1: under the names of its controllers, or under "cpu". */
    const char *const below[2] = {*controllers ? controllers : ".",
                                  *controllers ? "cpu" : "unified"};
    for (int i = 0; i < 2; i++) {
        char directory[PATH_MAX];
        if (snprintf(directory, sizeof directory, "%s/%s", mount, below[i]) < (int)sizeof directory)
            tighten_up(quota, directory, group);
    }
}

int64_t cpu_quota_thousandths(const char *membership_file, const char *mount) {
    FILE *in = fopen(membership_file, "re");
    if (!in)
        return 0;
    int64_t quota = 0;
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, in) >= 0)
        tighten_line(&quota, line, mount);
    free(line);
    fclose(in);
    return quota;
}

int32_t cpu_quota(const char *membership_file, const char *mount) {
    const int64_t thousandths = cpu_quota_thousandths(membership_file, mount);
    const int64_t whole = thousandths / 1000;
    if (thousandths == 0 || whole > INT32_MAX)
        return 0;
    return whole < 1 ? 1 : (int32_t)whole;
}

int32_t cpu_affinity(void) {
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        if (!set)
            return 1;
        size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
        bool ok = sched_getaffinity(0, bytes, set) == 0;
        bool too_small = !ok && errno == EINVAL;
        int count = ok ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return count;
        if (!too_small)
            return 1;
    }
    return 1;
}
