/* SPDX-License-Identifier: Apache-2.0 */
/* Invalid descriptions and arguments that are taken for valid ones. */
#include <math.h>

#include "conformance/faults/fault.h"
#include "conformance/faults/provider.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"

static bool is_float(armq_dtype dtype) {
    return dtype == ARMQ_DTYPE_F32 || dtype == ARMQ_DTYPE_BF16 || dtype == ARMQ_DTYPE_F16;
}

static bool accepts_dialect(const armq_dialect *p) {
    FAULT_DO(layout_unchecked, return p->gate_layout > ARMQ_GATE_INTERLEAVED);
    FAULT_DO(q_rounding_unchecked, return p->q_rounding > ARMQ_ROUND_TIES_AWAY);
    FAULT_DO(quant_unchecked, return p->quant > ARMQ_QUANT_ASYMMETRIC);
    FAULT_DO(order_unchecked, return p->combine_order > ARMQ_COMBINE_EXPERT_ORDER);
    FAULT_DO(round_first_unchecked, return p->linear_round_before_bias > 1);
    FAULT_DO(limit_nan_accepted, return isnan(p->limit));
    FAULT_DO(alpha_inf_accepted, return isinf(p->alpha));
    FAULT_DO(work_unchecked, return !is_float(p->work));
    FAULT_DO(activation_round_unchecked, return !is_float(p->activation_round));
    FAULT_DO(y13_round_unchecked, return !is_float(p->y13_round));
    FAULT_DO(intermediate_unchecked, return !is_float(p->intermediate));
    FAULT_DO(combine_round_unchecked, return !is_float(p->combine_round));
    return false;
}

/* Of those that are complete: the size is that of this header, or a later one's. */
bool fault_accepts_desc(const armq_desc *d) {
    if (d->size < sizeof *d)
        return false;
    FAULT_DO(caches_negative, return d->l1 < 0 || d->l2 < 0 || d->llc < 0);
    FAULT_DO(dimension_unchecked, return armq_op_is_moe(d->op) ? d->k > 0 : d->hidden > 0);
    FAULT_DO(sizes_overflow, return d->tokens == INT64_MAX);
    FAULT_DO(dtype_none_accepted, return d->in == ARMQ_DTYPE_NONE);
    FAULT_DO(output_dtype_unchecked, return is_float(d->out) && d->in != d->out);
    FAULT_DO(bias_dtype_unchecked, return d->bias_dtype != d->in && is_float(d->bias_dtype));
    FAULT_DO(format_unchecked, return d->format >= ARMQ_WEIGHT_COUNT);
    return accepts_dialect(&d->dialect);
}

/* As extents without strides and rows are: not where the first rows overlap. */
static bool overlaps_late(const armq_desc *desc, const armq_args *args) {
    uintptr_t x = (uintptr_t)args->x, y = (uintptr_t)args->y;
    if (!x || !y || desc->tokens < 2)
        return false;
    uintptr_t apart = x < y ? y - x : x - y;
    return apart >= (x < y ? (size_t)armq_x_row(desc) * armq_dtype_bytes(desc->in)
                           : (size_t)armq_y_row(desc) * armq_dtype_bytes(desc->out));
}

static bool has_wrong_id_inside(const armq_desc *desc, const armq_args *args) {
    int64_t count = desc->tokens * desc->top_k;
    for (int64_t i = 1; args->topk_ids && i + 1 < count; i++)
        if (args->topk_ids[i] < -1 || args->topk_ids[i] >= desc->experts)
            return true;
    return false;
}

bool fault_accepts_args(const armq_desc *desc, const armq_args *args) {
    if (args->size < sizeof *args)
        return false;
    FAULT_DO(scales_undeclared, return desc->op != ARMQ_OP_QUANTIZE && args->y_scales);
    FAULT_DO(ids_undeclared, return !armq_op_is_moe(desc->op) && args->topk_ids);
    FAULT_DO(stride_overflows, return args->x_stride == INT64_MAX || args->y_stride == INT64_MAX);
    FAULT_DO(overlap_of_first_rows, return overlaps_late(desc, args));
    return false;
}

bool fault_accepts_ids(const armq_desc *desc, const armq_args *args) {
    FAULT_DO(ids_ends_checked, return armq_op_is_moe(desc->op) && has_wrong_id_inside(desc, args));
    return false;
}
