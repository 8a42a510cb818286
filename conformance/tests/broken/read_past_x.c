/* SPDX-License-Identifier: Apache-2.0 */
/* One byte behind x is read, as a vector load of the last elements would. */
#include "conformance/tests/broken/common.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"

static armq_status run(const armq_desc *desc, const void *plan, const armq_args *args) {
    armq_status status = naive_provider.run(desc, plan, args);
    if (status == ARMQ_OK && desc->tokens > 0 && desc->k > 0) {
        int64_t elements = (desc->tokens - 1) * armq_x_stride(desc, args) + desc->k;
        const volatile uint8_t *x = args->x;
        (void)x[(size_t)elements * armq_dtype_bytes(desc->in)];
    }
    return status;
}

BROKEN_PROVIDER("read-past-x", run)
