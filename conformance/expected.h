/* SPDX-License-Identifier: Apache-2.0 */
/* What the reference wants of a set of inputs, row by row, kept with these inputs: the providers of
 * a case take turns on the same inputs, and the reference need not answer each of them anew. */
#ifndef ARMQ_CONFORMANCE_EXPECTED_H
#define ARMQ_CONFORMANCE_EXPECTED_H

#include "reference/reference.h"

typedef struct expected_rows expected_rows;

typedef struct {
    ref_interval *y;     /* one for each column; NULL if there are none */
    int64_t flips;       /* ref_tie_flips */
    bool has_quant;      /* op quantize: */
    ref_row_quant quant; /* scale and zero point */
} expected_row;

/* Of the arithmetic of `desc` and what `claims` say about rows with NaN. NULL: no memory, or too
 * much of it would be needed. */
expected_rows *expected_open(const armq_desc *desc, uint32_t claims);
void expected_close(expected_rows *e);

/* True if `e` holds answers for this problem: threads and caches may differ, nothing else. */
bool expected_is_for(const expected_rows *e, const armq_desc *desc, uint32_t claims);

/* The row if it is known, else NULL. Valid until expected_close. */
const expected_row *expected_find(const expected_rows *e, int64_t row);

/* Copies `columns` intervals. NULL: no memory. */
const expected_row *expected_keep(expected_rows *e, int64_t row, const expected_row *answer,
                                  int64_t columns);

#endif
