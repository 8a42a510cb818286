/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "conformance/faults/fault.h"
#include "conformance/faults/provider.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"

/* A buffer of the caller; nothing is read or written of one that is empty. */
typedef struct {
    const void *at;
    size_t bytes;
} buffer;

static void read_behind(buffer b, size_t distance) {
    if (b.at && b.bytes)
        (void)((const volatile uint8_t *)b.at)[b.bytes + distance];
}

static void read_before(buffer b) {
    if (b.at && b.bytes)
        (void)((const volatile uint8_t *)b.at)[-1];
}

/* Another byte than there was. */
static void write_to(buffer b, ptrdiff_t distance) {
    if (b.at && b.bytes)
        ((volatile uint8_t *)(uintptr_t)b.at)[distance] ^= 0x55;
}

static void write_behind(buffer b) { write_to(b, (ptrdiff_t)b.bytes); }

/* --- run ---------------------------------------------------------------------------------------
 */

static buffer rows(const void *at, int64_t tokens, int64_t stride, int64_t row, armq_dtype dtype) {
    int64_t elements = tokens > 0 ? (tokens - 1) * stride + row : 0;
    return (buffer){at, row > 0 ? (size_t)elements * armq_dtype_bytes(dtype) : 0};
}

static void run_reads(const armq_desc *desc, const armq_support *support, const armq_args *args) {
    buffer x = rows(args->x, desc->tokens, armq_x_stride(desc, args), armq_x_row(desc), desc->in);
    size_t slots = (size_t)(desc->tokens * desc->top_k) * sizeof(int32_t);
    FAULT_DO(read_behind_x, read_behind(x, 0));
    FAULT_DO(read_vector_behind_x, read_behind(x, 15));
    FAULT_DO(read_before_x, read_before(x));
    FAULT_DO(read_behind_ids, read_behind((buffer){args->topk_ids, slots}, 0));
    FAULT_DO(read_before_ids, read_before((buffer){args->topk_ids, slots}));
    FAULT_DO(read_behind_router, read_behind((buffer){args->topk_weights, slots}, 0));
    FAULT_DO(read_behind_packed,
             read_behind((buffer){args->packed[0], support->packed_bytes[0]}, 0));
    FAULT_DO(read_before_packed, read_before((buffer){args->packed[0], support->packed_bytes[0]}));
    FAULT_DO(read_behind_w2, read_behind((buffer){args->packed[1], support->packed_bytes[1]}, 0));
    FAULT_DO(read_behind_workspace,
             read_behind((buffer){args->workspace, support->workspace_bytes}, 0));
}

static void run_writes(const armq_desc *desc, const armq_support *support, const armq_args *args) {
    buffer x = rows(args->x, desc->tokens, armq_x_stride(desc, args), armq_x_row(desc), desc->in);
    int64_t y_stride = armq_y_stride(desc, args), y_row = armq_y_row(desc);
    buffer y = rows(args->y, desc->tokens, y_stride, y_row, desc->out);
    size_t tokens = (size_t)desc->tokens, slots = tokens * (size_t)desc->top_k * sizeof(int32_t);
    buffer workspace = {args->workspace, support->workspace_bytes};
    FAULT_DO(write_behind_y, write_behind(y));
    FAULT_DO(write_before_y, write_to(y, -1));
    FAULT_DO(write_between_rows, if (y_stride > y_row && tokens > 1) write_to(
                                     y, (ptrdiff_t)((size_t)y_row * armq_dtype_bytes(desc->out))));
    FAULT_DO(write_behind_scales, write_behind((buffer){args->y_scales, tokens * sizeof(float)}));
    FAULT_DO(write_behind_zeros,
             write_behind((buffer){args->y_zero_points, tokens * sizeof(int32_t)}));
    FAULT_DO(write_behind_workspace, write_behind(workspace));
    FAULT_DO(write_before_workspace, write_to(workspace, -1));
    FAULT_DO(write_x, write_to(x, 0));
    FAULT_DO(write_ids, write_to((buffer){args->topk_ids, slots}, 0));
    FAULT_DO(write_router, write_to((buffer){args->topk_weights, slots}, 0));
    FAULT_DO(write_packed, write_to((buffer){args->packed[0], support->packed_bytes[0]}, 0));
}

void fault_memory_run(const armq_desc *desc, const armq_support *support, const armq_args *args) {
    run_reads(desc, support, args);
    run_writes(desc, support, args);
}

/* --- pack --------------------------------------------------------------------------------------
 */

size_t fault_weight_row_bytes(const armq_desc *desc, int32_t which) {
    size_t k = (size_t)armq_weight_k(desc, which);
    switch (desc->format) {
    case ARMQ_WEIGHT_S4_LOW:
        return (k + 1) / 2;
    case ARMQ_WEIGHT_S4_WORD8:
        return (k + 7) / 8 * 4;
    case ARMQ_WEIGHT_BF16:
        return 2 * k;
    default:
        return k;
    }
}

void fault_memory_pack(const armq_desc *desc, int32_t which, int64_t experts,
                       const armq_weights *weights, void *packed) {
    size_t channels = (size_t)(experts * armq_weight_n(desc, which));
    size_t groups = desc->group_size > 0
                        ? (size_t)(armq_weight_k(desc, which) / desc->group_size) * channels
                        : channels;
    buffer w = {weights->w, channels * fault_weight_row_bytes(desc, which)};
    buffer scales = {weights->scales, groups * armq_dtype_bytes(desc->scale_dtype)};
    buffer zeros = {weights->zero_points, groups};
    buffer bias = {weights->bias, channels * armq_dtype_bytes(desc->bias_dtype)};
    FAULT_DO(read_behind_weights, read_behind(w, 0));
    FAULT_DO(read_before_weights, read_before(w));
    FAULT_DO(read_behind_w_scales, read_behind(scales, 0));
    FAULT_DO(read_behind_w_zeros, read_behind(zeros, 0));
    FAULT_DO(read_behind_bias, read_behind(bias, 0));
    FAULT_DO(write_weights, write_to(w, 0));
    FAULT_DO(write_behind_packed,
             write_behind((buffer){packed, (size_t)experts * naive_packed_bytes(desc, which)}));
}
