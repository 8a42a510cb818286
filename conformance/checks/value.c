/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "conformance/check.h"
#include "conformance/freivalds.h"
#include "conformance/naive/naive.h"
#include "kernels/api/names.h"

/* Of accumulators that Freivalds' check covers anyway. */
enum { SAMPLE_BESIDE_FREIVALDS = 4096, VECTORS = 2 };

/* int4 weights minus their zero points, a byte each. NULL: no memory. */
static int8_t *unpacked(const trial *t, const judgement *j) {
    const armq_desc *d = &t->c.desc;
    int8_t *w = malloc((size_t)(d->n * d->k) + 1);
    naive_packed shape = naive_unpack(d, 0, NULL);
    armq_weights weights[2];
    operand_weights(&t->c, j->in, weights);
    if (w)
        naive_pack_int4(d, &shape, weights, 0, w);
    return w;
}

static freivalds_verdict freivalds(const trial *t, const judgement *j, int64_t *row) {
    const armq_desc *d = &t->c.desc;
    bool int4 = d->op == ARMQ_OP_GEMM_S8S4S32;
    int8_t *own = int4 ? unpacked(t, j) : NULL;
    freivalds_product product = {
        .x = j->in->at[OPERAND_X],
        .x_stride = t->shapes[OPERAND_X].stride,
        .w = int4 ? own : j->in->at[OPERAND_W],
        .y = t->base[OPERAND_Y],
        .tokens = d->tokens,
        .n = d->n,
        .k = d->k,
        .groups = d->group_size > 0 && d->k > 0 ? d->k / d->group_size : 1,
    };
    freivalds_verdict verdict =
        int4 && !own ? FREIVALDS_NO_MEMORY : freivalds_check(&product, t->c.seed, VECTORS, row);
    free(own);
    return verdict;
}

/* All accumulators at once; a row found wrong is looked through by the reference, which names the
 * element. */
static bool all_accumulators(const trial *t, judgement *j) {
    int64_t row = 0;
    switch (freivalds(t, j, &row)) {
    case FREIVALDS_EQUAL:
        return true;
    case FREIVALDS_NO_MEMORY:
        failure_unjudged(j->failure, "not enough memory for Freivalds' check");
        return false;
    default:
        if (judge_rows(j, &row, 1))
            failure_set(j->failure,
                        "Freivalds' check rejects row %lld of y, the reference accepts it: "
                        "one of the two is wrong",
                        (long long)row);
        return false;
    }
}

check_status check_value(trial *t, check_result *out) {
    operands storage;
    judgement j = {.c = &t->c,
                   .claims = t->support.claims,
                   .in = trial_inputs(t, &storage),
                   .shared = t->in,
                   .got = t->base,
                   .failure = &out->failure,
                   .quality = &t->result->quality};
    int64_t sample = t->c.sample;
    if (armq_op_is_gemm(t->c.desc.op) && (t->large || sample > 0)) {
        if (!all_accumulators(t, &j))
            return CHECK_FAILED;
        if (sample < SAMPLE_BESIDE_FREIVALDS)
            sample = SAMPLE_BESIDE_FREIVALDS;
    }
    return check_verdict(judge_outputs(&j, sample));
}
