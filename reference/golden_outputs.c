/* SPDX-License-Identifier: Apache-2.0 */
/* Judges ops of which nothing but the output was recorded: quantize, gemm_*, linear_bf16 and
 * moe_bf16. */
#include <stdlib.h>

#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/golden_case.h"
#include "reference/int4.h"

/* --- quantize -----------------------------------------------------------------------------------
 */

verdict golden_judge_quantize(golden_case *c, armq_op op) {
    armq_desc desc = {.size = sizeof desc, .abi = ARMQ_ABI_VERSION, .op = op};
    golden_integers r = {NULL, NULL, NULL};
    int64_t m = desc.tokens = golden_int(c, "tokens"), k = desc.k = golden_int(c, "k");
    if (!golden_describe(c, &desc, ARMQ_ACT_NONE, "bias"))
        return FAILED;
    bool asymmetric = desc.dialect.quant == ARMQ_QUANT_ASYMMETRIC;
    const char *x = golden_array(c, "x", desc.in, m * k);
    if (!x || !(r.q = golden_array(c, "xq", ARMQ_DTYPE_S8, m * k)) ||
        !(r.scales = golden_array(c, "xs", ARMQ_DTYPE_F32, m)) ||
        (asymmetric && !(r.zero_points = golden_array(c, "xzp", ARMQ_DTYPE_S32, m))))
        return FAILED;
    int8_t *q = malloc((size_t)k + 1);
    verdict v = q ? PASSED : golden_because(c, FAILED, "no memory");
    for (int64_t row = 0; row < m && v == PASSED; row++, c->judged += k)
        v = golden_check_integers(c, &desc, row, x + (size_t)(row * k) * armq_dtype_bytes(desc.in),
                                  k, &r, q);
    free(q);
    return v;
}

/* --- Ops with weights ---------------------------------------------------------------------------
 */

typedef struct {
    armq_weights weights[2];
    void *packed[2];
    ref_problem problem;
    const void *y;
} outputs;

static bool weights_of(golden_case *c, const armq_desc *d, int32_t which, outputs *o) {
    bool moe = armq_op_is_moe(d->op);
    const char *name = !moe ? "w" : which == 0 ? "w13" : "w2";
    const char *bias = !moe ? "bias" : which == 0 ? "b13" : "b2";
    armq_weights *w = &o->weights[which];
    int64_t k = armq_weight_k(d, which), rows = armq_weight_n(d, which) * (moe ? d->experts : 1);
    *w = (armq_weights){.size = sizeof *w};
    o->problem.weights[which] = w;
    if (d->format == ARMQ_WEIGHT_BF16)
        w->w = golden_array(c, name, ARMQ_DTYPE_BF16, rows * k);
    else
        w->w = golden_weights(c, name, d, rows, k, &o->packed[which]);
    return w->w &&
           (!(d->uses & ARMQ_USES_WEIGHT_ZERO) ||
            (w->zero_points = golden_array(c, "wz", ARMQ_DTYPE_S8, rows * ref_groups(d, k)))) &&
           (d->bias_dtype == ARMQ_DTYPE_NONE ||
            (w->bias = golden_array(c, bias, d->bias_dtype, rows)));
}

static verdict check_rows(golden_case *c, const outputs *o) {
    const armq_desc *d = o->problem.desc;
    int64_t count = armq_y_row(d);
    ref_context *context = ref_open(&o->problem);
    ref_interval *intervals = calloc((size_t)count + 1, sizeof *intervals);
    bool ready = context && intervals;
    verdict v = ready ? PASSED : golden_because(c, FAILED, "reference: can not open");
    for (int64_t row = 0; ready && row < d->tokens && v == PASSED; row++) {
        ref_row_intervals(context, row, NULL, count, intervals);
        c->flips += ref_tie_flips(context);
        v = golden_check_outputs(c, "y", d, row, intervals, o->y);
    }
    free(intervals);
    ref_close(context);
    return v;
}

static verdict judge_format(golden_case *c, const armq_desc *d) {
    bool moe = armq_op_is_moe(d->op);
    outputs o = {.problem = {.desc = d}};
    int64_t slots = d->tokens * d->top_k;
    c->judged = c->ambiguous = c->flips = 0;
    bool complete =
        (o.problem.x = golden_array(c, "x", d->in, d->tokens * armq_x_row(d))) &&
        weights_of(c, d, 0, &o) && (!moe || weights_of(c, d, 1, &o)) &&
        (!moe || ((o.problem.topk_ids = golden_array(c, "ids", ARMQ_DTYPE_S32, slots)) &&
                  (o.problem.topk_weights = golden_array(c, "tw", ARMQ_DTYPE_F32, slots)))) &&
        (o.y = golden_array(c, "y", d->out, d->tokens * armq_y_row(d)));
    verdict v = complete ? check_rows(c, &o) : FAILED;
    free(o.packed[0]);
    free(o.packed[1]);
    return v;
}

verdict golden_judge_outputs(golden_case *c, armq_op op) {
    armq_desc desc = {.size = sizeof desc, .abi = ARMQ_ABI_VERSION, .op = op};
    armq_activation activation = ARMQ_ACT_NONE;
    armq_weight_format formats[2];
    verdict v = PASSED;
    desc.tokens = golden_int(c, "tokens");
    desc.n = golden_int(c, "n");
    desc.k = golden_int(c, "k");
    desc.hidden = golden_int(c, "hidden");
    desc.intermediate = golden_int(c, "intermediate");
    desc.experts = golden_int(c, "experts");
    desc.top_k = golden_int(c, "top_k");
    if (armq_op_is_moe(op) && !armq_activation_parse(golden_text(c, "activation"), &activation))
        return golden_because(c, FAILED, "params: activation is not known");
    if (!golden_describe(c, &desc, activation, armq_op_is_moe(op) ? "b13" : "bias"))
        return FAILED;
    for (int i = 0; i < golden_formats(op, formats) && v == PASSED; i++) {
        desc.format = formats[i];
        v = judge_format(c, &desc);
    }
    return v;
}
