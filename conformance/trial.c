/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/trial.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/allocations.h"
#include "conformance/fp_control.h"
#include "conformance/headroom.h"
#include "harness/generate.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

/* Above any of them, a call or a copy costs too much to be repeated for every check. */
static const int64_t large_macs = INT64_C(64) << 20;
static const int64_t large_macs_bf16 = INT64_C(4) << 20; /* a tenth of the speed, emulated */
static const int64_t large_weights = INT64_C(16) << 20;
static const double large_tokens = 4.0 * 1048576.0; /* elements of x and y: ops without MACs */

bool trial_is_large(const armq_case *c) {
    const armq_desc *d = &c->desc;
    int64_t experts = d->experts > 0 ? d->experts : 1;
    if ((double)d->tokens * ((double)armq_x_row(d) + (double)armq_y_row(d)) > large_tokens)
        return true;
    return case_macs(c) > (armq_op_is_bf16(d->op) ? large_macs_bf16 : large_macs) ||
           d->n * d->k > large_weights || experts * d->hidden * d->intermediate > large_weights / 3;
}

void failure_set(check_failure *failure, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(failure->detail, sizeof failure->detail, format, args);
    va_end(args);
}

void failure_unjudged(check_failure *failure, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(failure->detail, sizeof failure->detail, format, args);
    va_end(args);
    failure->unjudged = true;
}

void failure_element(check_failure *failure, const char *operand, int64_t row, int64_t column,
                     double got, double wanted) {
    failure->has_element = true;
    snprintf(failure->operand, sizeof failure->operand, "%s", operand);
    failure->row = row;
    failure->column = column;
    failure->got = got;
    failure->lo = failure->mid = failure->hi = wanted;
}

static bool is_weight(operand_id id) { return id >= OPERAND_W && id <= OPERAND_W2_BIAS; }

static bool is_packed(operand_id id) { return id == OPERAND_PACKED || id == OPERAND_PACKED2; }

static bool weights_hidden_in_run(const trial *t) {
    return !(t->support.claims & ARMQ_CLAIM_READS_AFTER_PACK);
}

static void hide_weights(trial *t, bool hidden) {
    for (operand_id id = OPERAND_W; is_weight(id); id++)
        if (t->buffers[id].mapping)
            guard_hide(&t->buffers[id], hidden);
    t->hidden = hidden;
}

static void data_of(const trial *t, operands *data) {
    for (int id = 0; id < OPERAND_COUNT; id++) {
        const guarded *g = &t->buffers[id];
        /* An empty tensor may be NULL or point to memory that must not be touched: both are tried.
         */
        bool null = !g->mapping || (g->bytes == 0 && t->side == GUARD_START);
        data->at[id] = null ? NULL : g->data;
    }
}

const operands *trial_inputs(trial *t, operands *storage) {
    if (t->in)
        return &t->in->data;
    hide_weights(t, false);
    data_of(t, storage);
    return storage;
}

/* --- Damage ----------------------------------------------------------------------------------- */

static bool note(damage *d, const char *operand) {
    if (d->found)
        return false;
    d->found = true;
    snprintf(d->failure.operand, sizeof d->failure.operand, "%s", operand);
    return true;
}

static void inspect_canaries(trial *t, operand_id id) {
    int64_t offset;
    if (guard_intact(&t->buffers[id], &offset))
        return;
    t->placed = false;
    int64_t bytes = (int64_t)t->buffers[id].bytes;
    bool before = offset < 0;
    if (note(&t->root->trampled, t->shapes[id].name))
        failure_set(&t->root->trampled.failure,
                    "%s (%" PRId64 " bytes): wrote %" PRId64 " bytes %s of it (byte offset %" PRId64
                    ")",
                    t->shapes[id].name, bytes, before ? -offset : offset - bytes + 1,
                    before ? "before the start" : "past the end", offset);
}

static void compare_content(trial *t, operand_id id, const void *wanted) {
    const uint8_t *got = t->buffers[id].data, *want = wanted;
    size_t bytes = t->buffers[id].bytes, i = 0;
    if (!wanted || !got || memcmp(got, want, bytes) == 0)
        return;
    t->placed = false;
    while (got[i] == want[i])
        i++;
    if (!note(&t->root->changed, t->shapes[id].name))
        return;
    check_failure *failure = &t->root->changed.failure;
    size_t element = armq_dtype_bytes(t->shapes[id].dtype);
    if (element) {
        int64_t index = (int64_t)(i / element), stride = t->shapes[id].stride;
        failure_element(failure, t->shapes[id].name, index / stride, index % stride,
                        armq_load(t->shapes[id].dtype, got, index),
                        armq_load(t->shapes[id].dtype, want, index));
    }
    failure_set(failure, "%s changed at byte offset %zu of %zu: 0x%02x was 0x%02x",
                t->shapes[id].name, i, bytes, got[i], want[i]);
}

/* Eight bytes a step; any single change alters it, as each step is a bijection. */
static uint64_t checksum(uint64_t sum, const void *data, size_t bytes) {
    const uint8_t *p = data;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    for (; bytes; bytes--, p++)
        sum = (sum ^ *p) * UINT64_C(0x9e3779b97f4a7c15);
    return sum;
}

static void keep_checksums(trial *t, operand_id first, operand_id last) {
    for (operand_id id = first; t->large && id <= last; id++) {
        t->summed[id] = t->buffers[id].mapping != NULL;
        if (t->summed[id])
            t->sums[id] = checksum(0, t->buffers[id].data, t->buffers[id].bytes);
    }
}

static void compare_checksum(trial *t, operand_id id) {
    if (!t->summed[id])
        return;
    uint64_t got = checksum(0, t->buffers[id].data, t->buffers[id].bytes);
    if (got != t->sums[id] && note(&t->root->changed, t->shapes[id].name))
        failure_set(&t->root->changed.failure,
                    "%s changed (checksum %016" PRIx64 ", was %016" PRIx64 ")", t->shapes[id].name,
                    got, t->sums[id]);
}

void trial_inspect(trial *t) {
    for (operand_id id = 0; id < OPERAND_COUNT; id++) {
        if (!t->buffers[id].mapping || (t->hidden && is_weight(id)))
            continue;
        inspect_canaries(t, id);
        if (t->in && operand_is_input(id))
            compare_content(t, id, t->in->data.at[id]);
        if (is_packed(id))
            compare_content(t, id, t->packed[id - OPERAND_PACKED]);
        compare_checksum(t, id);
    }
}

void trial_enter(trial *t) { trial_enter_many(t, 1); }

void trial_enter_many(trial *t, int64_t calls) {
    t->fp_before = fp_control_get();
    watch_call_begin(t->watch, watch_allowance(&t->c, calls));
}

void trial_leave(trial *t) {
    watch_call_end(t->watch);
    uint64_t after = fp_control_get();
    if (after == t->fp_before)
        return;
    fp_control_set(t->fp_before);
    if (note(&t->root->fp_control, ""))
        failure_set(&t->root->fp_control.failure,
                    "FPCR was 0x%" PRIx64 " before a call and is 0x%" PRIx64 " after", t->fp_before,
                    after);
}

/* --- Set-up ----------------------------------------------------------------------------------- */

/* No page of any Arm kernel is larger, and nothing needs to be aligned to more than a page. */
static const uint32_t largest_align = 64 << 10;

static bool align_is_sane(uint32_t align) {
    return align > 0 && align <= largest_align && (align & (align - 1)) == 0;
}

static bool support_is_sane(const armq_support *s, check_failure *failure) {
    const uint32_t known = ((uint32_t)ARMQ_CLAIM_NONFINITE_ROW_NAN << 1) - 1;
    if (!align_is_sane(s->workspace_align) || !align_is_sane(s->packed_align))
        failure_set(failure,
                    "query answers workspace_align = %" PRIu32 ", packed_align = %" PRIu32
                    "; powers of two up to %" PRIu32 " are allowed",
                    s->workspace_align, s->packed_align, largest_align);
    else if (s->claims & ~known)
        failure_set(failure, "query answers claims = 0x%" PRIx32 "; 0x%" PRIx32 " are unknown",
                    s->claims, s->claims & ~known);
    else if (!memchr(s->kernel, '\0', sizeof s->kernel))
        failure_set(failure, "query answers a kernel name without an end");
    else if (s->tile_m < 1 || s->tile_n < 1 || s->tile_k < 1)
        failure_set(failure,
                    "query answers tiles of %" PRId64 " x %" PRId64 " x %" PRId64
                    "; 1 and more are allowed (edge sweeps derive from them)",
                    s->tile_m, s->tile_n, s->tile_k);
    else
        return true;
    return false;
}

/* Beyond any address space: not memory is short, but query answers nonsense. */
static const size_t largest_buffer = (size_t)1 << 46;

/* So much at once that the system might end a process rather than refuse: looked for beforehand. */
static const double much_memory = 256.0 * 1048576.0;

static bool memory_suffices(const trial *t, check_failure *failure) {
    double needed = 0.0;
    for (operand_id id = 0; id < OPERAND_COUNT; id++) /* and a copy, unless the case is large */
        if (t->shapes[id].present)
            needed += (t->large ? 1.0 : 2.0) * (double)t->shapes[id].bytes;
    double available = needed > much_memory ? headroom_bytes() : needed;
    if (needed > available)
        failure_unjudged(failure, "not enough memory: %.3g GB are needed, %.3g GB are available",
                         needed * 1e-9, available * 1e-9);
    return needed <= available;
}

static bool sizes_are_sane(const trial *t, check_failure *failure) {
    for (operand_id id = OPERAND_PACKED; id <= OPERAND_WORKSPACE; id++)
        if (t->shapes[id].present && t->shapes[id].bytes > largest_buffer) {
            failure_set(failure, "query asks for a %s of %zu bytes", t->shapes[id].name,
                        t->shapes[id].bytes);
            return false;
        }
    return true;
}

static bool open_buffers(trial *t, guard_side side, check_failure *failure) {
    for (operand_id id = 0; id < OPERAND_COUNT; id++) {
        const operand_shape *shape = &t->shapes[id];
        if (shape->present &&
            !guard_open(&t->buffers[id], shape->name, shape->bytes, shape->align, side)) {
            failure_unjudged(failure, "not enough memory for %s (%zu bytes)", shape->name,
                             shape->bytes);
            return false;
        }
    }
    return true;
}

static bool fill_inputs(trial *t, check_failure *failure) {
    for (operand_id id = 0; operand_is_input(id); id++) {
        if (!t->buffers[id].bytes)
            continue;
        if (t->in) {
            memcpy(t->buffers[id].data, t->in->data.at[id], t->buffers[id].bytes);
        } else if (!generate_operand(&t->c, id, &t->shapes[id], t->buffers[id].data)) {
            failure_set(failure, "data=%s does not exist for this op", data_kind_name(t->c.data));
            return false;
        }
    }
    return true;
}

static bool keep_packed(trial *t, check_failure *failure) {
    keep_checksums(t, OPERAND_PACKED, OPERAND_PACKED2);
    for (int which = 0; which < 2 && !t->large; which++) {
        const guarded *g = &t->buffers[OPERAND_PACKED + which];
        if (!g->bytes)
            continue;
        if (!t->packed[which])
            t->packed[which] = malloc(g->bytes);
        if (!t->packed[which]) {
            failure_unjudged(failure, "not enough memory for a copy of %s (%zu bytes)", g->name,
                             g->bytes);
            return false;
        }
        memcpy(t->packed[which], g->data, g->bytes);
    }
    return true;
}

static bool call_failed(check_failure *failure, const char *what, armq_status status) {
    failure_set(failure, "%s returned %s (%d), though query accepted the case", what,
                armq_status_name(status), (int)status);
    return false;
}

static bool pack(trial *t, const operands *data, check_failure *failure) {
    /* What pack leaves unwritten must not matter: other bytes each time. */
    for (int id = OPERAND_PACKED; id <= OPERAND_PACKED2; id++)
        if (t->buffers[id].bytes)
            memset(t->buffers[id].data, t->side == GUARD_END ? 0xff : 0x5a, t->buffers[id].bytes);
    if (t->c.desc.format == ARMQ_WEIGHT_NONE)
        return true;
    if (!t->provider->pack) {
        failure_set(failure, "the provider has no pack, but query accepted an op with weights");
        return false;
    }
    /* Experts in one go, or in pieces: the same weights. */
    bool whole = t->side == GUARD_END;
    trial_enter(t);
    armq_status status = (whole ? operand_pack : operand_pack_pieces)(
        t->provider, &t->c, t->weights, &t->support, data);
    trial_leave(t);
    return status == ARMQ_OK
               ? true
               : call_failed(failure, whole ? "pack" : "pack of a range of experts", status);
}

static bool prepare(trial *t, const operands *data, check_failure *failure) {
    const void *packed[2] = {data->at[OPERAND_PACKED], data->at[OPERAND_PACKED2]};
    if (!t->provider->prepare)
        return true;
    armq_desc desc = t->c.desc; /* a plan may keep `packed`, and nothing else */
    trial_enter(t);
    armq_status status = t->provider->prepare(&desc, packed, &t->plan);
    trial_leave(t);
    memset(&desc, 0xff, sizeof desc);
    memset(packed, 0xff, sizeof packed);
    return status == ARMQ_OK ? true : call_failed(failure, "prepare", status);
}

void trial_release_plan(trial *t) {
    if (t->plan && t->provider->release) {
        trial_enter(t);
        t->provider->release(t->plan);
        trial_leave(t);
    }
    t->plan = NULL;
}

static void forget_packed(trial *t) {
    for (int which = 0; which < 2; which++) {
        free(t->packed[which]);
        t->packed[which] = NULL;
        t->summed[OPERAND_PACKED + which] = false;
    }
}

bool trial_place(trial *t, guard_side side, check_failure *failure) {
    operands data;
    trial_release_plan(t);
    t->placed = false;
    t->side = side;
    forget_packed(t);
    hide_weights(t, false);
    for (operand_id id = 0; id < OPERAND_COUNT; id++)
        if (t->buffers[id].mapping)
            guard_place(&t->buffers[id], side);
    if (!fill_inputs(t, failure))
        return false;
    keep_checksums(t, OPERAND_X, OPERAND_PACKED - 1);
    data_of(t, &data);
    operand_weights(&t->c, &data, t->weights);
    if (!pack(t, &data, failure))
        return false;
    trial_inspect(t);
    if (!keep_packed(t, failure) || !prepare(t, &data, failure))
        return false;
    if (weights_hidden_in_run(t))
        hide_weights(t, true);
    t->placed = true;
    return true;
}

bool trial_adopt_packed(trial *d, const trial *t, const char *what, check_failure *failure) {
    operands data;
    if (d->c.desc.format == ARMQ_WEIGHT_NONE || d->large)
        return true;
    trial_release_plan(d);
    for (int which = 0; which < 2; which++) {
        const guarded *g = &d->buffers[OPERAND_PACKED + which];
        if (d->support.packed_bytes[which] != t->support.packed_bytes[which] ||
            d->support.packed_expert_stride[which] != t->support.packed_expert_stride[which]) {
            failure_set(failure,
                        "%s: packed_bytes = %zu, packed_expert_stride = %zu, else %zu and %zu: "
                        "weights are packed once",
                        what, d->support.packed_bytes[which],
                        d->support.packed_expert_stride[which], t->support.packed_bytes[which],
                        t->support.packed_expert_stride[which]);
            return false;
        }
        if (!g->bytes || !t->packed[which] || !d->packed[which])
            continue;
        memcpy(g->data, t->packed[which], g->bytes);
        memcpy(d->packed[which], t->packed[which], g->bytes);
    }
    data_of(d, &data);
    return prepare(d, &data, failure);
}

void trial_spoil_packed(trial *t, bool spoiled) {
    for (int which = 0; which < 2; which++) {
        const guarded *g = &t->buffers[OPERAND_PACKED + which];
        if (t->packed[which] && spoiled)
            memset(g->data, TRIAL_SPOILED, g->bytes);
        else if (t->packed[which])
            memcpy(g->data, t->packed[which], g->bytes);
    }
}

static bool allocate_base(trial *t, check_failure *failure) {
    for (operand_id id = OPERAND_Y; id < OPERAND_COUNT; id++) {
        const operand_shape *shape = &t->shapes[id];
        if (!shape->present || !shape->bytes)
            continue;
        t->base[id] = malloc((size_t)(shape->rows * shape->row) * armq_dtype_bytes(shape->dtype));
        if (!t->base[id]) {
            failure_unjudged(failure, "not enough memory for a copy of %s (%zu bytes)", shape->name,
                             shape->bytes);
            return false;
        }
    }
    return true;
}

/* The one kind of case that every provider must refuse, and say why. */
static trial_state judge_group_refusal(const trial *t, armq_status status, const char *name,
                                       int64_t size, check_failure *failure) {
    char numbers[2][24];
    snprintf(numbers[0], sizeof numbers[0], "%" PRId64, t->c.desc.group_size);
    snprintf(numbers[1], sizeof numbers[1], "%" PRId64, size);
    if (status == ARMQ_OK)
        failure_set(failure, "query accepts group_size = %s, which does not divide %s = %s",
                    numbers[0], name, numbers[1]);
    else if (strstr(t->support.reason, numbers[0]) && strstr(t->support.reason, numbers[1]))
        return TRIAL_REFUSED;
    else
        failure_set(failure,
                    "query refuses group_size = %s, which does not divide %s = %s, but its reason "
                    "does not name both: %.80s",
                    numbers[0], name, numbers[1],
                    t->support.reason[0] ? t->support.reason : "none");
    return TRIAL_BROKEN;
}

/* Every other case is valid, so that a provider may do it or not do it, and nothing else. */
static trial_state query(trial *t, check_failure *failure) {
    t->support.size = sizeof t->support;
    trial_enter(t);
    armq_status status = t->provider->query(&t->c.desc, &t->support);
    trial_leave(t);
    t->support.reason[sizeof t->support.reason - 1] = '\0';
    const char *name;
    int64_t size;
    if (!case_groups_divide(&t->c, &name, &size))
        return judge_group_refusal(t, status, name, size, failure);
    if (status == ARMQ_OK) {
        bool sane = support_is_sane(&t->support, failure);
        t->support.kernel[sizeof t->support.kernel - 1] = '\0';
        return sane ? TRIAL_READY : TRIAL_BROKEN;
    }
    if (status == ARMQ_UNSUPPORTED)
        return TRIAL_REFUSED;
    failure_set(failure,
                "query returned %s (%d) for a valid description, where only ARMQ_OK and "
                "ARMQ_UNSUPPORTED are allowed; its reason: %.120s",
                armq_status_name(status), (int)status,
                t->support.reason[0] ? t->support.reason : "none");
    return TRIAL_BROKEN;
}

/* Everything up to and including the base run. t->c, provider, in, large, root, result and watch
 * are set. */
static trial_state start(trial *t, guard_side side, check_failure *failure) {
    trial_state answer = query(t, failure);
    if (answer != TRIAL_READY)
        return answer;
    if (t->c.sparse)
        return TRIAL_READY;
    operand_shapes(&t->c, &t->support, t->shapes);
    if (!sizes_are_sane(t, failure) || !memory_suffices(t, failure))
        return TRIAL_BROKEN;
    if (!t->large && !t->in && !(t->in = inputs_get(&t->c))) {
        failure_unjudged(failure, "not enough memory for the inputs (or no data=%s for this op)",
                         data_kind_name(t->c.data));
        return TRIAL_BROKEN;
    }
    if (!open_buffers(t, side, failure) || !allocate_base(t, failure) ||
        !trial_place(t, side, failure) ||
        !trial_runs(t, &(call_options){.side = side}, "run", failure))
        return TRIAL_BROKEN;
    trial_copy_outputs(t, t->base);
    return TRIAL_READY;
}

static uint64_t input_hash(trial *t) {
    operands storage;
    return t->in ? t->in->hash : generate_hash(&t->c, t->shapes, trial_inputs(t, &storage));
}

static void bind_threads(armq_case *c) {
    if (c->threads < 1)
        c->threads = 1;
    if (c->desc.max_threads < c->threads)
        c->desc.max_threads = c->threads;
}

bool trial_open(trial *t, const armq_case *c, const armq_provider *provider, case_result *result,
                watch *w, check_failure *failure) {
    *t = (trial){.c = *c, .provider = provider, .result = result, .watch = w};
    t->root = t;
    t->large = trial_is_large(c);
    bind_threads(&t->c);
    trial_state state = start(t, GUARD_END, failure);
    snprintf(result->kernel, sizeof result->kernel, "%s", t->support.kernel);
    result->claims = t->support.claims;
    if (state == TRIAL_READY) {
        result->input_hash = c->sparse ? 0 : input_hash(t);
        return true;
    }
    bool unjudged = state == TRIAL_BROKEN && failure->unjudged;
    result->status = state == TRIAL_REFUSED || unjudged ? CASE_SKIPPED : CASE_FAILED;
    if (unjudged)
        snprintf(result->reason, sizeof result->reason, "%.*s", (int)sizeof result->reason - 1,
                 failure->detail);
    else if (state == TRIAL_REFUSED)
        snprintf(result->reason, sizeof result->reason, "%s",
                 t->support.reason[0] ? t->support.reason : "refused by query without a reason");
    return false;
}

trial_state trial_derive(trial *d, trial *t, const armq_case *c, const inputs *in, guard_side side,
                         check_failure *failure) {
    *d =
        (trial){.c = *c, .provider = t->provider, .in = in, .result = t->result, .watch = t->watch};
    d->root = t->root;
    bind_threads(&d->c);
    return start(d, side, failure);
}

void trial_close(trial *t) {
    trial_release_plan(t);
    for (int id = 0; id < OPERAND_COUNT; id++) {
        guard_close(&t->buffers[id]);
        free(t->base[id]);
    }
    forget_packed(t);
    inputs_release(t->in);
    t->in = NULL;
}

void trial_swap_tokens(trial *t, const inputs *in) {
    inputs_release(t->in);
    t->in = in;
    for (operand_id id = 0; operand_is_input(id); id++)
        if (inputs_per_token(id) && t->buffers[id].bytes)
            memcpy(t->buffers[id].data, in->data.at[id], t->buffers[id].bytes);
}

/* --- Calls ------------------------------------------------------------------------------------ */

void trial_poison(trial *t, uint8_t poison) {
    for (int id = OPERAND_Y; id < OPERAND_COUNT; id++)
        if (t->buffers[id].bytes)
            memset(t->buffers[id].data, trial_poison_byte(poison), t->buffers[id].bytes);
}

/* Pseudo-random bytes, of a period that is no power of two. */
static void fill_random(uint64_t seed, uint8_t *to, size_t bytes) {
    uint64_t period[509];
    size_t words = bytes / 8 < 509 ? bytes / 8 + 1 : 509;
    for (size_t i = 0; i < words; i++)
        period[i] = random_u64(seed, OPERAND_WORKSPACE, i);
    for (size_t at = 0; at < bytes; at += sizeof period)
        memcpy(to + at, period, bytes - at < sizeof period ? bytes - at : sizeof period);
}

static void fill_workspace(trial *t, uint8_t garbage) {
    guarded *g = &t->buffers[OPERAND_WORKSPACE];
    if (g->bytes && garbage < 2)
        memset(g->data, garbage == 1 ? 0xff : 0, g->bytes);
    if (garbage == 2)
        fill_random(t->c.seed, g->data, g->bytes);
}

void trial_args(const trial *t, const armq_threads *threads, armq_args *args) {
    operands data;
    data_of(t, &data);
    operand_args(&t->c, &data, t->weights, t->support.claims, threads, args);
}

/* Not of the first call of a process, in which the C library gives a library that was loaded its
 * variables of a thread, nor of real threads. */
static void note_allocations(trial *t, const call_options *options, int64_t count) {
    static bool warm;
    if (warm && !options->threads)
        t->root->allocations += count;
    warm = true;
}

armq_status trial_call(trial *t, const call_options *options) {
    check_failure unused;
    if ((!t->placed || t->side != options->side) && !trial_place(t, options->side, &unused))
        return ARMQ_INVALID_ARGUMENT;
    if (t->large && weights_hidden_in_run(t))
        hide_weights(t, true);
    armq_threads own = threads_serial(t->c.threads);
    armq_args args;
    trial_args(t, options->threads ? options->threads : t->c.threads > 1 ? &own : NULL, &args);
    trial_poison(t, options->poison);
    fill_workspace(t, options->garbage);
    trial_enter(t);
    int64_t before = allocations_count();
    armq_status status = options->before ? call_run(t->provider, &t->c.desc, t->plan, &args,
                                                    options->before, options->after)
                                         : call_run_safely(t->provider, &t->c.desc, t->plan, &args);
    note_allocations(t, options, allocations_count() - before);
    trial_leave(t);
    trial_inspect(t);
    return status;
}

bool trial_runs(trial *t, const call_options *options, const char *what, check_failure *failure) {
    bool ready = t->placed && t->side == options->side;
    if (!ready && !trial_place(t, options->side, failure))
        return false;
    armq_status status = trial_call(t, options);
    return status == ARMQ_OK ? true : call_failed(failure, what, status);
}

/* --- Outputs ---------------------------------------------------------------------------------- */

token_span trial_token(const trial *t, operand_id id, int64_t i) {
    const operand_shape *s = &t->shapes[id];
    int64_t tokens = t->c.desc.tokens;
    if (s->rows == tokens)
        return (token_span){i * s->stride, i * s->row, s->row};
    int64_t each = s->rows * s->row / tokens; /* a vector with the same number for each token */
    return (token_span){i * each, i * each, each};
}

static const uint8_t *element_at(const void *data, int64_t index, size_t element) {
    return (const uint8_t *)data + (size_t)index * element;
}

void trial_copy_outputs(const trial *t, void *to[OPERAND_COUNT]) {
    for (operand_id id = OPERAND_Y; id < OPERAND_COUNT; id++) {
        size_t element = armq_dtype_bytes(t->shapes[id].dtype);
        for (int64_t i = 0; to[id] && i < t->c.desc.tokens; i++) {
            token_span span = trial_token(t, id, i);
            memcpy((uint8_t *)to[id] + (size_t)span.dense * element,
                   element_at(t->buffers[id].data, span.at, element), (size_t)span.count * element);
        }
    }
}

static void say_difference(check_failure *failure, const char *what, const operand_shape *shape,
                           int64_t row, int64_t column, const void *got, const void *want) {
    double is = armq_load(shape->dtype, got, column), was = armq_load(shape->dtype, want, column);
    size_t element = armq_dtype_bytes(shape->dtype);
    uint32_t is_bits = 0, was_bits = 0;
    memcpy(&is_bits, element_at(got, column, element), element);
    memcpy(&was_bits, element_at(want, column, element), element);
    failure_element(failure, shape->name, row, column, is, was);
    failure_set(failure,
                "%s: %s[%" PRId64 "][%" PRId64 "] is %.9g (0x%0*" PRIx32
                "), in the base run %.9g (0x%0*" PRIx32 ")",
                what, shape->name, row, column, is, (int)(2 * element), is_bits, was,
                (int)(2 * element), was_bits);
}

bool trial_same_token(const trial *t, int64_t i, const trial *base, int64_t j, const char *what,
                      check_failure *failure) {
    for (operand_id id = OPERAND_Y; id < OPERAND_COUNT; id++) {
        if (!t->base[id] || !base->base[id])
            continue;
        size_t element = armq_dtype_bytes(t->shapes[id].dtype);
        token_span here = trial_token(t, id, i), there = trial_token(base, id, j);
        const uint8_t *got = element_at(t->buffers[id].data, here.at, element);
        const uint8_t *want = element_at(base->base[id], there.dense, element);
        size_t bytes = (size_t)here.count * element, at = 0;
        if (memcmp(got, want, bytes) == 0)
            continue;
        while (got[at] == want[at])
            at++;
        say_difference(failure, what, &t->shapes[id], i, (int64_t)(at / element), got, want);
        return false;
    }
    return true;
}

bool trial_same(const trial *t, const trial *base, const char *what, check_failure *failure) {
    for (int64_t i = 0; i < t->c.desc.tokens; i++)
        if (!trial_same_token(t, i, base, i, what, failure))
            return false;
    return true;
}
