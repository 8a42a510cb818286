/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/check.h"
#include "conformance/version.h"

static const char usage[] =
    "Usage: armq-conform [OPTION]... [CASE]...\n"
    "Judges quantised matrix kernels against the reference.\n"
    "\n"
    "What to run:\n"
    "  CASE                   a case, quoted: 'linear_w8a8 tokens=7 n=64 k=512 dialect=vllm-w8a8'\n"
    "  --sweep NAME           a sweep file by name (see --list=sweeps) or path; repeatable\n"
    "  --provider P[,P]       built-in providers or shared libraries (paths); default: every\n"
    "                         built-in one but 'reference'\n"
    "  --check C[,C]          only these checks (see --list=checks); default: all\n"
    "  --filter REGEX         only cases whose text matches (POSIX extended)\n"
    "  --seed N               replaces the seed of every case\n"
    "  --profile FILE         waivers: lines 'waive PROVIDER CHECK REGEX # reason'\n"
    "  --require-tier T[,T]   fail unless each of these providers runs here and ran a case\n"
    "How to run it:\n"
    "  --jobs N               worker processes; default: usable cores\n"
    "  --timeout SECONDS      longest time of one call; default: 10 s and more for large cases\n"
    "  --max-failures N       after so many failed cases the rest is skipped; default: any number\n"
    "  --shrink, --no-shrink  look for the smallest case that fails as a failed one does, or do "
    "not;\n"
    "                         default: where the environment variable CI is set\n"
    "What to write:\n"
    "  --json FILE            results, one JSON object a line, as they come\n"
    "  --junit FILE           results as JUnit XML, at the end\n"
    "  --force                overwrite these files\n"
    "  --resume FILE          go on with the run that wrote FILE with --json: skips what has a\n"
    "                         result and appends; the other options must be the same\n"
    "Information:\n"
    "  --list[=WHAT]          cases (default), providers, checks, keys or sweeps, and stop\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 all passed, 1 a case failed, 2 usage, 3 nothing ran.\n";

enum {
    OPT_SWEEP = 256,
    OPT_PROVIDER,
    OPT_CHECK,
    OPT_FILTER,
    OPT_SEED,
    OPT_JOBS,
    OPT_TIMEOUT,
    OPT_LIST,
    OPT_JSON,
    OPT_JUNIT,
    OPT_REQUIRE,
    OPT_RESUME,
    OPT_PROFILE,
    OPT_MAX_FAILURES,
    OPT_FORCE,
    OPT_SHRINK,
    OPT_NO_SHRINK,
    OPT_HELP,
    OPT_VERSION
};

static const struct option long_options[] = {
    {"sweep", required_argument, NULL, OPT_SWEEP},
    {"provider", required_argument, NULL, OPT_PROVIDER},
    {"check", required_argument, NULL, OPT_CHECK},
    {"filter", required_argument, NULL, OPT_FILTER},
    {"seed", required_argument, NULL, OPT_SEED},
    {"jobs", required_argument, NULL, OPT_JOBS},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"list", optional_argument, NULL, OPT_LIST},
    {"json", required_argument, NULL, OPT_JSON},
    {"junit", required_argument, NULL, OPT_JUNIT},
    {"require-tier", required_argument, NULL, OPT_REQUIRE},
    {"resume", required_argument, NULL, OPT_RESUME},
    {"profile", required_argument, NULL, OPT_PROFILE},
    {"max-failures", required_argument, NULL, OPT_MAX_FAILURES},
    {"force", no_argument, NULL, OPT_FORCE},
    {"shrink", no_argument, NULL, OPT_SHRINK},
    {"no-shrink", no_argument, NULL, OPT_NO_SHRINK},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

/* --- Text lists ----------------------------------------------------------------------------------
 */

bool text_list_add(text_list *list, const char *text, size_t length) {
    char **grown = realloc(list->items, ((size_t)list->count + 1) * sizeof *grown);
    if (!grown)
        return false;
    list->items = grown;
    grown[list->count] = strndup(text, length);
    if (!grown[list->count])
        return false;
    list->count++;
    return true;
}

bool text_list_has(const text_list *list, const char *text) {
    for (int64_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0)
            return true;
    return false;
}

static void text_list_free(text_list *list) {
    for (int64_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (text_list){0};
}

/* --- Values --------------------------------------------------------------------------------------
 */

__attribute__((format(printf, 2, 3))) static bool complain(FILE *err, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("armq-conform: ", err);
    vfprintf(err, format, args);
    fputs("\n", err);
    va_end(args);
    return false;
}

/* A comma list; empty parts and repeats are errors. */
static bool parse_list(text_list *list, const char *option, const char *text, FILE *err) {
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0)
            return complain(err, "%s '%s': an entry of the list is empty", option, text);
        if (!text_list_add(list, at, length))
            return complain(err, "out of memory");
        const char *added = list->items[list->count - 1];
        for (int64_t i = 0; i + 1 < list->count; i++)
            if (strcmp(list->items[i], added) == 0)
                return complain(err, "%s names '%s' twice", option, added);
        at += length;
        if (!*at)
            return true;
    }
}

static bool parse_checks(options *o, const char *text, FILE *err) {
    text_list names = {0};
    bool ok = parse_list(&names, "--check", text, err);
    for (int64_t i = 0; ok && i < names.count; i++) {
        int index = check_index(names.items[i]);
        ok = index >= 0;
        if (!ok) {
            fprintf(err, "armq-conform: --check '%s': there is no such check; allowed are",
                    names.items[i]);
            for (int c = 0; c < check_count(); c++)
                fprintf(err, " %s", check_table[c].name);
            fputs("\n", err);
        } else {
            o->checks |= UINT64_C(1) << index;
        }
    }
    text_list_free(&names);
    o->checks_given = true;
    return ok;
}

static bool parse_seed(options *o, const char *text, FILE *err) {
    char *end;
    errno = 0;
    o->seed = strtoull(text, &end, 0);
    o->has_seed = true;
    if (!isdigit((unsigned char)*text) || *end || errno)
        return complain(err, "--seed '%s': allowed are whole numbers from 0 to 2^64-1", text);
    return true;
}

static bool parse_jobs(options *o, const char *text, FILE *err) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (!*text || *end || errno || value < 1 || value > 1024)
        return complain(err, "--jobs '%s': allowed are whole numbers from 1 to 1024", text);
    o->jobs = (int32_t)value;
    return true;
}

static bool parse_max_failures(options *o, const char *text, FILE *err) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (!*text || *end || errno || value < 1)
        return complain(err, "--max-failures '%s': allowed are whole numbers from 1", text);
    o->max_failures = value;
    return true;
}

static bool parse_timeout(options *o, const char *text, FILE *err) {
    char *end;
    o->timeout = strtod(text, &end);
    if (!*text || *end || !isfinite(o->timeout) || o->timeout < 0.01 || o->timeout > 1e6)
        return complain(err, "--timeout '%s': allowed are seconds from 0.01 to 1000000", text);
    return true;
}

static const char *const list_words[] = {"", "cases", "providers", "checks", "keys", "sweeps"};

static list_what list_word(const char *text) {
    for (int i = LIST_CASES; text && i <= LIST_SWEEPS; i++)
        if (strcmp(text, list_words[i]) == 0)
            return (list_what)i;
    return LIST_NOTHING;
}

/* `--list providers` is meant as --list=providers: no case line is one of these words. */
static bool parse_list_what(options *o, int argc, char **argv, FILE *err) {
    const char *word = optarg;
    if (!word && optind < argc && list_word(argv[optind]))
        word = argv[optind++];
    o->list = word ? list_word(word) : LIST_CASES;
    if (o->list == LIST_NOTHING)
        return complain(err, "--list '%s': allowed are cases, providers, checks, keys and sweeps",
                        word);
    return true;
}

static bool parse_text(const char **target, const char *option, const char *text, FILE *err) {
    if (*target)
        return complain(err, "%s is given twice, as '%s' and '%s'", option, *target, text);
    if (!*text)
        return complain(err, "%s needs a value that is not empty", option);
    *target = text;
    return true;
}

static bool parse_one(options *o, int code, int argc, char **argv, FILE *err) {
    switch (code) {
    case OPT_SWEEP:
        return parse_list(&o->sweeps, "--sweep", optarg, err);
    case OPT_PROVIDER:
        return parse_list(&o->providers, "--provider", optarg, err);
    case OPT_REQUIRE:
        return parse_list(&o->required, "--require-tier", optarg, err);
    case OPT_CHECK:
        return parse_checks(o, optarg, err);
    case OPT_FILTER:
        return parse_text(&o->filter, "--filter", optarg, err);
    case OPT_SEED:
        return parse_seed(o, optarg, err);
    case OPT_JOBS:
        return parse_jobs(o, optarg, err);
    case OPT_MAX_FAILURES:
        return parse_max_failures(o, optarg, err);
    case OPT_TIMEOUT:
        return parse_timeout(o, optarg, err);
    case OPT_LIST:
        return parse_list_what(o, argc, argv, err);
    case OPT_JSON:
        return parse_text(&o->json, "--json", optarg, err);
    case OPT_JUNIT:
        return parse_text(&o->junit, "--junit", optarg, err);
    case OPT_RESUME:
        return parse_text(&o->resume, "--resume", optarg, err);
    case OPT_PROFILE:
        return parse_text(&o->profile, "--profile", optarg, err);
    case OPT_FORCE:
        o->force = true;
        return true;
    case OPT_SHRINK:
    case OPT_NO_SHRINK:
        o->shrink = code == OPT_SHRINK;
        return true;
    case ':':
        return complain(err, "%s needs a value; see --help", argv[optind - 1]);
    default:
        return complain(err, "'%s' is not an option, or not one with this value; see --help",
                        argv[optind - 1]);
    }
}

/* --- The whole -----------------------------------------------------------------------------------
 */

static bool is_consistent(const options *o, FILE *err) {
    bool runs = o->list == LIST_NOTHING;
    if (o->resume && o->json && strcmp(o->resume, o->json) != 0)
        return complain(err,
                        "--resume '%s' appends to that file; --json '%s' contradicts it (leave it "
                        "out, or name the same file)",
                        o->resume, o->json);
    if (o->resume && o->force)
        return complain(err, "--resume appends, --force overwrites; give one of them");
    if (o->force && !o->json && !o->junit)
        return complain(err, "--force has no file to overwrite; it goes with --json or --junit");
    if (o->json && o->junit && strcmp(o->json, o->junit) == 0)
        return complain(err, "--json and --junit name the same file '%s'", o->json);
    if (!runs && (o->json || o->junit || o->resume || o->required.count))
        return complain(
            err, "--list runs nothing; --json, --junit, --resume and --require-tier do not fit it");
    bool needs_cases = runs || o->list == LIST_CASES;
    if (needs_cases && o->sweeps.count + o->lines.count == 0)
        return complain(err, "nothing to run: give --sweep NAME or a case; see --help");
    if (!needs_cases && o->sweeps.count + o->lines.count > 0)
        return complain(err, "--list=%s takes neither sweeps nor cases", list_words[o->list]);
    for (int64_t i = 0; o->providers.count && i < o->required.count; i++)
        if (!text_list_has(&o->providers, o->required.items[i]))
            return complain(err, "--require-tier '%s' is not among the providers given",
                            o->required.items[i]);
    return true;
}

options_result options_parse(options *o, int argc, char **argv, FILE *out, FILE *err) {
    const char *ci = getenv("CI");
    *o = (options){.shrink = ci && *ci};
    optind = 0; /* glibc: start afresh */
    opterr = 0;
    int code;
    while ((code = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        if (code == OPT_HELP) {
            fputs(usage, out);
            return OPTIONS_DONE;
        }
        if (code == OPT_VERSION) {
            fprintf(out, "armq-conform %s\n", ARMQ_VERSION);
            return OPTIONS_DONE;
        }
        if (!parse_one(o, code, argc, argv, err))
            return OPTIONS_ERROR;
    }
    for (int i = optind; i < argc; i++)
        if (!text_list_add(&o->lines, argv[i], strlen(argv[i]))) {
            complain(err, "out of memory");
            return OPTIONS_ERROR;
        }
    if (!o->checks_given)
        o->checks = ~UINT64_C(0);
    return is_consistent(o, err) ? OPTIONS_RUN : OPTIONS_ERROR;
}

void options_free(options *o) {
    text_list_free(&o->sweeps);
    text_list_free(&o->lines);
    text_list_free(&o->providers);
    text_list_free(&o->required);
}
