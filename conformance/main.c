/* SPDX-License-Identifier: Apache-2.0 */
/* armq-conform: judges kernels against the reference. Its words are in options.c, the order of
 * things is here. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance/check.h"
#include "conformance/results.h"
#include "conformance/runner.h"
#include "conformance/version.h"
#include "conformance/watch.h"
#include "harness/machine.h"

enum { EXIT_INTERRUPTED = 130 };

typedef struct {
    options options;
    plan plan;
    profile *profile;
    outcome *outcomes;
    FILE *json, *junit;
    bool complete; /* the resumed file holds its ledger already */
    char program[PATH_MAX];
} conform;

/* --- --list --------------------------------------------------------------------------------------
 */

static void list_cases(const plan *p) {
    char text[CASE_TEXT_MAX];
    for (int64_t i = 0; i < p->count; i++)
        if (i == 0 || p->tasks[i].group != p->tasks[i - 1].group)
            puts(case_text(&p->tasks[i].c, text));
    if (p->dropped || p->filtered)
        fprintf(stderr,
                "left out: %" PRId64 " that no dialect defines or no provider takes, %" PRId64
                " by --filter\n",
                p->dropped, p->filtered);
}

static void list_providers(const plan *p) {
    for (int64_t i = 0; i < p->provider_count; i++) {
        const provider_info *info = &p->providers[i];
        printf("%-16s version %-8s %s%s\n", info->name, info->version,
               info->runs_here ? "runs here" : "does not run here: ", info->why);
    }
}

/* What can be named, not only what runs by default. */
static bool name_all_builtin(options *o) {
    int64_t count;
    const armq_provider *const *table = providers_builtin(&count);
    bool ok = true;
    for (int64_t i = 0, named = o->providers.count; named == 0 && ok && i < count; i++)
        ok = text_list_add(&o->providers, table[i]->name, strlen(table[i]->name));
    return ok;
}

static int is_sweep(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".sweep") == 0;
}

static int list_sweeps(void) {
    struct dirent **entries;
    int count = scandir(sweep_directory(), &entries, is_sweep, alphasort);
    if (count < 0) {
        fprintf(stderr, "armq-conform: the sweep directory '%s' cannot be read\n",
                sweep_directory());
        return EXIT_USAGE;
    }
    for (int i = 0; i < count; i++) {
        printf("%.*s\n", (int)strlen(entries[i]->d_name) - (int)strlen(".sweep"),
               entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return EXIT_ALL_PASSED;
}

static int list(conform *s) {
    switch (s->options.list) {
    case LIST_CASES:
        if (!plan_make(&s->plan, &s->options, stderr))
            return EXIT_USAGE;
        list_cases(&s->plan);
        return s->plan.count > 0 ? EXIT_ALL_PASSED : EXIT_NOTHING_RAN;
    case LIST_PROVIDERS:
        if (!name_all_builtin(&s->options) || !plan_providers(&s->plan, &s->options, stderr))
            return EXIT_USAGE;
        list_providers(&s->plan);
        return EXIT_ALL_PASSED;
    case LIST_CHECKS:
        for (int i = 0; i < check_count(); i++)
            printf("%-12s %s\n", check_table[i].name, check_table[i].help);
        return EXIT_ALL_PASSED;
    case LIST_KEYS:
        case_print_keys(stdout);
        return EXIT_ALL_PASSED;
    default:
        return list_sweeps();
    }
}

/* --- What is said before and after ---------------------------------------------------------------
 */

/* The launcher next to the build folder if there is one: build/aarch64/x -> build/x. */
static void find_program(conform *s, const char *argv0) {
    const char *folder = "/aarch64/";
    const char *at = strstr(argv0, folder);
    snprintf(s->program, sizeof s->program, "%s", argv0);
    if (!at)
        return;
    char launcher[PATH_MAX];
    snprintf(launcher, sizeof launcher, "%.*s/%s", (int)(at - argv0), argv0, at + strlen(folder));
    if (access(launcher, X_OK) != 0)
        return;
    char here[PATH_MAX];
    size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
    bool below = length > 0 && strncmp(launcher, here, length) == 0 && launcher[length] == '/';
    snprintf(s->program, sizeof s->program, "%s", below ? launcher + length + 1 : launcher);
}

static void print_head(const conform *s, int32_t jobs) {
    const machine_info *m = machine();
    char features[128];
    provider_features(m->features, features, sizeof features);
    printf("armq-conform %s on %s, %s%s; features: %s; %" PRId32 " worker(s)\n", ARMQ_VERSION,
           m->arch, m->cpu, m->emulated ? " (emulated: times mean nothing)" : "",
           features[0] ? features : "none", jobs);
    for (int64_t i = 0; i < s->plan.provider_count; i++) {
        const provider_info *info = &s->plan.providers[i];
        if (info->fpcr_changed)
            printf("warning: loading '%s' changed the floating-point control register of the whole "
                   "process (is it built with -ffast-math?); restored\n",
                   info->spec);
        if (info->broken)
            printf("warning: '%s' %s; all of its cases count as crashed\n", info->spec, info->why);
    }
    fflush(stdout);
}

static bool is_of(const plan_task *t, int64_t provider) { return t->provider == provider; }

static int64_t provider_index(const plan *p, const char *word) {
    for (int64_t i = 0; i < p->provider_count; i++)
        if (strcmp(p->providers[i].name, word) == 0 || strcmp(p->providers[i].spec, word) == 0)
            return i;
    return -1;
}

/* Before the run: a tier that cannot run ends it at once. */
static int check_required(const conform *s) {
    for (int64_t i = 0; i < s->options.required.count; i++) {
        const char *word = s->options.required.items[i];
        int64_t at = provider_index(&s->plan, word);
        if (at < 0) {
            fprintf(stderr,
                    "armq-conform: --require-tier '%s': there is no such provider in this "
                    "run; see --list=providers\n",
                    word);
            return EXIT_USAGE;
        }
        const provider_info *info = &s->plan.providers[at];
        if (!info->runs_here || info->broken) {
            fprintf(stderr, "armq-conform: --require-tier '%s': it does not run here: %s\n", word,
                    info->why);
            return EXIT_NOTHING_RAN;
        }
    }
    return EXIT_ALL_PASSED;
}

/* After it: a tier that ran no case was not judged. */
static int check_required_ran(const conform *s) {
    int status = EXIT_ALL_PASSED;
    for (int64_t i = 0; i < s->options.required.count; i++) {
        const char *word = s->options.required.items[i];
        ledger l = ledger_sum(&s->plan, s->outcomes, is_of, provider_index(&s->plan, word));
        if (ledger_executed(&l) == 0) {
            printf("--require-tier '%s': it ran no case\n", word);
            status = EXIT_NOTHING_RAN;
        }
    }
    return status;
}

/* --- The run -------------------------------------------------------------------------------------
 */

static int open_files(conform *s, int argc, char **argv) {
    const options *o = &s->options;
    if (o->resume)
        s->json = results_resume(o->resume, &s->plan, s->outcomes, &s->complete, stderr);
    else if (o->json)
        s->json = results_create("--json", o->json, o->force, stderr);
    if ((o->resume || o->json) && !s->json)
        return EXIT_USAGE;
    if (o->junit && !(s->junit = results_create("--junit", o->junit, o->force, stderr)))
        return EXIT_USAGE;
    if (!s->json || o->resume)
        return EXIT_ALL_PASSED;
    json_t *record = results_run_record(&s->plan, argc, argv);
    bool ok = results_write(s->json, record);
    json_decref(record);
    if (!ok)
        fprintf(stderr, "armq-conform: --json '%s': cannot be written\n", o->json);
    return ok ? EXIT_ALL_PASSED : EXIT_USAGE;
}

static int finish(conform *s) {
    char text[160];
    ledger l = ledger_sum(&s->plan, s->outcomes, NULL, 0);
    int status = ledger_exit_status(&l);
    if (s->json && !s->complete) {
        json_t *record = results_ledger_record(&l);
        if (!results_write(s->json, record)) {
            fprintf(stderr, "armq-conform: the result file cannot be written\n");
            status = EXIT_FAILURES;
        }
        json_decref(record);
    }
    if (s->junit && !junit_write(s->junit, &s->plan, s->outcomes, &s->options, s->program)) {
        fprintf(stderr, "armq-conform: --junit '%s': cannot be written\n", s->options.junit);
        status = EXIT_FAILURES;
    }
    puts("");
    ledger_print_table(stdout, &s->plan, s->outcomes);
    int required = check_required_ran(s);
    if (status == EXIT_NOTHING_RAN)
        puts("nothing ran: no case was executed on any provider");
    if (!ledger_balances(&l))
        puts("the ledger does not balance: some cases have no result");
    puts(ledger_text(&l, text));
    return status == EXIT_ALL_PASSED ? required : status;
}

static int stopped(const conform *s, run_end end) {
    ledger l = ledger_sum(&s->plan, s->outcomes, NULL, 0);
    const char *file = s->options.resume ? s->options.resume : s->options.json;
    printf("stopped after %" PRId64 " of %" PRId64 " cases, %" PRId64 " failed",
           ledger_executed(&l) + l.skipped, l.planned, l.failed + l.crashed);
    if (file)
        printf("; go on with --resume '%s' and the same other options", file);
    puts("");
    return end == RUN_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_FAILURES;
}

static int run(conform *s, int argc, char **argv) {
    const options *o = &s->options;
    if (o->profile && !(s->profile = profile_load(o->profile, stderr)))
        return EXIT_USAGE;
    if (!plan_make(&s->plan, o, stderr))
        return EXIT_USAGE;
    int status = check_required(s);
    if (status != EXIT_ALL_PASSED)
        return status;
    s->outcomes = calloc((size_t)s->plan.count + 1, sizeof *s->outcomes);
    if (!s->outcomes) {
        fprintf(stderr, "armq-conform: out of memory\n");
        return EXIT_FAILURES;
    }
    status = open_files(s, argc, argv);
    if (status != EXIT_ALL_PASSED)
        return status;
    int32_t jobs = o->jobs > 0 ? o->jobs : machine()->cores > 0 ? machine()->cores : 1;
    watch_set_timeout(o->timeout);
    print_head(s, jobs);
    run_setup setup = {o, &s->plan, s->profile, s->program, s->json, stdout, jobs};
    run_end end = runner_run(&setup, s->outcomes);
    return end == RUN_COMPLETE ? finish(s) : stopped(s, end);
}

static void close_all(conform *s) {
    for (int64_t i = 0; s->outcomes && i < s->plan.count; i++) {
        free(s->outcomes[i].message);
        free(s->outcomes[i].smallest);
    }
    free(s->outcomes);
    if (s->json)
        fclose(s->json);
    if (s->junit)
        fclose(s->junit);
    profile_free(s->profile);
    plan_free(&s->plan);
    options_free(&s->options);
}

/* A file must not get the number of a standard stream, and with it what is meant for the screen. */
static bool streams_are_open(void) {
    bool has_stdout = fcntl(STDOUT_FILENO, F_GETFD) >= 0;
    int null;
    do
        null = open("/dev/null", O_RDWR);
    while (null >= 0 && null <= STDERR_FILENO);
    if (null >= 0)
        close(null);
    return has_stdout;
}

/* A full disk must not look like a success. */
static bool stdout_is_written(void) {
    bool bad = ferror(stdout);
    if (fflush(stdout) == 0 && !bad)
        return true;
    fprintf(stderr, "armq-conform: stdout cannot be written%s%s\n", bad ? "" : ": ",
            bad ? "" : strerror(errno));
    return false;
}

int main(int argc, char **argv) {
    conform s = {0};
    int status = EXIT_ALL_PASSED;
    if (!streams_are_open()) {
        fputs("armq-conform: stdout is closed; /dev/null is allowed\n", stderr);
        return EXIT_USAGE;
    }
    find_program(&s, argv[0]);
    switch (options_parse(&s.options, argc, argv, stdout, stderr)) {
    case OPTIONS_ERROR:
        status = EXIT_USAGE;
        break;
    case OPTIONS_DONE:
        break;
    case OPTIONS_RUN:
        status = s.options.list != LIST_NOTHING ? list(&s) : run(&s, argc, argv);
        break;
    }
    close_all(&s);
    if (!stdout_is_written() && status == EXIT_ALL_PASSED)
        status = EXIT_FAILURES;
    return status;
}
