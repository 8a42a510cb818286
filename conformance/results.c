/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/results.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "conformance/check.h"
#include "conformance/content.h"
#include "conformance/version.h"
#include "harness/machine.h"
#include "kernels/api/features.h"
#include "kernels/api/names.h"

/* --- Values --------------------------------------------------------------------------------------
 */

/* JSON has no NaN and no infinity: they are the strings "nan", "inf" and "-inf". */
static json_t *number(double value) {
    if (isnan(value))
        return json_string("nan");
    if (isinf(value))
        return json_string(value > 0 ? "inf" : "-inf");
    return json_real(value);
}

static json_t *hex(uint64_t value) { return json_sprintf("0x%016" PRIx64, value); }

/* A provider may hand over any bytes as text. */
static json_t *text(const char *value) {
    json_t *string = json_string(value);
    if (string)
        return string;
    char clean[CASE_TEXT_MAX];
    size_t i = 0;
    for (; value[i] && i + 1 < sizeof clean; i++)
        clean[i] = value[i] >= ' ' && value[i] <= '~' ? value[i] : '?';
    clean[i] = '\0';
    return json_string(clean);
}

/* Names of the set bits. */
static json_t *flag_names(uint64_t flags, const char *(*name)(uint64_t flag)) {
    json_t *list = json_array();
    for (int bit = 0; bit < 64; bit++) {
        uint64_t flag = UINT64_C(1) << bit;
        const char *word = flags & flag ? name(flag) : NULL;
        if (flags & flag)
            json_array_append_new(list, json_string(word ? word : "unknown"));
    }
    return list;
}

static const char *claim_name(uint64_t flag) {
    switch (flag) {
    case ARMQ_CLAIM_THREAD_INVARIANT:
        return "thread_invariant";
    case ARMQ_CLAIM_BATCH_INVARIANT:
        return "batch_invariant";
    case ARMQ_CLAIM_NO_ALLOC:
        return "no_alloc";
    case ARMQ_CLAIM_REENTRANT:
        return "reentrant";
    case ARMQ_CLAIM_OWN_THREADS:
        return "own_threads";
    case ARMQ_CLAIM_READS_AFTER_PACK:
        return "reads_after_pack";
    case ARMQ_CLAIM_NONFINITE_ROW_NAN:
        return "nonfinite_row_nan";
    default:
        return NULL;
    }
}

static void set(json_t *object, const char *key, json_t *value) {
    json_object_set_new(object, key, value);
}

/* --- The run -------------------------------------------------------------------------------------
 */

static json_t *provider_record(const provider_info *info) {
    json_t *record = json_object();
    set(record, "name", text(info->name));
    set(record, "version", text(info->version));
    set(record, "spec", text(info->spec));
    if (info->has_content)
        set(record, "content", hex(info->content));
    set(record, "required", flag_names(info->required, armq_feature_name));
    set(record, "runs_here", json_boolean(info->runs_here && !info->broken));
    set(record, "why", text(info->why));
    set(record, "fpcr_changed_by_load", json_boolean(info->fpcr_changed));
    return record;
}

static json_t *started_now(void) {
    char stamp[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return json_string(stamp);
}

json_t *results_run_record(const plan *p, int argc, char **argv) {
    json_t *record = json_object(), *command = json_array(), *providers = json_array();
    uint64_t program;
    for (int i = 0; i < argc; i++)
        json_array_append_new(command, text(argv[i]));
    for (int64_t i = 0; i < p->provider_count; i++)
        json_array_append_new(providers, provider_record(&p->providers[i]));
    set(record, "type", json_string("run"));
    set(record, "schema", json_integer(RESULTS_SCHEMA));
    set(record, "armq", json_string(ARMQ_VERSION));
    if (content_of_program(&program))
        set(record, "program", hex(program));
    set(record, "started", started_now());
    set(record, "command", command);
    set(record, "machine", machine_json());
    set(record, "emulated", json_boolean(machine()->emulated));
    set(record, "providers", providers);
    set(record, "planned", json_integer(p->count));
    set(record, "dropped", json_integer(p->dropped));
    set(record, "filtered", json_integer(p->filtered));
    set(record, "plan", hex(p->hash));
    return record;
}

/* --- A case --------------------------------------------------------------------------------------
 */

static json_t *failure_record(const char *name, const check_failure *failure) {
    json_t *record = json_object();
    set(record, "check", json_string(name));
    set(record, "detail", text(failure->detail));
    if (failure->has_element) {
        set(record, "operand", text(failure->operand));
        set(record, "row", json_integer(failure->row));
        set(record, "column", json_integer(failure->column));
        set(record, "got", number(failure->got));
        set(record, "lo", number(failure->lo));
        set(record, "mid", number(failure->mid));
        set(record, "hi", number(failure->hi));
    }
    return record;
}

static void set_checks(json_t *record, const case_result *result) {
    json_t *checks = json_object(), *notes = json_object(), *failures = json_array();
    for (int i = 0; i < check_count() && i < RESULT_CHECKS_MAX; i++) {
        const check_result *c = &result->checks[i];
        const char *name = check_table[i].name;
        if (c->status == CHECK_NOT_RUN)
            continue;
        set(checks, name, json_string(check_status_name(c->status)));
        if (c->note[0])
            set(notes, name, text(c->note));
        if (c->status == CHECK_FAILED)
            json_array_append_new(failures, failure_record(name, &c->failure));
    }
    set(record, "checks", checks);
    set(record, "notes", notes);
    set(record, "failures", failures);
}

static json_t *quality_record(const interval_quality *q) {
    json_t *record = json_object(), *histogram = json_array();
    for (int i = 0; i < RESULT_HISTOGRAM; i++)
        json_array_append_new(histogram, json_integer(q->histogram[i]));
    set(record, "elements", json_integer(q->elements));
    set(record, "judged", json_integer(q->judged));
    set(record, "ambiguous", json_integer(q->ambiguous));
    set(record, "rms", number(q->rms));
    set(record, "half_median", number(q->half_median));
    set(record, "half_max", number(q->half_max));
    set(record, "usage_max", number(q->usage_max));
    set(record, "sqnr_db", number(q->sqnr_db));
    set(record, "histogram", histogram);
    return record;
}

json_t *results_case_record(const plan *p, const plan_task *t, const case_result *result) {
    char line[CASE_TEXT_MAX];
    json_t *record = json_object();
    set(record, "type", json_string("case"));
    set(record, "case", json_string(case_text(&t->c, line)));
    set(record, "provider", text(p->providers[t->provider].name));
    set(record, "op", json_string(armq_op_name(t->c.desc.op)));
    set(record, "dialect", json_string(t->c.dialect));
    set(record, "in", json_string(armq_dtype_name(t->c.desc.in)));
    set(record, "out", json_string(armq_dtype_name(t->c.desc.out)));
    set(record, "data", json_string(data_kind_name(t->c.data)));
    set(record, "status", json_string(case_status_name(result->status)));
    set(record, "reason", text(result->reason));
    set(record, "kernel", text(result->kernel));
    set(record, "seconds", number(result->seconds));
    set(record, "macs", json_integer(case_macs(&t->c)));
    set(record, "input_hash", hex(result->input_hash));
    set(record, "claims", flag_names(result->claims, claim_name));
    set_checks(record, result);
    if (result->quality.judged > 0)
        set(record, "quality", quality_record(&result->quality));
    return record;
}

void results_set_shrunk(json_t *case_record, const reduced *d) {
    char line[CASE_TEXT_MAX];
    json_t *shrunk = json_object();
    if (d->smallest)
        set(shrunk, "case", json_string(case_text(d->smallest, line)));
    set(shrunk, "check", json_string(d->check));
    set(shrunk, "runs", json_integer(d->runs));
    set(shrunk, "complete", json_boolean(d->complete));
    set(case_record, "shrunk", shrunk);
}

json_t *results_ledger_record(const ledger *l) {
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "type", "ledger", "planned",
                     (json_int_t)l->planned, "passed", (json_int_t)l->passed, "failed",
                     (json_int_t)l->failed, "skipped", (json_int_t)l->skipped, "waived",
                     (json_int_t)l->waived, "crashed", (json_int_t)l->crashed);
}

bool results_write(FILE *file, const json_t *record) {
    if (!record || json_dumpf(record, file, JSON_COMPACT) != 0)
        return false;
    return fputc('\n', file) != EOF && fflush(file) == 0;
}

/* --- Back from a record --------------------------------------------------------------------------
 */

static const char *string_of(const json_t *object, const char *key) {
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static bool status_of(const char *name, case_status *status) {
    for (int i = CASE_PASSED; i <= CASE_CRASHED; i++)
        if (strcmp(case_status_name((case_status)i), name) == 0) {
            *status = (case_status)i;
            return true;
        }
    return false;
}

static void print_number(FILE *out, const json_t *value) {
    if (json_is_string(value))
        fputs(json_string_value(value), out);
    else
        fprintf(out, "%.9g", json_number_value(value));
}

/* The element, unless the sentence names one itself. */
static void print_failure(FILE *out, const json_t *failure) {
    const char *detail = string_of(failure, "detail"), *operand = string_of(failure, "operand");
    size_t length = strlen(operand);
    bool named = false;
    for (const char *at = detail; length && !named && (at = strstr(at, operand)); at += length)
        named = at[length] == '[';
    fprintf(out, "%s: ", string_of(failure, "check"));
    if (length && !named) {
        fprintf(out, "%s[%" JSON_INTEGER_FORMAT "][%" JSON_INTEGER_FORMAT "] is ", operand,
                json_integer_value(json_object_get(failure, "row")),
                json_integer_value(json_object_get(failure, "column")));
        print_number(out, json_object_get(failure, "got"));
        fputs(", wanted [", out);
        print_number(out, json_object_get(failure, "lo"));
        fputs(", ", out);
        print_number(out, json_object_get(failure, "hi"));
        fputs("]: ", out);
    }
    fputs(detail, out);
}

char *results_failure_text(const json_t *case_record) {
    char *result = NULL;
    size_t bytes = 0, i;
    const json_t *failures = json_object_get(case_record, "failures"), *failure;
    FILE *out = open_memstream(&result, &bytes);
    if (!out)
        return NULL;
    json_array_foreach(failures, i, failure) {
        if (i == 0)
            print_failure(out, failure);
        else
            fprintf(out, "%s %s", i == 1 ? "; also failed:" : ",", string_of(failure, "check"));
    }
    if (json_array_size(failures) == 0)
        fputs(string_of(case_record, "reason"), out);
    fclose(out);
    return result;
}

/* The note of a check that is skipped for want of a claim holds these words. */
static const char not_claimed[] = "not claimed";

bool results_outcome(const json_t *record, outcome *o) {
    *o = (outcome){0};
    if (strcmp(string_of(record, "type"), "case") != 0 ||
        !status_of(string_of(record, "status"), &o->status))
        return false;
    o->done = true;
    o->seconds = json_number_value(json_object_get(record, "seconds"));
    const json_t *notes = json_object_get(record, "notes");
    for (int i = 0; i < check_count() && i < 32; i++)
        if (strstr(string_of(notes, check_table[i].name), not_claimed))
            o->not_claimed |= 1u << i;
    if (o->status == CASE_FAILED || o->status == CASE_CRASHED)
        o->message = results_failure_text(record);
    else if (o->status != CASE_PASSED)
        o->message = strdup(string_of(record, "reason"));
    const char *smallest = string_of(json_object_get(record, "shrunk"), "case");
    o->smallest = *smallest ? strdup(smallest) : NULL;
    return true;
}

/* --- Files and commands --------------------------------------------------------------------------
 */

FILE *results_create(const char *option, const char *path, bool force, FILE *err) {
    struct stat info;
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISREG(info.st_mode) && !force) {
        fprintf(err, "armq-conform: %s '%s': the file exists; --force overwrites it%s\n", option,
                path, strcmp(option, "--json") == 0 ? ", --resume goes on with its run" : "");
        return NULL;
    }
    FILE *file = fopen(path, "we");
    if (!file)
        fprintf(err, "armq-conform: %s '%s': cannot be written: %s\n", option, path,
                strerror(errno));
    return file;
}

/* Single quotes, as any shell takes them. */
static void print_quoted(FILE *out, const char *value) {
    fputc('\'', out);
    for (; *value; value++)
        if (*value == '\'')
            fputs("'\\''", out);
        else
            fputc(*value, out);
    fputc('\'', out);
}

static bool is_plain(const char *value) {
    return value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "_-+./,:@%")] == '\0';
}

char *results_reproduce(const plan *p, const plan_task *t, const options *o, const char *program) {
    char *result = NULL, line[CASE_TEXT_MAX];
    size_t bytes = 0;
    const char *spec = p->providers[t->provider].spec;
    FILE *out = open_memstream(&result, &bytes);
    if (!out)
        return NULL;
    if (machine()->emulated && getenv("ARMQ_CPU"))
        fprintf(out, "ARMQ_CPU=%s ", getenv("ARMQ_CPU"));
    if (is_plain(program))
        fputs(program, out);
    else
        print_quoted(out, program);
    fputs(" --provider ", out);
    if (provider_is_path(spec))
        print_quoted(out, spec);
    else
        fputs(spec, out);
    if (o->timeout > 0)
        fprintf(out, " --timeout %g", o->timeout);
    for (int i = 0, listed = 0; o->checks_given && i < check_count(); i++)
        if (o->checks & (UINT64_C(1) << i))
            fprintf(out, "%s%s", listed++ ? "," : " --check ", check_table[i].name);
    fputc(' ', out);
    print_quoted(out, case_text(&t->c, line));
    fclose(out);
    return result;
}
