/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest provider that passes: gemm_s8s8s32 in plain C. Start from it to have your own kernel
 * judged; README.md, "Plug in your own kernel", has the commands.
 *
 * It leaves the checks of descriptions and arguments to kernels/api/describe.c, which may be built
 * into any provider. */
#include <stdio.h>
#include <string.h>

#include "kernels/api/describe.h"
#include "kernels/armq.h"

static armq_status query(const armq_desc *desc, armq_support *support) {
    armq_support answer = {.size = support->size, .workspace_align = 1, .packed_align = 1};
    armq_status status = armq_desc_check(desc, answer.reason, sizeof answer.reason);
    answer.max_k = 131071; /* -128 * -128 * K must fit in int32 */
    if (status == ARMQ_OK && (desc->op != ARMQ_OP_GEMM_S8S8S32 || desc->k > answer.max_k)) {
        status = ARMQ_UNSUPPORTED;
        snprintf(answer.reason, sizeof answer.reason,
                 "plain-gemm does gemm_s8s8s32 with k <= 131071 only");
    }
    if (status == ARMQ_OK) {
        snprintf(answer.kernel, sizeof answer.kernel, "triple loop");
        answer.packed_bytes[0] = (size_t)(desc->n * desc->k);
        answer.tile_m = answer.tile_n = answer.tile_k = 1;
        answer.claims = ARMQ_CLAIM_THREAD_INVARIANT | ARMQ_CLAIM_BATCH_INVARIANT |
                        ARMQ_CLAIM_NO_ALLOC | ARMQ_CLAIM_REENTRANT;
    }
    memcpy(support, &answer, support->size < sizeof answer ? support->size : sizeof answer);
    return status;
}

/* Your layout goes here; this one keeps the weights as they are. */
static armq_status pack(const armq_desc *desc, int32_t which, int64_t first, int64_t last,
                        const armq_weights *weights, void *packed) {
    armq_status status = armq_weights_check(desc, which, first, last, weights, packed);
    if (status == ARMQ_OK && last > first && desc->n * desc->k > 0)
        memcpy(packed, weights->w, (size_t)(desc->n * desc->k));
    return status;
}

static void row(const armq_desc *desc, const int8_t *x, const int8_t *w, int32_t *y) {
    for (int64_t n = 0; n < desc->n; n++) {
        y[n] = 0;
        for (int64_t k = 0; k < desc->k; k++)
            y[n] += x[k] * w[n * desc->k + k];
    }
}

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    armq_support support = {.size = sizeof support};
    (void)plan;
    armq_status status = query(desc, &support);
    if (status == ARMQ_OK)
        status = armq_args_check(desc, &support, args);
    if (status != ARMQ_OK || desc->n == 0)
        return status;
    for (int64_t m = 0; m < desc->tokens; m++)
        row(desc, (const int8_t *)args->x + m * armq_x_stride(desc, args), args->packed[0],
            (int32_t *)args->y + m * armq_y_stride(desc, args));
    return ARMQ_OK;
}

const armq_provider *armq_provider_get(void) {
    static const armq_provider provider = {.size = sizeof provider,
                                           .abi = ARMQ_ABI_VERSION,
                                           .name = "plain-gemm",
                                           .version = "1",
                                           .query = query,
                                           .pack = pack,
                                           .run = run};
    return &provider;
}
