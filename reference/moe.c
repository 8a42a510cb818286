/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/moe.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/api/describe.h"
#include "reference/activation.h"
#include "reference/formats.h"

/* A slot of the token that has an expert. */
typedef struct {
    int64_t slot, expert;
    double weight; /* of the router, as the dialect multiplies by it; 1 without */
    double given;  /* the same before any rounding */
    ref_operand second;
    double *exact; /* [intermediate] unquantised activation, filled on demand */
} moe_slot;

typedef struct {
    const ref_moe_arithmetic *arithmetic;
    int64_t row, exact_row; /* what the slots hold; -1: nothing yet */
    bool invalid;           /* an id outside [0, experts) that is not skipped, or no memory */
    bool finite;            /* x of the row */
    moe_slot *slots;        /* in the order of summation */
    int64_t count, capacity;
    float *x, *weighted; /* [hidden] in the working dtype; times the router weight */
    double *exact_x;     /* [hidden] */
    ref_operand input;   /* first stage */
    ref_interval *act;   /* [intermediate] of the slot in work */
} moe_state;

/* --- Memory --------------------------------------------------------------------------------------
 */

static void *allocate(int64_t count, size_t bytes) {
    return count >= 0 && (uint64_t)count < SIZE_MAX / bytes ? calloc((size_t)count + 1, bytes)
                                                            : NULL;
}

bool ref_moe_open(ref_context *context, const ref_moe_arithmetic *arithmetic) {
    const armq_desc *desc = context->problem.desc;
    if (!arithmetic->accepts(desc))
        return false;
    moe_state *m = context->state = calloc(1, sizeof *m);
    if (!m)
        return false;
    m->arithmetic = arithmetic;
    m->row = m->exact_row = -1;
    m->x = allocate(desc->hidden, sizeof *m->x);
    m->weighted = allocate(desc->hidden, sizeof *m->weighted);
    m->exact_x = allocate(desc->hidden, sizeof *m->exact_x);
    m->act = allocate(desc->intermediate, sizeof *m->act);
    return arithmetic->reserve(&m->input, desc->hidden) && m->x && m->weighted && m->exact_x &&
           m->act;
}

void ref_moe_close(ref_context *context) {
    moe_state *m = context->state;
    if (!m)
        return;
    for (int64_t i = 0; i < m->capacity; i++) {
        m->arithmetic->release(&m->slots[i].second);
        free(m->slots[i].exact);
    }
    m->arithmetic->release(&m->input);
    free(m->slots);
    free(m->x);
    free(m->weighted);
    free(m->exact_x);
    free(m->act);
    free(m);
}

/* One more slot. Memory follows the slots that are used, not top_k, which may be huge. */
static moe_slot *next_slot(moe_state *m, const armq_desc *desc) {
    if (m->count < m->capacity)
        return &m->slots[m->count++];
    moe_slot *grown = realloc(m->slots, ((size_t)m->capacity + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    m->slots = grown;
    moe_slot *slot = &grown[m->capacity++];
    *slot = (moe_slot){.exact = allocate(desc->intermediate, sizeof *slot->exact)};
    if (!m->arithmetic->reserve(&slot->second, desc->intermediate) || !slot->exact)
        return NULL;
    m->count++;
    return slot;
}

/* --- Routing -------------------------------------------------------------------------------------
 */

static bool weighs_input(const armq_desc *desc) {
    return (desc->uses & ARMQ_USES_WEIGHT_ON_INPUT) != 0;
}

static double router_weight(const ref_context *context, int64_t row, int64_t slot) {
    const armq_desc *desc = context->problem.desc;
    if (desc->uses & ARMQ_USES_NO_ROUTER_WEIGHT)
        return 1.0;
    return (double)context->problem.topk_weights[row * desc->top_k + slot];
}

static bool add_slot(ref_context *context, int64_t row, int64_t slot, int64_t expert) {
    moe_state *m = context->state;
    const armq_desc *desc = context->problem.desc;
    bool skips = (desc->uses & ARMQ_USES_SKIP_IDS) != 0;
    if (expert == -1 && skips)
        return true;
    moe_slot *s = expert < 0 || expert >= desc->experts ? NULL : next_slot(m, desc);
    if (!s)
        return false;
    s->slot = slot;
    s->expert = expert;
    s->given = router_weight(context, row, slot);
    s->weight = armq_round_to(desc->dialect.combine_round, s->given);
    return true;
}

static int by_expert(const void *a, const void *b) {
    const moe_slot *x = a, *y = b;
    if (x->expert != y->expert)
        return x->expert < y->expert ? -1 : 1;
    return x->slot < y->slot ? -1 : 1;
}

/* Whole blocks of skipped slots are passed over: there may be 2^32 of them. */
enum { BLOCK = 64 };

static bool all_skipped(const int32_t ids[BLOCK]) {
    int32_t all = -1;
    for (int i = 0; i < BLOCK; i++)
        all &= ids[i];
    return all == -1;
}

static bool route(ref_context *context, int64_t row) {
    moe_state *m = context->state;
    const armq_desc *desc = context->problem.desc;
    const int32_t *ids = desc->top_k ? context->problem.topk_ids + row * desc->top_k : NULL;
    bool skips = (desc->uses & ARMQ_USES_SKIP_IDS) != 0;
    m->count = 0;
    for (int64_t slot = 0; slot < desc->top_k;) {
        bool block = skips && desc->top_k - slot >= BLOCK && all_skipped(ids + slot);
        if (!block && !add_slot(context, row, slot, ids[slot]))
            return false;
        slot += block ? BLOCK : 1;
    }
    if (desc->dialect.combine_order == ARMQ_COMBINE_EXPERT_ORDER)
        qsort(m->slots, (size_t)m->count, sizeof *m->slots, by_expert);
    return true;
}

/* --- First stage ---------------------------------------------------------------------------------
 */

static bool load_x(ref_context *context, int64_t row) {
    moe_state *m = context->state;
    const armq_desc *desc = context->problem.desc;
    const void *x = ref_x_row(context, row);
    bool finite = true;
    for (int64_t i = 0; i < desc->hidden; i++) {
        m->x[i] = (float)armq_round_to(desc->dialect.work, armq_load(desc->in, x, i));
        finite = finite && isfinite(m->x[i]);
    }
    return finite;
}

/* x * weight in f32, then in the working dtype. */
static void weigh_input(ref_context *context, double weight) {
    moe_state *m = context->state;
    const armq_desc *desc = context->problem.desc;
    for (int64_t i = 0; i < desc->hidden; i++) {
        float product = m->x[i] * (float)weight;
        m->weighted[i] = (float)armq_round_to(desc->dialect.work, (double)product);
    }
}

static ref_interval declared(ref_interval y, armq_dtype dtype) {
    return dtype == ARMQ_DTYPE_F32 ? y : ref_rounded(y, dtype);
}

/* Element n of operand times weights, with bias, as the dialect hands it on. */
static ref_interval product_with_bias(const ref_context *context, const ref_operand *operand,
                                      int which, int64_t expert, int64_t n) {
    const moe_state *m = context->state;
    const armq_desc *desc = context->problem.desc;
    uint32_t flag = which == 0 ? ARMQ_USES_W13_BIAS : ARMQ_USES_W2_BIAS;
    if (operand->kind != REF_VALUE)
        return (ref_interval){0.0, 0.0, 0.0, operand->kind};
    ref_interval y = m->arithmetic->product(context, operand, which, expert, n);
    if (desc->uses & flag) {
        int64_t at = expert * armq_weight_n(desc, which) + n;
        y = ref_plus_f32(y, armq_load(desc->bias_dtype, context->problem.weights[which]->bias, at));
    }
    return declared(y, which == 0 ? desc->dialect.y13_round : desc->dialect.y2_round);
}

/* The gated activation of one slot, rounded to the intermediate dtype, into m->act. */
static void first_stage(const ref_context *context, const ref_operand *input, int64_t expert) {
    moe_state *m = context->state;
    const armq_desc *desc = context->problem.desc;
    const armq_dialect *dialect = &desc->dialect;
    for (int64_t i = 0; i < desc->intermediate; i++) {
        ref_interval gate = product_with_bias(context, input, 0, expert,
                                              ref_gate_at(dialect, desc->intermediate, i));
        ref_interval up =
            product_with_bias(context, input, 0, expert, ref_up_at(dialect, desc->intermediate, i));
        m->act[i] = ref_rounded(ref_activate(dialect, gate, up), dialect->intermediate);
    }
}

static void slot_stages(ref_context *context, moe_slot *slot) {
    moe_state *m = context->state;
    if (weighs_input(context->problem.desc)) {
        weigh_input(context, slot->weight);
        m->arithmetic->first(context, m->weighted, &m->input);
    }
    slot->second.uncertain = 0;
    slot->second.kind = m->input.kind;
    if (m->input.kind != REF_VALUE)
        return;
    first_stage(context, &m->input, slot->expert);
    m->arithmetic->second(context, m->act, &slot->second);
}

/* Everything of a token that its columns share. */
static void prepare(ref_context *context, int64_t row) {
    moe_state *m = context->state;
    if (m->row == row)
        return;
    m->row = row;
    m->exact_row = -1;
    context->tie_flips = 0;
    m->invalid = !route(context, row);
    m->finite = load_x(context, row);
    if (m->invalid)
        return;
    m->arithmetic->first(context, m->x, &m->input);
    for (int64_t i = 0; i < m->count; i++) {
        slot_stages(context, &m->slots[i]);
        context->tie_flips += m->slots[i].second.uncertain;
    }
}

/* --- Second stage and sum over slots -------------------------------------------------------------
 */

static ref_interval weighted_slot(const ref_context *context, const moe_slot *slot,
                                  int64_t column) {
    const armq_desc *desc = context->problem.desc;
    ref_interval y = product_with_bias(context, &slot->second, 1, slot->expert, column);
    bool applies = !(desc->uses & (ARMQ_USES_WEIGHT_ON_INPUT | ARMQ_USES_NO_ROUTER_WEIGHT));
    if (applies)
        y = ref_times_f32(y, ref_exact(slot->weight));
    return declared(y, desc->dialect.combine_round);
}

static ref_interval column_interval(const ref_context *context, int64_t column) {
    const moe_state *m = context->state;
    armq_dtype combine_round = context->problem.desc->dialect.combine_round;
    ref_interval sum = ref_exact(0.0);
    if (m->invalid || (m->count == 0 && !m->finite)) {
        sum.kind = REF_ANY;
        return sum;
    }
    for (int64_t i = 0; i < m->count; i++) {
        ref_interval term = weighted_slot(context, &m->slots[i], column);
        sum = i == 0 ? term : declared(ref_sum_f32(sum, term), combine_round);
    }
    return sum;
}

void ref_moe_row(ref_context *context, int64_t row, const int64_t *columns, int64_t count,
                 ref_interval *intervals) {
    prepare(context, row);
    for (int64_t i = 0; i < count; i++)
        intervals[i] = column_interval(context, columns ? columns[i] : i);
}

/* --- Without quantisation ------------------------------------------------------------------------
 */

static double exact_with_bias(const ref_context *context, const double *values, int which,
                              int64_t expert, int64_t n) {
    const moe_state *m = context->state;
    const armq_desc *desc = context->problem.desc;
    double y = m->arithmetic->exact(context, values, which, expert, n);
    if (desc->uses & (which == 0 ? ARMQ_USES_W13_BIAS : ARMQ_USES_W2_BIAS))
        y += armq_load(desc->bias_dtype, context->problem.weights[which]->bias,
                       expert * armq_weight_n(desc, which) + n);
    return y;
}

static void exact_stage(ref_context *context, int64_t row, moe_slot *slot) {
    moe_state *m = context->state;
    const armq_desc *desc = context->problem.desc;
    const armq_dialect *dialect = &desc->dialect;
    const void *x = ref_x_row(context, row);
    double factor = weighs_input(desc) ? slot->given : 1.0;
    for (int64_t i = 0; i < desc->hidden; i++)
        m->exact_x[i] = armq_load(desc->in, x, i) * factor;
    for (int64_t i = 0; i < desc->intermediate; i++) {
        int64_t gate = ref_gate_at(dialect, desc->intermediate, i);
        int64_t up = ref_up_at(dialect, desc->intermediate, i);
        slot->exact[i] =
            ref_activate_exact(dialect, exact_with_bias(context, m->exact_x, 0, slot->expert, gate),
                               exact_with_bias(context, m->exact_x, 0, slot->expert, up));
    }
}

double ref_moe_unquantized(ref_context *context, int64_t row, int64_t column) {
    moe_state *m = context->state;
    double sum = 0.0;
    if (m->exact_row != row) {
        m->row = -1; /* the slots are this row's now */
        m->invalid = !route(context, row);
        for (int64_t i = 0; !m->invalid && i < m->count; i++)
            exact_stage(context, row, &m->slots[i]);
        m->exact_row = row;
    }
    for (int64_t i = 0; !m->invalid && i < m->count; i++) {
        const moe_slot *slot = &m->slots[i];
        double y = exact_with_bias(context, slot->exact, 1, slot->expert, column);
        sum += weighs_input(context->problem.desc) ? y : y * slot->given;
    }
    return m->invalid ? (double)NAN : sum;
}

/* --- Stages for judging recorded ones ------------------------------------------------------------
 */

static ref_interval centered_hull(const ref_quantized *row, int64_t i) {
    ref_interval y = ref_exact((double)row->variants[0].centered[i]);
    for (int v = 0; v < row->count; v++) {
        const ref_variant *variant = &row->variants[v];
        y = ref_hull(y, ref_exact((double)variant->centered[i]));
        for (int64_t f = 0; f < variant->flip_count; f++)
            if (variant->flips[f].at == i) {
                y = ref_hull(y, ref_exact((double)variant->flips[f].lo));
                y = ref_hull(y, ref_exact((double)variant->flips[f].hi));
            }
    }
    return y;
}

bool ref_moe_second_stage(ref_context *context, int64_t row, int64_t slot, ref_interval *act,
                          ref_interval *centered, ref_interval *scale) {
    moe_state *m = context->state;
    const armq_desc *desc = context->problem.desc;
    if (!m)
        return false;
    m->row = -1; /* m->input and m->act become this slot's */
    prepare(context, row);
    m->row = -1;
    moe_slot *s = NULL;
    for (int64_t i = 0; !m->invalid && m->finite && i < m->count; i++)
        if (m->slots[i].slot == slot)
            s = &m->slots[i];
    if (!s)
        return false;
    slot_stages(context, s);
    for (int64_t i = 0; i < desc->intermediate; i++)
        act[i] = m->act[i];
    const ref_quantized *row_quant = &s->second.quantized;
    if (s->second.kind != REF_VALUE || row_quant->count == 0)
        return s->second.kind == REF_VALUE;
    for (int64_t i = 0; i < desc->intermediate; i++)
        centered[i] = centered_hull(row_quant, i);
    *scale = row_quant->variants[0].scale;
    for (int v = 1; v < row_quant->count; v++)
        *scale = ref_hull(*scale, row_quant->variants[v].scale);
    return true;
}
