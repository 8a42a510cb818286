/* SPDX-License-Identifier: Apache-2.0 */
/* Speed-up over the bf16 baseline: the ratio of interleaved paired repetitions, with a 95 %
 * confidence interval (stats_paired_ratio). */
#ifndef ARMQ_PERF_SPEEDUP_H
#define ARMQ_PERF_SPEEDUP_H

#include "perf/plan.h"

/* The entry that `entry` is compared with: the same shape, input and output dtype, number of
 * threads, memory mode and kind of cores as a bf16 op, on provider "bf16", else on "neon" (f32
 * arithmetic, for CPUs without BFMMLA). Entries that have failed are passed over. NULL if there is
 * none, or if `entry` is a baseline itself. */
const bench_entry *speedup_baseline(const bench_plan *plan, const bench_entry *entry);

/* Table of all entries that have a speed-up and no failure. Those too noisy to judge show why
 * instead of a ratio. Returns how many lines there were. Never to be called for times that were
 * taken under emulation. */
int64_t speedup_print(const bench_plan *plan, FILE *out);

#endif
