/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/expected.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/api/describe.h"

/* Intervals of one set of inputs; sets beyond are not kept. */
static const int64_t most_intervals = 1 << 17;

struct expected_rows {
    armq_desc desc; /* without threads and caches */
    bool nonfinite_is_nan;
    bool *known;
    expected_row *rows;
};

/* Byte for byte comparable: what cannot change a result is left out. */
static void arithmetic_of(const armq_desc *desc, armq_desc *out) {
    memcpy(out, desc, sizeof *out);
    out->max_threads = 0;
    out->l1 = out->l2 = out->llc = 0;
    out->features = 0;
}

static bool nonfinite_is_nan(uint32_t claims) {
    return (claims & ARMQ_CLAIM_NONFINITE_ROW_NAN) != 0;
}

expected_rows *expected_open(const armq_desc *desc, uint32_t claims) {
    int64_t row = armq_y_row(desc) + 1, tokens = desc->tokens;
    if (tokens > most_intervals / row)
        return NULL;
    expected_rows *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    arithmetic_of(desc, &e->desc);
    e->nonfinite_is_nan = nonfinite_is_nan(claims);
    e->known = calloc((size_t)tokens + 1, sizeof *e->known);
    e->rows = calloc((size_t)tokens + 1, sizeof *e->rows);
    if (e->known && e->rows)
        return e;
    expected_close(e);
    return NULL;
}

void expected_close(expected_rows *e) {
    if (!e)
        return;
    for (int64_t i = 0; e->rows && i < e->desc.tokens; i++)
        free(e->rows[i].y);
    free(e->rows);
    free(e->known);
    free(e);
}

bool expected_is_for(const expected_rows *e, const armq_desc *desc, uint32_t claims) {
    armq_desc other;
    arithmetic_of(desc, &other);
    return e->nonfinite_is_nan == nonfinite_is_nan(claims) &&
           memcmp(&e->desc, &other, sizeof other) == 0;
}

const expected_row *expected_find(const expected_rows *e, int64_t row) {
    return e->known[row] ? &e->rows[row] : NULL;
}

const expected_row *expected_keep(expected_rows *e, int64_t row, const expected_row *answer,
                                  int64_t columns) {
    expected_row *kept = &e->rows[row];
    ref_interval *y = NULL;
    if (answer->y && columns > 0) {
        y = malloc((size_t)columns * sizeof *y);
        if (!y)
            return NULL;
        memcpy(y, answer->y, (size_t)columns * sizeof *y);
    }
    free(kept->y);
    *kept = *answer;
    kept->y = y;
    e->known[row] = true;
    return kept;
}
