/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/reduction.h"

#include <string.h>
#include <time.h>

#include "conformance/check.h"

double reduction_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int reduction_check(const case_result *result) {
    for (int i = 0; i < check_count(); i++)
        if (result->checks[i].status == CHECK_FAILED)
            return i;
    return -1;
}

bool reduction_begin(reduction *r, int64_t task, const armq_case *c, uint64_t selected,
                     const case_result *result) {
    int failed = reduction_check(result);
    if (failed < 0)
        return false;
    r->active = true;
    r->task = task;
    r->result = *result;
    r->check = failed;
    r->selected = selected;
    r->checks = UINT64_C(1) << r->check;
    r->confirmed = r->complete = false;
    r->own = *c;
    r->started = reduction_now();
    shrink_begin(&r->search, c);
    return true;
}

/* A check that reports what was noticed during others may not fail on its own: that is tried first,
 * with the case itself. */
const armq_case *reduction_next(reduction *r, uint64_t *checks) {
    *checks = r->checks;
    if (reduction_now() - r->started > REDUCTION_SECONDS)
        return NULL;
    const armq_case *next = r->confirmed ? shrink_propose(&r->search) : &r->own;
    r->complete = !next && !r->search.exhausted;
    return next;
}

void reduction_answer(reduction *r, const case_result *result) {
    bool fails = result->checks[r->check].status == CHECK_FAILED &&
                 (result->status == CASE_CRASHED) == (r->result.status == CASE_CRASHED);
    if (r->confirmed)
        shrink_answer(&r->search, fails);
    else if (!fails)
        r->checks = r->selected;
    r->confirmed = true;
}

reduced reduction_end(const reduction *r) {
    char own[CASE_TEXT_MAX], best[CASE_TEXT_MAX];
    bool smaller = strcmp(case_text(&r->own, own), case_text(&r->search.best, best)) != 0;
    return (reduced){check_table[r->check].name, smaller ? &r->search.best : NULL, r->search.runs,
                     r->complete};
}
