/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/api/describe.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "kernels/api/names.h"

/* Byte counts stay below 2^62, so that sums of a few of them cannot overflow. */
#define MAX_BYTES (INT64_C(1) << 62)

__attribute__((format(printf, 3, 4))) static armq_status invalid(char *reason, size_t bytes,
                                                                 const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (reason && bytes)
        vsnprintf(reason, bytes, format, args);
    va_end(args);
    return ARMQ_INVALID_ARGUMENT;
}

/* --- Shapes --------------------------------------------------------------------------------------
 */

int64_t armq_x_row(const armq_desc *desc) {
    if (armq_op_is_moe(desc->op))
        return desc->hidden;
    return desc->op == ARMQ_OP_ACTIVATION ? 2 * desc->intermediate : desc->k;
}

int64_t armq_y_row(const armq_desc *desc) {
    if (armq_op_is_moe(desc->op))
        return desc->hidden;
    switch (desc->op) {
    case ARMQ_OP_QUANTIZE:
        return desc->k;
    case ARMQ_OP_ACTIVATION:
        return desc->intermediate;
    case ARMQ_OP_GEMM_S8S4S32:
        return desc->n * (desc->group_size > 0 ? desc->k / desc->group_size : 1);
    default:
        return desc->n;
    }
}

int64_t armq_weight_n(const armq_desc *desc, int32_t which) {
    if (!armq_op_is_moe(desc->op))
        return desc->n;
    return which == 0 ? 2 * desc->intermediate : desc->hidden;
}

int64_t armq_weight_k(const armq_desc *desc, int32_t which) {
    if (!armq_op_is_moe(desc->op))
        return desc->k;
    return which == 0 ? desc->hidden : desc->intermediate;
}

int64_t armq_x_stride(const armq_desc *desc, const armq_args *args) {
    return desc->uses & ARMQ_USES_X_STRIDE ? args->x_stride : armq_x_row(desc);
}

int64_t armq_y_stride(const armq_desc *desc, const armq_args *args) {
    return desc->uses & ARMQ_USES_Y_STRIDE ? args->y_stride : armq_y_row(desc);
}

/* --- Description ---------------------------------------------------------------------------------
 */

/* What each op has. A dimension it does not have must be 0. */
enum { HAS_NK = 1, HAS_K = 2, HAS_MOE = 4, HAS_INTERMEDIATE = 8 };

static const struct {
    unsigned dimensions;
    uint32_t uses;
} op_shape[ARMQ_OP_COUNT] = {
#define STRIDES (ARMQ_USES_X_STRIDE | ARMQ_USES_Y_STRIDE)
#define MOE_USES                                                                                   \
    (STRIDES | ARMQ_USES_W13_BIAS | ARMQ_USES_W2_BIAS | ARMQ_USES_SKIP_IDS |                       \
     ARMQ_USES_WEIGHT_ON_INPUT | ARMQ_USES_NO_ROUTER_WEIGHT)
    [ARMQ_OP_QUANTIZE] = {HAS_K, STRIDES},
    [ARMQ_OP_ACTIVATION] = {HAS_INTERMEDIATE, STRIDES},
    [ARMQ_OP_GEMM_S8S8S32] = {HAS_NK, STRIDES},
    [ARMQ_OP_GEMM_S8S4S32] = {HAS_NK, STRIDES | ARMQ_USES_WEIGHT_ZERO},
    [ARMQ_OP_LINEAR_W8A8] = {HAS_NK, STRIDES | ARMQ_USES_BIAS},
    [ARMQ_OP_LINEAR_W4A8] = {HAS_NK, STRIDES | ARMQ_USES_BIAS | ARMQ_USES_WEIGHT_ZERO},
    [ARMQ_OP_LINEAR_BF16] = {HAS_NK, STRIDES | ARMQ_USES_BIAS},
    [ARMQ_OP_MOE_W8A8] = {HAS_MOE, MOE_USES},
    [ARMQ_OP_MOE_W4A8] = {HAS_MOE, MOE_USES | ARMQ_USES_WEIGHT_ZERO},
    [ARMQ_OP_MOE_BF16] = {HAS_MOE, MOE_USES},
};

static armq_status check_dimension(const char *name, int64_t value, int has, char *reason,
                                   size_t bytes) {
    if (value < 0)
        return invalid(reason, bytes, "%s = %" PRId64 " is negative", name, value);
    if (value > 0 && !has)
        return invalid(reason, bytes,
                       "%s = %" PRId64 ", but the op has no such dimension; it must be 0", name,
                       value);
    return ARMQ_OK;
}

static armq_status check_dimensions(const armq_desc *d, char *reason, size_t bytes) {
    unsigned has = op_shape[d->op].dimensions;
    const struct {
        const char *name;
        int64_t value;
        unsigned where;
    } table[] = {
        {"tokens", d->tokens, ~0u},
        {"n", d->n, HAS_NK},
        {"k", d->k, HAS_NK | HAS_K},
        {"hidden", d->hidden, HAS_MOE},
        {"intermediate", d->intermediate, HAS_MOE | HAS_INTERMEDIATE},
        {"experts", d->experts, HAS_MOE},
        {"top_k", d->top_k, HAS_MOE},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        armq_status status = check_dimension(table[i].name, table[i].value,
                                             (has & table[i].where) != 0, reason, bytes);
        if (status != ARMQ_OK)
            return status;
    }
    return ARMQ_OK;
}

/* a * b * c * 8 bytes, as a bound on any tensor of the problem. */
static int product_fits(int64_t a, int64_t b, int64_t c) {
    int64_t product;
    return !__builtin_mul_overflow(a, b, &product) &&
           !__builtin_mul_overflow(product, c, &product) && product <= MAX_BYTES / 8;
}

static armq_status check_products(const armq_desc *d, char *reason, size_t bytes) {
    int moe = armq_op_is_moe(d->op);
    int64_t wide = d->op == ARMQ_OP_ACTIVATION || moe ? 2 : 1;
    int64_t rows = moe || d->op == ARMQ_OP_ACTIVATION ? d->intermediate : d->n;
    int fits = product_fits(d->n, d->k, 1) && product_fits(wide, d->hidden, d->intermediate) &&
               product_fits(wide, rows, 1) && product_fits(d->tokens, d->top_k, 1);
    if (fits && moe)
        fits = product_fits(2 * d->intermediate, d->hidden, d->experts);
    if (fits)
        fits =
            product_fits(d->tokens, armq_x_row(d), 1) && product_fits(d->tokens, armq_y_row(d), 1);
    return fits ? ARMQ_OK
                : invalid(reason, bytes,
                          "the dimensions multiply to a tensor of more than 2^62 bytes");
}

static int is_float(armq_dtype dtype) {
    return dtype == ARMQ_DTYPE_F32 || dtype == ARMQ_DTYPE_BF16 || dtype == ARMQ_DTYPE_F16;
}

static armq_status check_dtypes(const armq_desc *d, char *reason, size_t bytes) {
    int gemm = armq_op_is_gemm(d->op);
    if (gemm ? d->in != ARMQ_DTYPE_S8 : !is_float(d->in))
        return invalid(reason, bytes, "input dtype %s; %s takes %s", armq_dtype_name(d->in),
                       armq_op_name(d->op), gemm ? "s8" : "f32, bf16 or f16");
    if (d->op == ARMQ_OP_QUANTIZE ? d->out != ARMQ_DTYPE_S8
        : gemm                    ? d->out != ARMQ_DTYPE_S32
                                  : !is_float(d->out))
        return invalid(reason, bytes, "output dtype %s; %s gives %s", armq_dtype_name(d->out),
                       armq_op_name(d->op),
                       d->op == ARMQ_OP_QUANTIZE ? "s8"
                       : gemm                    ? "s32"
                                                 : "f32, bf16 or f16");
    if ((armq_op_is_moe(d->op) || d->op == ARMQ_OP_ACTIVATION) && d->in != d->out)
        return invalid(reason, bytes,
                       "output dtype %s differs from input dtype %s; %s needs them equal",
                       armq_dtype_name(d->out), armq_dtype_name(d->in), armq_op_name(d->op));
    int has_bias = (d->uses & (ARMQ_USES_BIAS | ARMQ_USES_W13_BIAS | ARMQ_USES_W2_BIAS)) != 0;
    if (has_bias ? d->bias_dtype != ARMQ_DTYPE_F32 && d->bias_dtype != d->in
                 : d->bias_dtype != ARMQ_DTYPE_NONE)
        return invalid(reason, bytes, "bias dtype %s; allowed is %s",
                       armq_dtype_name(d->bias_dtype),
                       has_bias ? "f32 or the input dtype" : "none, as no bias is used");
    return ARMQ_OK;
}

static armq_weight_format first_format(armq_op op) {
    switch (op) {
    case ARMQ_OP_GEMM_S8S8S32:
    case ARMQ_OP_LINEAR_W8A8:
    case ARMQ_OP_MOE_W8A8:
        return ARMQ_WEIGHT_S8;
    case ARMQ_OP_GEMM_S8S4S32:
    case ARMQ_OP_LINEAR_W4A8:
    case ARMQ_OP_MOE_W4A8:
        return ARMQ_WEIGHT_S4_LOW;
    case ARMQ_OP_LINEAR_BF16:
    case ARMQ_OP_MOE_BF16:
        return ARMQ_WEIGHT_BF16;
    default:
        return ARMQ_WEIGHT_NONE;
    }
}

static armq_status check_weights_description(const armq_desc *d, char *reason, size_t bytes) {
    armq_weight_format format = first_format(d->op);
    int is_s4 = format == ARMQ_WEIGHT_S4_LOW;
    if (d->format != format && !(is_s4 && d->format == ARMQ_WEIGHT_S4_WORD8))
        return invalid(reason, bytes, "weight format %s; %s takes %s",
                       armq_weight_format_name(d->format), armq_op_name(d->op),
                       is_s4 ? "s4_low or s4_word8" : armq_weight_format_name(format));
    if (d->group_size < 0)
        return invalid(reason, bytes, "group_size = %" PRId64 " is negative; 0 means per channel",
                       d->group_size);
    if (d->group_size > 0 && (!is_s4 || d->group_size % 32 != 0))
        return invalid(reason, bytes, "group_size = %" PRId64 "; allowed are %s", d->group_size,
                       is_s4 ? "0 and multiples of 32" : "0 only, as the weights are not int4");
    for (int32_t which = 0; which < (armq_op_is_moe(d->op) ? 2 : 1); which++)
        if (d->group_size > 0 && armq_weight_k(d, which) % d->group_size != 0)
            return invalid(reason, bytes, "group_size = %" PRId64 " does not divide %s = %" PRId64,
                           d->group_size,
                           !armq_op_is_moe(d->op) ? "k"
                           : which == 0           ? "hidden"
                                                  : "intermediate",
                           armq_weight_k(d, which));
    int scaled =
        format != ARMQ_WEIGHT_NONE && !armq_op_is_gemm(d->op) && format != ARMQ_WEIGHT_BF16;
    armq_dtype scale = !scaled             ? ARMQ_DTYPE_NONE
                       : d->group_size > 0 ? ARMQ_DTYPE_BF16
                                           : ARMQ_DTYPE_F32;
    if (d->scale_dtype != scale)
        return invalid(reason, bytes, "scale dtype %s; it must be %s here",
                       armq_dtype_name(d->scale_dtype), armq_dtype_name(scale));
    return ARMQ_OK;
}

static armq_status check_moe(const armq_desc *d, char *reason, size_t bytes) {
    if (!armq_op_is_moe(d->op))
        return ARMQ_OK;
    if ((d->uses & ARMQ_USES_NO_ROUTER_WEIGHT) && d->top_k != 1)
        return invalid(reason, bytes,
                       "top_k = %" PRId64 "; the router weight may be skipped for 1 only",
                       d->top_k);
    if ((d->uses & ARMQ_USES_NO_ROUTER_WEIGHT) && (d->uses & ARMQ_USES_WEIGHT_ON_INPUT))
        return invalid(reason, bytes,
                       "the router weight cannot be skipped and on the input at once");
    if (d->tokens > 0 && d->top_k > 0 && d->experts == 0 && !(d->uses & ARMQ_USES_SKIP_IDS))
        return invalid(reason, bytes, "experts = 0 with top_k = %" PRId64 " slots to fill",
                       d->top_k);
    return ARMQ_OK;
}

static armq_status check_dialect(const armq_desc *d, char *reason, size_t bytes) {
    const armq_dialect *p = &d->dialect;
    int wants_quant =
        !armq_op_is_gemm(d->op) && !armq_op_is_bf16(d->op) && d->op != ARMQ_OP_ACTIVATION;
    if (p->size < sizeof(armq_dialect))
        return invalid(reason, bytes, "dialect.size = %" PRIu32 ", at least %zu is needed", p->size,
                       sizeof(armq_dialect));
    if (wants_quant && p->quant != ARMQ_QUANT_SYMMETRIC && p->quant != ARMQ_QUANT_ASYMMETRIC)
        return invalid(reason, bytes,
                       "dialect.quant = %d; %s needs symmetric (1) or asymmetric (2)",
                       (int)p->quant, armq_op_name(d->op));
    if (wants_quant && p->q_rounding != ARMQ_ROUND_TIES_EVEN &&
        p->q_rounding != ARMQ_ROUND_TIES_AWAY)
        return invalid(reason, bytes, "dialect.q_rounding = %d; allowed are 0 (even) and 1 (away)",
                       (int)p->q_rounding);
    return ARMQ_OK;
}

static bool has_activation(const armq_desc *d) {
    return armq_op_is_moe(d->op) || d->op == ARMQ_OP_ACTIVATION;
}

/* alpha and limit are swigluoai's; what another activation would ignore is refused. */
static armq_status check_activation(const armq_desc *d, char *reason, size_t bytes) {
    const armq_dialect *p = &d->dialect;
    bool clamps = p->activation == ARMQ_ACT_SWIGLUOAI;
    if (!has_activation(d))
        return ARMQ_OK;
    if (p->activation < ARMQ_ACT_SILU || p->activation > ARMQ_ACT_SWIGLUOAI)
        return invalid(reason, bytes, "dialect.activation = %d; %s needs one of 1 .. 4",
                       (int)p->activation, armq_op_name(d->op));
    if (p->gate_layout != ARMQ_GATE_HALVES && p->gate_layout != ARMQ_GATE_INTERLEAVED)
        return invalid(reason, bytes,
                       "dialect.gate_layout = %d; allowed are 0 (halves) and 1 (interleaved)",
                       (int)p->gate_layout);
    if (!clamps && (p->alpha != 0.0f || p->limit != 0.0f))
        return invalid(reason, bytes,
                       "dialect.alpha = %g, dialect.limit = %g; both must be 0 for %s",
                       (double)p->alpha, (double)p->limit, armq_activation_name(p->activation));
    if (clamps && !(p->limit >= 0.0f))
        return invalid(reason, bytes, "dialect.limit = %g; swigluoai needs 0 or more",
                       (double)p->limit);
    if (clamps && !isfinite(p->alpha))
        return invalid(reason, bytes, "dialect.alpha = %g; swigluoai needs a finite one",
                       (double)p->alpha);
    return ARMQ_OK;
}

static armq_status check_roundings(const armq_desc *d, char *reason, size_t bytes) {
    const armq_dialect *p = &d->dialect;
    bool moe = armq_op_is_moe(d->op);
    const struct {
        const char *name;
        armq_dtype dtype;
        bool used;
    } table[] = {
        {"work", p->work, !armq_op_is_gemm(d->op)},
        {"activation_round", p->activation_round, has_activation(d)},
        {"y13_round", p->y13_round, moe},
        {"intermediate", p->intermediate, moe},
        {"y2_round", p->y2_round, moe},
        {"combine_round", p->combine_round, moe},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].used && !is_float(table[i].dtype))
            return invalid(reason, bytes, "dialect.%s is %s; f32, bf16 and f16 are allowed",
                           table[i].name, armq_dtype_name(table[i].dtype));
    if (moe && p->combine_order != ARMQ_COMBINE_SLOT_ORDER &&
        p->combine_order != ARMQ_COMBINE_EXPERT_ORDER)
        return invalid(reason, bytes,
                       "dialect.combine_order = %d; allowed are 0 (slots) and 1 (experts)",
                       (int)p->combine_order);
    if (armq_op_is_linear(d->op) && p->linear_round_before_bias > 1)
        return invalid(reason, bytes,
                       "dialect.linear_round_before_bias = %" PRIu32 "; allowed are 0 and 1",
                       p->linear_round_before_bias);
    return ARMQ_OK;
}

static armq_status check_head(const armq_desc *d, char *reason, size_t bytes) {
    if (d->size < sizeof(armq_desc))
        return invalid(reason, bytes, "desc.size = %" PRIu32 ", at least %zu is needed", d->size,
                       sizeof(armq_desc));
    if (d->abi != ARMQ_ABI_VERSION)
        return invalid(reason, bytes, "desc.abi = %" PRIu32 ", this is version %u", d->abi,
                       ARMQ_ABI_VERSION);
    if ((unsigned)d->op >= ARMQ_OP_COUNT)
        return invalid(reason, bytes, "op = %d; allowed are 0 .. %d", (int)d->op,
                       ARMQ_OP_COUNT - 1);
    if (d->uses & ~op_shape[d->op].uses)
        return invalid(reason, bytes, "uses = 0x%" PRIx32 ": %s has no parameter 0x%" PRIx32,
                       d->uses, armq_op_name(d->op), d->uses & ~op_shape[d->op].uses);
    if (d->max_threads < 1)
        return invalid(reason, bytes, "max_threads = %" PRId32 "; at least 1 is needed",
                       d->max_threads);
    if (d->l1 < 0 || d->l2 < 0 || d->llc < 0)
        return invalid(reason, bytes, "a cache size is negative; 0 means unknown");
    return ARMQ_OK;
}

armq_status armq_desc_check(const armq_desc *desc, char *reason, size_t reason_bytes) {
    static armq_status (*const checks[])(const armq_desc *, char *, size_t) = {
        check_head, check_dimensions, check_products,   check_dtypes,    check_weights_description,
        check_moe,  check_dialect,    check_activation, check_roundings,
    };
    if (!desc)
        return invalid(reason, reason_bytes, "desc is NULL");
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        armq_status status = checks[i](desc, reason, reason_bytes);
        if (status != ARMQ_OK)
            return status;
    }
    return ARMQ_OK;
}

armq_status armq_k_check(const armq_desc *desc, int64_t max_k, char *reason, size_t reason_bytes) {
    bool moe = armq_op_is_moe(desc->op);
    for (int32_t which = 0; which < (moe ? 2 : 1); which++) {
        int64_t k = armq_weight_k(desc, which);
        if (k <= max_k)
            continue;
        (void)invalid(reason, reason_bytes,
                      "%s = %" PRId64 "; beyond %" PRId64 " an int32 accumulator can wrap",
                      !moe         ? "k"
                      : which == 0 ? "hidden"
                                   : "intermediate",
                      k, max_k);
        return ARMQ_UNSUPPORTED;
    }
    return ARMQ_OK;
}

/* --- Arguments -----------------------------------------------------------------------------------
 */

/* Bytes from the first to past the last element; 0 if the tensor is empty. */
static uintptr_t extent(int64_t rows, int64_t row, int64_t stride, armq_dtype dtype) {
    return rows == 0 || row == 0 ? 0
                                 : ((uintptr_t)(rows - 1) * (uintptr_t)stride + (uintptr_t)row) *
                                       armq_dtype_bytes(dtype);
}

static int overlap(const void *a, uintptr_t a_bytes, const void *b, uintptr_t b_bytes) {
    return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

/* A stride must be 0 unless used, and then span a row and keep the extent addressable. */
static int stride_ok(const armq_desc *d, uint32_t flag, int64_t stride, int64_t row) {
    if (!(d->uses & flag))
        return stride == 0;
    return stride >= row && product_fits(d->tokens, stride, 1);
}

static int aligned(const void *pointer, uintptr_t alignment) {
    return alignment <= 1 || (uintptr_t)pointer % alignment == 0;
}

static int threads_ok(const armq_desc *d, const armq_threads *threads) {
    return !threads || (threads->n >= 1 && threads->n <= d->max_threads && threads->run);
}

static int packed_ok(const armq_desc *d, const armq_support *support, const armq_args *args) {
    int32_t count = d->format == ARMQ_WEIGHT_NONE ? 0 : armq_op_is_moe(d->op) ? 2 : 1;
    for (int32_t i = 0; i < count; i++)
        if (support->packed_bytes[i] > 0 &&
            (!args->packed[i] || !aligned(args->packed[i], support->packed_align)))
            return 0;
    return 1;
}

static int quantize_outputs_ok(const armq_desc *d, const armq_args *args) {
    if (d->op != ARMQ_OP_QUANTIZE)
        return !args->y_scales && !args->y_zero_points;
    int asymmetric = d->dialect.quant == ARMQ_QUANT_ASYMMETRIC;
    if (!asymmetric && args->y_zero_points)
        return 0;
    return d->tokens == 0 || (args->y_scales && (!asymmetric || args->y_zero_points));
}

static int routing_ok(const armq_desc *d, const armq_args *args) {
    if (!armq_op_is_moe(d->op))
        return !args->topk_ids && !args->topk_weights;
    int weighted = !(d->uses & ARMQ_USES_NO_ROUTER_WEIGHT);
    if (!weighted && args->topk_weights)
        return 0;
    return d->tokens == 0 || d->top_k == 0 || (args->topk_ids && (!weighted || args->topk_weights));
}

armq_status armq_args_check(const armq_desc *desc, const armq_support *support,
                            const armq_args *args) {
    if (!args || args->size < sizeof(armq_args))
        return ARMQ_INVALID_ARGUMENT;
    int64_t x_row = armq_x_row(desc), y_row = armq_y_row(desc);
    if (!stride_ok(desc, ARMQ_USES_X_STRIDE, args->x_stride, x_row) ||
        !stride_ok(desc, ARMQ_USES_Y_STRIDE, args->y_stride, y_row))
        return ARMQ_INVALID_ARGUMENT;
    uintptr_t x_bytes = extent(desc->tokens, x_row, armq_x_stride(desc, args), desc->in);
    uintptr_t y_bytes = extent(desc->tokens, y_row, armq_y_stride(desc, args), desc->out);
    int ok = (x_bytes == 0 || args->x) && (y_bytes == 0 || args->y) &&
             aligned(args->x, armq_dtype_bytes(desc->in)) &&
             aligned(args->y, armq_dtype_bytes(desc->out)) &&
             !(x_bytes && y_bytes && overlap(args->x, x_bytes, args->y, y_bytes)) &&
             quantize_outputs_ok(desc, args) && routing_ok(desc, args) &&
             packed_ok(desc, support, args) &&
             (support->workspace_bytes == 0 ||
              (args->workspace && aligned(args->workspace, support->workspace_align))) &&
             threads_ok(desc, args->threads);
    return ok ? ARMQ_OK : ARMQ_INVALID_ARGUMENT;
}

armq_status armq_weights_check(const armq_desc *desc, int32_t which, int64_t first, int64_t last,
                               const armq_weights *weights, const void *packed) {
    int moe = armq_op_is_moe(desc->op);
    if (desc->format == ARMQ_WEIGHT_NONE || which < 0 || which > (moe ? 1 : 0))
        return ARMQ_INVALID_ARGUMENT;
    if (first < 0 || last < first || last > (moe ? desc->experts : 1))
        return ARMQ_INVALID_ARGUMENT;
    if (!weights || weights->size < sizeof(armq_weights))
        return ARMQ_INVALID_ARGUMENT;
    uint32_t bias_flag = !moe         ? ARMQ_USES_BIAS
                         : which == 0 ? ARMQ_USES_W13_BIAS
                                      : ARMQ_USES_W2_BIAS;
    int has_bias = (desc->uses & bias_flag) != 0,
        has_zero = (desc->uses & ARMQ_USES_WEIGHT_ZERO) != 0;
    int has_scale = desc->scale_dtype != ARMQ_DTYPE_NONE;
    if ((!has_bias && weights->bias) || (!has_zero && weights->zero_points) ||
        (!has_scale && weights->scales))
        return ARMQ_INVALID_ARGUMENT;
    int64_t n = armq_weight_n(desc, which), k = armq_weight_k(desc, which);
    if (last == first || n == 0)
        return ARMQ_OK;
    int64_t scales = desc->group_size > 0 ? k / desc->group_size : 1;
    int ok =
        packed && (k == 0 || weights->w) && (!has_bias || weights->bias) &&
        (scales == 0 || ((!has_scale || weights->scales) && (!has_zero || weights->zero_points)));
    return ok ? ARMQ_OK : ARMQ_INVALID_ARGUMENT;
}
