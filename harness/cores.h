/* SPDX-License-Identifier: Apache-2.0 */
/* The cores that this process may use, by kind: one processor of each core, for a benchmark runs
 * one thread per core, on cores of one kind. */
#ifndef ARMQ_HARNESS_CORES_H
#define ARMQ_HARNESS_CORES_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t midr;    /* 0 = unknown */
    int64_t capacity; /* the kernel's cpu_capacity; 0 = unknown */
    int32_t first, count;
    int64_t llc;   /* bytes of all last-level caches beside these cores; 0 = unknown */
    char cpus[96]; /* "0-3,8": as in Linux' files */
} core_kind;

typedef struct {
    int32_t *cpus; /* one per core, kind after kind, each in ascending order. Owned. */
    int32_t count;
    core_kind *kinds; /* the one of the highest capacity first. Owned. */
    int32_t kind_count;
} core_list;

/* Of the calling thread's affinity mask. False if the topology cannot be read, or there is no
 * memory. Free with core_list_free in either case. */
bool core_list_read(core_list *list);

/* The same of a topology and a mask. sysfs: usually "/sys", where kinds are told. */
bool core_list_of(core_list *list, hwloc_topology_t topology, hwloc_const_cpuset_t allowed,
                  const char *sysfs);
void core_list_free(core_list *list);

/* The calling thread, and threads that it starts, onto these processors (at least one). */
bool core_bind_self(const int32_t *cpus, int32_t count);

#endif
