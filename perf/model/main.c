/* SPDX-License-Identifier: Apache-2.0 */
/* armq-model: runs one case once between marks, for the plugin to count, and says on standard
 * output, as a JSON object, what ran and where it lies in memory. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/providers.h"
#include "harness/machine.h"
#include "kernels/api/names.h"
#include "perf/counts.h"
#include "perf/model/marks.h"
#include "perf/workload.h"

enum { EXIT_RAN = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_REFUSED = 3 };

MARK_FUNCTION(mark_begin, MARK_BEGIN)
MARK_FUNCTION(mark_end, MARK_END)
MARK_FUNCTION(mark_region, MARK_REGION)
MARK_FUNCTION(mark_thread, MARK_THREAD)
MARK_FUNCTION(mark_serial, MARK_SERIAL)

/* Logical thread t runs jobs t, t + n, t + 2n, ...; one thread after the other. */
static void run_marked(void *ctx, int64_t jobs, void (*f)(void *, int64_t, int32_t), void *arg) {
    const int32_t n = (int32_t)(intptr_t)ctx;
    mark_region();
    for (int32_t thread = 0; thread < n; thread++) {
        if (thread > 0)
            mark_thread();
        for (int64_t job = thread; job < jobs; job += n)
            f(arg, job, thread);
    }
    mark_serial();
}

static armq_threads marked_threads(int32_t n) {
    return (armq_threads){.ctx = (void *)(intptr_t)n, .n = n, .run = run_marked};
}

static int usage(const char *message) {
    fprintf(stderr,
            "armq-model: %s\n"
            "usage: armq-model --provider NAME|LIBRARY CASE    runs it once, between marks\n"
            "       armq-model --list CASE...                  one case a line after its MACs\n",
            message);
    return EXIT_USAGE;
}

static bool parse(const char *text, case_list *list) {
    case_error error;
    if (case_parse_line(text, NULL, list, &error))
        return true;
    fprintf(stderr, "armq-model: '%s':%" PRId64 ": %s\n", text, error.column, error.message);
    return false;
}

static int list_cases(int count, char **texts) {
    case_list list = {.count = 0};
    bool ok = true;
    for (int i = 0; ok && i < count; i++)
        ok = parse(texts[i], &list);
    for (int64_t i = 0; ok && i < list.count; i++) {
        char text[CASE_TEXT_MAX];
        printf("%" PRId64 " %s\n", case_macs(&list.items[i]), case_text(&list.items[i], text));
    }
    case_list_free(&list);
    return ok ? EXIT_RAN : EXIT_USAGE;
}

/* Where code lies in memory: [first, last) of which file, from which offset. */
static json_t *code_maps(void) {
    json_t *maps = json_array();
    FILE *in = fopen("/proc/self/maps", "re");
    char line[1024];
    while (in != NULL && fgets(line, sizeof line, in) != NULL) {
        uint64_t first, last, offset;
        char rights[8], path[512] = "";
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %511[^\n]", &first, &last,
                   rights, &offset, path) < 4 ||
            strchr(rights, 'x') == NULL)
            continue;
        json_array_append_new(maps, json_pack("{s:I, s:I, s:I, s:s}", "first", (json_int_t)first,
                                              "last", (json_int_t)last, "offset",
                                              (json_int_t)offset, "path", path));
    }
    if (in != NULL)
        fclose(in);
    return maps;
}

static json_t *operand_ranges(const workload *w) {
    json_t *found = json_array();
    for (int id = 0; id < OPERAND_COUNT; id++) {
        if (w->data.at[id] == NULL)
            continue;
        const json_int_t first = (json_int_t)(uintptr_t)w->data.at[id];
        json_array_append_new(found,
                              json_pack("{s:s, s:I, s:I}", "name", w->shapes[id].name, "first",
                                        first, "last", first + (json_int_t)w->shapes[id].bytes));
    }
    return found;
}

static void describe(const workload *w, const char *text) {
    const int32_t *ids = w->data.at[OPERAND_TOPK_IDS];
    const bench_counts counts = bench_count(&w->c, bench_experts_used(&w->c, ids));
    const armq_support *s = &w->support;
    json_t *about =
        json_pack("{s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "case", text,
                  "provider", w->provider->name, "kernel", s->kernel, "threads", (int)w->threads.n,
                  "mac", (json_int_t)counts.macs, "bytes", (json_int_t)counts.bytes, "tokens",
                  (json_int_t)counts.tokens, "workspace", (json_int_t)s->workspace_bytes, "packed",
                  (json_int_t)s->packed_bytes[0] + (json_int_t)s->packed_bytes[1], "operands",
                  operand_ranges(w), "maps", code_maps(), "machine", machine_json());
    json_dumpf(about, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(about);
}

static int refuse(const char *reason) {
    json_t *about = json_pack("{s:s}", "refused", reason);
    json_dumpf(about, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(about);
    return EXIT_REFUSED;
}

static bool counted_run(workload *w, char why[WORKLOAD_WHY]) {
    workload_poison(w);
    mark_begin();
    const armq_status status = workload_run(w);
    mark_end();
    if (status == ARMQ_OK)
        return workload_judge(w, why);
    snprintf(why, WORKLOAD_WHY, "run returned %s", armq_status_name(status));
    return false;
}

static int run_case(const armq_provider *provider, armq_case *c) {
    static workload w;
    const machine_info *m = machine();
    const int32_t threads = c->threads;
    char why[WORKLOAD_WHY], text[CASE_TEXT_MAX];
    case_text(c, text);
    case_bind(c, m->features, m->l1, m->l2, m->llc, threads);
    if (!provider_runs_here(provider, m->features, why, sizeof why))
        return refuse(why);
    armq_support support = {.size = sizeof support};
    if (provider->query(&c->desc, &support) != ARMQ_OK)
        return refuse(support.reason);
    if (support.claims & ARMQ_CLAIM_OWN_THREADS)
        return refuse("it has threads of its own, and only one thread is counted");
    c->threads = 1; /* the workload shall start none */
    if (!workload_open(&w, c, provider, why)) {
        fprintf(stderr, "armq-model: %s: %s\n", text, why);
        return EXIT_WRONG;
    }
    w.threads = marked_threads(threads);
    const bool right = counted_run(&w, why);
    if (right)
        describe(&w, text);
    else
        fprintf(stderr, "armq-model: %s: %s\n", text, why);
    workload_close(&w);
    return right ? EXIT_RAN : EXIT_WRONG;
}

static int run(const char *spec, const char *text) {
    char error[512];
    bool fpcr_changed = false;
    case_list list = {.count = 0};
    const armq_provider *provider = provider_open(spec, &fpcr_changed, error, sizeof error);
    if (provider == NULL)
        return usage(error);
    int status = EXIT_USAGE;
    if (parse(text, &list))
        status = list.count == 1 ? run_case(provider, &list.items[0])
                                 : usage("one case at a time can be counted");
    case_list_free(&list);
    return status;
}

int main(int argc, char **argv) {
    int status;
    if (argc > 2 && strcmp(argv[1], "--list") == 0)
        status = list_cases(argc - 2, argv + 2);
    else if (argc == 4 && strcmp(argv[1], "--provider") == 0)
        status = run(argv[2], argv[3]);
    else
        return usage("wanted --provider and a case, or --list and cases");
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("armq-model: standard output cannot be written\n", stderr);
        return EXIT_WRONG;
    }
    return status;
}
