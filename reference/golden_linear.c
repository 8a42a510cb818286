/* SPDX-License-Identifier: Apache-2.0 */
/* Judges linear_w8a8 and linear_w4a8, the latter in each format of the weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/api/names.h"
#include "reference/formats.h"
#include "reference/golden_case.h"

typedef struct {
    ref_problem problem;
    golden_integers integers;
    const void *y;
} recorded;

static verdict check_rows(golden_case *c, const recorded *r) {
    const armq_desc *desc = r->problem.desc;
    int8_t *q = malloc((size_t)desc->k + 1);
    ref_interval *intervals = malloc(((size_t)desc->n + 1) * sizeof *intervals);
    ref_context *context = ref_open(&r->problem);
    bool ready = q && intervals && context;
    verdict v = ready ? PASSED : golden_because(c, FAILED, "reference: can not open");
    size_t row_bytes = (size_t)desc->k * armq_dtype_bytes(desc->in);
    for (int64_t row = 0; ready && row < desc->tokens && v == PASSED; row++) {
        const char *x = (const char *)r->problem.x + (size_t)row * row_bytes;
        v = golden_check_integers(c, desc, row, x, desc->k, &r->integers, q);
        if (v != PASSED)
            break;
        ref_row_intervals(context, row, NULL, desc->n, intervals);
        v = golden_check_outputs(c, "y", desc, row, intervals, r->y);
    }
    ref_close(context);
    free(intervals);
    free(q);
    return v;
}

/* Where x is a tie, the integer recorded for it stands for x: y is judged from the recorded
 * integers. Only rows of scale 1 need it. */
static void settle_ties(const armq_desc *desc, const golden_integers *r, void *x) {
    for (int64_t i = 0; i < desc->tokens * desc->k; i++) {
        int64_t row = i / desc->k;
        double whole = r->q[i] - (double)r->zero_points[row];
        if (r->scales[row] == 1.0f && fabs(armq_load(desc->in, x, i) - whole) == 0.5)
            armq_store(desc->in, x, i, whole);
    }
}

/* The same problem on a copy of x. */
static verdict check_settled_rows(golden_case *c, recorded *r) {
    const armq_desc *desc = r->problem.desc;
    size_t bytes = (size_t)(desc->tokens * desc->k) * armq_dtype_bytes(desc->in);
    void *x = malloc(bytes + 1);
    if (!x)
        return golden_because(c, FAILED, "no memory");
    memcpy(x, r->problem.x, bytes);
    settle_ties(desc, &r->integers, x);
    r->problem.x = x;
    verdict v = check_rows(c, r);
    free(x);
    return v;
}

static verdict judge_format(golden_case *c, const armq_desc *desc) {
    bool asymmetric = desc->dialect.quant == ARMQ_QUANT_ASYMMETRIC;
    bool bias = desc->uses & ARMQ_USES_BIAS;
    int64_t m = desc->tokens, n = desc->n, k = desc->k;
    int64_t groups = desc->group_size ? k / desc->group_size : 1;
    armq_weights w = {.size = sizeof w};
    recorded r = {.problem = {.desc = desc, .weights = {&w, NULL}}};
    void *packed = NULL;
    bool complete =
        (r.problem.x = golden_array(c, "x", desc->in, m * k)) &&
        (w.w = golden_weights(c, "w", desc, n, k, &packed)) &&
        (w.scales = golden_array(c, "ws", desc->scale_dtype, n * groups)) &&
        (!(desc->uses & ARMQ_USES_WEIGHT_ZERO) ||
         (w.zero_points = golden_array(c, "wz", ARMQ_DTYPE_S8, n * groups))) &&
        (!bias || (w.bias = golden_array(c, "bias", desc->bias_dtype, n))) &&
        (r.integers.q = golden_array(c, "xq", ARMQ_DTYPE_S8, m * k)) &&
        (r.integers.scales = golden_array(c, "xs", ARMQ_DTYPE_F32, m)) &&
        (!asymmetric || (r.integers.zero_points = golden_array(c, "xzp", ARMQ_DTYPE_S32, m))) &&
        (r.y = golden_array(c, "y", desc->out, m * n));
    bool settle = asymmetric && golden_ties_are_excused(c);
    verdict v = !complete ? FAILED : settle ? check_settled_rows(c, &r) : check_rows(c, &r);
    free(packed);
    return v;
}

verdict golden_judge_linear(golden_case *c, armq_op op) {
    armq_desc desc = {.size = sizeof desc, .abi = ARMQ_ABI_VERSION, .op = op};
    armq_weight_format formats[2];
    verdict v = PASSED;
    desc.tokens = golden_int(c, "tokens");
    desc.n = golden_int(c, "n");
    desc.k = golden_int(c, "k");
    if (!golden_describe(c, &desc, ARMQ_ACT_NONE, "bias"))
        return FAILED;
    for (int i = 0; i < golden_formats(op, formats) && v == PASSED; i++) {
        desc.format = formats[i];
        c->judged = c->ambiguous = 0;
        v = judge_format(c, &desc);
    }
    return v;
}
