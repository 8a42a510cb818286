/* SPDX-License-Identifier: Apache-2.0 */
/* A trial: one case on one provider, with every tensor in guarded memory, packed and run once. The
 * checks start from its base run and make further calls that differ in one respect. */
#ifndef ARMQ_CONFORMANCE_TRIAL_H
#define ARMQ_CONFORMANCE_TRIAL_H

#include "conformance/guard.h"
#include "conformance/result.h"
#include "harness/operands.h"
#include "harness/threads.h"

/* Shared with the parent while a worker runs (conformance/worker.h). */
typedef struct watch watch;

typedef struct {
    armq_case c; /* bound */
    const armq_provider *provider;
    armq_support support;
    operand_shape shapes[OPERAND_COUNT];
    guarded buffers[OPERAND_COUNT]; /* one guarded region per operand */
    armq_weights weights[2];
    void *plan; /* of prepare, NULL if the provider has none */
    bool large; /* too many MACs for every check: see trial_is_large */
    void *
        base[OPERAND_COUNT]; /* copies of the outputs of the base run, rows dense; NULL if absent */
    case_result *result;     /* in shared memory */
    watch *watch;
} trial;

/* How a call differs from the base call; all zero = the base call. */
typedef struct {
    guard_side side; /* buffers flush with the inaccessible page behind or before them */
    uint8_t poison;  /* 0: first poison pattern for outputs, 1: second */
    uint8_t garbage; /* what the workspace holds: 0: zeros, 1: 0xff.., 2: pseudo-random */
    const armq_threads *threads; /* NULL: the case's number of logical threads, serially */
    bool off_by_one; /* x and y start one element past a 64-byte boundary.. (check align) */
} call_options;

/* Queries, allocates, generates, packs, prepares and makes the base run. False if the provider
 * refused (result->status = SKIPPED with its reason) or failed (a check failure is recorded). */
bool trial_open(trial *t, const armq_case *c, const armq_provider *provider, case_result *result,
                watch *w);
void trial_close(trial *t);

/* Runs the provider once. Outputs are in t->buffers afterwards. */
armq_status trial_call(trial *t, const call_options *options);

/* Bytes of the present outputs of the last call equal those of the base run; else fills *failure
 * with the first difference. */
bool trial_same_as_base(trial *t, check_failure *failure);

/* True for cases so large that only value, memory, inputs, written and repeat are run. */
bool trial_is_large(const armq_case *c);

#endif
