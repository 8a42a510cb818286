/* SPDX-License-Identifier: Apache-2.0 */
/* What a time depends on beside the code: result files carry it, so that only what was measured in
 * the same circumstances is compared. */
#ifndef ARMQ_PERF_FINGERPRINT_H
#define ARMQ_PERF_FINGERPRINT_H

#include <jansson.h>

#include "harness/cores.h"

/* An object of texts: hwcap, hwcap2 (hexadecimal), core_kinds (per kind: MIDR, capacity, processors
 * with one thread each, last-level caches), governor (of all these processors), affinity, online,
 * cpuset (of the control group), cpu_quota, load (1, 5, 15 minutes), huge_pages. "unknown" or
 * "none" where the system does not say. root: before /proc and /sys, usually "". To be called
 * before threads are bound. Caller owns. */
json_t *fingerprint_json(const core_list *cores, const char *root);

/* Thousandths of a processor that the CPU quota allows; 0: there is none. */
int64_t fingerprint_quota(const char *root);

/* Load average of one minute; 0 if unknown. */
double fingerprint_load(const char *root);

#endif
