/* SPDX-License-Identifier: Apache-2.0 */
/* The reference behind the C ABI: stores RN(mid) of its intervals. For debugging and for checking
 * the harness; comparing it with itself proves nothing about the reference. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/providers.h"
#include "kernels/api/describe.h"
#include "kernels/api/dialects.h"
#include "kernels/api/names.h"
#include "reference/formats.h"
#include "reference/reference.h"

static bool has_op(armq_op op) {
    return op == ARMQ_OP_QUANTIZE || op == ARMQ_OP_GEMM_S8S8S32 || op == ARMQ_OP_LINEAR_W8A8 ||
           op == ARMQ_OP_LINEAR_BF16;
}

/* Sections of a packed tensor, each aligned to 4 bytes: w, scales, bias. */
typedef struct {
    size_t w, scales, bias;
} sections;

static size_t round_up(size_t bytes) { return (bytes + 3) / 4 * 4; }

static sections sections_of(const armq_desc *desc) {
    size_t n = (size_t)desc->n, k = (size_t)desc->k;
    bool bias = (desc->uses & ARMQ_USES_BIAS) != 0;
    return (sections){
        round_up(n * k * (desc->format == ARMQ_WEIGHT_BF16 ? 2 : 1)),
        round_up(n * armq_dtype_bytes(desc->scale_dtype)),
        bias ? round_up(n * armq_dtype_bytes(desc->bias_dtype)) : 0,
    };
}

static armq_status query(const armq_desc *desc, armq_support *support) {
    if (!support || support->size < sizeof *support)
        return ARMQ_INVALID_ARGUMENT;
    memset(support, 0, sizeof *support);
    support->size = sizeof *support;
    armq_status status = armq_desc_check(desc, support->reason, sizeof support->reason);
    if (status != ARMQ_OK)
        return status;
    if (!has_op(desc->op)) {
        snprintf(support->reason, sizeof support->reason, "the reference has no %s yet",
                 armq_op_name(desc->op));
        return ARMQ_UNSUPPORTED;
    }
    support->max_k = armq_max_k(desc->op, &desc->dialect);
    if (desc->k > support->max_k) {
        snprintf(support->reason, sizeof support->reason,
                 "k = %" PRId64 " is above %" PRId64 ", the longest that int32 sums can hold",
                 desc->k, support->max_k);
        return ARMQ_UNSUPPORTED;
    }
    sections s = sections_of(desc);
    snprintf(support->kernel, sizeof support->kernel, "reference");
    if (desc->format != ARMQ_WEIGHT_NONE)
        support->packed_bytes[0] = s.w + s.scales + s.bias;
    support->packed_align = 4;
    support->workspace_align = 1;
    support->tile_m = support->tile_n = support->tile_k = 1;
    support->claims = ARMQ_CLAIM_THREAD_INVARIANT | ARMQ_CLAIM_BATCH_INVARIANT |
                      ARMQ_CLAIM_REENTRANT | ARMQ_CLAIM_NONFINITE_ROW_NAN;
    return ARMQ_OK;
}

static void copy(uint8_t *to, const void *from, size_t bytes) {
    if (bytes)
        memcpy(to, from, bytes);
}

static armq_status pack(const armq_desc *desc, int32_t which, int64_t first, int64_t last,
                        const armq_weights *weights, void *packed) {
    armq_support support = {.size = sizeof support};
    armq_status status = query(desc, &support);
    if (status == ARMQ_OK)
        status = armq_weights_check(desc, which, first, last, weights, packed);
    if (status != ARMQ_OK || last == first)
        return status;
    sections s = sections_of(desc);
    size_t n = (size_t)desc->n, element = desc->format == ARMQ_WEIGHT_BF16 ? 2 : 1;
    copy(packed, weights->w, n * (size_t)desc->k * element);
    copy((uint8_t *)packed + s.w, weights->scales, n * armq_dtype_bytes(desc->scale_dtype));
    if (s.bias)
        copy((uint8_t *)packed + s.w + s.scales, weights->bias,
             n * armq_dtype_bytes(desc->bias_dtype));
    return ARMQ_OK;
}

static void store_row(const armq_desc *desc, const armq_args *args, int64_t row,
                      const ref_interval *intervals) {
    int64_t offset = row * armq_y_stride(desc, args), length = armq_y_row(desc);
    for (int64_t i = 0; i < length; i++)
        armq_store(desc->out, args->y, offset + i,
                   intervals[i].kind == REF_VALUE ? intervals[i].mid : (double)NAN);
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
    ref_interval *intervals = calloc((size_t)armq_y_row(desc) + 1, sizeof *intervals);
    bool ok = context && intervals;
    for (int64_t row = 0; ok && row < desc->tokens; row++) {
        if (desc->op == ARMQ_OP_QUANTIZE) {
            store_quantized(desc, args, row);
            continue;
        }
        ref_row_intervals(context, row, NULL, armq_y_row(desc), intervals);
        store_row(desc, args, row, intervals);
    }
    free(intervals);
    if (context)
        ref_close(context);
    return ok ? ARMQ_OK : ARMQ_NO_MEMORY;
}

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    (void)plan;
    armq_support support = {.size = sizeof support};
    armq_status status = query(desc, &support);
    if (status == ARMQ_OK)
        status = armq_args_check(desc, &support, args);
    if (status != ARMQ_OK)
        return status;
    sections s = sections_of(desc);
    const uint8_t *packed = args->packed[0];
    armq_weights weights = {
        .size = sizeof weights,
        .w = packed,
        .scales = s.scales ? packed + s.w : NULL,
        .bias = s.bias ? packed + s.w + s.scales : NULL,
    };
    ref_problem problem = {
        .desc = desc,
        .claims = support.claims,
        .x = args->x,
        .x_stride = armq_x_stride(desc, args),
        .weights = {desc->format != ARMQ_WEIGHT_NONE ? &weights : NULL, NULL},
    };
    return run_rows(desc, args, &problem);
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
