/* SPDX-License-Identifier: Apache-2.0 */
/* Cores of made-up machines: one thread per core, kinds apart, the affinity mask respected. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/cores.h"
#include "harness/machine.h"
#include "harness/threads.h"

static hwloc_topology_t made_up(const char *text) {
    hwloc_topology_t topology;
    assert_int_equal(hwloc_topology_init(&topology), 0);
    assert_int_equal(hwloc_topology_set_synthetic(topology, text), 0);
    assert_int_equal(hwloc_topology_load(topology), 0);
    return topology;
}

static core_list list_of(hwloc_topology_t topology, const char *allowed, const char *sysfs) {
    core_list list;
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();
    assert_int_equal(hwloc_bitmap_list_sscanf(mask, allowed), 0);
    assert_true(core_list_of(&list, topology, mask, sysfs));
    hwloc_bitmap_free(mask);
    return list;
}

/* Two cores of two threads under each of two 8 MiB caches. */
static void one_thread_per_core(void **state) {
    (void)state;
    hwloc_topology_t topology = made_up("l3:2(size=8388608) core:2 pu:2");
    core_list list = list_of(topology, "0-7", "/nowhere");
    assert_int_equal(list.count, 4);
    assert_int_equal(list.kind_count, 1);
    for (int i = 0; i < 4; i++)
        assert_int_equal(list.cpus[i], 2 * i);
    assert_string_equal(list.kinds[0].cpus, "0,2,4,6");
    if (!machine()->emulated)
        assert_int_equal(list.kinds[0].llc, 2 * 8388608);
    core_list_free(&list);

    list = list_of(topology, "1,3", "/nowhere"); /* the second threads of two cores of one cache */
    assert_int_equal(list.count, 2);
    assert_int_equal(list.cpus[0], 1);
    assert_int_equal(list.cpus[1], 3);
    if (!machine()->emulated)
        assert_int_equal(list.kinds[0].llc, 8388608);
    core_list_free(&list);
    hwloc_topology_destroy(topology);
}

static void write_file(const char *root, int cpu, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path,
             "mkdir -p %s/devices/system/cpu/cpu%d/regs/identification && echo %s > "
             "%s/devices/system/cpu/cpu%d/%s",
             root, cpu, text, root, cpu, name);
    assert_int_equal(system(path), 0);
}

/* Cores 0 and 1 are little, 2 and 3 big. */
static void kinds_apart(void **state) {
    (void)state;
    char root[] = "/tmp/armq-cores-XXXXXX", remove[64];
    assert_non_null(mkdtemp(root));
    for (int cpu = 0; cpu < 4; cpu++) {
        write_file(root, cpu, "regs/identification/midr_el1",
                   cpu < 2 ? "0x00000000411fd050" : "0x00000000411fd0b0");
        write_file(root, cpu, "cpu_capacity", cpu < 2 ? "400" : "1024");
    }
    hwloc_topology_t topology = made_up("core:4 pu:1");
    core_list list = list_of(topology, "0-3", root);
    assert_int_equal(list.kind_count, 2);
    assert_true(list.kinds[0].midr == 0x411fd0b0 && list.kinds[1].midr == 0x411fd050);
    assert_int_equal(list.kinds[0].capacity, 1024);
    assert_int_equal(list.kinds[0].count, 2);
    assert_string_equal(list.kinds[0].cpus, "2-3");
    assert_string_equal(list.kinds[1].cpus, "0-1");
    assert_int_equal(list.cpus[list.kinds[1].first], 0);
    core_list_free(&list);
    /* Two makes of the same capacity are two kinds. */
    for (int cpu = 0; cpu < 4; cpu++)
        write_file(root, cpu, "cpu_capacity", "1024");
    list = list_of(topology, "0-3", root);
    assert_int_equal(list.kind_count, 2);
    assert_string_equal(list.kinds[0].cpus, "2-3");
    assert_string_equal(list.kinds[1].cpus, "0-1");
    core_list_free(&list);
    hwloc_topology_destroy(topology);
    snprintf(remove, sizeof remove, "rm -r %s", root);
    assert_int_equal(system(remove), 0);
}

static struct {
    pthread_t caller;
    pthread_barrier_t both; /* neither thread takes both jobs */
    int cpu_of_caller, cpu_of_worker;
} where;

static void note_cpu(void *arg, int64_t job, int32_t thread) {
    (void)arg, (void)job, (void)thread;
    pthread_barrier_wait(&where.both);
    if (pthread_equal(pthread_self(), where.caller))
        where.cpu_of_caller = sched_getcpu();
    else
        where.cpu_of_worker = sched_getcpu();
}

/* Caller and worker each on its own processor, then exchanged. */
static void bound_threads_stay(void **state) {
    (void)state;
    core_list list;
    cpu_set_t before;
    assert_true(core_list_read(&list));
    assert_true(list.count >= 1);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    thread_pool *pool = thread_pool_open(2);
    assert_non_null(pool);
    where.caller = pthread_self();
    assert_int_equal(pthread_barrier_init(&where.both, NULL, 2), 0);
    const int32_t first = list.cpus[0], last = list.cpus[list.count - 1];
    const int32_t ways[2][2] = {{first, last}, {last, first}};
    const armq_threads threads = thread_pool_threads(pool, 2);
    assert_false(thread_pool_bind(pool, ways[0], 1)); /* fewer processors than threads */
    for (int i = 0; i < 2; i++) {
        assert_true(core_bind_self(ways[i], 1));
        assert_true(thread_pool_bind(pool, ways[i], 2));
        threads.run(threads.ctx, 2, note_cpu, NULL);
        assert_int_equal(where.cpu_of_caller, ways[i][0]);
        assert_int_equal(where.cpu_of_worker, ways[i][1]);
    }
    thread_pool_close(pool);
    pthread_barrier_destroy(&where.both);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    core_list_free(&list);
}

static void impossible_processor(void **state) {
    (void)state;
    const int32_t none = 1 << 15;
    assert_false(core_bind_self(&none, 1));
}

int main(void) {
    const struct CMUnitTest cores[] = {
        cmocka_unit_test(one_thread_per_core),
        cmocka_unit_test(kinds_apart),
        cmocka_unit_test(bound_threads_stay),
        cmocka_unit_test(impossible_processor),
    };
    return cmocka_run_group_tests(cores, NULL, NULL);
}
