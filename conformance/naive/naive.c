/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/naive/naive.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conformance/faults/fault.h"
#include "conformance/providers.h"
#include "kernels/api/describe.h"
#include "kernels/api/dialects.h"
#include "kernels/api/names.h"

typedef void (*row_function)(const naive_call *call, int64_t row, void *scratch);

static row_function function_of(armq_op op) {
    switch (op) {
    case ARMQ_OP_QUANTIZE:
        return naive_quantize;
    case ARMQ_OP_ACTIVATION:
        return naive_activation;
    case ARMQ_OP_GEMM_S8S8S32:
        return naive_gemm_s8s8s32;
    case ARMQ_OP_GEMM_S8S4S32:
        return naive_gemm_s8s4s32;
    case ARMQ_OP_LINEAR_W8A8:
    case ARMQ_OP_LINEAR_W4A8:
        return naive_linear_int;
    case ARMQ_OP_LINEAR_BF16:
        return naive_linear_bf16;
    case ARMQ_OP_MOE_W8A8:
    case ARMQ_OP_MOE_W4A8:
    case ARMQ_OP_MOE_BF16:
        return naive_moe;
    default:
        return NULL;
    }
}

static void fill_support(const armq_desc *desc, armq_support *support) {
    snprintf(support->kernel, sizeof support->kernel, "naive_%s", armq_op_name(desc->op));
    support->packed_bytes[0] = naive_packed_bytes(desc, 0);
    if (armq_op_is_moe(desc->op))
        for (int32_t which = 0; which < 2; which++) {
            support->packed_expert_stride[which] = naive_packed_bytes(desc, which);
            support->packed_bytes[which] =
                (size_t)desc->experts * support->packed_expert_stride[which];
        }
    support->packed_align = sizeof(float);
    support->workspace_bytes = (size_t)desc->max_threads * naive_scratch_bytes(desc);
    FAULT_DO(workspace_of_one_thread, support->workspace_bytes = naive_scratch_bytes(desc));
    support->workspace_align = FAULT(align_zero, 0, sizeof(float));
    support->tile_m = support->tile_n = support->tile_k = 1;
    support->max_k = armq_max_k(desc->op, &desc->dialect);
    FAULT_DO(int32_wrap, support->max_k = INT64_MAX);
    FAULT_DO(int32_wrap_zero, support->max_k = INT32_MAX / (128 * 128));
    support->claims = ARMQ_CLAIM_THREAD_INVARIANT | ARMQ_CLAIM_BATCH_INVARIANT |
                      ARMQ_CLAIM_NO_ALLOC | ARMQ_CLAIM_REENTRANT | ARMQ_CLAIM_NONFINITE_ROW_NAN;
}

static armq_status query(const armq_desc *desc, armq_support *support) {
    if (!support || support->size < sizeof *support)
        return ARMQ_INVALID_ARGUMENT;
    memset(support, 0, sizeof *support);
    support->size = sizeof *support;
    armq_status status = armq_desc_check(desc, support->reason, sizeof support->reason);
    if (status != ARMQ_OK)
        return status;
    if (!function_of(desc->op)) {
        snprintf(support->reason, sizeof support->reason, "the naive provider has no %s yet",
                 armq_op_name(desc->op));
        return ARMQ_UNSUPPORTED;
    }
    fill_support(desc, support);
    return armq_k_check(desc, support->max_k, support->reason, sizeof support->reason);
}

static armq_status pack(const armq_desc *desc, int32_t which, int64_t first, int64_t last,
                        const armq_weights *weights, void *packed) {
    armq_support support = {.size = sizeof support};
    armq_status status = query(desc, &support);
    if (status == ARMQ_OK)
        status = armq_weights_check(desc, which, first, last, weights, packed);
    if (status == ARMQ_OK && last > first)
        naive_pack(desc, which, weights, last - first, packed);
    return status;
}

typedef struct {
    naive_call call;
    row_function function;
} row_job;

static void run_row(void *arg, int64_t row, int32_t thread) {
    const row_job *job = arg;
    size_t scratch = naive_scratch_bytes(job->call.desc);
    FAULT_DO(threads_share_scratch, thread = 0);
    FAULT_DO(rows_1024, row = row < 1024 ? row : 1023);
    job->function(&job->call, row,
                  scratch ? (uint8_t *)job->call.args->workspace + (size_t)thread * scratch : NULL);
}

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    (void)plan;
    armq_support support = {.size = sizeof support};
    armq_status status = query(desc, &support);
    if (status == ARMQ_OK)
        status = armq_args_check(desc, &support, args);
    if (status != ARMQ_OK)
        return status;
    row_job job = {{desc, args, naive_unpack(desc, 0, args->packed[0])}, function_of(desc->op)};
    if (armq_op_is_moe(desc->op) && !naive_ids_are_valid(&job.call))
        return ARMQ_INVALID_ARGUMENT;
    int64_t rows = FAULT(m_tail_4, desc->tokens - desc->tokens % 4, desc->tokens);
    if (args->threads)
        args->threads->run(args->threads->ctx, rows, run_row, &job);
    else
        for (int64_t row = 0; row < rows; row++)
            run_row(&job, row, 0);
    return ARMQ_OK;
}

const armq_provider naive_provider = {
    .size = sizeof(armq_provider),
    .abi = ARMQ_ABI_VERSION,
    .name = "naive",
    .version = "1",
    .query = query,
    .pack = pack,
    .run = run,
};
