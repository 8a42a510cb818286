/* SPDX-License-Identifier: Apache-2.0 */
/* armq-bench: times cases with Google Benchmark. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance/version.h"
#include "harness/machine.h"
#include "perf/counts.h"
#include "perf/fingerprint.h"
#include "perf/gbench.h"
#include "perf/peak_table.h"
#include "perf/plan.h"
#include "perf/run.h"
#include "perf/speedup.h"
#include "perf/verdict.h"

static const char emulated_note[] =
    "armq-bench: emulated (%s): times below are those of the emulator, NOT performance;\n"
    "armq-bench: rates are named \"emulated ...\", and no speed-up is computed\n";

/* The machine as context: scalars as they are, arrays joined by blanks. */
static void context_value(const char *key, const json_t *value) {
    char name[64], text[512] = "";
    snprintf(name, sizeof name, "armq_%s", key);
    size_t used = 0, i;
    const json_t *item;
    switch (json_typeof(value)) {
    case JSON_STRING:
        gbench_context(name, json_string_value(value));
        return;
    case JSON_ARRAY:
        json_array_foreach(value, i, item) if (json_is_string(item) && used < sizeof text) used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "",
                             json_string_value(item));
        gbench_context(name, text);
        return;
    default: {
        char *plain = json_dumps(value, JSON_ENCODE_ANY);
        gbench_context(name, plain != NULL ? plain : "");
        free(plain);
    }
    }
}

static void context_object(json_t *object) {
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) context_value(key, value);
    json_decref(object);
}

/* As text in one value, which a report can parse. */
static void context_peaks(const peak_table *table) {
    const bool emulated = machine()->emulated;
    json_t *all = peak_table_json(table, emulated ? "emulated " : "");
    char *text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(6));
    gbench_context(emulated ? "armq_emulated_peaks" : "armq_peaks", text != NULL ? text : "");
    free(text);
    json_decref(all);
}

/* Takes the fingerprint over. */
static void set_context(json_t *fingerprint, const peak_table *table, int64_t cold_bytes) {
    char cold[160];
    context_object(machine_json());
    context_object(fingerprint);
    context_peaks(table);
    gbench_context("armq_version", ARMQ_VERSION);
    gbench_context("time_is_performance", machine()->emulated ? "false" : "true");
    gbench_context("armq_memory", "warm: one copy of weights, x and y, used again by every run");
    snprintf(cold, sizeof cold,
             "copies of the weights take turns: more than %lld distinct bytes; x and y stay warm",
             (long long)cold_bytes);
    gbench_context("armq_memory_cold", cold);
    gbench_context("armq_binding", "one thread per core, cores of one kind");
    gbench_context("armq_bytes", bench_bytes_definition);
    gbench_context("armq_weight_bytes", bench_weight_bytes_definition);
}

static int usage(const char *message) {
    fprintf(stderr, "armq-bench: %s\n", message);
    return EXIT_USAGE;
}

/* Google Benchmark opens its output late and then exits with the status of a wrong answer. */
static bool output_writable(const bench_options *options) {
    for (int i = 1; i < options->gbench_count; i++) {
        const char *flag = "--benchmark_out=", *path = options->gbench[i];
        if (strncmp(path, flag, strlen(flag)) != 0)
            continue;
        FILE *file = fopen(path + strlen(flag), "a");
        if (file == NULL) {
            fprintf(stderr, "armq-bench: %s: %s\n", path, strerror(errno));
            return false;
        }
        fclose(file);
    }
    return true;
}

/* Flags for Google Benchmark: its half second per case means nothing under emulation. */
static int initialize(const bench_options *options) {
    char short_time[] = "--benchmark_min_time=0.01";
    char *argv[options->gbench_count + 2];
    int argc = 0;
    argv[argc++] = options->gbench[0];
    if (machine()->emulated && !options->min_time)
        argv[argc++] = short_time;
    for (int i = 1; i < options->gbench_count; i++)
        argv[argc++] = options->gbench[i];
    argv[argc] = NULL;
    gbench_initialize(&argc, argv);
    if (argc > 1) {
        fprintf(stderr,
                "armq-bench: '%s' is no flag of Google Benchmark, or its value is not allowed "
                "(--help lists them)\n",
                argv[1]);
        return EXIT_USAGE;
    }
    return output_writable(options) ? EXIT_TIMED : EXIT_USAGE;
}

static int list(const bench_plan *plan) {
    for (int64_t i = 0; i < plan->count; i++)
        puts(plan->entries[i].name);
    return plan->count > 0 ? EXIT_TIMED : EXIT_NOTHING;
}

static bool timing;

/* A kernel that calls exit must not look like a run that went well. */
static void ended_early(void) {
    if (!timing)
        return;
    fputs("armq-bench: the process was ended by the provider that was being timed\n", stderr);
    _exit(EXIT_WRONG);
}

static int64_t cold_bytes_of(const core_list *cores) {
    bool assumed;
    const int64_t bytes = rotation_wanted(cores, machine()->emulated, &assumed);
    if (assumed)
        fprintf(stderr, "armq-bench: the last-level cache is not known, %d MiB are assumed\n",
                ROTATION_LLC_ASSUMED >> 20);
    return bytes;
}

static void look_at_load(bench_verdict *verdict, int32_t threads) {
    const int32_t online = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (verdict->load[0] == '\0')
        noise_load_quiet(fingerprint_load(""), threads, online, verdict->load);
}

static int32_t most_threads(const bench_plan *plan) {
    int32_t most = 1;
    for (int64_t i = 0; i < plan->count; i++)
        most = plan->entries[i].c.threads > most ? plan->entries[i].c.threads : most;
    return most;
}

static bool measure_peaks(peak_table *table, const bench_plan *plan, const core_list *cores,
                          int64_t memory) {
    const machine_info *m = machine();
    char why[PEAKS_WHY];
    const peak_table_setup setup = {.cores = cores,
                                    .features = m->features,
                                    .l1 = m->l1,
                                    .l2 = m->l2,
                                    .memory = memory,
                                    .seconds = m->emulated ? 1e-3 : 20e-3,
                                    .repeats = m->emulated ? 1 : 7};
    if (!peak_table_measure(table, plan, &setup, why)) {
        fprintf(stderr, "armq-bench: the peaks cannot be measured: %s\n", why);
        return false;
    }
    peak_table_print(table, m->emulated ? "emulated " : "", m->features, stderr);
    return true;
}

static int run_all(bench_verdict *verdict, const bench_run_setup *setup) {
    bench_plan *plan = setup->plan;
    const gbench_observer observer = {verdict_vet, verdict_note, verdict};
    bench_run_start(setup);
    for (int64_t i = 0; i < plan->count; i++)
        gbench_register(plan->entries[i].name, bench_run_entry, &plan->entries[i]);
    atexit(ended_early);
    timing = true;
    const int64_t matched = gbench_run(&observer);
    bench_run_close();
    timing = false;
    if (matched < 0) {
        fputs("armq-bench: the file of --benchmark_out cannot be written\n", stderr);
        return EXIT_WRONG;
    }
    if (matched == 0)
        return EXIT_NOTHING;
    look_at_load(verdict, 0); /* the load has this process in it by now */
    if (!machine()->emulated)
        speedup_print(plan, stderr);
    return verdict_print(verdict, stderr);
}

static int time_all(bench_plan *plan, const bench_options *options, const core_list *cores) {
    bench_verdict verdict = {.plan = plan, .emulated = machine()->emulated};
    bench_run_setup setup = {.plan = plan,
                             .subject = {.cores = cores, .cold_bytes = cold_bytes_of(cores)},
                             .pairs = options->pairs,
                             .seconds = machine()->emulated ? 0 : 10e-3};
    peak_table table = {.count = 0};
    json_t *fingerprint = fingerprint_json(cores, ""); /* before threads are bound */
    int status = plan->count > 0 ? EXIT_WRONG : EXIT_NOTHING;
    if (setup.pairs == OPTIONS_ALL)
        setup.pairs = machine()->emulated ? 0 : 15;
    if (noise_quota_quiet(fingerprint_quota(""), verdict.load))
        look_at_load(&verdict, most_threads(plan));
    if (plan->count > 0 && measure_peaks(&table, plan, cores, setup.subject.cold_bytes)) {
        set_context(json_incref(fingerprint), &table, setup.subject.cold_bytes);
        setup.peaks = &table;
        status = run_all(&verdict, &setup);
    }
    json_decref(fingerprint);
    peak_table_free(&table);
    if (status == EXIT_NOTHING)
        fputs("armq-bench: nothing ran\n", stderr);
    return status;
}

static int plan_and_time(const bench_options *options, const core_list *cores) {
    static bench_plan plan;
    char message[PLAN_MESSAGE];
    if (!bench_plan_build(&plan, options, cores, message)) {
        bench_plan_free(&plan);
        return usage(message);
    }
    if (machine()->emulated)
        fprintf(stderr, emulated_note, machine()->cpu);
    bench_plan_print_refusals(&plan, stderr);
    const int status = options->list ? list(&plan) : time_all(&plan, options, cores);
    bench_plan_free(&plan);
    return status;
}

static int bench(const bench_options *options) {
    core_list cores;
    int status = initialize(options);
    if (status != EXIT_TIMED)
        return status;
    if (core_list_read(&cores)) {
        status = plan_and_time(options, &cores);
    } else {
        fputs("armq-bench: the usable cores cannot be found out\n", stderr);
        status = EXIT_WRONG;
    }
    core_list_free(&cores);
    return status;
}

/* A full disk must not look like a success. */
static bool stdout_is_written(void) {
    if (!ferror(stdout) && fflush(stdout) == 0)
        return true;
    fputs("armq-bench: stdout cannot be written\n", stderr);
    return false;
}

int main(int argc, char **argv) {
    bench_options options;
    int status = EXIT_TIMED;
    if (!bench_options_parse(&options, argc, argv))
        status = usage(options.message);
    else if (options.help)
        bench_options_help();
    else
        status = bench(&options);
    bench_options_free(&options);
    if (!stdout_is_written() && status == EXIT_TIMED)
        status = EXIT_WRONG;
    return status;
}
