/* SPDX-License-Identifier: Apache-2.0 */
/* Peaks from fixed times, the loops themselves, and which peak binds which case. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/machine.h"
#include "harness/threads.h"
#include "perf/bound.h"
#include "perf/peak_table.h"
#include "perf/peaks.h"
#include "perf/peaks/loops.h"
#include "perf/plan.h"

/* 2x2 results of 8 products, 4 of 4, 8 of 1; 2x2 of 4, 4 of 2, 4 of 1. */
static void mac_per_instruction(void **state) {
    (void)state;
    static const int64_t mac[PEAK_COUNT] = {32, 16, 8, 16, 8, 4};
    static const char *const names[PEAK_COUNT] = {"SMMLA",  "SDOT",  "SMLAL",
                                                  "BFMMLA", "BFDOT", "FMLA"};
    for (int id = 0; id < PEAK_COUNT; id++) {
        assert_int_equal(peak_kinds[id].mac, mac[id]);
        assert_string_equal(peak_kinds[id].name, names[id]);
    }
}

/* A core of 3 GHz with two pipes: 24 SMMLA in 12 cycles = 4 ns are 192e9 MAC/s; with 8 cores, 8
 * times. One SDOT pipe at 2.5 GHz: 24 in 9.6 ns, 40e9. */
static void rate_of_fixed_times(void **state) {
    (void)state;
    assert_true(fabs(peak_rate(32, 24, 1000, 1, 4e-6) - 192e9) < 1);
    assert_true(fabs(peak_rate(32, 24, 1000, 8, 4e-6) - 1536e9) < 1);
    assert_true(fabs(peak_rate(16, 24, 1, 1, 9.6e-9) - 40e9) < 1);
}

static peaks_setup quick(const armq_threads *threads, uint64_t features) {
    return (peaks_setup){.threads = threads,
                         .features = features,
                         .l1 = 32768,
                         .l2 = 262144,
                         .llc = 1 << 20,
                         .memory = 8 << 20,
                         .seconds = 1e-4,
                         .repeats = 2};
}

/* What the CPU has is measured, with several threads too; what it lacks is not run. */
static void measured(void **state) {
    (void)state;
    thread_pool *pool = thread_pool_open(2);
    assert_non_null(pool);
    const armq_threads one = threads_serial(1), two = thread_pool_threads(pool, 2);
    const armq_threads *const both[] = {&one, &two};
    for (int i = 0; i < 2; i++) {
        peaks p = {.kind = 0};
        char why[PEAKS_WHY] = "";
        const peaks_setup setup = quick(both[i], machine()->features);
        if (!peaks_measure(&p, &setup, why))
            fail_msg("%s", why);
        assert_int_equal(p.threads, i + 1);
        for (int id = 0; id < PEAK_COUNT; id++) {
            const bool here = peak_kinds[id].loop && (machine()->features & peak_kinds[id].feature);
            assert_true(here ? p.mac[id] > 1e6 : p.mac[id] == 0);
        }
        for (int level = 0; level < READ_COUNT; level++)
            assert_true(p.bytes[level] > 1e6);
    }
    thread_pool_close(pool);
}

static int clock_series; /* a new number sets the clocks of all threads to 0 */

/* Every thread's own. A loop takes 2 s (to see how long it takes), then 3 s and 1 s. */
static double fake_clock(void) {
    static const double seconds[] = {2, 3, 1};
    static _Thread_local int calls, series;
    static _Thread_local double clock_now;
    if (series != clock_series) {
        series = clock_series;
        calls = 0;
        clock_now = 0;
    }
    if (calls++ % 2 == 1)
        clock_now += seconds[(calls - 1) / 2 % 3];
    return clock_now;
}

/* The best time is 1 s, of one round: 24 instructions, and all bytes of all threads, once each.
 * Half of L1 and L2 for each thread, half of the last-level cache and all of `memory` for all. */
static void rates_of_one_and_of_all(void **state) {
    (void)state;
    for (int n = 1; n <= 2; n++) {
        thread_pool *pool = thread_pool_open(n);
        assert_non_null(pool);
        const armq_threads threads = thread_pool_threads(pool, n);
        peaks_setup setup = quick(&threads, machine()->features);
        setup.seconds = 1;
        clock_series = n;
        setup.now = fake_clock;
        peaks p = {.kind = 0};
        char why[PEAKS_WHY] = "";
        if (!peaks_measure(&p, &setup, why))
            fail_msg("%s", why);
        for (int id = 0; id < PEAK_COUNT; id++)
            assert_true(p.mac[id] == 0 || p.mac[id] == (double)(24 * n * peak_kinds[id].mac));
        assert_true(p.bytes[READ_L1] == 16384 * n && p.bytes[READ_L2] == 131072 * n);
        assert_true(p.bytes[READ_LLC] == 1 << 19 && p.bytes[READ_MEMORY] == 8 << 20);
        thread_pool_close(pool);
    }
}

/* One core, as many as an entry runs on, and all of its kind: each once. */
static void one_and_all_are_measured(void **state) {
    (void)state;
    core_list cores;
    assert_true(core_list_read(&cores));
    const int32_t most = bench_threads_most(&cores, 0);
    const int32_t some = most > 2 ? 2 : most;
    bench_entry entries[] = {{.c.threads = some}, {.c.threads = some}};
    const bench_plan plan = {.entries = entries, .count = 2};
    const peak_table_setup setup = {
        .cores = &cores, .l1 = 8192, .memory = 65536, .seconds = 1e-5, .repeats = 1};
    peak_table measured_here;
    char why[PEAKS_WHY] = "";
    if (!peak_table_measure(&measured_here, &plan, &setup, why))
        fail_msg("%s", why);
    assert_int_equal(measured_here.count, most > 2 ? 3 : most);
    const int32_t threads[] = {1, some, most};
    for (int i = 0; i < 3; i++) {
        const peaks *p = peak_table_find(&measured_here, 0, threads[i]);
        assert_true(p != NULL && p->bytes[READ_L1] > 0 && p->bytes[READ_MEMORY] > 0);
    }
    peak_table_free(&measured_here);
    core_list_free(&cores);
}

static void unknown_caches_are_not_measured(void **state) {
    (void)state;
    const armq_threads one = threads_serial(1);
    peaks_setup setup = quick(&one, 0);
    setup.l2 = setup.llc = 0;
    peaks p = {.kind = 0};
    char why[PEAKS_WHY] = "";
    assert_true(peaks_measure(&p, &setup, why));
    assert_true(p.bytes[READ_L1] > 0 && p.bytes[READ_L2] == 0 && p.bytes[READ_LLC] == 0);
    for (int id = 0; id < PEAK_COUNT; id++) /* no features: nothing may be executed */
        assert_true(p.mac[id] == 0);
    setup.memory = INT64_MAX / 2;
    assert_false(peaks_measure(&p, &setup, why));
    assert_non_null(strstr(why, "no memory"));
}

/* 100, 50, 20, 40, 30, 10 GMAC/s; 200, 100, 50, 10 GB/s. */
static const peaks fixed = {.threads = 1,
                            .mac = {100e9, 50e9, 20e9, 40e9, 30e9, 10e9},
                            .bytes = {200e9, 100e9, 50e9, 10e9}};
static const bound_setup all = {.peaks = &fixed,
                                .features = ARMQ_FEATURE_NEON | ARMQ_FEATURE_DOTPROD |
                                            ARMQ_FEATURE_I8MM | ARMQ_FEATURE_BF16,
                                .l1 = 1 << 16,
                                .l2 = 1 << 20,
                                .llc = 1 << 25};

static void expect(armq_op op, bench_counts counts, const bound_setup *setup, const char *by,
                   double seconds) {
    const armq_case c = {.desc = {.op = op}};
    const bench_bound bound = bound_of(&c, &counts, setup);
    assert_string_equal(bound.by, by);
    assert_true(fabs(bound.seconds - seconds) <= 1e-12 * seconds);
}

/* 1e9 MAC on 1e6 bytes. */
static void bound_by_multiplying(void **state) {
    (void)state;
    const bench_counts counts = {
        .macs = 1000000000, .bytes = 1000000, .weight_bytes = 900000, .read_bytes = 950000};
    bound_setup setup = all;
    expect(ARMQ_OP_LINEAR_W8A8, counts, &setup, "SMMLA", 0.01);
    expect(ARMQ_OP_MOE_W4A8, counts, &setup, "SMMLA", 0.01);
    expect(ARMQ_OP_LINEAR_BF16, counts, &setup, "BFMMLA", 0.025);
    setup.features = ARMQ_FEATURE_NEON | ARMQ_FEATURE_DOTPROD;
    expect(ARMQ_OP_GEMM_S8S8S32, counts, &setup, "SDOT", 0.02);
    expect(ARMQ_OP_MOE_BF16, counts, &setup, "FMLA", 0.1);
    setup.features = ARMQ_FEATURE_NEON;
    expect(ARMQ_OP_LINEAR_W8A8, counts, &setup, "SMLAL", 0.05);
}

/* Weights of 80e6 bytes and 1e6 of x at 10 GB/s when cold; warm, from the level that may hold them.
 */
static void bound_by_reading(void **state) {
    (void)state;
    bench_counts counts = {
        .macs = 80000000, .bytes = 82000000, .weight_bytes = 80000000, .read_bytes = 81000000};
    bound_setup setup = all;
    setup.cold = true;
    expect(ARMQ_OP_LINEAR_W8A8, counts, &setup, "memory", 0.008);
    setup.cold = false;
    expect(ARMQ_OP_LINEAR_W8A8, counts, &setup, "last-level cache", 0.00162);
    counts.read_bytes = INT64_C(4) << 25;
    expect(ARMQ_OP_LINEAR_W8A8, counts, &setup, "memory", 0.0134217728);
    counts = (bench_counts){.bytes = 2500000, .read_bytes = 2000000}; /* quantize: no MAC */
    expect(ARMQ_OP_QUANTIZE, counts, &setup, "L2", 2e-5);
    counts.read_bytes = 100000;
    expect(ARMQ_OP_QUANTIZE, counts, &setup, "L1", 5e-7);
    setup.cold = true; /* no weights: nothing is known */
    expect(ARMQ_OP_QUANTIZE, counts, &setup, "", 0);
}

/* Instructions that were not measured do not bind. */
static void bound_of_other_extensions(void **state) {
    (void)state;
    const bench_counts counts = {.macs = 1000000000, .bytes = 100000, .read_bytes = 100000};
    bound_setup setup = all;
    setup.any_extension = true;
    expect(ARMQ_OP_LINEAR_W8A8, counts, &setup, "L1", 5e-7);
}

static void percent_and_invalid(void **state) {
    (void)state;
    const bench_bound bound = {.seconds = 1e-3, .by = "SMMLA"}, none = {.by = ""};
    assert_true(fabs(bound_percent(&bound, 2e-3) - 50) < 1e-12);
    assert_true(isnan(bound_percent(&none, 1)) && isnan(bound_percent(&bound, 0)));
    assert_false(bound_invalid(&bound, 1e-3));
    assert_false(bound_invalid(&bound, 1e-3 / 1.049)); /* 104.9 % */
    assert_true(bound_invalid(&bound, 1e-3 / 1.051));  /* 105.1 % */
    assert_true(bound_invalid(&bound, 1e-4));
    assert_false(bound_invalid(&none, 1e-9));
}

/* GB are 1e9 bytes, GMAC 1e9; MAC/s and bytes/s in the file. What was not measured is left out. */
static void table_in_units(void **state) {
    (void)state;
    peaks two[] = {{.kind = 0, .threads = 1, .mac = {192e9}, .bytes = {[READ_MEMORY] = 21.5e9}},
                   {.kind = 1, .threads = 4, .mac = {[PEAK_FMLA] = 1.5e9}}};
    const peak_table table = {two, 2};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    peak_table_print(&table, "", ARMQ_FEATURE_NEON | ARMQ_FEATURE_DOTPROD | ARMQ_FEATURE_BF16, out);
    fclose(out);
    assert_string_equal(
        text,
        "armq-bench: peaks, kind 0, 1 thread: SMMLA 192.00 GMAC/s; reads from memory 21.50 GB/s\n"
        "armq-bench: peaks, kind 1, 4 threads: FMLA 1.50 GMAC/s; reads from GB/s\n"
        "armq-bench: peak of SMMLA skipped: the CPU lacks i8mm\n");
    free(text);
    json_t *list = peak_table_json(&table, "emulated "), *one = json_array_get(list, 0);
    assert_int_equal(json_object_size(one), 4);
    assert_true(json_number_value(json_object_get(one, "emulated SMMLA MAC/s")) == 192e9);
    assert_true(json_number_value(json_object_get(one, "emulated read memory bytes/s")) == 21.5e9);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 1), "threads")), 4);
    json_decref(list);
    assert_ptr_equal(peak_table_find(&table, 1, 4), &two[1]);
    assert_null(peak_table_find(&table, 0, 4));
}

#ifdef __aarch64__
static void stop(int signal_number) { _exit(signal_number); }

/* Whether the loop, in a process of its own, comes back from pages of which one may not be read. */
static bool comes_back(void (*loop)(const uint8_t *, int64_t), const uint8_t *from, int64_t bytes) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, stop);
        loop(from, bytes);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
#endif

/* Every page of the buffer, and none behind it or before it: one page after the other may not be
 * read. */
static void reads_all_of_it(void **state) {
    (void)state;
#ifdef __aarch64__
    void (*const loops[])(const uint8_t *, int64_t) = {peak_loop_read, peak_loop_read_quarters};
    const int64_t page = machine()->page;
    uint8_t *at = mmap(NULL, (size_t)(5 * page), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    for (int i = 0; i < 2; i++)
        for (int64_t hole = 0; hole < 5; hole++) {
            assert_int_equal(mprotect(at + hole * page, (size_t)page, PROT_NONE), 0);
            assert_int_equal(comes_back(loops[i], at, 4 * page), hole == 4);
            if (hole == 0)
                assert_true(comes_back(loops[i], at + page, 4 * page));
            assert_int_equal(mprotect(at + hole * page, (size_t)page, PROT_READ), 0);
        }
    assert_int_equal(munmap(at, (size_t)(5 * page)), 0);
#else
    skip(); /* the loops are for AArch64 */
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mac_per_instruction),
        cmocka_unit_test(rate_of_fixed_times),
        cmocka_unit_test(measured),
        cmocka_unit_test(rates_of_one_and_of_all),
        cmocka_unit_test(one_and_all_are_measured),
        cmocka_unit_test(unknown_caches_are_not_measured),
        cmocka_unit_test(bound_by_multiplying),
        cmocka_unit_test(bound_by_reading),
        cmocka_unit_test(bound_of_other_extensions),
        cmocka_unit_test(percent_and_invalid),
        cmocka_unit_test(table_in_units),
        cmocka_unit_test(reads_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
