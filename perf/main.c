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
#include "perf/gbench.h"
#include "perf/plan.h"
#include "perf/run.h"
#include "perf/speedup.h"

enum { EXIT_TIMED = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_NOTHING = 3 };

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

static void set_context(void) {
    json_t *info = machine_json();
    const char *key;
    json_t *value;
    json_object_foreach(info, key, value) context_value(key, value);
    json_decref(info);
    gbench_context("armq_version", ARMQ_VERSION);
    gbench_context("time_is_performance", machine()->emulated ? "false" : "true");
    gbench_context("armq_memory", "warm: one copy of weights, x and y, used again by every run");
    gbench_context("armq_bytes", bench_bytes_definition);
    gbench_context("armq_weight_bytes", bench_weight_bytes_definition);
}

static void note_result(void *ctx, const gbench_result *result) {
    bench_entry *entry = bench_plan_find(ctx, result->name);
    if (entry == NULL || result->repeated != NULL)
        return;
    if (result->error != NULL)
        entry->failed = true;
    else if (!bench_entry_add(entry, result->seconds))
        fprintf(stderr, "armq-bench: no memory to keep the time of %s\n", result->name);
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

static int time_all(bench_plan *plan) {
    set_context();
    for (int64_t i = 0; i < plan->count; i++)
        gbench_register(plan->entries[i].name, bench_run_entry, &plan->entries[i]);
    atexit(ended_early);
    timing = true;
    const int64_t matched = plan->count > 0 ? gbench_run(note_result, plan) : 0;
    bench_run_close();
    timing = false;
    if (matched < 0) {
        fputs("armq-bench: the file of --benchmark_out cannot be written\n", stderr);
        return EXIT_WRONG;
    }
    if (matched == 0) {
        fputs("armq-bench: nothing ran\n", stderr);
        return EXIT_NOTHING;
    }
    if (!machine()->emulated)
        speedup_print(plan, stderr);
    int64_t failed = 0;
    for (int64_t i = 0; i < plan->count; i++)
        failed += plan->entries[i].failed;
    if (failed == 0)
        return EXIT_TIMED;
    fprintf(stderr, "armq-bench: %lld without a time, see the errors above\n", (long long)failed);
    return EXIT_WRONG;
}

static int bench(const bench_options *options) {
    static bench_plan plan;
    char message[PLAN_MESSAGE];
    int status = initialize(options);
    if (status != EXIT_TIMED)
        return status;
    if (!bench_plan_build(&plan, options, message)) {
        bench_plan_free(&plan);
        return usage(message);
    }
    if (machine()->emulated)
        fprintf(stderr, emulated_note, machine()->cpu);
    bench_plan_print_refusals(&plan, stderr);
    status = options->list ? list(&plan) : time_all(&plan);
    bench_plan_free(&plan);
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
