/* SPDX-License-Identifier: Apache-2.0 */
/* Speed-up over the bf16 baseline: the plain ratio of median times of one process. The repetitions
 * are neither paired nor interleaved, so there is no confidence interval, and the output says so.
 */
#ifndef ARMQ_PERF_SPEEDUP_H
#define ARMQ_PERF_SPEEDUP_H

#include "perf/plan.h"

/* The timed entry that `entry` is compared with: the same shape, input and output dtype and number
 * of threads as a bf16 op, on provider "bf16", else on "neon" (f32 arithmetic, for CPUs without
 * BFMMLA). NULL if none was timed, or if `entry` is a baseline itself or was not timed. */
const bench_entry *speedup_baseline(const bench_plan *plan, const bench_entry *entry);

/* Table of all entries that have a baseline. Returns how many there were. Never to be called for
 * times that were taken under emulation. */
int64_t speedup_print(const bench_plan *plan, FILE *out);

#endif
