/* SPDX-License-Identifier: Apache-2.0 */
/* A trial: one case on one provider, with every tensor in guarded memory, packed and run once. The
 * checks start from its base run and make further calls that differ in one respect. */
#ifndef ARMQ_CONFORMANCE_TRIAL_H
#define ARMQ_CONFORMANCE_TRIAL_H

#include "conformance/call.h"
#include "conformance/guard.h"
#include "conformance/inputs.h"
#include "conformance/result.h"
#include "conformance/watch.h"
#include "harness/threads.h"

/* Damage is noticed after every call, and reported by the check it belongs to. */
typedef struct {
    bool found;
    check_failure failure; /* the first one */
} damage;

typedef struct trial trial;
struct trial {
    armq_case c;
    const armq_provider *provider;
    armq_support support;
    operand_shape shapes[OPERAND_COUNT];
    guarded buffers[OPERAND_COUNT]; /* one guarded region per present operand */
    armq_weights weights[2];        /* pointing into the buffers */
    void *plan;                     /* of prepare, NULL if the provider has none */
    guard_side side;                /* where the buffers are now */
    bool placed;                    /* buffers hold the inputs, and the packed weights */
    bool hidden;                    /* unpacked weights are inaccessible */
    bool large;                     /* too big for every check: see trial_is_large */
    const inputs *in;               /* NULL if large: then the inputs live in the buffers only */
    void *base[OPERAND_COUNT];      /* outputs of the base run, rows dense; NULL if absent, empty */
    void *packed[2];                /* copies of the packed weights as pack left them, if small */
    uint64_t sums[OPERAND_COUNT];   /* checksums of inputs and packed weights, if large */
    bool summed[OPERAND_COUNT];     /* which of them hold */
    trial *root;                    /* where damage is noted: itself, or what it derives from */
    damage changed;                 /* inputs or packed weights that differ (check inputs) */
    damage trampled;                /* bytes written outside buffers (check memory) */
    damage fp_control;              /* FPCR (MXCSR) changed by a call (check registers) */
    int64_t allocations;            /* of calls on the caller's thread (check alloc) */
    uint64_t fp_before;             /* between trial_enter and trial_leave */
    case_result *result;            /* in shared memory */
    watch *watch;
};

/* How a call differs from the base call; all zero = the base call. */
typedef struct {
    guard_side side;
    uint8_t poison;  /* 0: outputs are pre-filled with 0xff (NaN), 1: with 0xa5 */
    uint8_t garbage; /* what the workspace holds: 0: zeros, 1: 0xff, 2: pseudo-random bytes, 3: what
                        the last call left */
    const armq_threads *threads;    /* NULL: the case's number of logical threads, serially */
    call_registers *before, *after; /* not NULL: call through call_run */
} call_options;

typedef enum {
    TRIAL_READY = 0,
    TRIAL_REFUSED = 1, /* query said no; support.reason says why */
    TRIAL_BROKEN = 2   /* accepted, but pack, prepare or run did not do it; *failure says why */
} trial_state;

/* A case of memory=sparse is only queried: the check overflow does the rest.
 * Else: queries, allocates, generates, packs, prepares and makes the base run. False if the
 * provider refused or memory is short (result->status = SKIPPED with a reason) or failed (*failure
 * is filled, result->status = FAILED). Close it in any case. */
bool trial_open(trial *t, const armq_case *c, const armq_provider *provider, case_result *result,
                watch *w, check_failure *failure);
/* Copies into d what was packed for t, which differs from it in tokens, threads or strides alone:
 * packed weights serve all of these, and may be moved. */
bool trial_adopt_packed(trial *d, const trial *t, const char *what, check_failure *failure);

/* What was packed for t becomes bytes of this, and itself again. */
enum { TRIAL_SPOILED = 0x77 };
void trial_spoil_packed(trial *t, bool spoiled);

void trial_close(trial *t);
void trial_release_plan(trial *t); /* part of trial_close */

/* The same for a case derived from t's, on given inputs, which it takes over (NULL: generates those
 * of c). The base run has the buffers on `side`. Close it in any case. */
trial_state trial_derive(trial *d, trial *t, const armq_case *c, const inputs *in, guard_side side,
                         check_failure *failure);

/* Runs the provider once. Outputs are in t->buffers afterwards. */
armq_status trial_call(trial *t, const call_options *options);

/* The same; true if the status is OK, else fills *failure. `what` says which call it was. */
bool trial_runs(trial *t, const call_options *options, const char *what, check_failure *failure);

/* Moves all buffers, fills them with the inputs and packs. Part of trial_call where needed. */
bool trial_place(trial *t, guard_side side, check_failure *failure);

/* Around every call into the provider: tells the watch, and notes and undoes a changed FPCR. */
void trial_enter(trial *t);
void trial_enter_many(trial *t, int64_t calls); /* so many of them before trial_leave */
void trial_leave(trial *t);

/* Takes over inputs of the same shapes, whose per-token operands replace the ones there are. */
void trial_swap_tokens(trial *t, const inputs *in);

/* Arguments as trial_call would give them, for calls that do worse. Points into t and *threads. */
void trial_args(const trial *t, const armq_threads *threads, armq_args *args);

/* Fills all outputs, gaps between rows included, with the poison of call_options.poison. */
void trial_poison(trial *t, uint8_t poison);
static inline uint8_t trial_poison_byte(uint8_t poison) { return poison ? 0xa5 : 0xff; }

/* Notes bytes written outside buffers, and changed inputs and packed weights. */
void trial_inspect(trial *t);

/* True if the outputs of the last call of t are bit for bit those of the base run of `base` (t
 * itself, or a trial with the same tokens); else fills *failure with the first difference. `what`
 * names the call in the message. */
bool trial_same(const trial *t, const trial *base, const char *what, check_failure *failure);

/* The same for one token: token i of the last call of t, and token j of the base run of `base`. */
bool trial_same_token(const trial *t, int64_t i, const trial *base, int64_t j, const char *what,
                      check_failure *failure);

/* Where token i of output `id` is in the guarded buffer and in dense copies: offset and length in
 * elements. */
typedef struct {
    int64_t at, dense, count;
} token_span;
token_span trial_token(const trial *t, operand_id id, int64_t i);

/* Copies the outputs of the last call to `to` (t->base, or arrays of the same sizes). */
void trial_copy_outputs(const trial *t, void *to[OPERAND_COUNT]);

/* What the reference reads; for large trials it makes hidden weights readable until the next call.
 */
const operands *trial_inputs(trial *t, operands *storage);

/* True for cases so large that only value, written, repeat, memory and inputs are run. */
bool trial_is_large(const armq_case *c);

/* Formats failure->detail. */
__attribute__((format(printf, 2, 3))) void failure_set(check_failure *failure, const char *format,
                                                       ...);

/* For what the harness itself cannot do: the check is then skipped, and not failed. */
__attribute__((format(printf, 2, 3))) void failure_unjudged(check_failure *failure,
                                                            const char *format, ...);

/* Says which element differs: fills the element fields too. */
void failure_element(check_failure *failure, const char *operand, int64_t row, int64_t column,
                     double got, double wanted);

#endif
