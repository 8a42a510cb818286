/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/check.h"
#include "conformance/freivalds.h"

/* Of accumulators that Freivalds' check covers anyway. */
enum { SAMPLE_BESIDE_FREIVALDS = 4096, VECTORS = 2 };

/* All accumulators at once; a row found wrong is looked through by the reference, which names the
 * element. */
static bool all_accumulators(const trial *t, judgement *j) {
    const armq_desc *d = &t->c.desc;
    int64_t row = 0;
    freivalds_product product = {
        .x = j->in->at[OPERAND_X],
        .x_stride = t->shapes[OPERAND_X].stride,
        .w = j->in->at[OPERAND_W],
        .y = t->base[OPERAND_Y],
        .tokens = d->tokens,
        .n = d->n,
        .k = d->k,
    };
    switch (freivalds_check(&product, t->c.seed, VECTORS, &row)) {
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
                   .got = t->base,
                   .failure = &out->failure,
                   .quality = &t->result->quality};
    int64_t sample = t->c.sample;
    if (t->c.desc.op == ARMQ_OP_GEMM_S8S8S32 && (t->large || sample > 0)) {
        if (!all_accumulators(t, &j))
            return CHECK_FAILED;
        if (sample < SAMPLE_BESIDE_FREIVALDS)
            sample = SAMPLE_BESIDE_FREIVALDS;
    }
    return check_verdict(judge_outputs(&j, sample));
}
