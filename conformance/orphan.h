/* SPDX-License-Identifier: Apache-2.0 */
/* A child that does not outlive its parent: a hanging kernel would go on for ever. */
#ifndef ARMQ_CONFORMANCE_ORPHAN_H
#define ARMQ_CONFORMANCE_ORPHAN_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

/* In a child, before anything that may hang. `parent`: getpid() before the fork. */
static inline void end_with_parent(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it has ended already, and no signal will come */
        _exit(1);
}

#endif
