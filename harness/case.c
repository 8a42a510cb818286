/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/case.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case_keys.h"
#include "harness/operands.h"
#include "kernels/api/describe.h"
#include "kernels/api/dialects.h"
#include "kernels/api/names.h"

/* --- Kinds of data ---------------------------------------------------------------------------- */

#define OP(name) (1u << ARMQ_OP_##name)
#define SCALED (OP(LINEAR_W8A8) | OP(LINEAR_W4A8) | OP(MOE_W8A8) | OP(MOE_W4A8))
#define GEMMS (OP(GEMM_S8S8S32) | OP(GEMM_S8S4S32))
#define ROWS (OP(QUANTIZE) | SCALED | OP(LINEAR_BF16) | OP(MOE_BF16))
#define FLOATS (ROWS | OP(ACTIVATION))
#define ALL ((1u << ARMQ_OP_COUNT) - 1u)

static const struct {
    const char *name;
    unsigned ops;
    const char *help;
} kinds[DATA_KIND_COUNT] = {
    [DATA_NORMAL] = {"normal", ALL, "tie-free, neighbouring scales, biases and rows differ by 2x"},
    [DATA_TIES] = {"ties", ROWS,
                   "half-integers that every correct quantiser rounds alike, f32 beside such; "
                   "bf16 baselines: ties of the rounding to bf16"},
    [DATA_EXTREMES] = {"extremes", FLOATS | GEMMS,
                       "edges of the integer contract: all -128 or 127 (int4: -8 or 7, with zero "
                       "points at the other end), alternating signs; "
                       "activation: where exp overflows or underflows"},
    [DATA_OUTLIERS] = {"outliers", ROWS, "a few channels 32 times larger than the rest"},
    [DATA_ZERO_ROWS] = {"zero_rows", FLOATS, "rows of 0, of -0 and below 2^-120 between others"},
    [DATA_SUBNORMALS] = {"subnormals", FLOATS, "rows of subnormal and tiny values between others"},
    [DATA_POISON] = {"poison", FLOATS,
                     "odd rows hold a NaN or an infinity, even rows are as in normal; scales and "
                     "biases of experts that no token uses are NaN"},
    [DATA_BAD_SCALES] = {"bad_scales", SCALED,
                         "a third of the weight scales is 0, -0, subnormal, infinite or NaN"},
};

const char *data_kind_name(data_kind data) {
    return (unsigned)data < DATA_KIND_COUNT ? kinds[data].name : "?";
}

const char *data_kind_help(data_kind data) {
    return (unsigned)data < DATA_KIND_COUNT ? kinds[data].help : "?";
}

bool data_kind_parse(const char *text, data_kind *data) {
    for (int i = 0; i < DATA_KIND_COUNT; i++)
        if (strcmp(kinds[i].name, text) == 0) {
            *data = (data_kind)i;
            return true;
        }
    return false;
}

bool data_kind_exists(armq_op op, data_kind data) {
    return (unsigned)data < DATA_KIND_COUNT && ((kinds[data].ops >> op) & 1u);
}

/* --- Kinds of routing ------------------------------------------------------------------------- */

static const struct {
    const char *name, *help;
} routings[ROUTING_KIND_COUNT] = {
    [ROUTING_MIXED] = {"mixed", "as softmax, but every fourth token has an expert twice"},
    [ROUTING_SOFTMAX] = {"softmax", "top_k different experts per token, some busier than others"},
    [ROUTING_BALANCED] = {"balanced", "experts in turn, all with the same number of tokens"},
    [ROUTING_ONE] = {"one", "every slot goes to the same, middle expert"},
    [ROUTING_LAST] = {"last", "every slot goes to the last expert"},
    [ROUTING_EMPTY] = {"empty", "only every third expert is used, and never the first"},
    [ROUTING_REPEAT] = {"repeat", "every token has its experts twice (top_k of 2 or more)"},
    [ROUTING_SKIP] = {"skip", "a third of the slots and every seventh token is -1 (skip_ids=1)"},
};

const char *routing_kind_name(routing_kind routing) {
    return (unsigned)routing < ROUTING_KIND_COUNT ? routings[routing].name : "?";
}

const char *routing_kind_help(routing_kind routing) {
    return (unsigned)routing < ROUTING_KIND_COUNT ? routings[routing].help : "?";
}

bool routing_kind_parse(const char *text, routing_kind *routing) {
    for (int i = 0; i < ROUTING_KIND_COUNT; i++)
        if (strcmp(routings[i].name, text) == 0) {
            *routing = (routing_kind)i;
            return true;
        }
    return false;
}

/* --- Kinds of caches -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int64_t l1, l2, llc; /* of those that do not come from the machine */
} cache_kinds[CACHES_KIND_COUNT] = {
    [CACHES_MACHINE] = {"machine", 0, 0, 0},
    [CACHES_NONE] = {"none", 0, 0, 0},
    [CACHES_SMALL] = {"small", 1 << 10, 16 << 10, 64 << 10},
    [CACHES_HUGE] = {"huge", INT64_C(1) << 32, INT64_C(1) << 40, INT64_C(1) << 44},
    [CACHES_PARTLY] = {"partly", 0, 16 << 10, 0},
};

const char *caches_kind_name(caches_kind caches) {
    return (unsigned)caches < CACHES_KIND_COUNT ? cache_kinds[caches].name : "?";
}

bool caches_kind_parse(const char *text, caches_kind *caches) {
    for (int i = 0; i < CACHES_KIND_COUNT; i++)
        if (strcmp(cache_kinds[i].name, text) == 0) {
            *caches = (caches_kind)i;
            return true;
        }
    return false;
}

/* --- One case --------------------------------------------------------------------------------- */

const char *case_text(const armq_case *c, char text[CASE_TEXT_MAX]) {
    size_t used = (size_t)snprintf(text, CASE_TEXT_MAX, "%s", armq_op_name(c->desc.op));
    for (int i = 0; i < KEY_COUNT; i++) {
        const case_key *key = &case_keys[i];
        if (!case_key_is_of(key, c->desc.op))
            continue;
        char value[KEY_VALUE_MAX], fallback[KEY_VALUE_MAX] = "";
        key->print(key, c, value);
        if (key->fallback)
            key->fallback(key, c, fallback);
        if (!key->always && strcmp(value, fallback) == 0)
            continue;
        if (used < CASE_TEXT_MAX)
            used += (size_t)snprintf(text + used, CASE_TEXT_MAX - used, " %s=%s", key->name, value);
    }
    return text;
}

void case_bind(armq_case *c, uint64_t features, int64_t l1, int64_t l2, int64_t llc,
               int32_t max_threads) {
    bool own = c->caches != CACHES_MACHINE;
    c->desc.features = features;
    c->desc.l1 = own ? cache_kinds[c->caches].l1 : l1;
    c->desc.l2 = own ? cache_kinds[c->caches].l2 : l2;
    c->desc.llc = own ? cache_kinds[c->caches].llc : llc;
    c->desc.max_threads = max_threads;
}

static int64_t saturating_product(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t case_macs(const armq_case *c) {
    const armq_desc *d = &c->desc;
    if (armq_op_is_moe(d->op)) {
        int64_t slots = saturating_product(d->tokens, d->top_k);
        int64_t weights = saturating_product(3, saturating_product(d->hidden, d->intermediate));
        return saturating_product(slots, weights);
    }
    return saturating_product(d->tokens, saturating_product(d->n, d->k));
}

int64_t case_sampled_rows(const armq_case *c) {
    int64_t tokens = c->desc.tokens, length = armq_y_row(&c->desc);
    if (!armq_op_is_moe(c->desc.op) || c->sample == 0 || length == 0)
        return tokens;
    int64_t rows = c->sample / length + (c->sample % length != 0);
    return rows < tokens ? rows : tokens;
}

static armq_dtype scale_dtype(const armq_desc *d) {
    if (armq_op_is_gemm(d->op) || armq_op_is_bf16(d->op) || d->op == ARMQ_OP_QUANTIZE ||
        d->op == ARMQ_OP_ACTIVATION)
        return ARMQ_DTYPE_NONE;
    return d->group_size > 0 ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
}

/* int4 weights have two formats, and keep the one that was chosen. */
static armq_weight_format weight_format(const armq_desc *d) {
    switch (d->op) {
    case ARMQ_OP_QUANTIZE:
    case ARMQ_OP_ACTIVATION:
        return ARMQ_WEIGHT_NONE;
    case ARMQ_OP_GEMM_S8S8S32:
    case ARMQ_OP_LINEAR_W8A8:
    case ARMQ_OP_MOE_W8A8:
        return ARMQ_WEIGHT_S8;
    case ARMQ_OP_LINEAR_BF16:
    case ARMQ_OP_MOE_BF16:
        return ARMQ_WEIGHT_BF16;
    default:
        return d->format;
    }
}

/* A row with its pad, times the rows, must stay an addressable extent. */
static bool pad_fits(const char *name, int64_t row, int64_t pad, int64_t tokens, char *why,
                     size_t why_bytes) {
    int64_t stride, elements;
    if (!__builtin_add_overflow(row, pad, &stride) &&
        !__builtin_mul_overflow(stride, tokens, &elements) && elements < INT64_C(1) << 59)
        return true;
    snprintf(why, why_bytes, "%s=%" PRId64 ": %" PRId64 " rows that far apart exceed 2^59 elements",
             name, pad, tokens);
    return false;
}

/* What Linux gives a process on AArch64 unless it asks for more. */
enum { ADDRESS_BITS = 48 };

static bool tensors_fit(const armq_case *c, char *why, size_t why_bytes) {
    operand_shape shapes[OPERAND_COUNT];
    operand_shapes(c, NULL, shapes);
    for (int id = 0; id < OPERAND_COUNT; id++)
        if (shapes[id].bytes > (size_t)1 << ADDRESS_BITS) {
            snprintf(why, why_bytes,
                     "tensor %s has more than 2^%d bytes, which no process can address",
                     shapes[id].name, ADDRESS_BITS);
            return false;
        }
    return true;
}

/* Which of the two layouts the weights have is a matter of the model where a dialect knows both. */
static bool has_both_layouts(const char *dialect) {
    return strcmp(dialect, "vllm-w8a8") == 0 || strcmp(dialect, "bf16") == 0;
}

/* The preset's gate layout, alpha and limit give way to the case's own. */
static bool override_dialect(armq_case *c, const armq_dialect *own, char *why, size_t why_bytes) {
    armq_dialect *d = &c->desc.dialect;
    bool clamps = d->activation == ARMQ_ACT_SWIGLUOAI;
    if (own->gate_layout != d->gate_layout && !has_both_layouts(c->dialect)) {
        snprintf(why, why_bytes, "gate=%s: dialect %s knows %s only",
                 gate_layout_name(own->gate_layout), c->dialect, gate_layout_name(d->gate_layout));
        return false;
    }
    for (int i = 0; i < 2; i++) {
        float value = i == 0 ? own->alpha : own->limit;
        const char *name = i == 0 ? "alpha" : "limit";
        if (clamps == (value > 0))
            continue;
        snprintf(why, why_bytes,
                 clamps ? "%s=%g: swigluoai needs a number above 0"
                        : "%s=%g: only swigluoai has it",
                 name, (double)value);
        return false;
    }
    d->gate_layout = own->gate_layout;
    d->alpha = own->alpha;
    d->limit = own->limit;
    return true;
}

/* So do its kind of quantisation, its roundings and its working dtype. */
static void override_rounding(armq_case *c, const armq_dialect *own) {
    if (case_has_key(c->desc.op, "quant"))
        c->desc.dialect.quant = own->quant;
    if (case_has_key(c->desc.op, "q_rounding"))
        c->desc.dialect.q_rounding = own->q_rounding;
    if (case_has_key(c->desc.op, "work"))
        c->desc.dialect.work = own->work;
    if (case_has_key(c->desc.op, "round_first"))
        c->desc.dialect.linear_round_before_bias = own->linear_round_before_bias;
}

static bool check_routing(const armq_case *c, char *why, size_t why_bytes) {
    const armq_desc *d = &c->desc;
    if (c->routing == ROUTING_SKIP && !(d->uses & ARMQ_USES_SKIP_IDS)) {
        snprintf(why, why_bytes, "routing=skip has ids of -1, which need skip_ids=1");
        return false;
    }
    if (c->routing == ROUTING_REPEAT && d->top_k < 2) {
        snprintf(why, why_bytes, "routing=repeat needs a top_k of 2 or more");
        return false;
    }
    return true;
}

/* The output of a linear layer is one of the dialect's dtypes, too. */
static bool resolve_dialect(armq_case *c, char *why, size_t why_bytes) {
    armq_desc *d = &c->desc;
    armq_dialect of_output, own = d->dialect;
    armq_activation activation = d->dialect.activation;
    armq_dtype dtype = d->in;
    const char *reason = NULL;
    bool ok = armq_dialect_preset(c->dialect, d->op, dtype, d->group_size, activation, &d->dialect,
                                  &reason);
    if (ok && armq_op_is_linear(d->op)) {
        dtype = d->out;
        ok = armq_dialect_preset(c->dialect, d->op, dtype, d->group_size, activation, &of_output,
                                 &reason);
    }
    if (!ok)
        snprintf(why, why_bytes, "dialect=%s with op %s, %s=%s: %s", c->dialect,
                 armq_op_name(d->op), dtype == d->in ? "in" : "out", armq_dtype_name(dtype),
                 reason);
    bool gated = armq_op_is_moe(d->op) || d->op == ARMQ_OP_ACTIVATION;
    if (ok)
        override_rounding(c, &own);
    return ok && (!gated || override_dialect(c, &own, why, why_bytes));
}

bool case_groups_divide(const armq_case *c, const char **name, int64_t *size) {
    const armq_desc *d = &c->desc;
    bool moe = armq_op_is_moe(d->op);
    for (int32_t which = 0; which < (moe ? 2 : 1) && d->group_size > 0; which++) {
        *name = !moe ? "k" : which == 0 ? "hidden" : "intermediate";
        *size = armq_weight_k(d, which);
        if (*size % d->group_size != 0)
            return false;
    }
    return true;
}

static bool check_description(const armq_case *c, char *why, size_t why_bytes) {
    armq_desc d = c->desc;
    if (d.group_size > 0) {
        d.k -= d.k % d.group_size;
        d.hidden -= d.hidden % d.group_size;
        d.intermediate -= d.intermediate % d.group_size;
    }
    return armq_desc_check(&d, why, why_bytes) == ARMQ_OK;
}

bool case_resolve(armq_case *c, char *why, size_t why_bytes) {
    armq_desc *d = &c->desc;
    d->size = sizeof *d;
    d->abi = ARMQ_ABI_VERSION;
    d->format = weight_format(d);
    d->scale_dtype = scale_dtype(d);
    d->uses &= ~(uint32_t)(ARMQ_USES_X_STRIDE | ARMQ_USES_Y_STRIDE);
    d->uses |= (c->x_pad > 0 ? ARMQ_USES_X_STRIDE : 0u) | (c->y_pad > 0 ? ARMQ_USES_Y_STRIDE : 0u);
    if (d->max_threads < c->threads)
        d->max_threads = c->threads;
    if (!resolve_dialect(c, why, why_bytes))
        return false;
    if (!data_kind_exists(d->op, c->data)) {
        snprintf(why, why_bytes, "data=%s does not exist for %s", data_kind_name(c->data),
                 armq_op_name(d->op));
        return false;
    }
    if (!check_routing(c, why, why_bytes) || !check_description(c, why, why_bytes))
        return false;
    return pad_fits("x_pad", armq_x_row(d), c->x_pad, d->tokens, why, why_bytes) &&
           pad_fits("y_pad", armq_y_row(d), c->y_pad, d->tokens, why, why_bytes) &&
           tensors_fit(c, why, why_bytes);
}

/* --- Lists ------------------------------------------------------------------------------------ */

void case_list_free(case_list *list) {
    free(list->items);
    *list = (case_list){0};
}

bool case_list_append(case_list *list, const armq_case *c) {
    if (list->count == list->capacity) {
        int64_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
        armq_case *items = realloc(list->items, (size_t)capacity * sizeof *items);
        if (!items)
            return false;
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = *c;
    return true;
}
