/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/cores.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/machine.h"

typedef struct {
    int32_t cpu;
    uint64_t midr;
    int64_t capacity;
} found_core;

/* 0 if the file does not exist. Base 0: MIDR is written with 0x. */
static uint64_t read_number(const char *sysfs, int32_t cpu, const char *name) {
    char path[PATH_MAX], line[64] = "";
    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%" PRId32 "/%s", sysfs, cpu, name);
    FILE *in = fopen(path, "re");
    if (!in)
        return 0;
    uint64_t value = fgets(line, sizeof line, in) ? strtoull(line, NULL, 0) : 0;
    fclose(in);
    return value;
}

/* The kind with the highest capacity first, then by MIDR; processors in order. */
static int by_kind(const void *a, const void *b) {
    const found_core *x = a, *y = b;
    if (x->capacity != y->capacity)
        return x->capacity > y->capacity ? -1 : 1;
    if (x->midr != y->midr)
        return x->midr > y->midr ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static int64_t last_level_bytes(hwloc_topology_t topology, hwloc_const_cpuset_t cpus) {
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE,
                                             HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        int64_t bytes = 0;
        for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(topology, types[t], o)) != NULL;)
            if (hwloc_bitmap_intersects(o->cpuset, cpus))
                bytes += (int64_t)o->attr->cache.size;
        if (bytes > 0)
            return bytes;
    }
    return 0;
}

/* Describes cores [kind->first, kind->first + kind->count) of the list. */
static bool describe(core_list *list, core_kind *kind, hwloc_topology_t topology) {
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    if (!cpus)
        return false;
    for (int32_t i = 0; i < kind->count; i++)
        hwloc_bitmap_set(cpus, (unsigned)list->cpus[kind->first + i]);
    hwloc_bitmap_list_snprintf(kind->cpus, sizeof kind->cpus, cpus);
    /* Under emulation hwloc sees the host's caches. */
    kind->llc = machine()->emulated ? machine()->llc : last_level_bytes(topology, cpus);
    hwloc_bitmap_free(cpus);
    return true;
}

static bool sort_into(core_list *list, found_core *found, int32_t count,
                      hwloc_topology_t topology) {
    qsort(found, (size_t)count, sizeof *found, by_kind);
    list->cpus = calloc((size_t)count, sizeof *list->cpus);
    list->kinds = calloc((size_t)count, sizeof *list->kinds);
    if (!list->cpus || !list->kinds)
        return false;
    for (int32_t i = 0; i < count; i++) {
        list->cpus[i] = found[i].cpu;
        if (i == 0 || found[i].midr != found[i - 1].midr ||
            found[i].capacity != found[i - 1].capacity)
            list->kinds[list->kind_count++] =
                (core_kind){.midr = found[i].midr, .capacity = found[i].capacity, .first = i};
        list->kinds[list->kind_count - 1].count++;
    }
    list->count = count;
    for (int32_t k = 0; k < list->kind_count; k++)
        if (!describe(list, &list->kinds[k], topology))
            return false;
    return true;
}

bool core_list_of(core_list *list, hwloc_topology_t topology, hwloc_const_cpuset_t allowed,
                  const char *sysfs) {
    *list = (core_list){.count = 0};
    /* Virtual machines may show processors without cores. */
    hwloc_obj_type_t type =
        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    int most = hwloc_get_nbobjs_by_type(topology, type);
    hwloc_bitmap_t mine = hwloc_bitmap_alloc();
    found_core *found = most > 0 ? calloc((size_t)most, sizeof *found) : NULL;
    int32_t count = 0;
    for (hwloc_obj_t core = NULL;
         mine && found && (core = hwloc_get_next_obj_by_type(topology, type, core)) != NULL;) {
        hwloc_bitmap_and(mine, core->cpuset, allowed);
        int32_t cpu = hwloc_bitmap_first(mine);
        if (cpu >= 0)
            found[count++] =
                (found_core){cpu, read_number(sysfs, cpu, "regs/identification/midr_el1"),
                             (int64_t)read_number(sysfs, cpu, "cpu_capacity")};
    }
    bool ok = count > 0 && sort_into(list, found, count, topology);
    free(found);
    hwloc_bitmap_free(mine);
    return ok;
}

bool core_list_read(core_list *list) {
    *list = (core_list){.count = 0};
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return false;
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    bool ok = allowed && hwloc_topology_load(topology) == 0 &&
              hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_THREAD) == 0 &&
              core_list_of(list, topology, allowed, "/sys");
    hwloc_bitmap_free(allowed);
    hwloc_topology_destroy(topology);
    return ok;
}

void core_list_free(core_list *list) {
    free(list->cpus);
    free(list->kinds);
    *list = (core_list){.count = 0};
}

bool core_bind_self(const int32_t *cpus, int32_t count) {
    int32_t most = 0;
    for (int32_t i = 0; i < count; i++)
        most = cpus[i] > most ? cpus[i] : most;
    size_t bytes = CPU_ALLOC_SIZE((size_t)most + 1);
    cpu_set_t *set = CPU_ALLOC((size_t)most + 1);
    if (!set)
        return false;
    CPU_ZERO_S(bytes, set);
    for (int32_t i = 0; i < count; i++)
        CPU_SET_S((size_t)cpus[i], bytes, set);
    bool ok = sched_setaffinity(0, bytes, set) == 0;
    CPU_FREE(set);
    return ok;
}
