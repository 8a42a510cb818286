/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/api/names.h"

/* Checks that move the buffers come late, for each move packs again; last those that report what
 * was noticed during all calls before. */
const check check_table[] = {
    {"value", "every element inside its interval; integers bit for bit", true, check_value},
    {"written", "every output element written, nothing between rows", true, check_written},
    {"repeat", "same bits on a second call, whatever the workspace holds", true, check_repeat},
    {"threads", "same bits for any number of threads", false, check_threads},
    {"batch", "a row's bits are the same alone and in any batch", false, check_batch},
    {"permute", "tokens in another order, experts under other numbers: the same result", false,
     check_permute},
    {"scale", "inputs times a power of two: the output times the same", false, check_scale},
    {"split", "the slots of a token over two calls: the sum of both is the whole", false,
     check_split},
    {"reentrant", "two threads calling at once", false, check_reentrant},
    {"alloc", "run allocates nothing", false, check_alloc},
    {"registers", "callee-saved registers, stack pointer and FPCR preserved", false,
     check_registers},
    {"poison", "NaN or Inf in a row leaves other rows alone", false, check_poison},
    {"extremes", "edges of the number range, ties, zero rows, subnormals, outliers", false,
     check_extremes},
    {"align", "any alignment of pointers and any row stride", false, check_align},
    {"arguments", "invalid arguments refused, optional ones honoured or refused", false,
     check_arguments},
    {"overflow", "offsets beyond 2^31 and 2^32 (memory=sparse)", false, check_overflow},
    {"memory", "no byte read or written outside the buffers", true, check_memory},
    {"inputs", "inputs and packed weights unchanged", true, check_inputs},
    {"crash", "no signal and no hang", true, check_crash},
    {NULL, NULL, false, NULL},
};

_Static_assert(sizeof check_table / sizeof check_table[0] - 1 <= RESULT_CHECKS_MAX,
               "a result has room for every check");

int check_count(void) { return (int)(sizeof check_table / sizeof check_table[0]) - 1; }

int check_index(const char *name) {
    for (int i = 0; check_table[i].name; i++)
        if (strcmp(check_table[i].name, name) == 0)
            return i;
    return -1;
}

check_status check_skip(check_result *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(out->note, sizeof out->note, format, args);
    va_end(args);
    return CHECK_SKIPPED;
}

check_status check_not_ready(const trial *d, trial_state state, const char *what,
                             check_result *out) {
    if (state == TRIAL_REFUSED)
        return check_skip(out, "%s refused: %.100s", what, d->support.reason);
    failure_prefix(&out->failure, what);
    return CHECK_FAILED;
}

void failure_prefix(check_failure *failure, const char *what) {
    char detail[sizeof failure->detail];
    memcpy(detail, failure->detail, sizeof detail);
    detail[sizeof detail - 1] = '\0';
    int used = snprintf(failure->detail, sizeof failure->detail, "%s: ", what);
    if (used > 0 && (size_t)used < sizeof failure->detail)
        snprintf(failure->detail + used, sizeof failure->detail - (size_t)used, "%s", detail);
}

static bool judge_arrays(trial *t, void *const got[OPERAND_COUNT], const char *what,
                         check_failure *failure) {
    operands storage;
    judgement j = {.c = &t->c,
                   .claims = t->support.claims,
                   .in = trial_inputs(t, &storage),
                   .shared = t->in,
                   .got = got,
                   .failure = failure};
    bool ok = judge_outputs(&j, 0);
    if (!ok)
        failure_prefix(failure, what);
    return ok;
}

bool check_judge(trial *t, const char *what, check_failure *failure) {
    return judge_arrays(t, t->base, what, failure);
}

bool check_judge_rows(trial *t, const int64_t *rows, int64_t count, const char *what,
                      check_failure *failure) {
    operands storage;
    judgement j = {.c = &t->c,
                   .claims = t->support.claims,
                   .in = trial_inputs(t, &storage),
                   .shared = t->in,
                   .got = t->base,
                   .failure = failure};
    bool ok = count == 0 || judge_rows(&j, rows, count);
    if (!ok)
        failure_prefix(failure, what);
    return ok;
}

bool check_judge_last(trial *t, const char *what, check_failure *failure) {
    void *got[OPERAND_COUNT] = {NULL};
    bool ok = true;
    for (int id = OPERAND_Y; id < OPERAND_COUNT && ok; id++)
        if (t->base[id]) {
            got[id] = malloc(t->buffers[id].bytes);
            ok = got[id] != NULL;
        }
    if (ok) {
        trial_copy_outputs(t, got);
        ok = judge_arrays(t, got, what, failure);
    } else {
        failure_unjudged(failure, "%s: not enough memory for a copy of the outputs", what);
    }
    for (int id = 0; id < OPERAND_COUNT; id++)
        free(got[id]);
    return ok;
}

/* --- A whole case ----------------------------------------------------------------------------- */

static void run_check(int index, trial *t) {
    check_result *out = &t->result->checks[index];
    t->watch->check = index;
    if (t->c.sparse && check_table[index].run != check_overflow)
        out->status = check_skip(out, "memory=sparse: overflow only");
    else if (t->large && !t->c.sparse && !check_table[index].on_large)
        out->status = check_skip(out, "large case");
    else
        out->status = check_table[index].run(t, out);
    bool unjudged = out->status == CHECK_FAILED && out->failure.unjudged;
    if (unjudged)
        out->status = check_skip(out, "%.*s", (int)sizeof out->note - 1, out->failure.detail);
    /* A check may have written either on its way to another verdict. */
    if (out->status != CHECK_SKIPPED)
        memcpy(out->note, out->measured, sizeof out->measured);
    if (out->status != CHECK_FAILED)
        out->failure = (check_failure){.unjudged = unjudged};
}

/* FAILED if a check failed; SKIPPED if none could be run, or one not for want of memory; else
 * PASSED. */
static void conclude(case_result *result) {
    int passed = 0, failed = 0, unjudged = -1;
    for (int i = 0; i < check_count(); i++) {
        passed += result->checks[i].status == CHECK_PASSED;
        failed += result->checks[i].status == CHECK_FAILED;
        if (unjudged < 0 && result->checks[i].failure.unjudged)
            unjudged = i;
    }
    bool judged = passed > 0 && unjudged < 0;
    result->status = failed ? CASE_FAILED : judged ? CASE_PASSED : CASE_SKIPPED;
    if (result->status != CASE_SKIPPED)
        return;
    if (unjudged >= 0)
        snprintf(result->reason, sizeof result->reason, "%s: %s", check_table[unjudged].name,
                 result->checks[unjudged].note);
    else
        snprintf(result->reason, sizeof result->reason, "none of the selected checks applies");
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The crash check cannot be run, only survived: it passes when all others have come to an end. */
void checks_run(const armq_case *c, const armq_provider *provider, uint64_t selected,
                case_result *result, watch *w) {
    trial t;
    check_failure failure = {.has_element = false};
    double start = now();
    int value = check_index("value");
    memset(result, 0, sizeof *result);
    w->check = value;
    if (trial_open(&t, c, provider, result, w, &failure)) {
        for (int i = 0; i < check_count(); i++)
            if (selected >> i & 1)
                run_check(i, &t);
        conclude(result);
    } else if (result->status == CASE_FAILED) {
        result->checks[value].status = CHECK_FAILED;
        result->checks[value].failure = failure;
    }
    w->check = -1;
    trial_close(&t);
    result->seconds = now() - start;
}
