/* SPDX-License-Identifier: Apache-2.0 */
/* How long a process was ready to run and did not get a processor: on a machine that is busy with
 * other things, time that passes is no sign of a hang. */
#ifndef ARMQ_CONFORMANCE_STARVED_H
#define ARMQ_CONFORMANCE_STARVED_H

#include <stdint.h>
#include <sys/types.h>

/* Nanoseconds that the threads of a process, which may end meanwhile, have waited for a processor
 * so far, all together. 0 where the system does not say (/proc/PID/task/TID/schedstat). */
int64_t starved_ns(pid_t pid);

#endif
