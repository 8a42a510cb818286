/* SPDX-License-Identifier: Apache-2.0 */
/* Judges outputs by the reference's intervals, and measures how tight these intervals are. */
#ifndef ARMQ_CONFORMANCE_JUDGE_H
#define ARMQ_CONFORMANCE_JUDGE_H

#include "conformance/inputs.h"
#include "conformance/result.h"
#include "harness/operands.h"

typedef struct {
    const armq_case *c;
    uint32_t claims;           /* of the provider: what a row with NaN must give */
    const operands *in;        /* what the reference reads, laid out as the case says */
    const inputs *shared;      /* the same if providers share them, so that answers are kept */
    void *const *got;          /* outputs by operand_id, rows dense; NULL where absent or empty */
    check_failure *failure;    /* filled with the worst element if one is outside */
    interval_quality *quality; /* may be NULL */
} judgement;

/* True iff every judged element of every output is admissible: all of them, or with sample > 0 at
 * least that many of y (every row; its first, last and random columns; MoE: whole tokens). */
bool judge_outputs(const judgement *j, int64_t sample);

/* The same for all elements of some rows, without quality. */
bool judge_rows(const judgement *j, const int64_t *rows, int64_t count);

#endif
