/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/operands.h"

#include <string.h>

#include "kernels/api/describe.h"
#include "kernels/api/names.h"

/* SIZE_MAX if it is more than that. */
static size_t extent_bytes(int64_t rows, int64_t row, int64_t stride, size_t element) {
    size_t bytes;
    if (rows == 0 || row == 0)
        return 0;
    bool fits = !__builtin_mul_overflow((size_t)(rows - 1), (size_t)stride, &bytes) &&
                !__builtin_add_overflow(bytes, (size_t)row, &bytes) &&
                !__builtin_mul_overflow(bytes, element, &bytes);
    return fits ? bytes : SIZE_MAX;
}

static void set_shape(operand_shape *shape, const char *name, armq_dtype dtype, int64_t rows,
                      int64_t row, int64_t stride) {
    size_t element = dtype == ARMQ_DTYPE_NONE ? 1 : armq_dtype_bytes(dtype);
    *shape = (operand_shape){
        .name = name,
        .present = true,
        .dtype = dtype,
        .rows = rows,
        .row = row,
        .stride = stride,
        .bytes = extent_bytes(rows, row, stride, element),
        .align = element,
    };
}

static void set_dense(operand_shape *shape, const char *name, armq_dtype dtype, int64_t rows,
                      int64_t row) {
    set_shape(shape, name, dtype, rows, row, row);
}

/* Opaque memory of the provider. */
static void set_opaque(operand_shape *shape, const char *name, size_t bytes, size_t align) {
    set_shape(shape, name, ARMQ_DTYPE_NONE, 1, (int64_t)bytes, (int64_t)bytes);
    shape->align = align > 0 ? align : 1;
}

static int32_t weight_count(const armq_desc *d) {
    if (d->format == ARMQ_WEIGHT_NONE)
        return 0;
    return armq_op_is_moe(d->op) ? 2 : 1;
}

/* Saturates, and its tensor with it. */
static int64_t product(int64_t a, int64_t b) {
    int64_t c;
    return __builtin_mul_overflow(a, b, &c) ? INT64_MAX : c;
}

static int64_t expert_count(const armq_desc *d) { return armq_op_is_moe(d->op) ? d->experts : 1; }

/* int4 rows are counted in bytes; each starts at a byte (S4_LOW) or an int32 (S4_WORD8). */
static void set_weight(operand_shape *shape, const char *name, const armq_desc *d, int64_t rows,
                       int64_t k) {
    switch (d->format) {
    case ARMQ_WEIGHT_S4_LOW:
        set_dense(shape, name, ARMQ_DTYPE_NONE, rows, (k + 1) / 2);
        break;
    case ARMQ_WEIGHT_S4_WORD8:
        set_dense(shape, name, ARMQ_DTYPE_NONE, rows, (k + 7) / 8 * 4);
        shape->align = 4;
        break;
    case ARMQ_WEIGHT_BF16:
        set_dense(shape, name, ARMQ_DTYPE_BF16, rows, k);
        break;
    default:
        set_dense(shape, name, ARMQ_DTYPE_S8, rows, k);
    }
}

/* Weights `which` and what belongs to them: one row of scales, zero points and bias per expert. */
static void weight_shapes(const armq_desc *d, int32_t which, operand_shape shapes[OPERAND_COUNT]) {
    static const char *const names[3][4] = {
        {"w", "scales", "zero_points", "bias"},
        {"w13", "w13_scales", "w13_zero_points", "w13_bias"},
        {"w2", "w2_scales", "w2_zero_points", "w2_bias"},
    };
    bool moe = armq_op_is_moe(d->op);
    const char *const *name = names[moe ? 1 + which : 0];
    operand_id first = which == 0 ? OPERAND_W : OPERAND_W2;
    int64_t experts = expert_count(d), n = armq_weight_n(d, which), k = armq_weight_k(d, which);
    int64_t per_channel = d->group_size > 0 ? k / d->group_size : 1;
    uint32_t bias_flag = !moe         ? ARMQ_USES_BIAS
                         : which == 0 ? ARMQ_USES_W13_BIAS
                                      : ARMQ_USES_W2_BIAS;
    set_weight(&shapes[first], name[0], d, product(experts, n), k);
    if (d->scale_dtype != ARMQ_DTYPE_NONE)
        set_dense(&shapes[first + 1], name[1], d->scale_dtype, experts, product(n, per_channel));
    if (d->uses & ARMQ_USES_WEIGHT_ZERO)
        set_dense(&shapes[first + 2], name[2], ARMQ_DTYPE_S8, experts, product(n, per_channel));
    if (d->uses & bias_flag)
        set_dense(&shapes[first + 3], name[3], d->bias_dtype, experts, n);
}

static void provider_shapes(const armq_desc *d, const armq_support *support,
                            operand_shape shapes[OPERAND_COUNT]) {
    static const char *const names[2] = {"packed", "packed_w2"};
    for (int32_t which = 0; which < weight_count(d); which++)
        set_opaque(&shapes[OPERAND_PACKED + which], names[which], support->packed_bytes[which],
                   support->packed_align);
    set_opaque(&shapes[OPERAND_WORKSPACE], "workspace", support->workspace_bytes,
               support->workspace_align);
}

void operand_shapes(const armq_case *c, const armq_support *support,
                    operand_shape shapes[OPERAND_COUNT]) {
    const armq_desc *d = &c->desc;
    memset(shapes, 0, OPERAND_COUNT * sizeof *shapes);
    int64_t x_row = armq_x_row(d), y_row = armq_y_row(d);
    set_shape(&shapes[OPERAND_X], "x", d->in, d->tokens, x_row, x_row + c->x_pad);
    for (int32_t which = 0; which < weight_count(d); which++)
        weight_shapes(d, which, shapes);
    if (armq_op_is_moe(d->op)) {
        set_dense(&shapes[OPERAND_TOPK_IDS], "topk_ids", ARMQ_DTYPE_S32, d->tokens, d->top_k);
        if (!(d->uses & ARMQ_USES_NO_ROUTER_WEIGHT))
            set_dense(&shapes[OPERAND_TOPK_WEIGHTS], "topk_weights", ARMQ_DTYPE_F32, d->tokens,
                      d->top_k);
    }
    if (support)
        provider_shapes(d, support, shapes);
    set_shape(&shapes[OPERAND_Y], "y", d->out, d->tokens, y_row, y_row + c->y_pad);
    if (d->op == ARMQ_OP_QUANTIZE) {
        set_dense(&shapes[OPERAND_Y_SCALES], "y_scales", ARMQ_DTYPE_F32, d->tokens, 1);
        if (d->dialect.quant == ARMQ_QUANT_ASYMMETRIC)
            set_dense(&shapes[OPERAND_Y_ZEROS], "y_zero_points", ARMQ_DTYPE_S32, d->tokens, 1);
    }
}

void operand_weights(const armq_case *c, const operands *data, armq_weights weights[2]) {
    memset(weights, 0, 2 * sizeof *weights);
    for (int32_t which = 0; which < weight_count(&c->desc); which++) {
        operand_id first = which == 0 ? OPERAND_W : OPERAND_W2;
        weights[which] = (armq_weights){
            .size = sizeof(armq_weights),
            .w = data->at[first],
            .scales = data->at[first + 1],
            .zero_points = data->at[first + 2],
            .bias = data->at[first + 3],
        };
    }
}

void operand_args(const armq_case *c, const operands *data, const armq_weights weights[2],
                  uint32_t claims, const armq_threads *threads, armq_args *args) {
    const armq_desc *d = &c->desc;
    *args = (armq_args){
        .size = sizeof *args,
        .x = data->at[OPERAND_X],
        .x_stride = d->uses & ARMQ_USES_X_STRIDE ? armq_x_row(d) + c->x_pad : 0,
        .y = data->at[OPERAND_Y],
        .y_stride = d->uses & ARMQ_USES_Y_STRIDE ? armq_y_row(d) + c->y_pad : 0,
        .y_scales = data->at[OPERAND_Y_SCALES],
        .y_zero_points = data->at[OPERAND_Y_ZEROS],
        .topk_ids = data->at[OPERAND_TOPK_IDS],
        .topk_weights = data->at[OPERAND_TOPK_WEIGHTS],
        .workspace = data->at[OPERAND_WORKSPACE],
        .threads = threads,
    };
    for (int32_t which = 0; which < weight_count(d); which++) {
        args->packed[which] = data->at[OPERAND_PACKED + which];
        if (claims & ARMQ_CLAIM_READS_AFTER_PACK)
            args->weights[which] = &weights[which];
    }
}

void operand_problem(const armq_case *c, const operands *data, const armq_weights weights[2],
                     uint32_t claims, ref_problem *problem) {
    *problem = (ref_problem){
        .desc = &c->desc,
        .claims = claims,
        .x = data->at[OPERAND_X],
        .x_stride = armq_x_row(&c->desc) + c->x_pad,
        .topk_ids = data->at[OPERAND_TOPK_IDS],
        .topk_weights = data->at[OPERAND_TOPK_WEIGHTS],
    };
    for (int32_t which = 0; which < weight_count(&c->desc); which++)
        problem->weights[which] = &weights[which];
}

/* Experts [first, last) of tensor `which`. */
static armq_status pack_range(const armq_provider *provider, const armq_case *c,
                              const armq_weights *weights, const armq_support *support,
                              const operands *data, int32_t which, int64_t first, int64_t last) {
    operand_shape shapes[OPERAND_COUNT];
    armq_weights range = *weights;
    const void **parts[] = {&range.w, &range.scales, (const void **)&range.zero_points,
                            &range.bias};
    operand_shapes(c, NULL, shapes);
    const operand_shape *shape = &shapes[which == 0 ? OPERAND_W : OPERAND_W2];
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && first > 0; i++)
        if (*parts[i])
            *parts[i] = (const uint8_t *)*parts[i] +
                        shape[i].bytes / (size_t)expert_count(&c->desc) * (size_t)first;
    uint8_t *packed = data->at[OPERAND_PACKED + which];
    size_t stride = support->packed_expert_stride[which];
    return provider->pack(&c->desc, which, first, last, &range,
                          first > 0 ? packed + stride * (size_t)first : packed);
}

/* One expert, then two, three and so on, from the last to the first. */
static armq_status pack_backwards(const armq_provider *provider, const armq_case *c,
                                  const armq_weights *weights, const armq_support *support,
                                  const operands *data, int32_t which) {
    armq_status status = ARMQ_OK;
    int64_t last = expert_count(&c->desc);
    for (int64_t size = 1, first; last > 0 && status == ARMQ_OK; last = first, size++) {
        first = last > size ? last - size : 0;
        status = pack_range(provider, c, weights, support, data, which, first, last);
    }
    return status;
}

armq_status operand_pack(const armq_provider *provider, const armq_case *c,
                         const armq_weights weights[2], const armq_support *support,
                         const operands *data) {
    for (int32_t which = 0; which < weight_count(&c->desc); which++) {
        /* Nothing to write, and so perhaps no memory to point to. */
        if (support->packed_bytes[which] == 0)
            continue;
        armq_status status = pack_range(provider, c, &weights[which], support, data, which, 0,
                                        expert_count(&c->desc));
        if (status != ARMQ_OK)
            return status;
    }
    return ARMQ_OK;
}

armq_status operand_pack_pieces(const armq_provider *provider, const armq_case *c,
                                const armq_weights weights[2], const armq_support *support,
                                const operands *data) {
    armq_status status = ARMQ_OK;
    for (int32_t which = weight_count(&c->desc) - 1; which >= 0 && status == ARMQ_OK; which--)
        if (support->packed_bytes[which] > 0)
            status = pack_backwards(provider, c, &weights[which], support, data, which);
    return status;
}
