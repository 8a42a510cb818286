/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the smallest case that still fails. It proposes cases and is told which of them
 * fail; who runs them, and what failing means, is not its business (reduction.h). Dimensions come
 * first, then every key that is not at its default, kind of data and seed last; op, dialect and
 * dtype of x stay. */
#ifndef ARMQ_CONFORMANCE_SHRINK_H
#define ARMQ_CONFORMANCE_SHRINK_H

#include "harness/case.h"
#include "harness/case_keys.h"

enum { SHRINK_RUNS_MAX = 200 };

/* How the key that is being reduced is tried. */
typedef enum {
    SHRINK_START,  /* not yet */
    SHRINK_DROP,   /* at its default */
    SHRINK_LEAST,  /* the least value */
    SHRINK_BISECT, /* between a value that does not fail and one that does */
} shrink_way;

typedef struct {
    armq_case best; /* the smallest that fails */
    armq_case tried;
    int64_t runs;                     /* cases proposed */
    bool exhausted;                   /* SHRINK_RUNS_MAX proposals were not enough */
    int key;                          /* row of case_keys; -1: all dimensions at once */
    shrink_way way;                   /* of the next proposal */
    int64_t low;                      /* of the bisection: does not fail */
    bool changed;                     /* since the first key: go through all of them again */
    uint64_t passed[SHRINK_RUNS_MAX]; /* hashes of what does not fail: not to be proposed again */
    int64_t passed_count;
} shrink;

/* Starts from a case that fails. */
void shrink_begin(shrink *s, const armq_case *c);

/* The next case to be run; NULL: s->best is as small as it gets. To be answered before the next. */
const armq_case *shrink_propose(shrink *s);
void shrink_answer(shrink *s, bool fails);

#endif
