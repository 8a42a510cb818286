/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance/content.h"
#include "conformance/results.h"
#include "conformance/version.h"
#include "harness/machine.h"

typedef struct {
    const char *path;
    const plan *plan;
    outcome *outcomes;
    FILE *err;
    bool complete;
    int64_t line;
} reader;

__attribute__((format(printf, 2, 3))) static bool refuse(const reader *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(r->err, "armq-conform: --resume '%s': ", r->path);
    vfprintf(r->err, format, args);
    fputs("\n", r->err);
    va_end(args);
    return false;
}

static const char *string_of(const json_t *object, const char *key) {
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

/* What decides which kernels run, and whether their results may stand in one file. */
static bool same_machine(const reader *r, const json_t *then) {
    static const char *const keys[] = {"arch", "cpu", "emulated", "features"};
    json_t *now = machine_json();
    bool same = true;
    for (size_t i = 0; same && i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *a = json_object_get(then, keys[i]), *b = json_object_get(now, keys[i]);
        same = (!a && !b) || json_equal(a, b);
        if (!same)
            refuse(r, "it was written on another machine: '%s' differs", keys[i]);
    }
    json_decref(now);
    return same;
}

/* Results of two builds must not stand in one file: they are of two different things. A hash that
 * is not there cannot be compared, and is as good as another one. */
static bool is_hash(const char *then, bool known, uint64_t now) {
    char text[32];
    snprintf(text, sizeof text, "0x%016" PRIx64, now);
    return known && strcmp(then, text) == 0;
}

static const json_t *record_of(const json_t *run, const char *provider) {
    const json_t *providers = json_object_get(run, "providers"), *record;
    size_t i;
    json_array_foreach(providers, i, record) {
        if (strcmp(string_of(record, "name"), provider) == 0)
            return record;
    }
    return NULL;
}

static bool same_builds(const reader *r, const json_t *run) {
    uint64_t now = 0;
    bool known = content_of_program(&now);
    if (!is_hash(string_of(run, "program"), known, now))
        return refuse(r,
                      "it was written by another build of armq-conform (content %s, this one is "
                      "0x%016" PRIx64 "); start anew, with --json",
                      *string_of(run, "program") ? string_of(run, "program") : "unknown", now);
    for (int64_t i = 0; i < r->plan->provider_count; i++) {
        const provider_info *info = &r->plan->providers[i];
        const char *then = string_of(record_of(run, info->name), "content");
        if (!*then && !provider_is_path(info->spec))
            continue; /* built in, then and now */
        if (!is_hash(then, info->has_content, info->content))
            return refuse(r,
                          "provider %s was another build when it was written (content %s, '%s' is "
                          "0x%016" PRIx64 "); start anew, with --json",
                          info->name, *then ? then : "unknown", info->spec, info->content);
    }
    return true;
}

static bool read_run(const reader *r, const json_t *record) {
    char hash[32];
    if (strcmp(string_of(record, "type"), "run") != 0)
        return refuse(r, "its first line is not the start of a run");
    int64_t schema = json_integer_value(json_object_get(record, "schema"));
    if (schema != RESULTS_SCHEMA)
        return refuse(r, "its schema is %" PRId64 ", this program writes %d", schema,
                      RESULTS_SCHEMA);
    int64_t planned = json_integer_value(json_object_get(record, "planned"));
    snprintf(hash, sizeof hash, "0x%016" PRIx64, r->plan->hash);
    if (planned != r->plan->count || strcmp(string_of(record, "plan"), hash) != 0)
        return refuse(r,
                      "it is the result of another plan (%" PRId64 " cases, here %" PRId64
                      "): providers, cases and checks must be those of its 'command'",
                      planned, r->plan->count);
    return same_machine(r, json_object_get(record, "machine")) && same_builds(r, record);
}

static bool read_case(const reader *r, const json_t *record) {
    outcome o;
    int64_t at = plan_find(r->plan, string_of(record, "provider"), string_of(record, "case"));
    if (at < 0 || r->outcomes[at].done || !results_outcome(record, &o))
        return refuse(r, "line %" PRId64 ": %s", r->line,
                      at < 0                 ? "a case that is not in the plan"
                      : r->outcomes[at].done ? "a second result of the same case"
                                             : "a status that does not exist");
    r->outcomes[at] = o;
    return true;
}

static bool read_record(reader *r, const json_t *record) {
    const char *type = string_of(record, "type");
    if (r->line == 1)
        return read_run(r, record);
    if (strcmp(type, "case") == 0)
        return read_case(r, record);
    if (strcmp(type, "ledger") == 0)
        r->complete = true;
    return true; /* other types may be added */
}

/* Reads whole lines; *end is where the last of them ends. Only the last line can be cut. */
static bool read_lines(reader *r, FILE *file, off_t *end) {
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    bool ok = true;
    *end = 0;
    while (ok && (length = getline(&line, &capacity, file)) > 0 && line[length - 1] == '\n') {
        json_error_t error;
        json_t *record = json_loadb(line, (size_t)length, 0, &error);
        r->line++;
        ok = record ? read_record(r, record)
                    : refuse(r, "line %" PRId64 ": %s", r->line, error.text);
        json_decref(record);
        *end += length;
    }
    free(line);
    if (ok && r->line == 0)
        return refuse(r, "it holds no run");
    return ok;
}

FILE *results_resume(const char *path, const plan *p, outcome *outcomes, bool *complete,
                     FILE *err) {
    reader r = {path, p, outcomes, err, false, 0};
    off_t end;
    FILE *file = fopen(path, "r+e");
    if (!file) {
        refuse(&r, "%s", strerror(errno));
        return NULL;
    }
    if (!read_lines(&r, file, &end)) {
        fclose(file);
        return NULL;
    }
    if (fseeko(file, end, SEEK_SET) != 0 || ftruncate(fileno(file), end) != 0) {
        refuse(&r, "cannot be written: %s", strerror(errno));
        fclose(file);
        return NULL;
    }
    *complete = r.complete;
    return file;
}
