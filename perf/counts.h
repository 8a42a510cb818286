/* SPDX-License-Identifier: Apache-2.0 */
/* What one run of a case amounts to: the denominators of every rate that armq-bench prints. They
 * follow from the case alone, never from what a provider did. */
#ifndef ARMQ_PERF_COUNTS_H
#define ARMQ_PERF_COUNTS_H

#include "harness/operands.h"

typedef struct {
    int64_t macs; /* multiply-accumulates; a multiply and its addition are one. 0 for quantize */
    int64_t tokens;
    /* Bytes that any implementation must move at least once: weights in the format they are handed
     * over in (int4: half a byte), their scales, zero points and bias, x, y, and for MoE the ids
     * and router weights. Rows without the gaps of strides. Of a MoE's experts only those that some
     * token uses. Not counted: packed copies, workspace, a second reading. */
    int64_t bytes;
    int64_t weight_bytes; /* of `bytes`: weights, scales, zero points and bias */
    int64_t read_bytes;   /* of `bytes`: all but the outputs */
} bench_counts;

/* experts_used: experts with a token; ignored by ops without experts. */
bench_counts bench_count(const armq_case *c, int64_t experts_used);

/* Distinct ids in [0, experts) of a MoE's routing; 0 for other ops or if memory is short. */
int64_t bench_experts_used(const armq_case *c, const int32_t *topk_ids);

/* Bytes of packed weights that one run touches, as the provider laid them out, with what is folded
 * in (scales, zero points, sums, bias): of a MoE the experts in use, both products. What it reads
 * of the unpacked weights (READS_AFTER_PACK) is not known, and not counted. 0 without weights. */
int64_t bench_weight_bytes(const armq_case *c, const armq_support *support, int64_t experts_used);

/* The definition of `bytes` and of weight bytes in one sentence each, for result files. */
extern const char bench_bytes_definition[], bench_weight_bytes_definition[];

#endif
