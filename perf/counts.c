/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/counts.h"

#include <stdlib.h>

#include "kernels/api/names.h"

const char bench_bytes_definition[] =
    "weights as handed over (int4: half a byte each; MoE: experts in use), scales, zero points, "
    "bias, x, y, routing, each once; without packed copies and workspace";

const char bench_weight_bytes_definition[] =
    "packed weights of the provider with the scales and biases in them, MoE: of experts in use; "
    "over the tokens of the run";

static bool belongs_to_expert(operand_id id) { return id >= OPERAND_W && id <= OPERAND_W2_BIAS; }

static int64_t dense_bytes(const operand_shape *shape) {
    if (!shape->present)
        return 0;
    if (shape->dtype == ARMQ_DTYPE_NONE) /* int4: never strided */
        return (int64_t)shape->bytes;
    return shape->rows * shape->row * (int64_t)armq_dtype_bytes(shape->dtype);
}

bench_counts bench_count(const armq_case *c, int64_t experts_used) {
    operand_shape shapes[OPERAND_COUNT];
    operand_shapes(c, NULL, shapes);
    bench_counts counts = {.macs = case_macs(c), .tokens = c->desc.tokens};
    const bool moe = armq_op_is_moe(c->desc.op) && c->desc.experts > 0;
    for (int id = 0; id < OPERAND_COUNT; id++) {
        if (id == OPERAND_PACKED || id == OPERAND_PACKED2 || id == OPERAND_WORKSPACE)
            continue;
        int64_t bytes = dense_bytes(&shapes[id]);
        if (moe && belongs_to_expert((operand_id)id))
            bytes = bytes / c->desc.experts * experts_used;
        counts.bytes += bytes;
        if (belongs_to_expert((operand_id)id))
            counts.weight_bytes += bytes;
        if (!operand_is_output((operand_id)id))
            counts.read_bytes += bytes;
    }
    return counts;
}

int64_t bench_weight_bytes(const armq_case *c, const armq_support *support, int64_t experts_used) {
    if (!armq_op_is_moe(c->desc.op))
        return (int64_t)support->packed_bytes[0];
    size_t expert = support->packed_expert_stride[0] + support->packed_expert_stride[1];
    return (int64_t)expert * experts_used;
}

int64_t bench_experts_used(const armq_case *c, const int32_t *topk_ids) {
    const armq_desc *d = &c->desc;
    if (!armq_op_is_moe(d->op) || d->experts <= 0)
        return 0;
    uint8_t *seen = calloc((size_t)d->experts, 1);
    int64_t used = 0;
    for (int64_t i = 0; seen != NULL && i < d->tokens * d->top_k; i++) {
        const int32_t id = topk_ids[i];
        if (id < 0 || id >= d->experts)
            continue;
        used += !seen[id];
        seen[id] = 1;
    }
    free(seen);
    return used;
}
