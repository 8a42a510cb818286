/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case.h"
#include "perf/gbench.h"

enum { THREADS_MAX = 1024 };

__attribute__((format(printf, 2, 3))) static bool fail(bench_options *o, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(o->message, sizeof o->message, format, args);
    va_end(args);
    return false;
}

static bool push(bench_options *o, char ***list, int64_t *count, const char *text, size_t length) {
    char **grown = realloc(*list, (size_t)(*count + 1) * sizeof *grown);
    char *copy = strndup(text, length);
    if (grown != NULL)
        *list = grown;
    if (grown == NULL || copy == NULL) {
        free(copy);
        return fail(o, "no memory for the command line");
    }
    (*list)[(*count)++] = copy;
    return true;
}

/* Each piece between commas. */
static bool push_list(bench_options *o, char ***list, int64_t *count, const char *option,
                      const char *value) {
    for (const char *at = value;;) {
        const size_t length = strcspn(at, ",");
        if (length == 0)
            return fail(o, "%s '%s' has an empty entry", option, value);
        if (!push(o, list, count, at, length))
            return false;
        if (at[length] == '\0')
            return true;
        at += length + 1;
    }
}

static bool add_threads(bench_options *o, const char *value) {
    for (const char *at = value;;) {
        char *end;
        errno = 0;
        const long n = strtol(at, &end, 10);
        if (end == at || errno != 0 || n < 1 || n > THREADS_MAX || (*end != ',' && *end != '\0'))
            return fail(o, "--threads '%s': wanted numbers from 1 to %d, separated by commas",
                        value, THREADS_MAX);
        int32_t *grown = realloc(o->threads, (size_t)(o->thread_count + 1) * sizeof *grown);
        if (grown == NULL)
            return fail(o, "no memory for the command line");
        o->threads = grown;
        o->threads[o->thread_count++] = (int32_t)n;
        if (*end == '\0')
            return true;
        at = end + 1;
    }
}

/* Words of a case that the shell split: "key=value" belongs to the case before it. */
static bool add_words(bench_options *o, const char *text) {
    const bool continues = strchr(text, '=') != NULL && strchr(text, ' ') == NULL;
    if (!continues)
        return push(o, &o->lines, &o->line_count, text, strlen(text));
    if (o->line_count == 0)
        return fail(o, "'%s': a case starts with an op, e.g. linear_w8a8 tokens=1 n=64 k=64", text);
    char **line = &o->lines[o->line_count - 1];
    char *longer = NULL;
    if (asprintf(&longer, "%s %s", *line, text) < 0)
        return fail(o, "no memory for the command line");
    free(*line);
    *line = longer;
    return true;
}

/* 1: argv[*at] is the option and *value is set; 0: it is another; -1: the value is missing. */
static int take(bench_options *o, const char *option, int argc, char **argv, int *at,
                const char **value) {
    const size_t length = strlen(option);
    const char *arg = argv[*at];
    if (strncmp(arg, option, length) != 0)
        return 0;
    if (arg[length] == '=') {
        *value = arg + length + 1;
    } else if (arg[length] != '\0') {
        return 0;
    } else if (*at + 1 < argc) {
        *value = argv[++*at];
    } else {
        *value = "";
    }
    if (**value != '\0')
        return 1;
    fail(o, "%s needs a value", option);
    return -1;
}

static bool parse_one(bench_options *o, int argc, char **argv, int *at) {
    const char *arg = argv[*at];
    const char *value = NULL;
    int found;
    if ((found = take(o, "--sweep", argc, argv, at, &value)) != 0)
        return found > 0 && push_list(o, &o->sweeps, &o->sweep_count, "--sweep", value);
    if ((found = take(o, "--provider", argc, argv, at, &value)) != 0)
        return found > 0 && push_list(o, &o->providers, &o->provider_count, "--provider", value);
    if ((found = take(o, "--threads", argc, argv, at, &value)) != 0)
        return found > 0 && add_threads(o, value);
    o->list = o->list || strcmp(arg, "--list") == 0;
    o->help = o->help || strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
    if (strcmp(arg, "--list") == 0 || strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
        return true;
    if (strncmp(arg, "--benchmark_", 12) == 0 || strncmp(arg, "--v=", 4) == 0) {
        o->min_time = o->min_time || strncmp(arg, "--benchmark_min_time=", 21) == 0;
        o->gbench[o->gbench_count++] = argv[*at];
        return true;
    }
    if (arg[0] == '-')
        return fail(o,
                    "unknown option '%s'; allowed: --sweep, --provider, --threads, --list, --help "
                    "and the --benchmark_* flags",
                    arg);
    return add_words(o, arg);
}

bool bench_options_parse(bench_options *o, int argc, char **argv) {
    *o = (bench_options){.list = false};
    o->gbench = calloc((size_t)argc + 1, sizeof *o->gbench);
    if (o->gbench == NULL)
        return fail(o, "no memory for the command line");
    o->gbench[o->gbench_count++] = argv[0];
    for (int i = 1; i < argc; i++)
        if (!parse_one(o, argc, argv, &i))
            return false;
    if (!o->help && o->sweep_count == 0 && o->line_count == 0)
        return fail(o, "nothing to time: give --sweep NAME or a case line (--help shows both)");
    return true;
}

static void free_list(char **list, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

void bench_options_free(bench_options *o) {
    free_list(o->sweeps, o->sweep_count);
    free_list(o->lines, o->line_count);
    free_list(o->providers, o->provider_count);
    free(o->threads);
    free(o->gbench);
}

void bench_options_help(void) {
    puts("usage: armq-bench [options] [case ...] [--benchmark_* flags]\n"
         "\n"
         "Times kernels. Every case is first judged by the reference on some elements; a wrong\n"
         "answer is an error and has no time.\n"
         "\n"
         "  --sweep NAME[,..]     cases of a sweep: perf/cases/NAME.sweep, else the conformance\n"
         "                        sweep of that name, or the path of a file\n"
         "  --provider NAME[,..]  a built-in provider or the path of a shared library (default:\n"
         "                        every built-in kernel that this CPU runs)\n"
         "  --threads N[,..]      instead of what the cases say; real threads, at most the usable\n"
         "                        processors\n"
         "  --list                names of what would run, one a line\n"
         "  --help                this text\n"
         "\n"
         "case: one argument, or op and key=value words, e.g.\n"
         "  armq-bench linear_w8a8 tokens=1,32 n=2048 k=2048 dialect=vllm-w8a8\n"
         "\n"
         "Results: on standard output; --benchmark_out=FILE.json writes JSON for the report. The\n"
         "speed-up over bf16 and every note go to standard error.\n"
         "Exit status: 0 all timed, 1 an answer was wrong, 2 usage, 3 nothing ran.\n");
    case_print_keys(stdout);
    puts("\nGoogle Benchmark's flags:");
    gbench_print_flags();
}
