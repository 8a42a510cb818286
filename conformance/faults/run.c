/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong about rows, threads, the workspace and state, around the run of the naive provider.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/faults/fault.h"
#include "conformance/faults/provider.h"
#include "conformance/providers.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"

_Thread_local bool fault_other_order;
_Thread_local int32_t fault_thread;
_Thread_local bool fault_second;
_Thread_local float fault_kept;

static _Atomic int64_t calls; /* of run, so far */

/* --- Rows --------------------------------------------------------------------------------------
 */

/* Between the naive provider and the caller's threads. */
typedef struct {
    naive_call call;
    const armq_threads *threads; /* the caller's; NULL: none */
    void (*f)(void *arg, int64_t job, int32_t thread);
    void *arg;
    int64_t number; /* of the call */
} row_shim;

static bool takes_other_order(const row_shim *shim, int64_t row) {
    int64_t tokens = shim->call.desc->tokens;
    FAULT_DO(order_of_tail_rows, return row >= tokens / 4 * 4);
    FAULT_DO(order_of_one_token, return tokens == 1);
    FAULT_DO(order_of_odd_rows, return row % 2 == 1);
    FAULT_DO(order_of_second_call, return shim->number % 2 == 1);
    FAULT_DO(order_of_threads, return shim->threads && shim->threads->n > 1);
    return false;
}

static bool is_finite_row(const naive_call *call, int64_t row) {
    naive_values x = naive_x_row(call, row);
    return naive_is_finite(&x);
}

static bool is_poisoned_by_others(const naive_call *call, int64_t row) {
    FAULT_DO(nan_of_row_before, return row > 0 && !is_finite_row(call, row - 1));
    if (FAULT_IS(nan_of_any_row))
        for (int64_t i = 0; i < call->desc->tokens; i++)
            if (!is_finite_row(call, i))
                return true;
    return false;
}

/* A kernel that keeps what it works on in static variables. */
static row_shim global_shim;

static void run_row(void *arg, int64_t row, int32_t thread) {
    const row_shim *shim = FAULT(call_in_global, &global_shim, arg);
    int32_t n = shim->threads ? shim->threads->n : 1;
    fault_other_order = takes_other_order(shim, row);
    fault_thread = thread;
    FAULT_DO(thread_is_job, row = n > 1 ? thread : row);
    FAULT_DO(thread_blocks, row = n > 1 ? row / 2 * 2 : row);
    shim->f(shim->arg, row, thread);
    if (is_poisoned_by_others(&shim->call, row))
        naive_store_nan_row(&shim->call, row);
}

/* Rows that the threads get between them. */
static int64_t shared_out(int64_t rows, int32_t n) {
    FAULT_DO(threads_round_down, return rows / n * n);
    FAULT_DO(threads_last_missing, return n > 1 ? rows - rows / n : rows);
    FAULT_DO(threads_at_most_64, return n > 64 ? rows - rows / 3 : rows);
    FAULT_DO(threads_none_for_many, return n > rows ? 0 : rows);
    return rows;
}

static void run_rows(void *ctx, int64_t jobs, void (*f)(void *, int64_t, int32_t), void *arg) {
    row_shim *shim = ctx;
    shim->f = f;
    shim->arg = arg;
    FAULT_DO(call_in_global, global_shim = *shim);
    jobs = shared_out(jobs, shim->threads ? shim->threads->n : 1);
    FAULT_DO(null_threads_as_most,
             jobs = shim->threads ? jobs : jobs / shim->call.desc->max_threads);
    if (shim->threads)
        shim->threads->run(shim->threads->ctx, jobs, run_row, shim);
    else
        for (int64_t row = 0; row < jobs; row++)
            run_row(shim, row, 0);
}

/* --- Workspace ---------------------------------------------------------------------------------
 */

/* Counts and indices of routing, for which query has no room. */
static void fill_workspace(const armq_desc *desc, const armq_args *args) {
    int32_t *at = args->workspace;
    FAULT_DO(workspace_without_experts, memset(at, 0, (size_t)desc->experts * sizeof *at));
    FAULT_DO(workspace_without_slots,
             memset(at, 0, (size_t)(desc->tokens * desc->top_k) * sizeof *at));
}

static void *moved_workspace(void *workspace) {
    uintptr_t at = (uintptr_t)workspace;
    return (void *)FAULT(workspace_aligned_up, (at + 63) / 64 * 64, at);
}

/* --- The call ----------------------------------------------------------------------------------
 */

static volatile int again = 1;

static void die_or_hang(const armq_desc *desc) {
    int64_t wide = desc->n + desc->intermediate;
    FAULT_DO(tiny_aborts, if (desc->tokens == 1 && wide == 1) abort());
    FAULT_DO(no_tokens_abort, if (desc->tokens == 0) abort());
    while (FAULT_IS(hangs) && desc->tokens == 3 && again)
        continue;
}

static void allocate(void) {
    void *volatile some = malloc(64);
    free(some);
}

/* What is kept suffices until a call needs more. */
static void allocate_more(int64_t elements) {
    static int64_t most;
    if (elements > most)
        allocate();
    most = elements > most ? elements : most;
}

static bool overlaps(const armq_desc *desc, const armq_args *args) {
    return args && args->x == args->y && desc->tokens > 0;
}

/* Not at the same address. */
static bool overlaps_apart(const armq_desc *desc, const armq_args *args) {
    if (!args || !args->x || !args->y || desc->tokens == 0 || args->x == args->y)
        return false;
    uintptr_t x = (uintptr_t)args->x, y = (uintptr_t)args->y;
    uintptr_t apart = x < y ? y - x : x - y;
    size_t first = x < y ? (size_t)armq_x_row(desc) * armq_dtype_bytes(desc->in)
                         : (size_t)armq_y_row(desc) * armq_dtype_bytes(desc->out);
    return apart < first;
}

static bool has_negative_stride(const armq_args *args) {
    return args && (args->x_stride < 0 || args->y_stride < 0);
}

armq_status fault_run(const armq_desc *desc, const void *plan, const armq_args *args) {
    armq_support support = {.size = sizeof support};
    armq_status status = naive_provider.query(desc, &support);
    if (status == ARMQ_OK)
        status = armq_args_check(desc, &support, args);
    FAULT_DO(accepts_anything,
             return status == ARMQ_OK ? naive_provider.run(desc, plan, args) : ARMQ_OK);
    FAULT_DO(overlap_by_address,
             if (status != ARMQ_OK && overlaps_apart(desc, args)) return ARMQ_OK);
    if (status != ARMQ_OK && args && fault_accepts_args(desc, args))
        return ARMQ_OK;
    FAULT_DO(args_size_exact, if (args && args->size != sizeof *args) return ARMQ_INVALID_ARGUMENT);
    FAULT_DO(stride_unsigned, if (status != ARMQ_OK && has_negative_stride(args)) return ARMQ_OK);
    FAULT_DO(accepts_overlap, if (status != ARMQ_OK && overlaps(desc, args)) return ARMQ_OK);
    if (status != ARMQ_OK)
        return FAULT(status_beyond_enum, (armq_status)77,
                     FAULT(status_no_memory, ARMQ_NO_MEMORY, status));
    FAULT_DO(tiny_refused_late, if (desc->tokens < 2) return ARMQ_UNSUPPORTED);
    die_or_hang(desc);
    FAULT_DO(allocates, allocate());
    FAULT_DO(allocates_to_grow, allocate_more(armq_x_row(desc) * desc->tokens));
    row_shim shim = {
        .call = {.desc = desc, .args = args}, .threads = args->threads, .number = calls++};
    armq_threads threads = {&shim, args->threads ? args->threads->n : 1, run_rows};
    armq_args with = *args;
    with.threads = &threads;
    with.workspace = moved_workspace(args->workspace);
    fill_workspace(desc, &with);
    if (fault_accepts_ids(desc, args))
        return ARMQ_OK;
    status = naive_provider.run(desc, plan, &with);
    FAULT_DO(refuses_late, if (status != ARMQ_OK && args->y) * (volatile uint8_t *)args->y ^= 0x55);
    if (status == ARMQ_OK)
        fault_memory_run(desc, &support, args);
    return status;
}
