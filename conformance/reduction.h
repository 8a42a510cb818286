/* SPDX-License-Identifier: Apache-2.0 */
/* What a run does about a failed case: the worker that had it goes on with smaller ones, until none
 * fails the same check or time is up. A crash or a hang on the way is a run like any other, and
 * counts if the case had crashed, too. */
#ifndef ARMQ_CONFORMANCE_REDUCTION_H
#define ARMQ_CONFORMANCE_REDUCTION_H

#include "conformance/plan.h"
#include "conformance/result.h"
#include "conformance/shrink.h"

/* The most that a run spends on one case, and on all; and cases of one op that fail the same check
 * of a provider, since more of them tell little more. */
enum { REDUCTION_SECONDS = 30, REDUCTION_SECONDS_ALL = 300, REDUCTION_ALIKE = 2 };

typedef struct {
    bool active;
    int64_t task;       /* for its owner */
    case_result result; /* of the case itself */
    int check;          /* the first that failed */
    uint64_t checks;    /* that smaller cases run */
    uint64_t selected;  /* that the case has run */
    bool confirmed;     /* whether the check fails on its own is known */
    bool complete;      /* no smaller case is left to try */
    armq_case own;
    shrink search;
    double started; /* seconds */
} reduction;

/* What it comes to, for the files and the screen. */
typedef struct {
    const char *check;
    const armq_case *smallest; /* NULL: no smaller case was found to fail */
    int64_t runs;
    bool complete;
} reduced;

/* Seconds of a clock that only goes forward. */
double reduction_now(void);

/* The first failed check of a result; -1: none. */
int reduction_check(const case_result *result);

/* `result`: failed or crashed, and copied. False: no check failed. */
bool reduction_begin(reduction *r, int64_t task, const armq_case *c, uint64_t selected,
                     const case_result *result);

/* The case to be run next, and the checks to be run on it; NULL: that was all. */
const armq_case *reduction_next(reduction *r, uint64_t *checks);
void reduction_answer(reduction *r, const case_result *result);

reduced reduction_end(const reduction *r);

#endif
