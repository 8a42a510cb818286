/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "conformance/results.h"
#include "kernels/api/names.h"

/* Length of the UTF-8 sequence at `at` if it is a character that XML 1.0 allows, else 0. */
static int utf8_length(const unsigned char *at) {
    uint32_t c = at[0];
    int length = c < 0x80                ? 1
                 : c >= 0xf0 && c < 0xf5 ? 4
                 : c >= 0xe0 && c < 0xf0 ? 3
                 : c >= 0xc2 && c < 0xe0 ? 2
                                         : 0;
    if (length == 1)
        return c >= 0x20 || c == '\t' || c == '\n' || c == '\r';
    if (length == 0)
        return 0;
    c &= 0x7fu >> length;
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (at[i] & 0x3fu);
    }
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    bool ok = c >= smallest[length] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) && c != 0xfffe &&
              c != 0xffff;
    return ok ? length : 0;
}

void junit_escape(FILE *file, const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        int length = utf8_length(at);
        if (length == 0)
            fputc('?', file);
        else if (*at == '&')
            fputs("&amp;", file);
        else if (*at == '<')
            fputs("&lt;", file);
        else if (*at == '>')
            fputs("&gt;", file);
        else if (*at == '"')
            fputs("&quot;", file);
        else if (*at < 0x20) /* as itself it would become a space in an attribute */
            fprintf(file, "&#%d;", *at);
        else
            fwrite(at, 1, (size_t)length, file);
        at += length ? length : 1;
    }
}

/* body: NULL for none. */
static void write_element(FILE *file, const char *element, const char *prefix, const char *message,
                          const char *body) {
    fprintf(file, "<%s message=\"%s", element, prefix);
    junit_escape(file, message ? message : "");
    fputs(body ? "\">" : "\"/>", file);
    if (body) {
        junit_escape(file, body);
        fprintf(file, "</%s>", element);
    }
}

static void write_verdict(FILE *file, const outcome *o, const char *reproduce) {
    if (!o->done)
        write_element(file, "error", "", "the run was stopped before this case", reproduce);
    else if (o->status == CASE_FAILED)
        write_element(file, "failure", "", o->message, reproduce);
    else if (o->status == CASE_CRASHED)
        write_element(file, "error", "", o->message, reproduce);
    else if (o->status == CASE_SKIPPED)
        write_element(file, "skipped", "", o->message, NULL);
    else if (o->status == CASE_WAIVED)
        write_element(file, "skipped", "waived: ", o->message, NULL);
}

/* What reproduces the failure, and in a second line what does so with less. */
static char *commands(const plan *p, const plan_task *t, const outcome *o, const options *with,
                      const char *program) {
    char *own = results_reproduce(p, t, with, program), *both = NULL;
    case_list smallest = {0};
    case_error error;
    if (own && o->smallest && case_parse_line(o->smallest, NULL, &smallest, &error)) {
        plan_task smaller = {t->group, t->provider, smallest.items[0]};
        char *less = results_reproduce(p, &smaller, with, program);
        if (!less || asprintf(&both, "%s\nsmallest: %s", own, less) < 0)
            both = NULL;
        free(less);
    }
    case_list_free(&smallest);
    if (!both)
        return own;
    free(own);
    return both;
}

static void write_case(FILE *file, const plan *p, const plan_task *t, const outcome *o,
                       const options *with, const char *program) {
    char text[CASE_TEXT_MAX];
    fputs("    <testcase classname=\"", file);
    junit_escape(file, p->providers[t->provider].name);
    fprintf(file, ".%s\" name=\"", armq_op_name(t->c.desc.op));
    junit_escape(file, case_text(&t->c, text));
    fprintf(file, "\" time=\"%.3f\">", o->seconds);
    char *reproduce = commands(p, t, o, with, program);
    write_verdict(file, o, reproduce);
    free(reproduce);
    fputs("</testcase>\n", file);
}

static bool is_of(const plan_task *t, int64_t provider) { return t->provider == provider; }

static void write_suite(FILE *file, const plan *p, const outcome *outcomes, int64_t provider,
                        const options *with, const char *program) {
    ledger l = ledger_sum(p, outcomes, is_of, provider);
    int64_t undone = l.planned - l.passed - l.failed - l.skipped - l.waived - l.crashed;
    double seconds = 0;
    for (int64_t i = 0; i < p->count; i++)
        seconds += p->tasks[i].provider == provider ? outcomes[i].seconds : 0;
    fputs("  <testsuite name=\"", file);
    junit_escape(file, p->providers[provider].name);
    fprintf(file,
            "\" tests=\"%" PRId64 "\" failures=\"%" PRId64 "\" errors=\"%" PRId64
            "\" skipped=\"%" PRId64 "\" time=\"%.3f\">\n",
            l.planned, l.failed, l.crashed + undone, l.skipped + l.waived, seconds);
    for (int64_t i = 0; i < p->count; i++)
        if (p->tasks[i].provider == provider)
            write_case(file, p, &p->tasks[i], &outcomes[i], with, program);
    fputs("  </testsuite>\n", file);
}

bool junit_write(FILE *file, const plan *p, const outcome *outcomes, const options *with,
                 const char *program) {
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"armq-conform\">\n", file);
    for (int64_t i = 0; i < p->provider_count; i++)
        write_suite(file, p, outcomes, i, with, program);
    fputs("</testsuites>\n", file);
    return fflush(file) == 0 && !ferror(file);
}
