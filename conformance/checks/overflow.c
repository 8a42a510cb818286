/* SPDX-License-Identifier: Apache-2.0 */
/* A case of memory=sparse: a small problem whose rows, channels, experts or slots are so far apart
 * that offsets exceed 2^31 or 2^32. An offset that is computed in 32 bits leads to zeros, or to
 * other rows: the result is wrong. Only MoE experts that are used are packed. */
#include <stdio.h>
#include <stdlib.h>

#include "conformance/check.h"
#include "conformance/embed.h"
#include "conformance/footprint.h"
#include "kernels/api/names.h"

typedef struct {
    trial *t;
    embedding *e;
    armq_args args;
    armq_status status;
    const char *what;       /* the call that status is of */
    footprint before, most; /* before anything was mapped, and after a call */
    const char *most_after; /* which; NULL: cannot be measured */
} far_call;

/* --- Memory ----------------------------------------------------------------------------------- */

static int64_t memory_limit = INT64_C(2) << 30;

void check_overflow_limit(int64_t bytes) { memory_limit = bytes; }

/* At once after a call, before pages are given back. */
static void measure(far_call *call) {
    footprint now;
    if (memory_limit == INT64_MAX || !footprint_get(&now) ||
        (call->most_after && footprint_bytes(&now) <= footprint_bytes(&call->most)))
        return;
    call->most = now;
    call->most_after = call->what;
}

static double mib(int64_t bytes) { return (double)bytes / 1048576.0; }

/* What a case of memory=sparse may take is a promise to who runs it. What the process held before
 * is not the case's: inputs of other cases, and what an emulator never gives back. */
static bool is_small(const far_call *call, check_result *out) {
    if (!call->most_after) {
        snprintf(out->measured, sizeof out->measured,
                 memory_limit == INT64_MAX ? "memory not limited"
                                           : "memory not measured: no /proc/self/smaps_rollup");
        return true;
    }
    int64_t bytes = footprint_bytes(&call->most) - footprint_bytes(&call->before);
    snprintf(out->measured, sizeof out->measured, "%.0f MiB of memory after %s", mib(bytes),
             call->most_after);
    if (bytes <= memory_limit)
        return true;
    failure_set(&out->failure,
                "%.0f MiB of memory are taken after %s (%.0f MiB of them page tables); %.0f MiB "
                "are allowed with memory=sparse",
                mib(bytes), call->most_after, mib(call->most.tables - call->before.tables),
                mib(memory_limit));
    return false;
}

/* --- The provider's part ---------------------------------------------------------------------- */

static armq_status pack_range(far_call *call, int32_t which, int64_t first, int64_t last) {
    const embedding *e = call->e;
    armq_weights weights = embed_weights(e, which, first);
    uint8_t *packed = e->data.at[OPERAND_PACKED + which];
    size_t stride = call->t->support.packed_expert_stride[which];
    return call->t->provider->pack(&e->large.desc, which, first, last, &weights,
                                   packed + (size_t)first * stride);
}

/* Neighbouring experts in one go. */
static armq_status pack_experts(far_call *call, int32_t which) {
    const places *p = &call->e->experts;
    armq_status status = ARMQ_OK;
    for (int64_t i = 0, next; i < p->count && status == ARMQ_OK; i = next) {
        next = i + 1;
        while (next < p->count && p->at[next] == p->at[next - 1] + 1)
            next++;
        status = pack_range(call, which, p->at[i], p->at[next - 1] + 1);
    }
    return status;
}

static void pack_all(void *arg) {
    far_call *call = arg;
    bool moe = armq_op_is_moe(call->e->large.desc.op);
    call->what = "pack";
    call->status = ARMQ_OK;
    for (int32_t which = 0; which < (moe ? 2 : 1) && call->status == ARMQ_OK; which++)
        if (call->e->data.at[OPERAND_PACKED + which])
            call->status = moe ? pack_experts(call, which) : pack_range(call, which, 0, 1);
    measure(call);
}

static void run(void *arg) {
    far_call *call = arg;
    call->what = "run";
    call->status =
        call_run_safely(call->t->provider, &call->e->large.desc, call->t->plan, &call->args);
    measure(call);
}

/* --- Around it -------------------------------------------------------------------------------- */

static check_status call_paged(far_call *call, void (*f)(void *), check_result *out) {
    const char *operand = NULL;
    trial_enter_many(call->t, 4); /* pages come and go, at a price */
    bool fits = sparse_call(f, call, &operand);
    trial_leave(call->t);
    if (!fits)
        return check_skip(out, "%s writes more than %zu MiB that are not zero to %s", call->what,
                          sparse_limit >> 20, operand ? operand : "memory");
    if (call->status == ARMQ_OK)
        return CHECK_PASSED;
    failure_set(&out->failure, "%s returned %s (%d), though query accepted the case", call->what,
                armq_status_name(call->status), (int)call->status);
    return CHECK_FAILED;
}

static bool prepare(far_call *call, check_failure *failure) {
    const armq_provider *provider = call->t->provider;
    const void *packed[2] = {call->e->data.at[OPERAND_PACKED],
                             call->e->data.at[OPERAND_PACKED + 1]};
    for (int id = OPERAND_PACKED; id <= OPERAND_PACKED2; id++)
        if (call->e->regions[id].mapping && !sparse_settle(&call->e->regions[id])) {
            failure_unjudged(failure, "not enough memory for the packed weights");
            return false;
        }
    if (!provider->prepare)
        return true;
    trial_enter(call->t);
    armq_status status = provider->prepare(&call->e->large.desc, packed, &call->t->plan);
    trial_leave(call->t);
    if (status != ARMQ_OK)
        failure_set(failure, "prepare returned %s", armq_status_name(status));
    return status == ARMQ_OK;
}

static bool judge_embedded(const far_call *call, check_failure *failure) {
    void *got[OPERAND_COUNT] = {NULL};
    const embedding *e = call->e;
    judgement j = {.c = &e->small,
                   .claims = call->t->support.claims,
                   .in = &e->in->data,
                   .got = got,
                   .failure = failure};
    bool ok = embed_outputs(e, got);
    if (!ok)
        failure_unjudged(failure, "not enough memory for a copy of the outputs");
    ok = ok && judge_outputs(&j, 0);
    if (!ok && failure->has_element && e->small.desc.n != e->large.desc.n) {
        char where[64];
        failure->column = embed_column(e, failure->column);
        snprintf(where, sizeof where, "column %lld, in a problem without what is zero",
                 (long long)failure->column);
        failure_prefix(failure, where);
    }
    for (int id = 0; id < OPERAND_COUNT; id++)
        free(got[id]);
    return ok;
}

static check_status run_embedded(far_call *call, check_result *out) {
    const embedding *e = call->e;
    check_status status = CHECK_PASSED;
    armq_threads threads = threads_serial(call->t->c.threads);
    if (e->large.desc.format != ARMQ_WEIGHT_NONE)
        status = call_paged(call, pack_all, out);
    if (status != CHECK_PASSED)
        return status;
    if (!prepare(call, &out->failure))
        return CHECK_FAILED;
    operand_args(&e->large, &e->data, e->weights, call->t->support.claims,
                 threads.n > 1 ? &threads : NULL, &call->args);
    if (!embed_poison(call->e))
        return check_skip(out, "no memory for the outputs");
    status = call_paged(call, run, out);
    return status == CHECK_PASSED ? check_verdict(judge_embedded(call, &out->failure)) : status;
}

check_status check_overflow(trial *t, check_result *out) {
    static embedding e; /* large */
    char why[sizeof out->note];
    if (!t->c.sparse)
        return check_skip(out, "no offset beyond 2^31: needs memory=sparse");
    far_call call = {.t = t, .e = &e};
    if (memory_limit < INT64_MAX)
        footprint_get(&call.before);
    bool ready = embed_open(&e, &t->c, &t->support, why, sizeof why);
    if (ready)
        t->result->input_hash = e.in->hash;
    check_status status = ready ? run_embedded(&call, out) : check_skip(out, "%s", why);
    if (status == CHECK_PASSED)
        status = check_verdict(is_small(&call, out));
    trial_release_plan(t);
    embed_close(&e);
    return status;
}
