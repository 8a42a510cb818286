/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/ops.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/api/describe.h"
#include "kernels/api/dialects.h"
#include "kernels/api/features.h"
#include "kernels/api/names.h"
#include "kernels/common/activation_op.h"
#include "kernels/common/linear.h"
#include "kernels/common/moe.h"
#include "kernels/common/quantize_op.h"

#define REFUSE(support, status, ...)                                                               \
    (snprintf((support)->reason, sizeof(support)->reason, __VA_ARGS__), (status))

static const uint32_t claims = ARMQ_CLAIM_THREAD_INVARIANT | ARMQ_CLAIM_BATCH_INVARIANT |
                               ARMQ_CLAIM_NO_ALLOC | ARMQ_CLAIM_REENTRANT |
                               ARMQ_CLAIM_NONFINITE_ROW_NAN;

/* The tiles for the description's op; NULL if the tier does not have the op. */
static const armq_tile_set *tiles_of(const armq_tier *tier, armq_op op) {
    switch (op) {
    case ARMQ_OP_QUANTIZE:
    case ARMQ_OP_ACTIVATION:
    case ARMQ_OP_GEMM_S8S8S32:
    case ARMQ_OP_GEMM_S8S4S32:
    case ARMQ_OP_LINEAR_W8A8:
    case ARMQ_OP_LINEAR_W4A8:
    case ARMQ_OP_MOE_W8A8:
    case ARMQ_OP_MOE_W4A8:
        return tier->s8;
    case ARMQ_OP_LINEAR_BF16:
    case ARMQ_OP_MOE_BF16:
        return tier->bf16;
    default:
        return NULL;
    }
}

static armq_status check_features(const armq_tier *tier, const armq_desc *desc,
                                  armq_support *support) {
    const uint64_t missing = tier->provider->required_features & ~desc->features;
    if (!missing)
        return ARMQ_OK;
    return REFUSE(support, ARMQ_UNSUPPORTED,
                  "provider %s needs the CPU feature %s, which desc.features does not list",
                  tier->provider->name, armq_feature_name(missing & -missing));
}

/* A dialect without quantisation, whose operands are bf16. */
static armq_status check_baseline(const armq_desc *desc, armq_support *support) {
    const armq_dialect *d = &desc->dialect;
    if (d->quant != ARMQ_QUANT_NONE)
        return REFUSE(support, ARMQ_UNSUPPORTED,
                      "dialect.quant = %d; %s does not quantise, it takes 0 (none)", (int)d->quant,
                      armq_op_name(desc->op));
    if (d->work != ARMQ_DTYPE_BF16)
        return REFUSE(support, ARMQ_UNSUPPORTED, "dialect.work = %s; %s multiplies bf16",
                      armq_dtype_name(d->work), armq_op_name(desc->op));
    if (armq_op_is_moe(desc->op) && d->intermediate != ARMQ_DTYPE_BF16)
        return REFUSE(support, ARMQ_UNSUPPORTED, "dialect.intermediate = %s; %s multiplies bf16",
                      armq_dtype_name(d->intermediate), armq_op_name(desc->op));
    return ARMQ_OK;
}

static armq_status check(const armq_tier *tier, const armq_desc *desc, armq_support *support) {
    armq_status status = armq_desc_check(desc, support->reason, sizeof support->reason);
    if (status == ARMQ_OK && !tiles_of(tier, desc->op))
        return REFUSE(support, ARMQ_UNSUPPORTED, "provider %s does not implement %s",
                      tier->provider->name, armq_op_name(desc->op));
    if (status == ARMQ_OK)
        status = check_features(tier, desc, support);
    if (status == ARMQ_OK)
        status = armq_op_is_bf16(desc->op) ? check_baseline(desc, support) : ARMQ_OK;
    if (status != ARMQ_OK)
        return status;
    support->max_k = armq_max_k(desc->op, &desc->dialect);
    return armq_k_check(desc, support->max_k, support->reason, sizeof support->reason);
}

static armq_status refuse_size(armq_support *support) {
    return REFUSE(support, ARMQ_UNSUPPORTED,
                  "the dimensions are too large: packed weights or workspace exceed memory");
}

static void copy_name(const char *name, armq_support *support) {
    size_t i = 0;
    for (; i + 1 < sizeof support->kernel && name[i]; i++)
        support->kernel[i] = name[i];
    support->kernel[i] = '\0';
}

static void describe_tiles(const armq_weight_layout *layout, armq_support *support) {
    const armq_tile_set *set = layout->set;
    if (!layout->s4) /* query is called often, and formatting costs more than the rest of it */
        copy_name(set->name, support);
    else if (layout->group_size)
        snprintf(support->kernel, sizeof support->kernel, "%s; int4, groups of %" PRId64, set->name,
                 layout->group_size);
    else
        snprintf(support->kernel, sizeof support->kernel, "%s; int4, per channel", set->name);
    support->tile_m = set->tiles[0].rows;
    support->tile_n = ARMQ_TILE_COLUMNS;
    support->tile_k = set->k_step;
}

static armq_status query_linear(const armq_tile_set *set, const armq_desc *desc,
                                armq_support *support) {
    armq_linear_plan plan;
    if (!armq_linear_plan_init(&plan, set, desc))
        return refuse_size(support);
    describe_tiles(&plan.layout, support);
    support->workspace_bytes = plan.workspace_bytes;
    support->packed_bytes[0] = (size_t)plan.layout.panels * plan.layout.panel_bytes;
    return ARMQ_OK;
}

static armq_status query_moe(const armq_tile_set *set, const armq_desc *desc,
                             armq_support *support) {
    armq_moe_plan plan;
    if (!armq_moe_plan_init(&plan, set, desc))
        return refuse_size(support);
    describe_tiles(&plan.layout[ARMQ_W13], support);
    support->workspace_bytes = plan.workspace_bytes;
    for (int which = 0; which < 2; which++) {
        support->packed_bytes[which] = plan.packed_bytes[which];
        support->packed_expert_stride[which] = plan.expert_stride[which];
    }
    return ARMQ_OK;
}

static armq_status query(const armq_tier *tier, const armq_desc *desc, armq_support *support) {
    armq_status status = check(tier, desc, support);
    if (status != ARMQ_OK)
        return status;
    support->claims = claims;
    support->packed_align = ARMQ_PACKED_ALIGN;
    support->workspace_align = ARMQ_WORKSPACE_ALIGN;
    switch (desc->op) {
    case ARMQ_OP_QUANTIZE:
        armq_quantize_op_query(support);
        return ARMQ_OK;
    case ARMQ_OP_ACTIVATION:
        /* Elements do not depend on each other: only those with NaN or Inf become what they do. */
        support->claims &= ~(uint32_t)ARMQ_CLAIM_NONFINITE_ROW_NAN;
        armq_activation_op_query(support);
        return ARMQ_OK;
    case ARMQ_OP_MOE_W8A8:
    case ARMQ_OP_MOE_W4A8:
    case ARMQ_OP_MOE_BF16:
        return query_moe(tiles_of(tier, desc->op), desc, support);
    default:
        return query_linear(tiles_of(tier, desc->op), desc, support);
    }
}

/* Callers compiled against an older header know fewer fields. */
armq_status armq_tier_query(const armq_tier *tier, const armq_desc *desc, armq_support *support) {
    armq_support full;
    memset(&full, 0, sizeof full);
    armq_status status = query(tier, desc, &full);
    full.size = support->size;
    memcpy(support, &full, support->size < sizeof full ? support->size : sizeof full);
    return status;
}

armq_status armq_tier_pack(const armq_tier *tier, const armq_desc *desc, int32_t which,
                           int64_t first, int64_t last, const armq_weights *weights, void *packed) {
    armq_support support;
    memset(&support, 0, sizeof support);
    armq_status status = query(tier, desc, &support);
    if (status == ARMQ_OK)
        status = armq_weights_check(desc, which, first, last, weights, packed);
    if (status != ARMQ_OK || first == last || armq_weight_n(desc, which) == 0)
        return status;
    if ((uintptr_t)packed % ARMQ_PACKED_ALIGN)
        return ARMQ_INVALID_ARGUMENT;
    const armq_tile_set *set = tiles_of(tier, desc->op);
    if (armq_op_is_moe(desc->op)) {
        armq_moe_plan plan;
        armq_moe_plan_init(&plan, set, desc);
        armq_moe_pack(&plan, desc, which, last - first, weights, packed);
        return ARMQ_OK;
    }
    armq_weight_layout layout;
    armq_weight_layout_init(&layout, set, desc, 0);
    armq_pack_weights(&layout, desc, weights, packed);
    return ARMQ_OK;
}

armq_status armq_tier_run(const armq_tier *tier, const armq_desc *desc, const armq_args *args) {
    armq_support support;
    memset(&support, 0, sizeof support);
    armq_status status = query(tier, desc, &support);
    if (status == ARMQ_OK)
        status = armq_args_check(desc, &support, args);
    if (status != ARMQ_OK)
        return status;
    switch (desc->op) {
    case ARMQ_OP_QUANTIZE:
        armq_quantize_op_run(desc, args);
        return ARMQ_OK;
    case ARMQ_OP_ACTIVATION:
        armq_activation_op_run(desc, args);
        return ARMQ_OK;
    case ARMQ_OP_MOE_W8A8:
    case ARMQ_OP_MOE_W4A8:
    case ARMQ_OP_MOE_BF16:
        return armq_moe_run(tiles_of(tier, desc->op), desc, args);
    default:
        armq_linear_run(tiles_of(tier, desc->op), desc, args);
        return ARMQ_OK;
    }
}
