/* SPDX-License-Identifier: Apache-2.0 */
/* Cold weights: copies that take turns, so that every run reads weights that were last touched so
 * many bytes ago that no cache holds them. What a server sees that streams one layer after another.
 */
#ifndef ARMQ_PERF_ROTATION_H
#define ARMQ_PERF_ROTATION_H

#include "harness/cores.h"
#include "perf/workload.h"

enum { ROTATION_LLC_ASSUMED = 64 << 20 };

typedef struct {
    operands data; /* the copied ones are owned, the others the workload's */
    armq_weights weights[2];
    void *plan;
    armq_args args;
} rotation_copy;

typedef struct {
    const workload *w;
    rotation_copy *copies; /* the first is the workload's own */
    int64_t count, next;
    int64_t run_bytes; /* of weights that one run touches; of a MoE, of experts in use */
} rotation;

/* Bytes of weights that one run of the workload touches: packed ones, and those handed over if the
 * provider reads them after packing. 0: there is nothing to rotate. */
int64_t rotation_run_bytes(const workload *w);

/* Bytes of weights that no last-level cache beside the cores holds: four times the largest of a
 * kind, for of twice its size a cache with random replacement still serves a fifth. Under emulation
 * twice: only the plumbing counts. *assumed: no size is known, ROTATION_LLC_ASSUMED is taken for
 * it. */
int64_t rotation_wanted(const core_list *cores, bool emulated, bool *assumed);

/* As many copies as make up more than `wanted` distinct bytes, at least two. Of a MoE only experts
 * in use are copied; the others' pages stay untouched. False: `why` says what is missing (weights,
 * memory). w must outlive it; its pool serves all copies. */
bool rotation_open(rotation *r, const workload *w, int64_t wanted, char why[WORKLOAD_WHY]);
void rotation_close(rotation *r);

/* Distinct bytes of weights that `count` runs in a row touch. */
static inline int64_t rotation_bytes(const rotation *r) { return r->run_bytes * r->count; }

/* One run, on the copy that was used longest ago. */
static inline armq_status rotation_run(rotation *r) {
    const rotation_copy *copy = &r->copies[r->next];
    r->next = r->next + 1 < r->count ? r->next + 1 : 0;
    return r->w->provider->run(&r->w->c.desc, copy->plan, &copy->args);
}

#endif
