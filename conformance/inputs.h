/* SPDX-License-Identifier: Apache-2.0 */
/* The input tensors of a case in plain memory: what the reference reads, and what the guarded
 * buffers of a trial are filled from and compared with. Generated once for all providers. */
#ifndef ARMQ_CONFORMANCE_INPUTS_H
#define ARMQ_CONFORMANCE_INPUTS_H

#include "conformance/expected.h"
#include "harness/operands.h"

typedef struct inputs inputs;

struct inputs {
    armq_case c;
    operand_shape shapes[OPERAND_COUNT]; /* of inputs and outputs; the rest is absent */
    operands data;                       /* NULL where absent or empty; read only */
    uint64_t hash;                       /* generate_hash; 0 for derived inputs */
    bool owned[OPERAND_COUNT];
    int64_t users;
    const inputs *weights_from; /* lends the operands that are not owned */
    data_kind *kinds;           /* of inputs_kinds only */
    int64_t *rows;              /* of derived inputs */
    void (*adjusted)(const inputs *in);
    expected_rows *wanted[2]; /* kept answers of the reference: see inputs_expected */
};

/* x and the routing, as opposed to the weights and what belongs to them. */
bool inputs_per_token(operand_id id);

/* Generated inputs of a case. The last few are kept, so that the next provider of the same case
 * gets them for nothing. NULL: no memory, or the op has no such kind of data. */
const inputs *inputs_get(const armq_case *c);

/* Derived sets. The last few are kept too.
 *
 * Inputs of c, which differs from `from` in tokens, strides and optional operands only: row i of x
 * (and of the routing) is row rows[i] of `from`; weights are shared, and generated if new. */
const inputs *inputs_rows(const inputs *from, const armq_case *c, const int64_t *rows);

/* The same, but row i of x is logical row rows[i] of data kind kinds[i]. `adjust`, if not NULL,
 * changes what is new in them, in the same way each time. */
const inputs *inputs_kinds(const inputs *from, const armq_case *c, const data_kind *kinds,
                           const int64_t *rows, void (*adjust)(const inputs *in));

/* The same problem, with x and the routing as `adjust` leaves them. Not kept. NULL: no memory. */
const inputs *inputs_adjusted(const inputs *from, void (*adjust)(const inputs *in, void *arg),
                              void *arg);

/* The same problem, expert e being called to[e]: its weights and the ids of its slots move. NULL:
 * no memory. */
const inputs *inputs_relabelled(const inputs *from, const int64_t *to);

/* Where answers of the reference for this arithmetic on `in` are kept, by one provider for the
 * next. NULL: they cannot be (`in` NULL or used for another arithmetic before, no memory). */
expected_rows *inputs_expected(const inputs *in, const armq_desc *desc, uint32_t claims);

/* One more user of in. */
const inputs *inputs_share(const inputs *in);

void inputs_release(const inputs *in);

#endif
