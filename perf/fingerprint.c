/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/fingerprint.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "harness/cpu_quota.h"

enum { TEXT_MAX = 512 };

/* First line of the file with that prefix, without prefix and white space at both ends. */
static bool read_text(char text[TEXT_MAX], const char *prefix, const char *format, ...) {
    char path[PATH_MAX], line[TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(path, sizeof path, format, args);
    va_end(args);
    FILE *in = fopen(path, "re");
    bool found = false;
    while (in != NULL && !found && fgets(line, sizeof line, in) != NULL) {
        if (strncmp(line, prefix, strlen(prefix)) != 0)
            continue;
        const char *at = line + strlen(prefix);
        at += strspn(at, " \t:");
        snprintf(text, TEXT_MAX, "%.*s", (int)strcspn(at, "\n"), at);
        found = text[0] != '\0';
    }
    if (in != NULL)
        fclose(in);
    return found;
}

static void add(json_t *all, const char *key, const char *text) {
    json_object_set_new(all, key, json_string(text));
}

static void add_hwcap(json_t *all, const char *key, unsigned long type) {
    char text[32];
    snprintf(text, sizeof text, "0x%lx", getauxval(type));
    add(all, key, text);
}

static void add_kinds(json_t *all, const core_list *cores) {
    char text[TEXT_MAX] = "";
    for (int32_t k = 0; k < cores->kind_count; k++) {
        const core_kind *kind = &cores->kinds[k];
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used,
                 "%s%" PRId32 " x MIDR 0x%08" PRIx64 " capacity %" PRId64
                 " processors %s last-level %" PRId64,
                 k > 0 ? "; " : "", kind->count, kind->midr, kind->capacity, kind->cpus, kind->llc);
    }
    add(all, "core_kinds", text);
}

/* Each governor once. */
static void add_governor(json_t *all, const core_list *cores, const char *root) {
    char text[TEXT_MAX] = "", one[TEXT_MAX];
    for (int32_t i = 0; i < cores->count; i++) {
        if (!read_text(one, "", "%s/sys/devices/system/cpu/cpu%" PRId32 "/cpufreq/scaling_governor",
                       root, cores->cpus[i]))
            snprintf(one, sizeof one, "unknown");
        const size_t used = strlen(text);
        if (strstr(text, one) == NULL)
            snprintf(text + used, sizeof text - used, "%s%.60s", used > 0 ? ", " : "", one);
    }
    add(all, "governor", text);
}

/* The group's own file, or of the nearest group above that has one. */
static bool read_cpuset_up(char text[TEXT_MAX], const char *mount, char *group, const char *name) {
    for (;;) {
        if (read_text(text, "", "%s%s/%s", mount, group, name))
            return true;
        char *slash = strrchr(group, '/');
        if (slash == NULL)
            return false;
        *slash = '\0';
    }
}

static bool read_cpuset(char text[TEXT_MAX], const char *root) {
    char mount[PATH_MAX], group[TEXT_MAX];
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
    if (read_text(group, "0:", "%s/proc/self/cgroup", root) &&
        read_cpuset_up(text, mount, group, "cpuset.cpus.effective"))
        return true;
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpuset", root);
    if (!read_text(group, "", "%s/proc/self/cpuset", root))
        group[0] = '\0';
    return read_cpuset_up(text, mount, group, "cpuset.effective_cpus");
}

int64_t fingerprint_quota(const char *root) {
    char membership[PATH_MAX], mount[PATH_MAX];
    snprintf(membership, sizeof membership, "%s/proc/self/cgroup", root);
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
    return cpu_quota_thousandths(membership, mount);
}

static void add_quota(json_t *all, const char *root) {
    char text[64] = "none";
    const int64_t quota = fingerprint_quota(root);
    if (quota > 0)
        snprintf(text, sizeof text, "%g processors", (double)quota / 1000);
    add(all, "cpu_quota", text);
}

static void add_read(json_t *all, const char *key, const char *prefix, const char *root,
                     const char *path) {
    char text[TEXT_MAX];
    add(all, key, read_text(text, prefix, "%s%s", root, path) ? text : "unknown");
}

json_t *fingerprint_json(const core_list *cores, const char *root) {
    json_t *all = json_object();
    char text[TEXT_MAX];
    add_hwcap(all, "hwcap", AT_HWCAP);
    add_hwcap(all, "hwcap2", AT_HWCAP2);
    add_kinds(all, cores);
    add_governor(all, cores, root);
    add_read(all, "affinity", "Cpus_allowed_list", root, "/proc/self/status");
    add_read(all, "online", "", root, "/sys/devices/system/cpu/online");
    add(all, "cpuset", read_cpuset(text, root) ? text : "none");
    add_quota(all, root);
    add_read(all, "load", "", root, "/proc/loadavg");
    add_read(all, "huge_pages", "", root, "/sys/kernel/mm/transparent_hugepage/enabled");
    return all;
}

double fingerprint_load(const char *root) {
    char text[TEXT_MAX];
    return read_text(text, "", "%s/proc/loadavg", root) ? strtod(text, NULL) : 0;
}
