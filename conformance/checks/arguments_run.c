/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "conformance/checks/arguments.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"

/* --- run -------------------------------------------------------------------------------------- */

typedef struct {
    const trial *t;
    armq_args args;       /* valid until spoiled */
    armq_threads threads; /* args.threads */
    int32_t *ids;         /* a copy of the ids, to be spoiled; NULL without */
    uint8_t *room;        /* for x and y; NULL: no memory */
} run_call;

/* Each makes one argument wrong; false: the case has no such argument. */
typedef bool spoil_run(run_call *call);

static bool has(const run_call *call, operand_id id) { return call->t->buffers[id].bytes > 0; }

static bool no_size(run_call *call) {
    call->args.size = 0;
    return true;
}

static bool no_x(run_call *call) {
    call->args.x = NULL;
    return has(call, OPERAND_X);
}

static bool no_y(run_call *call) {
    call->args.y = NULL;
    return has(call, OPERAND_Y);
}

static bool no_packed(run_call *call) {
    call->args.packed[0] = NULL;
    return has(call, OPERAND_PACKED);
}

static bool no_workspace(run_call *call) {
    call->args.workspace = NULL;
    return has(call, OPERAND_WORKSPACE);
}

static bool odd_workspace(run_call *call) {
    call->args.workspace = (char *)call->args.workspace + 1;
    return has(call, OPERAND_WORKSPACE) && call->t->support.workspace_align > 1;
}

static bool odd_packed(run_call *call) {
    call->args.packed[0] = (const char *)call->args.packed[0] + 1;
    return has(call, OPERAND_PACKED) && call->t->support.packed_align > 1;
}

static bool short_x_stride(run_call *call) {
    call->args.x_stride = armq_x_row(&call->t->c.desc) - 1;
    return (call->t->c.desc.uses & ARMQ_USES_X_STRIDE) != 0;
}

static bool short_y_stride(run_call *call) {
    call->args.y_stride = armq_y_row(&call->t->c.desc) - 1;
    return (call->t->c.desc.uses & ARMQ_USES_Y_STRIDE) != 0;
}

static bool undeclared_x_stride(run_call *call) {
    call->args.x_stride = armq_x_row(&call->t->c.desc) + 1;
    return !(call->t->c.desc.uses & ARMQ_USES_X_STRIDE);
}

static bool undeclared_y_stride(run_call *call) {
    call->args.y_stride = armq_y_row(&call->t->c.desc) + 1;
    return !(call->t->c.desc.uses & ARMQ_USES_Y_STRIDE);
}

/* Both in the larger one, at an address that suits either dtype: the canaries have room for the
 * bytes that are skipped. */
static bool overlap(run_call *call) {
    const guarded *x = &call->t->buffers[OPERAND_X], *y = &call->t->buffers[OPERAND_Y];
    const guarded *larger = x->bytes < y->bytes ? y : x;
    uintptr_t skipped = -(uintptr_t)larger->data % sizeof(double);
    call->args.y = (uint8_t *)larger->data + skipped;
    call->args.x = call->args.y;
    return x->bytes > 0 && y->bytes > 0;
}

/* One begins inside the other, eight bytes behind it. */
static bool overlap_apart(run_call *call, bool x_first) {
    if (!overlap(call) || call->t->buffers[OPERAND_X].bytes <= sizeof(double) ||
        call->t->buffers[OPERAND_Y].bytes <= sizeof(double))
        return false;
    if (x_first)
        call->args.y = (uint8_t *)call->args.y + sizeof(double);
    else
        call->args.x = (const uint8_t *)call->args.x + sizeof(double);
    return true;
}

static bool y_inside_x(run_call *call) { return overlap_apart(call, true); }
static bool x_inside_y(run_call *call) { return overlap_apart(call, false); }

static bool negative_x_stride(run_call *call) {
    call->args.x_stride = -armq_x_row(&call->t->c.desc) - 1;
    return (call->t->c.desc.uses & ARMQ_USES_X_STRIDE) != 0;
}

static bool negative_y_stride(run_call *call) {
    call->args.y_stride = -armq_y_row(&call->t->c.desc) - 1;
    return (call->t->c.desc.uses & ARMQ_USES_Y_STRIDE) != 0;
}

static bool zero_threads(run_call *call) {
    call->threads.n = 0;
    return true;
}

static bool negative_threads(run_call *call) {
    call->threads.n = -1;
    return true;
}

static bool more_threads(run_call *call) {
    call->threads = threads_serial(call->t->c.desc.max_threads + 1);
    return true;
}

static bool threads_without_run(run_call *call) {
    call->threads.run = NULL;
    return true;
}

static bool no_scales(run_call *call) {
    call->args.y_scales = NULL;
    return has(call, OPERAND_Y_SCALES);
}

static bool no_zero_points(run_call *call) {
    call->args.y_zero_points = NULL;
    return has(call, OPERAND_Y_ZEROS);
}

/* Somewhere to point to that nothing must be written to: y itself, which is inspected. */
static bool undeclared_zero_points(run_call *call) {
    call->args.y_zero_points = (int32_t *)call->t->buffers[OPERAND_Y].region;
    return call->t->c.desc.op == ARMQ_OP_QUANTIZE && !call->t->shapes[OPERAND_Y_ZEROS].present &&
           has(call, OPERAND_Y);
}

static bool no_packed_w2(run_call *call) {
    call->args.packed[1] = NULL;
    return has(call, OPERAND_PACKED2);
}

static bool odd_packed_w2(run_call *call) {
    call->args.packed[1] = (const char *)call->args.packed[1] + 1;
    return has(call, OPERAND_PACKED2) && call->t->support.packed_align > 1;
}

static bool no_ids(run_call *call) {
    call->args.topk_ids = NULL;
    return has(call, OPERAND_TOPK_IDS);
}

static bool no_weights(run_call *call) {
    call->args.topk_weights = NULL;
    return has(call, OPERAND_TOPK_WEIGHTS);
}

static bool undeclared_weights(run_call *call) {
    call->args.topk_weights = (const float *)call->t->buffers[OPERAND_X].region;
    return call->t->c.desc.uses & ARMQ_USES_NO_ROUTER_WEIGHT && has(call, OPERAND_X);
}

/* In the last slot: whoever looks at an id only when it is its turn has written rows by then. */
static bool last_id(run_call *call, int64_t id) {
    const armq_desc *d = &call->t->c.desc;
    if (!call->ids)
        return false;
    call->ids[d->tokens * d->top_k - 1] = (int32_t)id;
    call->args.topk_ids = call->ids;
    return true;
}

static bool id_of_no_expert(run_call *call) { return last_id(call, call->t->c.desc.experts); }
static bool lowest_id(run_call *call) { return last_id(call, INT32_MIN); }
static bool highest_id(run_call *call) { return last_id(call, INT32_MAX); }
static bool id_minus_2(run_call *call) { return last_id(call, -2); }

static bool id_to_skip(run_call *call) {
    return !(call->t->c.desc.uses & ARMQ_USES_SKIP_IDS) && last_id(call, -1);
}

/* Neither in the first slot nor in the last. */
static bool middle_id_of_no_expert(run_call *call) {
    const armq_desc *d = &call->t->c.desc;
    if (!call->ids || d->tokens * d->top_k < 3)
        return false;
    call->ids[d->tokens * d->top_k / 2] = (int32_t)d->experts;
    call->args.topk_ids = call->ids;
    return true;
}

static bool foreign_scales(run_call *call) {
    call->args.y_scales = (float *)call->t->buffers[OPERAND_Y].region;
    return call->t->c.desc.op != ARMQ_OP_QUANTIZE && has(call, OPERAND_Y);
}

static bool foreign_ids(run_call *call) {
    call->args.topk_ids = (const int32_t *)call->t->buffers[OPERAND_X].region;
    return !armq_op_is_moe(call->t->c.desc.op) && has(call, OPERAND_X);
}

/* A second row would be beyond any address. */
static bool endless_x_stride(run_call *call) {
    call->args.x_stride = INT64_MAX;
    return call->t->c.desc.uses & ARMQ_USES_X_STRIDE && call->t->c.desc.tokens > 1;
}

static bool endless_y_stride(run_call *call) {
    call->args.y_stride = INT64_MAX;
    return call->t->c.desc.uses & ARMQ_USES_Y_STRIDE && call->t->c.desc.tokens > 1;
}

/* The last element of `first` and the first of the other. */
static void *behind(run_call *call, operand_id first) {
    size_t bytes = call->t->buffers[first].bytes, whole = bytes / sizeof(double) * sizeof(double);
    return call->room && whole > sizeof(double) ? call->room + whole - sizeof(double) : NULL;
}

static bool x_ends_in_y(run_call *call) {
    call->args.x = call->room;
    call->args.y = behind(call, OPERAND_X);
    return call->args.y && has(call, OPERAND_Y);
}

static bool y_ends_in_x(run_call *call) {
    call->args.y = call->room;
    call->args.x = behind(call, OPERAND_Y);
    return call->args.x && has(call, OPERAND_X);
}

static bool first_id_of_no_expert(run_call *call) {
    if (!call->ids)
        return false;
    call->ids[0] = (int32_t)call->t->c.desc.experts;
    call->args.topk_ids = call->ids;
    return true;
}

static const struct {
    const char *what;
    spoil_run *spoil;
} runs[] = {
    {"args.size = 0", no_size},
    {"x = NULL", no_x},
    {"y = NULL", no_y},
    {"packed = NULL", no_packed},
    {"workspace = NULL", no_workspace},
    {"a workspace that is not aligned as query asks", odd_workspace},
    {"packed weights that are not aligned as query asks", odd_packed},
    {"an x_stride below the row length", short_x_stride},
    {"a y_stride below the row length", short_y_stride},
    {"an x_stride that the description does not declare", undeclared_x_stride},
    {"a y_stride that the description does not declare", undeclared_y_stride},
    {"x and y overlapping", overlap},
    {"y that begins inside x", y_inside_x},
    {"x that begins inside y", x_inside_y},
    {"a negative x_stride", negative_x_stride},
    {"a negative y_stride", negative_y_stride},
    {"threads.n = 0", zero_threads},
    {"threads.n = -1", negative_threads},
    {"threads.n = max_threads + 1", more_threads},
    {"threads.run = NULL", threads_without_run},
    {"packed w2 = NULL", no_packed_w2},
    {"a packed w2 that is not aligned as query asks", odd_packed_w2},
    {"topk_ids = NULL", no_ids},
    {"topk_weights = NULL", no_weights},
    {"topk_weights, though no router weight is declared", undeclared_weights},
    {"an id equal to the number of experts, in the last slot", id_of_no_expert},
    {"an id equal to the number of experts, in the first slot", first_id_of_no_expert},
    {"an id equal to the number of experts, in the middle", middle_id_of_no_expert},
    {"y_scales, which the op does not have", foreign_scales},
    {"topk_ids, which the op does not have", foreign_ids},
    {"an x_stride of 2^63 - 1", endless_x_stride},
    {"a y_stride of 2^63 - 1", endless_y_stride},
    {"x that ends inside y", x_ends_in_y},
    {"y that ends inside x", y_ends_in_x},
    {"an id of INT32_MIN", lowest_id},
    {"an id of INT32_MAX", highest_id},
    {"an id of -2", id_minus_2},
    {"an id of -1 without skip_ids", id_to_skip},
    {"y_scales = NULL", no_scales},
    {"y_zero_points = NULL", no_zero_points},
    {"y_zero_points in a symmetric dialect", undeclared_zero_points},
};

/* Every byte of the outputs is as trial_poison left it. */
static bool outputs_untouched(const trial *t, const char *what, check_failure *failure) {
    for (operand_id id = OPERAND_Y; id < OPERAND_COUNT; id++) {
        size_t bytes = t->buffers[id].bytes;
        size_t at = bytes_first_other(t->buffers[id].data, bytes, trial_poison_byte(1));
        if (at < bytes) {
            failure_set(failure, "run refuses %s, but only after writing %s, byte offset %zu", what,
                        t->shapes[id].name, at);
            return false;
        }
    }
    return true;
}

static bool run_refuses(trial *t, const run_call *call, const char *what, check_failure *failure) {
    trial_enter(t);
    armq_status status = call_run_safely(t->provider, &t->c.desc, t->plan, &call->args);
    trial_leave(t);
    trial_inspect(t);
    if (status == ARMQ_OK) {
        failure_set(failure, "run accepts %s", what);
        return false;
    }
    if (status != ARMQ_INVALID_ARGUMENT && status != ARMQ_UNSUPPORTED) {
        failure_set(failure, "run refuses %s, but by status %d", what, (int)status);
        return false;
    }
    return outputs_untouched(t, what, failure);
}

/* Content as in the case; NULL: there is none, or no memory. */
static int32_t *fresh_ids(const trial *t, int32_t *ids) {
    if (ids)
        memcpy(ids, t->in->data.at[OPERAND_TOPK_IDS], t->buffers[OPERAND_TOPK_IDS].bytes);
    return ids;
}

/* Callers of a later header know more fields, all of them zero here. */
static bool runs_for_later_callers(trial *t, check_failure *failure) {
    struct {
        armq_desc d;
        uint64_t more[4];
    } desc = {.d = t->c.desc};
    struct {
        armq_args a;
        uint64_t more[4];
    } args = {.more = {0}};
    armq_threads threads = threads_serial(t->c.threads);
    trial_args(t, &threads, &args.a);
    desc.d.size = sizeof desc;
    desc.d.dialect.size += sizeof desc.more;
    args.a.size = sizeof args;
    trial_enter(t);
    armq_status status = call_run_safely(t->provider, &desc.d, t->plan, &args.a);
    trial_leave(t);
    trial_inspect(t);
    if (status != ARMQ_OK)
        failure_set(failure, "run refuses structs of a later header, with status %d", (int)status);
    return status == ARMQ_OK;
}

bool arguments_of_run(trial *t, check_failure *failure) {
    if (!runs_for_later_callers(t, failure))
        return false;
    size_t bytes = t->buffers[OPERAND_TOPK_IDS].bytes;
    int32_t *ids = bytes ? malloc(bytes) : NULL;
    uint8_t *room =
        calloc(1, t->buffers[OPERAND_X].bytes + t->buffers[OPERAND_Y].bytes + sizeof(double));
    bool ok = true;
    trial_poison(t, 1);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0] && ok; i++) {
        run_call call = {.t = t,
                         .threads = threads_serial(t->c.threads),
                         .ids = fresh_ids(t, ids),
                         .room = room};
        trial_args(t, &call.threads, &call.args);
        ok = !runs[i].spoil(&call) || run_refuses(t, &call, runs[i].what, failure);
    }
    free(room);
    free(ids);
    return ok;
}

/* --- pack ------------------------------------------------------------------------------------- */

typedef struct {
    const trial *t;
    armq_weights weights;
    int32_t which;
    int64_t first, last;
    void *packed;
} pack_call;

typedef bool spoil_pack(pack_call *call);

/* Of the tensor that is packed, what the first one has as `id`. */
static operand_id of(const pack_call *call, operand_id id) {
    return (operand_id)(id + (call->which == 0 ? 0 : OPERAND_W2 - OPERAND_W));
}

static bool weights_no_size(pack_call *call) {
    call->weights.size = 0;
    return true;
}

static bool no_w(pack_call *call) {
    call->weights.w = NULL;
    return call->t->buffers[of(call, OPERAND_W)].bytes > 0;
}

static bool no_w_scales(pack_call *call) {
    call->weights.scales = NULL;
    return call->t->buffers[of(call, OPERAND_W_SCALES)].bytes > 0;
}

static bool no_w_zeros(pack_call *call) {
    call->weights.zero_points = NULL;
    return call->t->buffers[of(call, OPERAND_W_ZEROS)].bytes > 0;
}

static bool undeclared_zeros(pack_call *call) {
    call->weights.zero_points = call->t->buffers[of(call, OPERAND_W)].data;
    return !call->t->shapes[of(call, OPERAND_W_ZEROS)].present;
}

static bool undeclared_scales(pack_call *call) {
    call->weights.scales = call->t->buffers[of(call, OPERAND_W)].data;
    return !call->t->shapes[of(call, OPERAND_W_SCALES)].present;
}

static bool no_bias(pack_call *call) {
    call->weights.bias = NULL;
    return call->t->buffers[of(call, OPERAND_W_BIAS)].bytes > 0;
}

static bool undeclared_bias(pack_call *call) {
    call->weights.bias = call->t->buffers[of(call, OPERAND_W)].data;
    return !call->t->shapes[of(call, OPERAND_W_BIAS)].present;
}

static bool no_room(pack_call *call) {
    call->packed = NULL;
    return true;
}

static bool wrong_which(pack_call *call) {
    call->which = armq_op_is_moe(call->t->c.desc.op) ? 2 : 1;
    return true;
}

static bool negative_expert(pack_call *call) {
    call->first = -1;
    return true;
}

static bool expert_beyond(pack_call *call) {
    call->last++;
    return true;
}

static bool negative_which(pack_call *call) {
    call->which = -1;
    return true;
}

static bool backwards(pack_call *call) {
    call->first = call->last;
    call->last = 0;
    return call->first > 0;
}

static const struct {
    const char *what;
    spoil_pack *spoil;
} packs[] = {
    {"weights.size = 0", weights_no_size},
    {"w = NULL", no_w},
    {"scales = NULL", no_w_scales},
    {"zero_points = NULL, though the description has them", no_w_zeros},
    {"zero points that the description does not declare", undeclared_zeros},
    {"scales, though the op has none", undeclared_scales},
    {"bias = NULL, though the description has one", no_bias},
    {"a bias that the description does not declare", undeclared_bias},
    {"packed = NULL", no_room},
    {"which = 1 for an op with one weight tensor", wrong_which},
    {"first = -1", negative_expert},
    {"last beyond the experts there are", expert_beyond},
    {"which = -1", negative_which},
    {"first behind last", backwards},
};

static bool pack_refuses(trial *t, int32_t which, const pack_call *call, const char *what,
                         check_failure *failure) {
    const guarded *g = &t->buffers[OPERAND_PACKED + which];
    const char *tensor = which == 0 ? "" : " for w2";
    trial_enter(t);
    armq_status status = t->provider->pack(&t->c.desc, call->which, call->first, call->last,
                                           &call->weights, call->packed);
    trial_leave(t);
    if (status == ARMQ_OK) {
        failure_set(failure, "pack accepts %s%s", what, tensor);
        return false;
    }
    if (status != ARMQ_INVALID_ARGUMENT && status != ARMQ_UNSUPPORTED) {
        failure_set(failure, "pack refuses %s%s, but by status %d", what, tensor, (int)status);
        return false;
    }
    if (!t->packed[which] || memcmp(t->packed[which], g->data, g->bytes) == 0)
        return true;
    failure_set(failure, "pack refuses %s%s, but only after writing the packed weights", what,
                tensor);
    return false;
}

/* It may be refused, but nothing is packed. */
static bool packs_nothing(trial *t, int32_t which, check_failure *failure) {
    const guarded *g = &t->buffers[OPERAND_PACKED + which];
    if (!t->packed[which])
        return true;
    trial_spoil_packed(t, true);
    trial_enter(t);
    t->provider->pack(&t->c.desc, which, 0, 0, &t->weights[which], g->data);
    trial_leave(t);
    bool untouched = bytes_first_other(g->data, g->bytes, TRIAL_SPOILED) == g->bytes;
    trial_spoil_packed(t, false);
    if (!untouched)
        failure_set(failure, "pack of an empty range writes the packed weights");
    return untouched;
}

/* weights of a later header, whose other fields are zero: the same packed weights. */
static bool packs_for_later_callers(trial *t, int32_t which, check_failure *failure) {
    const guarded *g = &t->buffers[OPERAND_PACKED + which];
    struct {
        armq_weights w;
        uint64_t more[4];
    } weights = {.w = t->weights[which]};
    weights.w.size = sizeof weights;
    trial_enter(t);
    armq_status status = t->provider->pack(&t->c.desc, which, 0,
                                           armq_op_is_moe(t->c.desc.op) ? t->c.desc.experts : 1,
                                           &weights.w, g->data);
    trial_leave(t);
    if (status != ARMQ_OK)
        failure_set(failure, "pack refuses weights of a later header, with status %d", (int)status);
    return status == ARMQ_OK;
}

static bool all_packs(trial *t, int32_t which, check_failure *failure) {
    for (size_t i = 0; i < sizeof packs / sizeof packs[0]; i++) {
        pack_call call = {
            .t = t,
            .weights = t->weights[which],
            .which = which,
            .last = armq_op_is_moe(t->c.desc.op) ? t->c.desc.experts : 1,
            .packed = t->buffers[OPERAND_PACKED + which].data,
        };
        if (packs[i].spoil(&call) && !pack_refuses(t, which, &call, packs[i].what, failure))
            return false;
    }
    return true;
}

bool arguments_of_pack(trial *t, check_failure *failure) {
    bool hidden = !(t->support.claims & ARMQ_CLAIM_READS_AFTER_PACK);
    for (int id = OPERAND_W; id <= OPERAND_W2_BIAS && hidden; id++)
        guard_hide(&t->buffers[id], false);
    bool ok = true;
    for (int32_t which = 0; which < 2 && ok; which++) {
        /* Without weights there is nothing to pack, and nothing to get wrong. */
        operand_id w = which == 0 ? OPERAND_W : OPERAND_W2;
        if (t->c.desc.format != ARMQ_WEIGHT_NONE && t->buffers[w].bytes > 0 &&
            t->buffers[OPERAND_PACKED + which].bytes > 0)
            ok = all_packs(t, which, failure) && packs_nothing(t, which, failure) &&
                 packs_for_later_callers(t, which, failure);
    }
    for (int id = OPERAND_W; id <= OPERAND_W2_BIAS && hidden; id++)
        guard_hide(&t->buffers[id], true);
    return ok;
}
