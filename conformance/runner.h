/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan: hands tasks to workers, and each result to the files and the screen as it comes. */
#ifndef ARMQ_CONFORMANCE_RUNNER_H
#define ARMQ_CONFORMANCE_RUNNER_H

#include "conformance/ledger.h"
#include "conformance/profile.h"

typedef struct {
    const options *options;
    const plan *plan;
    const profile *profile; /* NULL: no waivers */
    const char *program;    /* how to call this program, for the reproducing lines */
    FILE *json;             /* NULL: none */
    FILE *out;              /* failures */
    int32_t jobs;
} run_setup;

typedef enum {
    RUN_COMPLETE,
    RUN_INTERRUPTED, /* SIGINT or SIGTERM; what is done is in the files */
    RUN_BROKEN       /* a result could not be written, or no process started: said on stderr */
} run_end;

/* outcomes[i] for each task; those that are done (from a resumed file) are left alone. Must be
 * called in a process that has never started a thread. */
run_end runner_run(const run_setup *setup, outcome *outcomes);

#endif
