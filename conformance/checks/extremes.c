/* SPDX-License-Identifier: Apache-2.0 */
/* Two derived cases of the same n and k: rows of every directed kind against the case's own
 * weights, and, for what only weights of -128 (-8) can show, activations and weights at the edge of
 * the integer contract. */
#include <inttypes.h>
#include <stdio.h>

#include "conformance/check.h"
#include "kernels/api/describe.h"
#include "kernels/api/dialects.h"
#include "kernels/api/names.h"

/* Rows of each kind that differ in more than their numbers (harness/generate.h). */
static const struct {
    data_kind kind;
    int64_t row;
} directed[] = {
    {DATA_TIES, 0},       {DATA_EXTREMES, 0},   {DATA_ZERO_ROWS, 0},  {DATA_SUBNORMALS, 0},
    {DATA_EXTREMES, 3},   {DATA_SUBNORMALS, 4}, {DATA_OUTLIERS, 0},   {DATA_ZERO_ROWS, 3},
    {DATA_TIES, 1},       {DATA_EXTREMES, 1},   {DATA_SUBNORMALS, 2}, {DATA_ZERO_ROWS, 5},
    {DATA_SUBNORMALS, 3}, {DATA_EXTREMES, 2},   {DATA_TIES, 2},       {DATA_EXTREMES, 4},
};
enum { DIRECTED = sizeof directed / sizeof directed[0], AT_LEAST = 4, EDGE_TOKENS = 5 };

/* Multiply-accumulates that the directed rows may cost; with larger shapes they take turns. */
static const int64_t budget = 1 << 19, budget_bf16 = 1 << 16;

static int64_t rows_within_budget(const armq_case *c) {
    armq_case one = *c;
    one.desc.tokens = 1;
    int64_t each = case_macs(&one) > 0 ? case_macs(&one) : 1;
    int64_t rows = (armq_op_is_bf16(c->desc.op) ? budget_bf16 : budget) / each;
    return rows < AT_LEAST ? AT_LEAST : rows < DIRECTED ? rows : DIRECTED;
}

static check_status judge_derived(trial *t, const armq_case *c, const inputs *in, const char *what,
                                  check_result *out) {
    trial d;
    trial_state state = trial_derive(&d, t, c, in, GUARD_END, &out->failure);
    check_status status = state == TRIAL_READY ? check_verdict(check_judge(&d, what, &out->failure))
                                               : check_not_ready(&d, state, what, out);
    trial_close(&d);
    return status;
}

/* Those that the op has, starting anywhere; returns how many. */
static int64_t choose_rows(const trial *t, data_kind kinds[DIRECTED], int64_t rows[DIRECTED]) {
    int64_t most = rows_within_budget(&t->c), count = 0;
    for (int64_t i = 0; i < DIRECTED && count < most; i++) {
        int64_t at = ((int64_t)(t->in->hash % DIRECTED) + i) % DIRECTED;
        if (!data_kind_exists(t->c.desc.op, directed[at].kind))
            continue;
        kinds[count] = directed[at].kind;
        rows[count++] = directed[at].row;
    }
    return count;
}

static check_status directed_rows(trial *t, check_result *out) {
    data_kind kinds[DIRECTED];
    int64_t rows[DIRECTED];
    armq_case c = t->c;
    c.desc.tokens = choose_rows(t, kinds, rows);
    check_status status = judge_derived(t, &c, inputs_kinds(t->in, &c, kinds, rows, NULL),
                                        "rows of every directed kind", out);
    if (status == CHECK_FAILED && out->failure.has_element) {
        char what[64];
        snprintf(what, sizeof what, "data=%s row %" PRId64, data_kind_name(kinds[out->failure.row]),
                 rows[out->failure.row]);
        failure_prefix(&out->failure, what);
    }
    return status;
}

static check_status edge_weights(trial *t, check_result *out) {
    armq_case c = t->c;
    c.data = DATA_EXTREMES;
    c.desc.tokens = rows_within_budget(&c) < EDGE_TOKENS ? AT_LEAST : EDGE_TOKENS;
    return judge_derived(t, &c, NULL, "data=extremes", out);
}

/* Who claims a longer K than int32 accumulators have splits it, and shows that here. */
static bool claims_more_than_int32(const trial *t) {
    const armq_desc *d = &t->c.desc;
    return d->format != ARMQ_WEIGHT_NONE && !armq_op_is_bf16(d->op) && d->k > 0 &&
           !armq_op_is_moe(d->op) && t->support.max_k > armq_max_k(d->op, &d->dialect);
}

static check_status longest_k(trial *t, check_result *out) {
    enum { LONG_K = 1 << 18, LONG_N = 2 };
    armq_case c = t->c;
    c.data = DATA_EXTREMES;
    c.desc.tokens = AT_LEAST;
    c.desc.n = LONG_N;
    c.desc.k = t->support.max_k < LONG_K ? t->support.max_k : LONG_K;
    c.desc.k -= c.desc.group_size > 0 ? c.desc.k % c.desc.group_size : 0;
    return judge_derived(t, &c, NULL, "data=extremes with the longest k", out);
}

check_status check_extremes(trial *t, check_result *out) {
    check_status status = check_skip(out, "x is empty, and there are no weights");
    if (t->c.desc.in != ARMQ_DTYPE_S8 && armq_x_row(&t->c.desc) > 0)
        status = directed_rows(t, out);
    if (status != CHECK_FAILED && t->c.desc.format != ARMQ_WEIGHT_NONE)
        status = edge_weights(t, out);
    if (status != CHECK_FAILED && claims_more_than_int32(t))
        status = longest_k(t, out);
    return status;
}
