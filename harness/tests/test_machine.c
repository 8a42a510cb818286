/* SPDX-License-Identifier: Apache-2.0 */
/* What armq knows about the machine: quotas of cgroups, emulation, caches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/cpu_quota.h"
#include "harness/machine.h"
#include "kernels/api/features.h"

static char root[64];

static int make_root(void **state) {
    (void)state;
    strcpy(root, "/tmp/armq-test-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

/* Writes root/name, with its directories. */
static void write_file(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static char file[128], directory[128];

static int32_t quota(const char *membership, const char *mount) {
    write_file("membership", membership);
    snprintf(file, sizeof file, "%s/membership", root);
    snprintf(directory, sizeof directory, "%s/%s", root, mount);
    return cpu_quota(file, directory);
}

static void test_quota_v2(void **state) {
    (void)state;
    write_file("a/cpu.max", "max 100000\n");
    write_file("a/job/cpu.max", "350000 100000\n");
    write_file("a/job/inner/cpu.max", "max 100000\n");
    assert_int_equal(quota("0::/job\n", "a"), 3);
    assert_int_equal(cpu_quota_thousandths(file, directory), 3500);
    assert_int_equal(quota("0::/job/inner\n", "a"), 3); /* a quota above counts */
    assert_int_equal(quota("0::/\n", "a"), 0);
    /* In a container the path is one of the host, and the mount is the group. */
    write_file("b/cpu.max", "50000 100000\n");
    assert_int_equal(quota("0::/host/only\n", "b"), 1);
    assert_int_equal(cpu_quota_thousandths(file, directory), 500);
    write_file("d/unified/job/cpu.max", "200000 100000\n");
    assert_int_equal(quota("0::/job\n", "d"), 2);
}

static void test_quota_v1(void **state) {
    (void)state;
    write_file("c/cpu,cpuacct/job/cpu.cfs_quota_us", "600000\n");
    write_file("c/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    write_file("c/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    write_file("c/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota("4:cpu,cpuacct:/job\n3:memory:/\n", "c"), 6);
    assert_int_equal(quota("4:cpu,cpuacct:/\n3:cpuset:/job\n", "c"), 0);
    /* The usual link cpu -> cpu,cpuacct. */
    write_file("e/cpu/job/cpu.cfs_quota_us", "250000\n");
    write_file("e/cpu/job/cpu.cfs_period_us", "50000\n");
    assert_int_equal(quota("4:cpuacct,cpu:/job\n", "e"), 5);
    assert_int_equal(quota("4:cpuacct:/job\n", "e"), 0);
    assert_int_equal(cpu_quota("/nonexistent", root), 0);
}

static void test_affinity(void **state) {
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(cpu_affinity(), CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(cpu_affinity(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

/* The signs must agree with what the launcher says, in both directions. */
static void test_emulation(void **state) {
    (void)state;
    const char *told = getenv("ARMQ_EMULATED");
    bool emulated = told && strcmp(told, "1") == 0;
    assert_int_equal(machine_shows_emulation(), emulated);
    assert_int_equal(machine()->emulated, emulated);
    if (emulated)
        assert_string_equal(machine()->cpu, getenv("ARMQ_CPU"));
}

static void test_facts(void **state) {
    (void)state;
    const machine_info *m = machine();
    assert_ptr_equal(m, machine());
    assert_true(m->cores >= 1 && m->cores <= cpu_affinity());
    assert_true(m->page >= 4096 && (m->page & (m->page - 1)) == 0);
    assert_true(m->l1 >= 0 && m->l2 >= 0 && m->llc >= m->l2);
    assert_true(strlen(m->cpu) > 0 && strlen(m->kernel) > 0 && strlen(m->compiler) > 0);
    assert_true(m->features == armq_features());
    if (m->emulated) {
        assert_int_equal(m->l1, 64 << 10);
        assert_int_equal(m->l2, 1 << 20);
        assert_int_equal(m->llc, 32 << 20);
    }
#ifdef __aarch64__
    assert_string_equal(m->arch, "aarch64");
    assert_true((m->features & ARMQ_FEATURE_NEON) != 0);
#endif
}

static void test_json(void **state) {
    (void)state;
    json_t *json = machine_json();
    assert_true(json_is_object(json));
    assert_string_equal(json_string_value(json_object_get(json, "cpu")), machine()->cpu);
    assert_int_equal(json_is_true(json_object_get(json, "emulated")), machine()->emulated);
    assert_int_equal(json_integer_value(json_object_get(json, "llc")), machine()->llc);
    assert_int_equal(json_integer_value(json_object_get(json, "cores")), machine()->cores);
    assert_int_equal(json_array_size(json_object_get(json, "features")),
                     __builtin_popcountll(machine()->features));
    json_decref(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quota_v2), cmocka_unit_test(test_quota_v1),
        cmocka_unit_test(test_affinity), cmocka_unit_test(test_emulation),
        cmocka_unit_test(test_facts),    cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
