/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <math.h>

#include "conformance/check.h"
#include "conformance/results.h"
#include "conformance/tests/fixture.h"

typedef struct {
    options o;
    plan p;
    char *folder;
    char path[512];
} run;

static const char *const arguments[] = {"--provider", "naive", "gemm_s8s8s32 tokens=1,2,3 n=3 k=4",
                                        NULL};

static run open_run(void) {
    run r;
    make_plan(&r.o, &r.p, arguments);
    r.folder = make_folder();
    snprintf(r.path, sizeof r.path, "%s/r.jsonl", r.folder);
    return r;
}

static void close_run(run *r) {
    plan_free(&r->p);
    options_free(&r->o);
    remove_folder(r->folder);
}

static case_result failed_result(void) {
    case_result result = {.status = CASE_FAILED, .seconds = 0.25, .input_hash = 0xabcdef};
    check_result *value = &result.checks[check_index("value")];
    check_result *threads = &result.checks[check_index("threads")];
    value->status = CHECK_FAILED;
    value->failure = (check_failure){.detail = "not a number",
                                     .has_element = true,
                                     .operand = "y",
                                     .row = 3,
                                     .column = 17,
                                     .got = NAN,
                                     .lo = -INFINITY,
                                     .mid = 1.5,
                                     .hi = 1.5625};
    threads->status = CHECK_SKIPPED;
    snprintf(threads->note, sizeof threads->note, "not claimed");
    result.checks[check_index("memory")].status = CHECK_FAILED;
    return result;
}

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static void record_round_trips(void **state) {
    (void)state;
    run r = open_run();
    case_result result = failed_result();
    json_t *record = results_case_record(&r.p, &r.p.tasks[1], &result);
    char *line = json_dumps(record, JSON_COMPACT);
    json_decref(record);
    record = json_loads(line, 0, NULL);
    assert_non_null(record);
    assert_string_equal(text_of(record, "status"), "failed");
    assert_string_equal(text_of(record, "input_hash"), "0x0000000000abcdef");
    assert_int_equal(json_integer_value(json_object_get(record, "macs")), 2 * 3 * 4);
    json_t *failure = json_array_get(json_object_get(record, "failures"), 0);
    assert_string_equal(text_of(failure, "got"), "nan");
    assert_string_equal(text_of(failure, "lo"), "-inf");
    assert_true(json_number_value(json_object_get(failure, "hi")) == 1.5625);
    assert_int_equal(json_integer_value(json_object_get(failure, "column")), 17);
    assert_null(json_object_get(record, "quality")); /* nothing was judged */

    outcome o;
    assert_true(results_outcome(record, &o));
    assert_true(o.done);
    assert_int_equal(o.status, CASE_FAILED);
    assert_true(o.seconds == 0.25);
    assert_int_equal(o.not_claimed, 1u << check_index("threads"));
    assert_string_equal(o.message, "value: y[3][17] is nan, wanted [-inf, 1.5625]: not a number; "
                                   "also failed: memory");
    free(o.message);
    free(line);
    json_decref(record);
    close_run(&r);
}

static void record_says_what_it_was_reduced_to(void **state) {
    (void)state;
    run r = open_run();
    case_result result = failed_result();
    reduced found = {"value", &r.p.tasks[0].c, 12, true}, nothing = {"value", NULL, 3, false};
    char text[CASE_TEXT_MAX];
    outcome o;

    json_t *record = results_case_record(&r.p, &r.p.tasks[1], &result);
    assert_null(json_object_get(record, "shrunk"));
    results_set_shrunk(record, &found);
    json_t *shrunk = json_object_get(record, "shrunk");
    assert_string_equal(text_of(shrunk, "case"), case_text(&r.p.tasks[0].c, text));
    assert_string_equal(text_of(shrunk, "check"), "value");
    assert_int_equal(json_integer_value(json_object_get(shrunk, "runs")), 12);
    assert_true(json_is_true(json_object_get(shrunk, "complete")));
    assert_true(results_outcome(record, &o));
    assert_string_equal(o.smallest, text);
    free(o.message);
    free(o.smallest);

    results_set_shrunk(record, &nothing);
    shrunk = json_object_get(record, "shrunk");
    assert_null(json_object_get(shrunk, "case"));
    assert_true(json_is_false(json_object_get(shrunk, "complete")));
    assert_true(results_outcome(record, &o));
    assert_null(o.smallest);
    free(o.message);
    json_decref(record);
    close_run(&r);
}

/* Bytes that are no text must not make a record vanish. */
static void odd_bytes_survive(void **state) {
    (void)state;
    run r = open_run();
    case_result result = {.status = CASE_SKIPPED, .reason = "caf\xe9 \"x\"\n"};
    json_t *record = results_case_record(&r.p, &r.p.tasks[0], &result);
    assert_string_equal(text_of(record, "reason"), "caf? \"x\"?");
    json_decref(record);
    close_run(&r);
}

static void write_run(run *r, int cases, bool ledger_too) {
    FILE *file = results_create("--json", r->path, false, stderr);
    assert_non_null(file);
    json_t *record = results_run_record(&r->p, 1, (char *[]){(char *)"armq-conform"});
    assert_true(results_write(file, record));
    json_decref(record);
    for (int i = 0; i < cases; i++) {
        case_result result = {.status = CASE_PASSED};
        record = results_case_record(&r->p, &r->p.tasks[i], &result);
        assert_true(results_write(file, record));
        json_decref(record);
    }
    ledger l = {cases, cases, 0, 0, 0, 0};
    record = results_ledger_record(&l);
    if (ledger_too)
        assert_true(results_write(file, record));
    json_decref(record);
    fclose(file);
}

static void append(const run *r, const char *text) {
    FILE *file = fopen(r->path, "ae");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void never_overwrites_unasked(void **state) {
    (void)state;
    run r = open_run();
    char *said = NULL;
    size_t bytes = 0;
    append(&r, "precious");
    FILE *err = open_memstream(&said, &bytes);
    assert_null(results_create("--json", r.path, false, err));
    fclose(err);
    assert_non_null(strstr(said, "the file exists; --force overwrites it, --resume goes on"));
    free(said);
    said = read_all(r.path);
    assert_string_equal(said, "precious");
    free(said);
    FILE *file = results_create("--json", r.path, true, stderr);
    assert_non_null(file);
    fclose(file);
    close_run(&r);
}

/* A run that was killed in the middle of a line goes on behind its last whole line. */
static void resumes_behind_a_cut_line(void **state) {
    (void)state;
    run r = open_run();
    outcome outcomes[3] = {0};
    bool complete = true;
    write_run(&r, 2, false);
    append(&r, "{\"type\":\"case\",\"case\":\"gemm");
    FILE *file = results_resume(r.path, &r.p, outcomes, &complete, stderr);
    assert_non_null(file);
    assert_false(complete);
    assert_true(outcomes[0].done && outcomes[1].done && !outcomes[2].done);
    char *left = read_all(r.path);
    assert_int_equal(left[strlen(left) - 1], '\n');
    free(left);
    case_result result = {.status = CASE_PASSED};
    json_t *record = results_case_record(&r.p, &r.p.tasks[2], &result);
    assert_true(results_write(file, record));
    json_decref(record);
    fclose(file);

    outcome again[3] = {0};
    file = results_resume(r.path, &r.p, again, &complete, stderr);
    assert_non_null(file);
    assert_true(again[0].done && again[1].done && again[2].done);
    fclose(file);
    close_run(&r);
}

static void knows_a_complete_run(void **state) {
    (void)state;
    run r = open_run();
    outcome outcomes[3] = {0};
    bool complete = false;
    write_run(&r, 3, true);
    FILE *file = results_resume(r.path, &r.p, outcomes, &complete, stderr);
    assert_non_null(file);
    assert_true(complete);
    fclose(file);
    close_run(&r);
}

static void refuses_to_resume(const run *r, const plan *p, const char *message) {
    outcome outcomes[8] = {0};
    bool complete;
    char *said = NULL, *before = read_all(r->path);
    size_t bytes = 0;
    FILE *err = open_memstream(&said, &bytes);
    assert_null(results_resume(r->path, p, outcomes, &complete, err));
    fclose(err);
    if (!strstr(said, message))
        fail_msg("'%s' is not in: %s", message, said);
    char *after = read_all(r->path);
    assert_string_equal(before, after);
    free(before);
    free(after);
    free(said);
}

static void refuses_other_files(void **state) {
    (void)state;
    run r = open_run();
    append(&r, "");
    refuses_to_resume(&r, &r.p, "it holds no run");
    append(&r, "hello\n");
    refuses_to_resume(&r, &r.p, "line 1: ");
    unlink(r.path);
    append(&r, "{\"type\":\"case\"}\n");
    refuses_to_resume(&r, &r.p, "not the start of a run");
    unlink(r.path);
    append(&r, "{\"type\":\"run\",\"schema\":99}\n");
    refuses_to_resume(&r, &r.p, "its schema is 99");
    unlink(r.path);
    write_run(&r, 2, false);
    append(&r, "garbage\n{}\n"); /* not at the end: this is no cut line */
    refuses_to_resume(&r, &r.p, "line 4: ");
    unlink(r.path);
    write_run(&r, 1, false);
    char *text = read_all(r.path);
    append(&r, strchr(text, '\n') + 1);
    refuses_to_resume(&r, &r.p, "a second result of the same case");
    free(text);
    close_run(&r);
}

static void refuses_another_plan(void **state) {
    (void)state;
    run r = open_run();
    options o;
    plan p;
    write_run(&r, 2, false);
    make_plan(
        &o, &p,
        (const char *const[]){"--provider", "naive", "gemm_s8s8s32 tokens=1,2,4 n=3 k=4", NULL});
    refuses_to_resume(&r, &p, "another plan (3 cases, here 3)");
    plan_free(&p);
    options_free(&o);
    close_run(&r);
}

static void reproducing_line_is_complete(void **state) {
    (void)state;
    options o;
    plan p;
    make_plan(&o, &p,
              (const char *const[]){"--provider", "naive", "--check", "memory,value", "--timeout",
                                    "2", "gemm_s8s8s32 tokens=1 n=3 k=4", NULL});
    unsetenv("ARMQ_CPU");
    char *line = results_reproduce(&p, &p.tasks[0], &o, "build/armq-conform"), expected[512];
    char text[CASE_TEXT_MAX];
    snprintf(expected, sizeof expected,
             "build/armq-conform --provider naive --timeout 2 --check value,memory '%s'",
             case_text(&p.tasks[0].c, text));
    assert_string_equal(line, expected);
    free(line);
    plan_free(&p);
    options_free(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_round_trips),
        cmocka_unit_test(record_says_what_it_was_reduced_to),
        cmocka_unit_test(odd_bytes_survive),
        cmocka_unit_test(never_overwrites_unasked),
        cmocka_unit_test(resumes_behind_a_cut_line),
        cmocka_unit_test(knows_a_complete_run),
        cmocka_unit_test(refuses_other_files),
        cmocka_unit_test(refuses_another_plan),
        cmocka_unit_test(reproducing_line_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
