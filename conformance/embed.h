/* SPDX-License-Identifier: Apache-2.0 */
/* A small problem within a large one: the large one has the small one's rows, channels, experts and
 * slots at known places far apart, and elsewhere zeros (or ids of -1), which add nothing. So what
 * the large problem must give at these places is what the small one gives. */
#ifndef ARMQ_CONFORMANCE_EMBED_H
#define ARMQ_CONFORMANCE_EMBED_H

#include "conformance/guard.h"
#include "conformance/inputs.h"
#include "conformance/result.h"
#include "conformance/sparse.h"

enum { PLACES_MAX = 64 };

/* Where the small problem's indices are along a dimension of the large one, ascending. */
typedef struct {
    int64_t size, count;
    int64_t at[PLACES_MAX];
} places;

typedef struct {
    armq_case large, small;
    const inputs *in; /* of the small one */
    places channels, experts, slots;
    operand_shape shapes[OPERAND_COUNT]; /* of the large one */
    sparse regions[OPERAND_COUNT];       /* large operands */
    guarded buffers[OPERAND_COUNT];      /* the others */
    operands data;                       /* of the large one */
    armq_weights weights[2];
} embedding;

/* Reserves and fills everything but packed weights and workspace. False with a sentence in why: the
 * case is not one that can be embedded, or memory is short. Close it in any case; *e must not move.
 */
bool embed_open(embedding *e, const armq_case *c, const armq_support *support, char *why,
                size_t why_bytes);
void embed_close(embedding *e);

/* Weights of experts [first, ..) of the large problem, for pack. */
armq_weights embed_weights(const embedding *e, int32_t which, int64_t first);

/* Fills the places of the outputs with 0xff. */
bool embed_poison(embedding *e);

/* The outputs as the small problem has them, rows dense; free each. False: no memory. */
bool embed_outputs(const embedding *e, void *got[OPERAND_COUNT]);

/* Column of the large y that is column `column` of the small one. */
int64_t embed_column(const embedding *e, int64_t column);

#endif
