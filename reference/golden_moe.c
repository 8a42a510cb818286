/* SPDX-License-Identifier: Apache-2.0 */
/* Judges moe_w8a8 and moe_w4a8, the latter in each format of the weights: the output, and every
 * stage that was recorded. Rows of the stages stand in ascending (expert, token, slot). */
#include <stdlib.h>
#include <string.h>

#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/formats.h"
#include "reference/golden_case.h"
#include "reference/int4.h"

/* Everything that judging a case needs. */
typedef struct {
    golden_case *c;
    armq_desc desc;
    armq_weights weights[2];
    void *packed[2];
    ref_problem problem;
    golden_integers x, act_integers;
    bool routed; /* x was recorded once per slot, in the order of the second stage */
    const void *act, *y, *y_nofma, *products[2];
    /* Of one row: */
    ref_context *context;
    ref_interval *intervals, *act_intervals, *centered;
    int8_t *q;
    float *weighted; /* room for any dtype */
} judge;

/* --- Arrays --------------------------------------------------------------------------------------
 */

static bool weight_arrays(judge *j, int which) {
    static const char *const names[2][4] = {{"w13", "w13s", "b13", "w13z"},
                                            {"w2", "w2s", "b2", "w2z"}};
    const armq_desc *d = &j->desc;
    armq_weights *w = &j->weights[which];
    int64_t k = armq_weight_k(d, which), rows = d->experts * armq_weight_n(d, which);
    bool bias = d->uses & ARMQ_USES_W13_BIAS, zero = d->uses & ARMQ_USES_WEIGHT_ZERO;
    return (w->w = golden_weights(j->c, names[which][0], d, rows, k, &j->packed[which])) &&
           (w->scales =
                golden_array(j->c, names[which][1], d->scale_dtype, rows * ref_groups(d, k))) &&
           (!zero || (w->zero_points = golden_array(j->c, names[which][3], ARMQ_DTYPE_S8,
                                                    rows * ref_groups(d, k)))) &&
           (!bias || (w->bias = golden_array(j->c, names[which][2], d->bias_dtype, rows)));
}

static bool integer_arrays(golden_case *c, const armq_desc *d, const char *q, const char *scales,
                           const char *zero_points, int64_t rows, int64_t k, golden_integers *r) {
    bool asymmetric = d->dialect.quant == ARMQ_QUANT_ASYMMETRIC;
    return (r->q = golden_array(c, q, ARMQ_DTYPE_S8, rows * k)) &&
           (r->scales = golden_array(c, scales, ARMQ_DTYPE_F32, rows)) &&
           (!asymmetric || (r->zero_points = golden_array(c, zero_points, ARMQ_DTYPE_S32, rows)));
}

static bool arrays(judge *j) {
    golden_case *c = j->c;
    const armq_desc *d = &j->desc;
    int64_t rows = d->tokens * d->top_k, x = d->tokens * d->hidden;
    j->routed = golden_has(c, "y13"); /* recorded expert by expert */
    return (j->problem.x = golden_array(c, "x", d->in, x)) && weight_arrays(j, 0) &&
           weight_arrays(j, 1) &&
           (j->problem.topk_ids = golden_array(c, "ids", ARMQ_DTYPE_S32, rows)) &&
           (j->problem.topk_weights = golden_array(c, "tw", ARMQ_DTYPE_F32, rows)) &&
           integer_arrays(c, d, "xq", "xs", "xzp", j->routed ? rows : d->tokens, d->hidden,
                          &j->x) &&
           integer_arrays(c, d, "actq", "acts", "actzp", rows, d->intermediate, &j->act_integers) &&
           (j->act = golden_array(c, "act", d->dialect.intermediate, rows * d->intermediate)) &&
           (j->y = golden_array(c, "y", d->out, x)) &&
           (!golden_has(c, "y_nofma") || (j->y_nofma = golden_array(c, "y_nofma", d->out, x))) &&
           (!j->routed ||
            ((j->products[0] =
                  golden_array(c, "y13", d->dialect.y13_round, rows * 2 * d->intermediate)) &&
             (j->products[1] = golden_array(c, "y2", d->dialect.y2_round, rows * d->hidden))));
}

static bool describe(golden_case *c, armq_desc *desc) {
    armq_activation activation;
    desc->tokens = golden_int(c, "tokens");
    desc->hidden = golden_int(c, "hidden");
    desc->intermediate = golden_int(c, "intermediate");
    desc->experts = golden_int(c, "experts");
    desc->top_k = golden_int(c, "top_k");
    if (json_is_true(json_object_get(c->params, "skip_router_weight")))
        desc->uses |= ARMQ_USES_NO_ROUTER_WEIGHT;
    if (json_is_true(json_object_get(c->params, "weight_on_input")))
        desc->uses |= ARMQ_USES_WEIGHT_ON_INPUT;
    if (armq_activation_parse(golden_text(c, "activation"), &activation))
        return golden_describe(c, desc, activation, "b13");
    golden_because(c, FAILED, "params: activation is not known");
    return false;
}

/* --- Stages --------------------------------------------------------------------------------------
 */

/* Where the second stage of a token's slot stands among the recorded rows. */
static int64_t recorded_row(const judge *j, int64_t slot) {
    int64_t before = 0;
    const int32_t *ids = j->problem.topk_ids;
    for (int64_t i = 0; i < j->desc.tokens * j->desc.top_k; i++)
        before += ids[i] < ids[slot] || (ids[i] == ids[slot] && i < slot);
    return before;
}

/* A recorded product with bias, from the recorded values that went in: a linear layer. */
static verdict check_product(judge *j, int which, int64_t expert, int64_t row, armq_dtype in,
                             const void *x) {
    const armq_desc *d = &j->desc;
    const armq_weights *all = &j->weights[which];
    int64_t n = armq_weight_n(d, which), k = armq_weight_k(d, which), first = expert * n;
    armq_desc linear = *d;
    linear.op = ARMQ_OP_LINEAR_W4A8;
    linear.n = n;
    linear.k = k;
    linear.in = in;
    if (which == 1)
        linear.dialect.work = ARMQ_DTYPE_F32;
    linear.out = which == 0 ? d->dialect.y13_round : d->dialect.y2_round;
    linear.uses = d->uses & ARMQ_USES_WEIGHT_ZERO;
    linear.uses |= d->uses & ARMQ_USES_W13_BIAS ? ARMQ_USES_BIAS : 0;
    const armq_weights w = {
        .w = (const char *)all->w + first * ref_int4_row_bytes(d->format, k),
        .scales = (const char *)all->scales +
                  first * ref_groups(d, k) * (int64_t)armq_dtype_bytes(d->scale_dtype),
        .zero_points = all->zero_points ? all->zero_points + first * ref_groups(d, k) : NULL,
        .bias = all->bias
                    ? (const char *)all->bias + first * (int64_t)armq_dtype_bytes(d->bias_dtype)
                    : NULL,
    };
    const ref_problem problem = {.desc = &linear, .x = x, .weights = {&w, NULL}};
    ref_context *context = ref_open(&problem);
    if (!context)
        return golden_because(j->c, FAILED, "reference: can not open");
    ref_row_intervals(context, 0, NULL, n, j->intervals);
    ref_close(context);
    return golden_check_values(j->c, which == 0 ? "y13" : "y2", linear.out, row, n, j->intervals,
                               j->products[which]);
}

/* The recorded integers and scale follow from the recorded activation, bit for bit, and are among
 * those that the reference derives from x alone. */
static verdict check_second_quantiser(judge *j, int64_t row, const ref_interval *scale) {
    const armq_desc *d = &j->desc;
    golden_case *c = j->c;
    int64_t k = d->intermediate;
    const char *act =
        (const char *)j->act + (size_t)(row * k) * armq_dtype_bytes(d->dialect.intermediate);
    const int8_t *wanted = j->act_integers.q + row * k;
    float recorded = j->act_integers.scales[row];
    armq_dialect dialect = d->dialect;
    dialect.work = ARMQ_DTYPE_F32; /* the intermediate is not rounded to it again */
    ref_row_quant quant = ref_quantize_row(&dialect, dialect.intermediate, act, k, j->q);
    int32_t zero = j->act_integers.zero_points ? j->act_integers.zero_points[row] : 0;
    if (quant.scale != recorded || !ref_accepts(scale, ARMQ_DTYPE_F32, &recorded))
        return golden_because(
            c, FAILED, "acts[%lld]: recorded %a, of its row %a, interval [%a, %a]", (long long)row,
            (double)recorded, (double)quant.scale, scale->lo, scale->hi);
    if (quant.zero_point != zero)
        return golden_because(c, FAILED, "actzp[%lld]: recorded %d, of its row %d", (long long)row,
                              zero, quant.zero_point);
    for (int64_t i = 0; i < k; i++)
        if (wanted[i] != j->q[i] || wanted[i] - zero < j->centered[i].lo ||
            wanted[i] - zero > j->centered[i].hi)
            return golden_because(c, FAILED,
                                  "actq[%lld][%lld]: recorded %d, of its row %d, of x %g to %g",
                                  (long long)row, (long long)i, wanted[i], j->q[i],
                                  j->centered[i].lo + zero, j->centered[i].hi + zero);
    return PASSED;
}

/* A row of the intermediate that may overflow has no integers to compare. */
static verdict check_second_stage(judge *j, int64_t token, int64_t slot, int64_t row) {
    const armq_desc *d = &j->desc;
    ref_interval scale;
    bool quantised =
        ref_moe_second_stage(j->context, token, slot, j->act_intervals, j->centered, &scale);
    verdict v = golden_check_values(j->c, "act", d->dialect.intermediate, row, d->intermediate,
                                    j->act_intervals, j->act);
    return v == PASSED && quantised ? check_second_quantiser(j, row, &scale) : v;
}

/* x as the first stage quantises it: times the weight, if that is on the input. */
static const void *first_operand(judge *j, int64_t slot, const void *x) {
    const armq_desc *d = &j->desc;
    if (!(d->uses & ARMQ_USES_WEIGHT_ON_INPUT))
        return x;
    double weight = armq_round_to(d->dialect.combine_round, (double)j->problem.topk_weights[slot]);
    for (int64_t i = 0; i < d->hidden; i++) {
        double value = armq_round_to(d->dialect.work, armq_load(d->in, x, i));
        armq_store(d->dialect.work, j->weighted, i, armq_round_to(ARMQ_DTYPE_F32, value * weight));
    }
    return j->weighted;
}

static verdict check_slot(judge *j, int64_t token, int64_t slot, const void *x) {
    const armq_desc *d = &j->desc;
    armq_desc first = *d;
    int64_t at = token * d->top_k + slot, row = recorded_row(j, at);
    int64_t expert = j->problem.topk_ids[at];
    const char *act = (const char *)j->act +
                      (size_t)(row * d->intermediate) * armq_dtype_bytes(d->dialect.intermediate);
    verdict v = PASSED;
    x = first_operand(j, at, x);
    first.in = x == j->weighted ? d->dialect.work : d->in;
    if (j->routed)
        v = golden_check_integers(j->c, &first, row, x, d->hidden, &j->x, j->q);
    if (v == PASSED && j->routed)
        v = check_product(j, 0, expert, row, first.in, x);
    if (v == PASSED)
        v = check_second_stage(j, token, slot, row);
    if (v == PASSED && j->routed)
        v = check_product(j, 1, expert, row, d->dialect.intermediate, act);
    return v;
}

static verdict check_token(judge *j, int64_t token) {
    const armq_desc *d = &j->desc;
    const char *x =
        (const char *)j->problem.x + (size_t)(token * d->hidden) * armq_dtype_bytes(d->in);
    if (!ref_quantize_row(&d->dialect, d->in, x, d->hidden, j->q).finite)
        return PASSED; /* excused: x holds NaN or Inf */
    verdict v = PASSED;
    if (!j->routed)
        v = golden_check_integers(j->c, d, token, x, d->hidden, &j->x, j->q);
    for (int64_t slot = 0; v == PASSED && slot < d->top_k; slot++)
        v = check_slot(j, token, slot, x);
    if (v != PASSED)
        return v;
    ref_row_intervals(j->context, token, NULL, d->hidden, j->intervals);
    j->c->flips += ref_tie_flips(j->context);
    v = golden_check_outputs(j->c, "y", d, token, j->intervals, j->y);
    return v == PASSED && j->y_nofma
               ? golden_check_outputs(j->c, "y_nofma", d, token, j->intervals, j->y_nofma)
               : v;
}

/* --- The case ------------------------------------------------------------------------------------
 */

static verdict check_tokens(judge *j) {
    const armq_desc *d = &j->desc;
    size_t wide = (size_t)(2 * d->intermediate), most = (size_t)d->hidden;
    most = (wide > most ? wide : most) + 1;
    j->context = ref_open(&j->problem);
    j->intervals = calloc(most, sizeof *j->intervals);
    j->act_intervals = calloc(most, sizeof *j->act_intervals);
    j->centered = calloc(most, sizeof *j->centered);
    j->q = calloc(most, 1);
    j->weighted = calloc(most, sizeof *j->weighted);
    bool ready =
        j->context && j->intervals && j->act_intervals && j->centered && j->q && j->weighted;
    verdict v = ready ? PASSED : golden_because(j->c, FAILED, "reference: can not open");
    for (int64_t token = 0; ready && token < d->tokens && v == PASSED; token++)
        v = check_token(j, token);
    ref_close(j->context);
    free(j->intervals);
    free(j->act_intervals);
    free(j->centered);
    free(j->q);
    free(j->weighted);
    return v;
}

static verdict judge_format(golden_case *c, const armq_desc *desc) {
    judge j = {.c = c, .desc = *desc};
    j.weights[0].size = j.weights[1].size = sizeof(armq_weights);
    j.problem = (ref_problem){.desc = &j.desc, .weights = {&j.weights[0], &j.weights[1]}};
    j.problem.claims = ARMQ_CLAIM_NONFINITE_ROW_NAN; /* an intermediate that overflows gives NaN */
    verdict v = arrays(&j) ? check_tokens(&j) : FAILED;
    free(j.packed[0]);
    free(j.packed[1]);
    return v;
}

verdict golden_judge_moe(golden_case *c, armq_op op) {
    armq_desc desc = {.size = sizeof desc, .abi = ARMQ_ABI_VERSION, .op = op};
    armq_weight_format formats[2];
    verdict v = PASSED;
    if (!describe(c, &desc))
        return FAILED;
    for (int i = 0; i < golden_formats(op, formats) && v == PASSED; i++) {
        desc.format = formats[i];
        c->judged = c->ambiguous = c->flips = 0;
        v = judge_format(c, &desc);
    }
    return v;
}
