/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case.h"
#include "perf/gbench.h"

enum { THREADS_MAX = 1024, PAIRS_MAX = 1000 };

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

/* A decimal number in [least, most] that ends at a comma or the end of the text. */
static bool parse_number(const char *at, int32_t least, int32_t most, int32_t *number) {
    char *end;
    errno = 0;
    const long n = strtol(at, &end, 10);
    *number = (int32_t)n;
    return end != at && errno == 0 && n >= least && n <= most && (*end == ',' || *end == '\0');
}

static bool is_word(const char *at, const char *word) {
    const size_t length = strcspn(at, ",");
    return strlen(word) == length && strncmp(at, word, length) == 0;
}

static bool add_threads(bench_options *o, const char *value) {
    for (const char *at = value;; at++) {
        int32_t n = OPTIONS_ALL;
        if (!is_word(at, "all") && !parse_number(at, 1, THREADS_MAX, &n))
            return fail(o,
                        "--threads '%s': wanted numbers from 1 to %d or 'all', separated by commas",
                        value, THREADS_MAX);
        int32_t *grown = realloc(o->threads, (size_t)(o->thread_count + 1) * sizeof *grown);
        if (grown == NULL)
            return fail(o, "no memory for the command line");
        o->threads = grown;
        o->threads[o->thread_count++] = n;
        at += strcspn(at, ",");
        if (*at == '\0')
            return true;
    }
}

static bool set_memory(bench_options *o, const char *value) {
    o->warm = o->cold = false;
    for (const char *at = value;; at++) {
        if (is_word(at, "warm"))
            o->warm = true;
        else if (is_word(at, "cold"))
            o->cold = true;
        else if (strcmp(value, "auto") != 0)
            return fail(o, "--memory '%s': wanted auto, warm, cold or warm,cold", value);
        at += strcspn(at, ",");
        if (*at == '\0')
            return true;
    }
}

static bool set_cores(bench_options *o, const char *value) {
    o->kind = OPTIONS_ALL;
    if (strcmp(value, "all") == 0 || parse_number(value, 0, THREADS_MAX, &o->kind))
        return true;
    return fail(o, "--cores '%s': wanted the number of a kind of cores (0: the fastest) or 'all'",
                value);
}

static bool set_pairs(bench_options *o, const char *value) {
    if (parse_number(value, 0, PAIRS_MAX, &o->pairs))
        return true;
    return fail(o, "--pairs '%s': wanted a number from 0 to %d", value, PAIRS_MAX);
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

/* Google Benchmark takes any number: a negative one ends it with an uncaught exception, with NaN it
 * never ends. What is no number it refuses itself. */
static bool check_gbench(bench_options *o, const char *arg) {
    static const struct {
        const char *flag;
        double least;
    } numbers[] = {{"--benchmark_repetitions=", 1},
                   {"--benchmark_min_time=", 0},
                   {"--benchmark_min_warmup_time=", 0}};
    enum { MOST = 1000000 };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const size_t length = strlen(numbers[i].flag);
        if (strncmp(arg, numbers[i].flag, length) != 0)
            continue;
        char *end;
        const double value = strtod(arg + length, &end);
        if (end != arg + length && !(value >= numbers[i].least && value <= MOST))
            return fail(o, "'%s': wanted a number from %g to %d", arg, numbers[i].least, MOST);
    }
    return true;
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
    if ((found = take(o, "--memory", argc, argv, at, &value)) != 0)
        return found > 0 && set_memory(o, value);
    if ((found = take(o, "--cores", argc, argv, at, &value)) != 0)
        return found > 0 && set_cores(o, value);
    if ((found = take(o, "--pairs", argc, argv, at, &value)) != 0)
        return found > 0 && set_pairs(o, value);
    o->list = o->list || strcmp(arg, "--list") == 0;
    o->help = o->help || strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
    if (strcmp(arg, "--list") == 0 || strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
        return true;
    if (strncmp(arg, "--benchmark_", 12) == 0 || strncmp(arg, "--v=", 4) == 0) {
        o->min_time = o->min_time || strncmp(arg, "--benchmark_min_time=", 21) == 0;
        o->gbench[o->gbench_count++] = argv[*at];
        return check_gbench(o, arg);
    }
    if (arg[0] == '-')
        return fail(
            o,
            "unknown option '%s'; allowed: --sweep, --provider, --threads, --memory, --cores, "
            "--pairs, --list, --help and the --benchmark_* flags",
            arg);
    return add_words(o, arg);
}

bool bench_options_parse(bench_options *o, int argc, char **argv) {
    *o = (bench_options){.pairs = OPTIONS_ALL};
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
    puts(
        "usage: armq-bench [options] [case ...] [--benchmark_* flags]\n"
        "\n"
        "Times kernels. Every case is first judged by the reference on some elements; a wrong\n"
        "answer is an error and has no time.\n"
        "\n"
        "  --sweep NAME[,..]     cases of a sweep: perf/cases/NAME.sweep, else the conformance\n"
        "                        sweep of that name, or the path of a file\n"
        "  --provider NAME[,..]  a built-in provider or the path of a shared library (default:\n"
        "                        every built-in kernel that this CPU runs)\n"
        "  --threads N|all[,..]  instead of what the cases say; real threads, one on a core, at "
        "most\n"
        "                        the usable cores of one kind\n"
        "  --memory MODE         warm: one copy of the weights, run again and again. cold: copies\n"
        "                        that no cache holds take turns. warm,cold: both. auto (default):\n"
        "                        cold for ops with weights and at most 16 tokens, else warm\n"
        "  --cores KIND          on machines with several kinds of cores: 0, the fastest "
        "(default),\n"
        "                        1, ..., or all, one kind after the other\n"
        "  --pairs N             interleaved repetitions for speed-up and noise (default 15; "
        "under\n"
        "                        emulation 0)\n"
        "  --list                names of what would run, one a line\n"
        "  --help                this text\n"
        "\n"
        "case: one argument, or op and key=value words, e.g.\n"
        "  armq-bench linear_w8a8 tokens=1,32 n=2048 k=2048 dialect=vllm-w8a8\n"
        "\n"
        "Results: on standard output; --benchmark_out=FILE.json writes JSON for the report. The\n"
        "speed-up over bf16 and every note go to standard error. perf/README.md explains them.\n"
        "Exit status: 0 all timed, 1 an answer was wrong or a time is invalid (faster than the\n"
        "measured peaks allow), 2 usage, 3 nothing ran, 4 timed, but too noisy to judge.\n");
    case_print_keys(stdout);
    puts("\nGoogle Benchmark's flags:");
    gbench_print_flags();
}
