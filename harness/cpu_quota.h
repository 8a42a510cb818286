/* SPDX-License-Identifier: Apache-2.0 */
/* Processors that this process may use. Internal to the harness. */
#ifndef ARMQ_HARNESS_CPU_QUOTA_H
#define ARMQ_HARNESS_CPU_QUOTA_H

#include <stdint.h>

/* Thousandths of a processor that the CPU quotas (cgroup v1 and v2) of this process and of all
 * groups above it allow, at least 1; 0 = no quota. Arguments: usually /proc/self/cgroup and
 * /sys/fs/cgroup. */
int64_t cpu_quota_thousandths(const char *membership_file, const char *mount);

/* The same in whole processors, at least 1. */
int32_t cpu_quota(const char *membership_file, const char *mount);

/* Processors in the affinity mask, which includes the cpuset; at least 1. */
int32_t cpu_affinity(void);

#endif
