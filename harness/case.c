/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/case.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case_keys.h"
#include "kernels/api/describe.h"
#include "kernels/api/dialects.h"
#include "kernels/api/names.h"

/* --- Kinds of data ---------------------------------------------------------------------------- */

#define OP(name) (1u << ARMQ_OP_##name)
#define QUANTISED (OP(QUANTIZE) | OP(LINEAR_W8A8))
#define ROWS (QUANTISED | OP(LINEAR_BF16))
#define ALL ((1u << ARMQ_OP_COUNT) - 1u)

static const struct {
    const char *name;
    unsigned ops;
    const char *help;
} kinds[DATA_KIND_COUNT] = {
    [DATA_NORMAL] = {"normal", ALL, "tie-free, neighbouring scales, biases and rows differ by 2x"},
    [DATA_TIES] = {"ties", QUANTISED, "half-integers that every correct quantiser rounds alike"},
    [DATA_EXTREMES] = {"extremes", ROWS | OP(GEMM_S8S8S32),
                       "edges of the integer contract: all -128 or 127, alternating signs"},
    [DATA_OUTLIERS] = {"outliers", ROWS, "a few channels 32 times larger than the rest"},
    [DATA_ZERO_ROWS] = {"zero_rows", ROWS, "rows of 0, of -0 and below 2^-120 between others"},
    [DATA_SUBNORMALS] = {"subnormals", ROWS, "rows of subnormal and tiny values between others"},
    [DATA_POISON] = {"poison", ROWS, "odd rows hold a NaN or an infinity; even rows as in normal"},
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

/* --- One case --------------------------------------------------------------------------------- */

const char *case_text(const armq_case *c, char text[CASE_TEXT_MAX]) {
    size_t used = (size_t)snprintf(text, CASE_TEXT_MAX, "%s", armq_op_name(c->desc.op));
    for (int i = 0; i < KEY_COUNT; i++) {
        const case_key *key = &case_keys[i];
        if (!case_key_is_of(key, c->desc.op))
            continue;
        char value[KEY_VALUE_MAX];
        key->print(key, c, value);
        if (!key->always && strcmp(value, key->fallback(key, c)) == 0)
            continue;
        if (used < CASE_TEXT_MAX)
            used += (size_t)snprintf(text + used, CASE_TEXT_MAX - used, " %s=%s", key->name, value);
    }
    return text;
}

void case_bind(armq_case *c, uint64_t features, int64_t l1, int64_t l2, int64_t llc,
               int32_t max_threads) {
    c->desc.features = features;
    c->desc.l1 = l1;
    c->desc.l2 = l2;
    c->desc.llc = llc;
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

/* The output of a linear layer is one of the dialect's dtypes, too. */
static bool resolve_dialect(armq_case *c, char *why, size_t why_bytes) {
    armq_desc *d = &c->desc;
    armq_dialect of_output;
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
    return ok;
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
    if (armq_desc_check(d, why, why_bytes) != ARMQ_OK)
        return false;
    return pad_fits("x_pad", armq_x_row(d), c->x_pad, d->tokens, why, why_bytes) &&
           pad_fits("y_pad", armq_y_row(d), c->y_pad, d->tokens, why, why_bytes);
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
