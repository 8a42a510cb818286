/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/machine.h"

#include <hwloc.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/cpu_quota.h"
#include "kernels/api/features.h"

#ifdef __aarch64__
static const char compiled_for[] = "aarch64";
#elif defined(__x86_64__)
static const char compiled_for[] = "x86_64";
#else
static const char compiled_for[] = "other";
#endif

/* The first line of the file that starts with `prefix`, without it; false if there is none. */
static bool find_line(const char *path, const char *prefix, char *value, size_t bytes) {
    FILE *in = fopen(path, "re");
    if (!in)
        return false;
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, in)) {
        if (strncmp(line, prefix, strlen(prefix)) != 0)
            continue;
        const char *at = line + strlen(prefix);
        at += strspn(at, " \t:");
        snprintf(value, bytes, "%.*s", (int)strcspn(at, "\n"), at);
        found = true;
    }
    fclose(in);
    return found;
}

/* --- Emulation -------------------------------------------------------------------------------- */

static bool read_link(const char *path, char target[PATH_MAX]) {
    ssize_t length = readlink(path, target, PATH_MAX - 1);
    target[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* QEMU runs under its own name, but answers for the guest at /proc/self/exe. */
static bool runs_under_other_name(void) {
    char name[64] = "", exe[PATH_MAX];
    if (!find_line("/proc/self/comm", "", name, sizeof name) || strncmp(name, "qemu-", 5) != 0)
        return false;
    const char *base = read_link("/proc/self/exe", exe) ? strrchr(exe, '/') : NULL;
    return !base || strncmp(base + 1, "qemu-", 5) != 0;
}

/* QEMU answers for /proc/self only, not for the same file by other ways. */
static bool exe_depends_on_the_way(void) {
    char self[PATH_MAX], thread[PATH_MAX];
    return read_link("/proc/self/exe", self) && read_link("/proc/thread-self/exe", thread) &&
           strcmp(self, thread) != 0;
}

/* The host's processors are shown to older QEMU's guests. */
static bool processors_are_foreign(void) {
    char value[64];
    return strcmp(compiled_for, "aarch64") == 0 &&
           find_line("/proc/cpuinfo", "processor", value, sizeof value) &&
           !find_line("/proc/cpuinfo", "CPU implementer", value, sizeof value);
}

bool machine_shows_emulation(void) {
    return runs_under_other_name() || exe_depends_on_the_way() || processors_are_foreign();
}

/* --- Parts ------------------------------------------------------------------------------------ */

static uint64_t read_midr(void) {
#ifdef __aarch64__
    enum { HWCAP_BIT_CPUID = 11 }; /* the kernel emulates the read */
    if ((getauxval(AT_HWCAP) >> HWCAP_BIT_CPUID) & 1) {
        uint64_t midr;
        __asm__("mrs %0, MIDR_EL1" : "=r"(midr));
        return midr;
    }
    char text[32];
    if (find_line("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "", text,
                  sizeof text))
        return strtoull(text, NULL, 16);
#endif
    return 0;
}

/* By implementer (bits 31:24) and part (15:4): Arm's technical reference manuals; QEMU's own. */
static const struct {
    unsigned implementer, part;
    const char *name;
} known_cores[] = {
    {0x41, 0xd08, "cortex-a72"},  {0x41, 0xd0b, "cortex-a76"},  {0x41, 0xd0c, "neoverse-n1"},
    {0x41, 0xd40, "neoverse-v1"}, {0x41, 0xd49, "neoverse-n2"}, {0x41, 0xd4f, "neoverse-v2"},
    {0x41, 0xd83, "neoverse-v3"}, {0x41, 0xd8e, "neoverse-n3"}, {0x00, 0x051, "max"},
};

static void name_cpu(machine_info *m) {
    unsigned implementer = (unsigned)(m->midr >> 24) & 0xff,
             part = (unsigned)(m->midr >> 4) & 0xfff;
    const char *chosen = getenv("ARMQ_CPU");
    if (m->emulated && chosen && *chosen) {
        snprintf(m->cpu, sizeof m->cpu, "%s", chosen);
        return;
    }
    for (size_t i = 0; i < sizeof known_cores / sizeof known_cores[0]; i++)
        if (known_cores[i].implementer == implementer && known_cores[i].part == part) {
            snprintf(m->cpu, sizeof m->cpu, "%s", known_cores[i].name);
            return;
        }
    if (m->emulated)
        snprintf(m->cpu, sizeof m->cpu, "qemu");
    else if (m->midr)
        snprintf(m->cpu, sizeof m->cpu, "implementer 0x%02x part 0x%03x", implementer, part);
    else if (!find_line("/proc/cpuinfo", "model name", m->cpu, sizeof m->cpu))
        snprintf(m->cpu, sizeof m->cpu, "unknown");
}

static int64_t cache_size(hwloc_topology_t topology, hwloc_obj_type_t type) {
    hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
    return cache ? (int64_t)cache->attr->cache.size : 0;
}

static void read_caches(machine_info *m) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return;
    if (hwloc_topology_load(topology) == 0) {
        static const hwloc_obj_type_t shared[] = {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE,
                                                  HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE};
        m->l1 = cache_size(topology, HWLOC_OBJ_L1CACHE);
        m->l2 = cache_size(topology, HWLOC_OBJ_L2CACHE);
        for (size_t i = 0; m->llc == 0 && i < sizeof shared / sizeof shared[0]; i++)
            m->llc = cache_size(topology, shared[i]);
    }
    hwloc_topology_destroy(topology);
}

/* What the host has says nothing about the emulated CPU; results must not depend on it. */
static void fixed_caches(machine_info *m) {
    m->l1 = INT64_C(64) << 10;
    m->l2 = INT64_C(1) << 20;
    m->llc = INT64_C(32) << 20;
}

static void read_machine(machine_info *m) {
    const char *told = getenv("ARMQ_EMULATED");
    m->emulated = (told && strcmp(told, "1") == 0) || machine_shows_emulation();
    snprintf(m->arch, sizeof m->arch, "%s", compiled_for);
    m->features = armq_features();
    m->midr = read_midr();
    name_cpu(m);
    if (m->emulated)
        fixed_caches(m);
    else
        read_caches(m);
    int32_t quota = cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    m->cores = cpu_affinity();
    if (quota > 0 && quota < m->cores)
        m->cores = quota;
    m->page = sysconf(_SC_PAGESIZE);
#ifdef __clang__
    snprintf(m->compiler, sizeof m->compiler, "%s", __VERSION__);
#else
    snprintf(m->compiler, sizeof m->compiler, "gcc %s", __VERSION__);
#endif
    struct utsname name;
    if (uname(&name) == 0)
        snprintf(m->kernel, sizeof m->kernel, "%.40s %.50s", name.sysname, name.release);
}

const machine_info *machine(void) {
    static machine_info info;
    static bool known;
    if (!known) {
        read_machine(&info);
        known = true;
    }
    return &info;
}

json_t *machine_json(void) {
    const machine_info *m = machine();
    json_t *features = json_array();
    for (int bit = 0; bit < 64; bit++) {
        uint64_t feature = m->features & (UINT64_C(1) << bit);
        const char *name = feature ? armq_feature_name(feature) : NULL;
        if (name)
            json_array_append_new(features, json_string(name));
    }
    char midr[24];
    snprintf(midr, sizeof midr, "0x%08" PRIx64, m->midr);
    return json_pack("{s:b, s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:i, s:I, s:s, s:s}", "emulated",
                     (int)m->emulated, "cpu", m->cpu, "arch", m->arch, "features", features, "midr",
                     midr, "l1", (json_int_t)m->l1, "l2", (json_int_t)m->l2, "llc",
                     (json_int_t)m->llc, "cores", (int)m->cores, "page", (json_int_t)m->page,
                     "compiler", m->compiler, "kernel", m->kernel);
}
