/* SPDX-License-Identifier: Apache-2.0 */
/* Whole benchmarks with providers that turn the clock, into the file: speed-up, share of the
 * peak and noise where times are performance, none of them under emulation; threads bound to cores.
 */
#include <jansson.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/providers.h"
#include "harness/machine.h"
#include "perf/run.h"
#include "perf/verdict.h"

enum {
    QUICK,
    BASELINE,
    RESTLESS,
    LAZY,
    WRONG,
    POOLED,
    OWN,
    COLD,
    TIER,
    MISLED,
    TOO_FAST,
    ENTRIES,
    PAIRS = 6
};

static armq_provider providers[ENTRIES];
static bench_entry entries[ENTRIES];
static core_list cores;
static json_t *rows[ENTRIES]; /* of the file, borrowed */
static json_t *data;

/* --- Providers: naive, and something else -------------------------------------------------------
 */

static int64_t lazy_runs, wrong_runs, restless_runs;
static double clock_now; /* of the interleaved repetitions */

/* A run that does not turn it takes 1 ms. */
static double fake_clock(void) { return clock_now += 1e-3; }

static armq_status run_baseline(const armq_desc *desc, const void *plan, const armq_args *args) {
    clock_now += 3e-3;
    return naive_provider.run(desc, plan, args);
}

/* A repetition is a run that is not timed and one that is: every other one takes long. */
static armq_status run_restless(const armq_desc *desc, const void *plan, const armq_args *args) {
    clock_now += restless_runs++ / 2 % 2 == 0 ? 0 : 0.2e-3;
    return naive_provider.run(desc, plan, args);
}

/* Right until it is timed. */
static armq_status run_lazy(const armq_desc *desc, const void *plan, const armq_args *args) {
    return lazy_runs++ < 3 ? naive_provider.run(desc, plan, args) : ARMQ_OK;
}

static armq_status run_wrong(const armq_desc *desc, const void *plan, const armq_args *args) {
    (void)desc, (void)plan, (void)args;
    wrong_runs++;
    return ARMQ_OK;
}

static pthread_barrier_t both;
static struct { int allowed, cpu; } seen[2]; /* by the jobs of a run */

static int allowed_processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

static void look(void *arg, int64_t job, int32_t thread) {
    (void)arg, (void)thread;
    pthread_barrier_wait(&both); /* so that the other job goes to the other thread */
    seen[job].allowed = allowed_processors();
    seen[job].cpu = sched_getcpu();
}

static armq_status run_pooled(const armq_desc *desc, const void *plan, const armq_args *args) {
    args->threads->run(args->threads->ctx, 2, look, NULL);
    return naive_provider.run(desc, plan, args);
}

static int own_at_pack, own_at_run; /* processors that a thread started there would have */

static armq_status query_own(const armq_desc *desc, armq_support *support) {
    const armq_status status = naive_provider.query(desc, support);
    support->claims |= ARMQ_CLAIM_OWN_THREADS;
    return status;
}

static armq_status pack_own(const armq_desc *desc, int32_t which, int64_t first, int64_t last,
                            const armq_weights *w, void *packed) {
    own_at_pack = allowed_processors();
    return naive_provider.pack(desc, which, first, last, w, packed);
}

static armq_status run_own(const armq_desc *desc, const void *plan, const armq_args *args) {
    own_at_run = allowed_processors();
    return naive_provider.run(desc, plan, args);
}

/* --- One run of all -----------------------------------------------------------------------------
 */

static void add(int id, const char *name, const char *text,
                armq_status (*run)(const armq_desc *, const void *, const armq_args *)) {
    case_list list = {.count = 0};
    case_error error;
    if (!case_parse_line(text, NULL, &list, &error))
        fail_msg("%s: %s", text, error.message);
    bench_entry *entry = &entries[id];
    providers[id] = naive_provider;
    providers[id].name = name;
    providers[id].run = run;
    *entry = (bench_entry){.provider = &providers[id], .c = list.items[0]};
    case_list_free(&list);
    const machine_info *m = machine();
    case_bind(&entry->c, m->features, m->l1, m->l2, m->llc, entry->c.threads);
    snprintf(entry->name, sizeof entry->name, "%s%d/x", name, id);
    snprintf(entry->kernel, sizeof entry->kernel, "%s_kernel", name);
}

static void add_all(void) {
    static const char int8[] = "linear_w8a8 tokens=2 n=16 k=32";
    add(QUICK, "i8mm", int8, naive_provider.run);
    add(BASELINE, "bf16", "linear_bf16 tokens=2 n=16 k=32", run_baseline);
    add(RESTLESS, "restless", "quantize tokens=2 k=32", run_restless);
    add(LAZY, "lazy", "gemm_s8s8s32 tokens=2 n=16 k=32", run_lazy);
    add(WRONG, "wrong", "gemm_s8s8s32 tokens=2 n=16 k=32", run_wrong);
    add(POOLED, "pooled", "gemm_s8s8s32 tokens=2 n=16 k=32 threads=2", run_pooled);
    add(OWN, "own", "gemm_s8s8s32 tokens=2 n=16 k=32 threads=2", run_own);
    add(COLD, "cold", "gemm_s8s8s32 tokens=2 n=16 k=32", naive_provider.run);
    add(TIER, "naive", "gemm_s8s8s32 tokens=2 n=16 k=32", naive_provider.run);
    add(MISLED, "i8mm", "linear_w8a8 tokens=3 n=16 k=32", naive_provider.run);
    add(TOO_FAST, "bf16", "linear_bf16 tokens=3 n=16 k=32", naive_provider.run);
    providers[OWN].query = query_own;
    providers[OWN].pack = pack_own;
    entries[COLD].cold = true;
    entries[TIER].provider = &naive_provider;
}

static const char *accept(void *ctx, const gbench_result *result) {
    (void)ctx, (void)result;
    return NULL;
}

static void ignore(void *ctx, const gbench_result *result) { (void)ctx, (void)result; }

/* 1e6 MAC/s of SMLAL, 1e9 of SMMLA; 1e6 bytes/s from L1. */
static peaks fixed[] = {
    {.threads = 1, .mac = {[PEAK_SMMLA] = 1e9, [PEAK_SMLAL] = 1e6}, .bytes = {[READ_L1] = 1e6}},
    {.threads = 2, .mac = {[PEAK_SMMLA] = 2e9, [PEAK_SMLAL] = 2e6}, .bytes = {[READ_L1] = 2e6}}};
static const peak_table table = {fixed, 2};

static int run_once(void **state) {
    (void)state;
    char path[] = "/tmp/armq-run-XXXXXX", out[64];
    const int file = mkstemp(path);
    assert_true(file >= 0 && core_list_read(&cores));
    assert_int_equal(pthread_barrier_init(&both, NULL, 2), 0);
    close(file);
    snprintf(out, sizeof out, "--benchmark_out=%s", path);
    char *argv[] = {(char[]){"test"}, out, (char[]){"--benchmark_min_time=0.001"}, NULL};
    int argc = 3;
    gbench_initialize(&argc, argv);
    add_all();
    bench_plan plan = {.entries = entries, .count = ENTRIES};
    const bench_run_setup setup = {.plan = &plan,
                                   .subject = {.cores = &cores, .cold_bytes = 5000},
                                   .peaks = &table,
                                   .pairs = PAIRS,
                                   .now = fake_clock};
    bench_run_start(&setup);
    for (int i = 0; i < ENTRIES; i++)
        if (entries[i].c.threads <= cores.kinds[0].count)
            gbench_register(entries[i].name, bench_run_entry, &entries[i]);
    const gbench_observer observer = {accept, ignore, NULL};
    assert_true(gbench_run(&observer) > 0);
    bench_run_close();
    data = json_load_file(path, 0, NULL);
    unlink(path);
    assert_non_null(data);
    json_t *row;
    size_t at;
    json_array_foreach(json_object_get(data, "benchmarks"), at, row) {
        const char *name = json_string_value(json_object_get(row, "run_name"));
        for (int i = 0; i < ENTRIES; i++)
            if (strncmp(name, entries[i].name, strlen(entries[i].name)) == 0)
                rows[i] = row;
    }
    for (int i = 0; i < ENTRIES; i++)
        assert_true(rows[i] != NULL || entries[i].c.threads > cores.kinds[0].count);
    return 0;
}

static int free_all(void **state) {
    (void)state;
    json_decref(data);
    core_list_free(&cores);
    pthread_barrier_destroy(&both);
    return 0;
}

/* --- What it must have said ---------------------------------------------------------------------
 */

static double value(int id, const char *key) {
    const json_t *found = json_object_get(rows[id], key);
    if (!json_is_number(found))
        fail_msg("%s: no number '%s'", entries[id].name, key);
    return json_number_value(found);
}

static void says(int id, const char *key, const char *text) {
    const char *found = json_string_value(json_object_get(rows[id], key));
    if (found == NULL || strstr(found, text) == NULL)
        fail_msg("%s: '%s' is '%s', wanted '%s' in it", entries[id].name, key,
                 found != NULL ? found : "(absent)", text);
}

static void need_performance(void) {
    if (machine()->emulated)
        skip();
}

/* 4 ms over 1 ms, in every pair. */
static void speed_up_is_baseline_over_case(void **state) {
    (void)state;
    need_performance();
    assert_true(value(QUICK, "pairs") == PAIRS);
    static const char *const keys[] = {"speed-up", "speed-up low", "speed-up high"};
    for (int i = 0; i < 3; i++)
        assert_true(value(QUICK, keys[i]) > 3.999 && value(QUICK, keys[i]) < 4.001);
    assert_string_equal(entries[QUICK].baseline_provider, "bf16");
    assert_string_equal(entries[QUICK].baseline_kernel, "bf16_kernel");
    assert_null(json_object_get(rows[BASELINE], "speed-up"));
    assert_null(json_object_get(rows[TIER], "speed-up"));
}

/* 1216 bytes in 1 ms at 10^6 bytes/s: 122 % of the peak. */
static void impossible_baselines_are_no_measure(void **state) {
    (void)state;
    need_performance();
    assert_true(entries[TOO_FAST].bound.seconds > 1.2e-3);
    assert_null(json_object_get(rows[MISLED], "speed-up"));
    assert_int_equal(entries[MISLED].speedup.pairs, 0);
}

static void share_of_the_peak_is_bound_over_time(void **state) {
    (void)state;
    need_performance();
    for (int i = QUICK; i <= RESTLESS; i++) {
        assert_string_equal(json_string_value(json_object_get(rows[i], "time_unit")), "us");
        const double wanted = 100 * entries[i].bound.seconds / (value(i, "real_time") * 1e-6);
        assert_true(wanted > 0);
        assert_true(value(i, "% of peak") > 0.999 * wanted);
        assert_true(value(i, "% of peak") < 1.001 * wanted);
        says(i, "label", "bound by ");
    }
}

static void what_spreads_is_noisy(void **state) {
    (void)state;
    need_performance();
    /* Of 1.0 1.2 1.0 1.2 1.0 1.2 the quartiles are 1.0 and 1.2, the median 1.1. */
    assert_true(value(RESTLESS, "spread %") > 18.17 && value(RESTLESS, "spread %") < 18.19);
    assert_true(value(RESTLESS, "noisy") == 1);
    says(RESTLESS, "label", "noisy: repetitions spread by 18.2 % (quartiles), limit 5 %");
    assert_true(value(QUICK, "spread %") < 1e-6);
}

static void emulated_times_prove_nothing(void **state) {
    (void)state;
    if (!machine()->emulated)
        skip();
    static const char *const never[] = {"speed-up", "speed-up low", "% of peak", "spread %",
                                        "noisy",    "MAC/s",        "pairs",     "tokens/s"};
    for (int i = 0; i < ENTRIES; i++)
        for (size_t k = 0; rows[i] != NULL && k < sizeof never / sizeof *never; k++)
            assert_null(json_object_get(rows[i], never[k]));
    assert_true(value(QUICK, "emulated pairs") == PAIRS);
    says(QUICK, "label", "emulated: not performance");
}

/* A tier is held against its own instructions, a library against all that the CPU has. */
static void bound_of_tiers_and_libraries(void **state) {
    (void)state;
    assert_string_equal(entries[TIER].bound.by, "SMLAL");
    assert_true(entries[TIER].bound.seconds == 2 * 16 * 32 / 1e6);
    if (machine()->features & ARMQ_FEATURE_I8MM)
        assert_true(entries[LAZY].bound.seconds < entries[TIER].bound.seconds);
    if (machine()->features == 0) /* not an Arm CPU: nothing was measured that could bind */
        assert_string_equal(entries[LAZY].bound.by, "L1");
}

static void wrong_answers_have_no_time(void **state) {
    (void)state;
    for (int i = LAZY; i <= WRONG; i++) {
        assert_true(json_is_true(json_object_get(rows[i], "error_occurred")));
        says(i, "error_message", "wrong answer, so no time");
    }
    /* What is wrong from the start is not even timed: Google Benchmark calls once. */
    assert_int_equal(wrong_runs, 1);
}

static void cold_weights_are_counted(void **state) {
    (void)state;
    assert_true(value(COLD, "cold bytes") > 5000);
    says(COLD, "label", "; cold, ");
    says(TIER, "label", "; warm");
}

static void a_thread_has_a_core_of_its_own(void **state) {
    (void)state;
    if (rows[POOLED] == NULL)
        skip(); /* there is one core */
    assert_int_equal(seen[0].allowed, 1);
    assert_int_equal(seen[1].allowed, 1);
    assert_int_not_equal(seen[0].cpu, seen[1].cpu);
}

/* Its threads may be started by any call: the first of them is pack, after an entry whose thread
 * was bound to a single core. */
static void own_threads_get_the_cores_as_a_set(void **state) {
    (void)state;
    if (rows[OWN] == NULL)
        skip();
    assert_int_equal(own_at_run, 2);
    assert_int_equal(own_at_pack, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speed_up_is_baseline_over_case),
        cmocka_unit_test(impossible_baselines_are_no_measure),
        cmocka_unit_test(share_of_the_peak_is_bound_over_time),
        cmocka_unit_test(what_spreads_is_noisy),
        cmocka_unit_test(emulated_times_prove_nothing),
        cmocka_unit_test(bound_of_tiers_and_libraries),
        cmocka_unit_test(wrong_answers_have_no_time),
        cmocka_unit_test(cold_weights_are_counted),
        cmocka_unit_test(a_thread_has_a_core_of_its_own),
        cmocka_unit_test(own_threads_get_the_cores_as_a_set),
    };
    return cmocka_run_group_tests(tests, run_once, free_all);
}
