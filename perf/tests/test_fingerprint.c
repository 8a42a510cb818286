/* SPDX-License-Identifier: Apache-2.0 */
/* The fingerprint of a made-up machine, and of this one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "perf/fingerprint.h"

static void write_file(const char *root, const char *path, const char *text) {
    char command[1024];
    snprintf(command, sizeof command,
             "f='%s/%s'; mkdir -p \"${f%%/*}\" && printf '%%s\\n' '%s' > \"$f\"", root, path, text);
    assert_int_equal(system(command), 0);
}

static void remove_all(const char *root) {
    char command[256];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
}

static void expect(const json_t *all, const char *key, const char *wanted) {
    const char *got = json_string_value(json_object_get(all, key));
    if (got == NULL || strcmp(got, wanted) != 0)
        fail_msg("%s is '%s', wanted '%s'", key, got != NULL ? got : "(absent)", wanted);
}

static int32_t cpus[] = {4, 5, 0};
static core_kind kinds[] = {{0x411fd0b0, 1024, 0, 2, 2097152, "4-5"},
                            {0x411fd050, 400, 2, 1, 524288, "0"}};
static const core_list cores = {cpus, 3, kinds, 2};

static void made_up(void **state) {
    (void)state;
    char root[] = "/tmp/armq-print-XXXXXX";
    assert_non_null(mkdtemp(root));
    write_file(root, "proc/self/status", "Name:\tx\nCpus_allowed_list:\t0,4-5");
    write_file(root, "proc/self/cgroup", "0::/a/b");
    write_file(root, "proc/loadavg", "1.25 0.50 0.25 1/100 4242");
    write_file(root, "sys/fs/cgroup/a/cpuset.cpus.effective", "0-5");
    write_file(root, "sys/fs/cgroup/a/b/cpu.max", "350000 100000");
    write_file(root, "sys/devices/system/cpu/online", "0-7");
    write_file(root, "sys/devices/system/cpu/cpu4/cpufreq/scaling_governor", "performance");
    write_file(root, "sys/devices/system/cpu/cpu5/cpufreq/scaling_governor", "performance");
    write_file(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave");
    write_file(root, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    json_t *all = fingerprint_json(&cores, root);
    expect(all, "affinity", "0,4-5");
    expect(all, "cpuset", "0-5");
    expect(all, "cpu_quota", "3.5 processors");
    assert_int_equal(fingerprint_quota(root), 3500);
    expect(all, "governor", "performance, powersave");
    expect(all, "online", "0-7");
    expect(all, "load", "1.25 0.50 0.25 1/100 4242");
    expect(all, "huge_pages", "always [madvise] never");
    expect(all, "core_kinds",
           "2 x MIDR 0x411fd0b0 capacity 1024 processors 4-5 last-level 2097152; "
           "1 x MIDR 0x411fd050 capacity 400 processors 0 last-level 524288");
    assert_true(fingerprint_load(root) == 1.25);
    json_decref(all);
    remove_all(root);
}

/* The older control groups: the process' own group, not the root of all. */
static void older_cpuset(void **state) {
    (void)state;
    char root[] = "/tmp/armq-print-XXXXXX";
    assert_non_null(mkdtemp(root));
    write_file(root, "proc/self/cgroup", "4:cpuset:/job");
    write_file(root, "proc/self/cpuset", "/job");
    write_file(root, "sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-7");
    write_file(root, "sys/fs/cgroup/cpuset/job/cpuset.effective_cpus", "2-3");
    json_t *all = fingerprint_json(&cores, root);
    expect(all, "cpuset", "2-3");
    json_decref(all);
    remove_all(root);
}

static void nothing_known(void **state) {
    (void)state;
    json_t *all = fingerprint_json(&cores, "/nowhere");
    expect(all, "affinity", "unknown");
    expect(all, "cpuset", "none");
    expect(all, "cpu_quota", "none");
    expect(all, "governor", "unknown");
    expect(all, "load", "unknown");
    assert_true(fingerprint_load("/nowhere") == 0);
    assert_int_equal(fingerprint_quota("/nowhere"), 0);
    json_decref(all);
}

static void this_machine(void **state) {
    (void)state;
    json_t *all = fingerprint_json(&cores, "");
    static const char *const keys[] = {"hwcap",  "hwcap2", "core_kinds", "governor", "affinity",
                                       "online", "cpuset", "cpu_quota",  "load",     "huge_pages"};
    assert_int_equal(json_object_size(all), sizeof keys / sizeof *keys);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *text = json_string_value(json_object_get(all, keys[i]));
        assert_true(text != NULL && text[0] != '\0');
    }
    const char *hwcap = json_string_value(json_object_get(all, "hwcap"));
    assert_true(strtoull(hwcap, NULL, 16) != 0);
    assert_true(strcmp(json_string_value(json_object_get(all, "affinity")), "unknown") != 0);
    json_decref(all);
}

int main(void) {
    const struct CMUnitTest fingerprints[] = {
        cmocka_unit_test(made_up),
        cmocka_unit_test(older_cpuset),
        cmocka_unit_test(nothing_known),
        cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests(fingerprints, NULL, NULL);
}
