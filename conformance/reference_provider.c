/* SPDX-License-Identifier: Apache-2.0 */
/* The reference behind the C ABI: stores RN(mid) of its intervals. For debugging and for checking
 * the harness; comparing it with itself proves nothing about the reference. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "conformance/providers.h"
#include "harness/operands.h"
#include "kernels/api/describe.h"
#include "kernels/api/dialects.h"
#include "kernels/api/names.h"
#include "reference/formats.h"
#include "reference/reference.h"

static int32_t weight_count(const armq_desc *desc) {
    return desc->format == ARMQ_WEIGHT_NONE ? 0 : armq_op_is_moe(desc->op) ? 2 : 1;
}

static int64_t expert_count(const armq_desc *desc) {
    return armq_op_is_moe(desc->op) ? desc->experts : 1;
}

/* Bytes of one expert's w, scales, zero points and bias; packed, they stand behind each other, byte
 * by byte as given, and experts behind each other. Those of a linear layer are read where they are,
 * so each starts at a multiple of PART_ALIGN. */
enum { PARTS = 4, PART_ALIGN = 4, COLUMNS = 4096 };
typedef struct {
    size_t part[PARTS], all;
} sizes;

static size_t padded(const armq_desc *desc, size_t bytes) {
    return armq_op_is_moe(desc->op) ? bytes : (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
}

static sizes sizes_of(const armq_desc *desc, int32_t which) {
    armq_case one = {.desc = *desc};
    operand_shape shapes[OPERAND_COUNT];
    operand_id first = which == 0 ? OPERAND_W : OPERAND_W2;
    sizes s = {{0}, 0};
    one.desc.experts = 1;
    operand_shapes(&one, NULL, shapes);
    for (int i = 0; i < PARTS; i++) {
        s.part[i] = shapes[first + (unsigned)i].bytes;
        s.all += padded(desc, s.part[i]);
    }
    return s;
}

static void fill_support(const armq_desc *desc, armq_support *support) {
    snprintf(support->kernel, sizeof support->kernel, "reference");
    for (int32_t which = 0; which < weight_count(desc); which++) {
        size_t expert = sizes_of(desc, which).all;
        support->packed_bytes[which] = (size_t)expert_count(desc) * expert;
        if (armq_op_is_moe(desc->op))
            support->packed_expert_stride[which] = expert;
    }
    support->packed_align = armq_op_is_moe(desc->op) ? 1 : PART_ALIGN;
    support->workspace_align = 1;
    support->tile_m = support->tile_n = support->tile_k = 1;
    support->claims = ARMQ_CLAIM_THREAD_INVARIANT | ARMQ_CLAIM_BATCH_INVARIANT |
                      ARMQ_CLAIM_REENTRANT | ARMQ_CLAIM_NONFINITE_ROW_NAN;
}

static armq_status query(const armq_desc *desc, armq_support *support) {
    if (!support || support->size < sizeof *support)
        return ARMQ_INVALID_ARGUMENT;
    memset(support, 0, sizeof *support);
    support->size = sizeof *support;
    armq_status status = armq_desc_check(desc, support->reason, sizeof support->reason);
    if (status != ARMQ_OK)
        return status;
    support->max_k = armq_max_k(desc->op, &desc->dialect);
    status = armq_k_check(desc, support->max_k, support->reason, sizeof support->reason);
    if (status == ARMQ_OK)
        fill_support(desc, support);
    return status;
}

/* --- Weights ---------------------------------------------------------------------------------- */

static armq_status pack(const armq_desc *desc, int32_t which, int64_t first, int64_t last,
                        const armq_weights *weights, void *packed) {
    armq_support support = {.size = sizeof support};
    armq_status status = query(desc, &support);
    if (status == ARMQ_OK)
        status = armq_weights_check(desc, which, first, last, weights, packed);
    if (status != ARMQ_OK)
        return status;
    sizes s = sizes_of(desc, which);
    const void *given[PARTS] = {weights->w, weights->scales, weights->zero_points, weights->bias};
    uint8_t *to = packed;
    for (int64_t expert = 0; expert < last - first; expert++)
        for (int i = 0; i < PARTS; i++)
            if (s.part[i]) {
                const uint8_t *from = given[i];
                memcpy(to, from + (size_t)expert * s.part[i], s.part[i]);
                to += padded(desc, s.part[i]);
            }
    return ARMQ_OK;
}

/* The reference wants each part of all experts in one piece. What no token uses is not copied, and
 * then costs no memory. */
typedef struct {
    void *at[PARTS];
    size_t bytes[PARTS]; /* mapped; 0: not, at points into the packed weights */
} unpacked;

static bool map_part(unpacked *u, int i, size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return false;
    u->at[i] = at;
    u->bytes[i] = bytes;
    return true;
}

static bool unpack(const armq_desc *desc, int32_t which, const void *packed, const bool *used,
                   unpacked *u) {
    sizes s = sizes_of(desc, which);
    size_t experts = (size_t)expert_count(desc), offset = 0;
    const uint8_t *from = packed;
    for (int i = 0; i < PARTS; offset += padded(desc, s.part[i++])) {
        if (s.part[i] == 0 || experts == 0)
            continue;
        if (!armq_op_is_moe(desc->op)) {
            u->at[i] = (void *)(uintptr_t)(from + offset);
            continue;
        }
        if (!map_part(u, i, experts * s.part[i]))
            return false;
        for (size_t expert = 0; expert < experts; expert++)
            if (used[expert])
                memcpy((uint8_t *)u->at[i] + expert * s.part[i], from + expert * s.all + offset,
                       s.part[i]);
    }
    return true;
}

static void drop(unpacked u[2]) {
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < PARTS; i++)
            if (u[which].bytes[i])
                munmap(u[which].at[i], u[which].bytes[i]);
}

/* --- Run -------------------------------------------------------------------------------------- */

static void store_row(ref_context *context, const armq_desc *desc, const armq_args *args,
                      int64_t row) {
    ref_interval intervals[COLUMNS];
    int64_t columns[COLUMNS];
    int64_t offset = row * armq_y_stride(desc, args), length = armq_y_row(desc);
    for (int64_t first = 0, count; first < length; first += count) {
        count = length - first < COLUMNS ? length - first : COLUMNS;
        for (int64_t i = 0; i < count; i++)
            columns[i] = first + i;
        ref_row_intervals(context, row, columns, count, intervals);
        for (int64_t i = 0; i < count; i++)
            armq_store(desc->out, args->y, offset + first + i,
                       intervals[i].kind == REF_VALUE ? intervals[i].mid : (double)NAN);
    }
}

static void store_quantized(const armq_desc *desc, const armq_args *args, int64_t row) {
    const uint8_t *x = args->x;
    int8_t *y = args->y;
    if (desc->k > 0) {
        x += (size_t)(row * armq_x_stride(desc, args)) * armq_dtype_bytes(desc->in);
        y += row * armq_y_stride(desc, args);
    }
    ref_row_quant quant = ref_quantize_row(&desc->dialect, desc->in, x, desc->k, y);
    args->y_scales[row] = quant.scale;
    if (args->y_zero_points)
        args->y_zero_points[row] = quant.zero_point;
}

static armq_status run_rows(const armq_desc *desc, const armq_args *args,
                            const ref_problem *problem) {
    ref_context *context = ref_open(problem);
    if (!context)
        return ARMQ_NO_MEMORY;
    for (int64_t row = 0; row < desc->tokens; row++)
        if (desc->op == ARMQ_OP_QUANTIZE)
            store_quantized(desc, args, row);
        else
            store_row(context, desc, args, row);
    ref_close(context);
    return ARMQ_OK;
}

/* Marks the experts that tokens go to; false: an id is not one that is allowed. */
static bool mark_used(const armq_desc *desc, const armq_args *args, bool *used) {
    bool skip = desc->uses & ARMQ_USES_SKIP_IDS;
    for (int64_t i = 0; i < desc->tokens * desc->top_k; i++) {
        int32_t id = args->topk_ids[i];
        if (id == -1 && skip)
            continue;
        if (id < 0 || id >= desc->experts)
            return false;
        used[id] = true;
    }
    return true;
}

static armq_status run_unpacked(const armq_desc *desc, const armq_args *args, uint32_t claims,
                                const bool *used, unpacked parts[2]) {
    armq_weights weights[2];
    ref_problem problem = {
        .desc = desc,
        .claims = claims,
        .x = args->x,
        .x_stride = armq_x_stride(desc, args),
        .topk_ids = args->topk_ids,
        .topk_weights = args->topk_weights,
    };
    for (int32_t which = 0; which < weight_count(desc); which++) {
        if (!unpack(desc, which, args->packed[which], used, &parts[which]))
            return ARMQ_NO_MEMORY;
        weights[which] = (armq_weights){
            .size = sizeof *weights,
            .w = parts[which].at[0],
            .scales = parts[which].at[1],
            .zero_points = parts[which].at[2],
            .bias = parts[which].at[3],
        };
        problem.weights[which] = &weights[which];
    }
    return run_rows(desc, args, &problem);
}

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    (void)plan;
    armq_support support = {.size = sizeof support};
    armq_status status = query(desc, &support);
    if (status == ARMQ_OK)
        status = armq_args_check(desc, &support, args);
    if (status != ARMQ_OK)
        return status;
    bool *used = calloc((size_t)desc->experts + 1, sizeof *used);
    unpacked parts[2] = {{{NULL}, {0}}};
    if (!used)
        status = ARMQ_NO_MEMORY;
    else if (!mark_used(desc, args, used))
        status = ARMQ_INVALID_ARGUMENT;
    else
        status = run_unpacked(desc, args, support.claims, used, parts);
    drop(parts);
    free(used);
    return status;
}

const armq_provider reference_provider = {
    .size = sizeof(armq_provider),
    .abi = ARMQ_ABI_VERSION,
    .name = "reference",
    .version = "1",
    .query = query,
    .pack = pack,
    .run = run,
};
