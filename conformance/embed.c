/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/embed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/api/describe.h"
#include "kernels/api/names.h"

enum { TOKENS_MAX = 64, SLOTS_MAX = 8, FEW_SLOTS = 3 };

/* Operands up to this size are ordinary memory. */
static const size_t plain_max = (size_t)32 << 20;

/* Address space of all operands: an emulator keeps 8 MiB for each GiB of it. */
static const size_t address_space_max = (size_t)136 << 30;

static const int64_t two_31 = INT64_C(1) << 31, two_32 = INT64_C(1) << 32;

/* --- Places ----------------------------------------------------------------------------------- */

static void every_place(places *p, int64_t size) {
    *p = (places){.size = size, .count = size};
    for (int64_t i = 0; i < size; i++)
        p->at[i] = i;
}

/* Keeps them in order, each once. */
static void add_place(places *p, int64_t at) {
    int64_t i = p->count;
    if (at < 0 || at >= p->size || p->count == PLACES_MAX)
        return;
    while (i > 0 && p->at[i - 1] > at)
        i--;
    if (i > 0 && p->at[i - 1] == at)
        return;
    memmove(p->at + i + 1, p->at + i, (size_t)(p->count - i) * sizeof *p->at);
    p->at[i] = at;
    p->count++;
}

/* First, last, some between, and the first whose offset in some unit is 2^31 and 2^32. */
static void spread(places *p, int64_t size, const int64_t *units, int count) {
    if (size <= PLACES_MAX) {
        every_place(p, size);
        return;
    }
    *p = (places){.size = size};
    const int64_t usual[] = {0, 1, size / 3, size / 2 + 1, size - 2, size - 1};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        add_place(p, usual[i]);
    for (int i = 0; i < count; i++)
        for (int64_t limit = two_31; units[i] > 0 && limit <= two_32; limit += two_31) {
            add_place(p, (limit + units[i] - 1) / units[i]);
            add_place(p, (limit + units[i] - 1) / units[i] + 1);
        }
}

static bool is_int4(const armq_desc *d) {
    return d->format == ARMQ_WEIGHT_S4_LOW || d->format == ARMQ_WEIGHT_S4_WORD8;
}

/* Weights, their bytes, scales and zero points and what 2 and 4 bytes each take, y. */
static void place_channels(embedding *e) {
    const armq_desc *d = &e->large.desc;
    int64_t y = (int64_t)armq_dtype_bytes(d->out) * (d->n > 0 ? armq_y_row(d) / d->n : 1);
    int64_t groups = d->group_size > 0 ? d->k / d->group_size : 1;
    const int64_t units[] = {d->k,       is_int4(d) ? d->k / 2 : 0,       groups,
                             2 * groups, (int64_t)sizeof(float) * groups, y};
    spread(&e->channels, d->n, units, sizeof units / sizeof units[0]);
}

static void place_experts(embedding *e, const armq_support *s) {
    const armq_desc *d = &e->large.desc;
    int64_t elements = d->intermediate * d->hidden, length = d->group_size;
    const int64_t units[] = {2 * elements,
                             elements,
                             is_int4(d) ? elements / 2 : 0,
                             length > 0 ? 4 * (elements / length) : 0, /* bytes of w13_scales */
                             length > 0 ? 2 * (elements / length) : 0,
                             (int64_t)s->packed_expert_stride[0],
                             (int64_t)s->packed_expert_stride[1]};
    spread(&e->experts, d->experts, units, sizeof units / sizeof units[0]);
}

static void place_slots(embedding *e) {
    int64_t top_k = e->large.desc.top_k;
    if (top_k <= SLOTS_MAX) {
        every_place(&e->slots, top_k);
        return;
    }
    const int64_t few[FEW_SLOTS] = {0, top_k / 3, top_k - 1};
    e->slots = (places){.size = top_k};
    for (int i = 0; i < FEW_SLOTS; i++)
        add_place(&e->slots, few[i]);
}

static bool place(embedding *e, const armq_support *support, char *why, size_t why_bytes) {
    const armq_desc *d = &e->large.desc;
    place_channels(e);
    place_experts(e, support);
    place_slots(e);
    if (d->tokens > TOKENS_MAX) {
        snprintf(why, why_bytes, "tokens = %" PRId64 "; with memory=sparse at most %d are allowed",
                 d->tokens, TOKENS_MAX);
        return false;
    }
    if (d->top_k > SLOTS_MAX && !(d->uses & ARMQ_USES_SKIP_IDS)) {
        snprintf(why, why_bytes, "top_k = %" PRId64 " needs skip_ids=1 with memory=sparse",
                 d->top_k);
        return false;
    }
    e->small = e->large;
    e->small.sparse = false;
    e->small.x_pad = e->small.y_pad = 0;
    e->small.threads = e->small.desc.max_threads = 1;
    e->small.desc.uses &= ~(uint32_t)(ARMQ_USES_X_STRIDE | ARMQ_USES_Y_STRIDE);
    e->small.desc.n = e->channels.count;
    e->small.desc.experts = e->experts.count;
    e->small.desc.top_k = e->slots.count;
    return true;
}

/* --- Memory ----------------------------------------------------------------------------------- */

static bool is_far(const operand_shape *shape) { return shape->bytes > plain_max; }

/* What a negative offset of 32 bits can reach, or a negative stride. */
static size_t reach_below(const operand_shape *shape) {
    size_t element = shape->dtype == ARMQ_DTYPE_NONE ? 1 : armq_dtype_bytes(shape->dtype);
    size_t steps = shape->rows > 1 && shape->stride >= two_31 ? (size_t)shape->rows - 1 : 1;
    return shape->bytes > (size_t)two_31 ? steps * (size_t)two_31 * element : 0;
}

static bool fits_address_space(const embedding *e, char *why, size_t why_bytes) {
    size_t all = 0;
    for (int id = 0; id < OPERAND_COUNT; id++) {
        const operand_shape *shape = &e->shapes[id];
        if (__builtin_add_overflow(all, shape->present ? shape->bytes : 0, &all))
            all = SIZE_MAX / 2;
        all += shape->present ? reach_below(shape) : 0;
    }
    if (all <= address_space_max)
        return true;
    snprintf(why, why_bytes, "%zu GiB of address space are needed, %zu are used at most", all >> 30,
             address_space_max >> 30);
    return false;
}

static bool open_operand(embedding *e, operand_id id) {
    const operand_shape *shape = &e->shapes[id];
    if (!is_far(shape))
        return guard_open(&e->buffers[id], shape->name, shape->bytes, shape->align, GUARD_END);
    sparse_kind kind = id == OPERAND_TOPK_IDS ? SPARSE_IDS
                       : operand_is_input(id) ? SPARSE_ZEROS
                                              : SPARSE_WRITTEN;
    return sparse_open(&e->regions[id], shape->name, kind, shape->bytes, reach_below(shape),
                       shape->align);
}

static bool open_operands(embedding *e, char *why, size_t why_bytes) {
    for (operand_id id = 0; id < OPERAND_COUNT; id++) {
        if (!e->shapes[id].present)
            continue;
        if (!open_operand(e, id)) {
            snprintf(why, why_bytes, "no memory for %s (%zu bytes)", e->shapes[id].name,
                     e->shapes[id].bytes);
            return false;
        }
        if (e->shapes[id].bytes)
            e->data.at[id] = is_far(&e->shapes[id]) ? e->regions[id].data : e->buffers[id].data;
    }
    return true;
}

/* `bytes` at an offset into an operand, ready to be written; NULL if that fails. */
static uint8_t *expose(embedding *e, operand_id id, size_t offset, size_t bytes) {
    if (is_far(&e->shapes[id]) && !sparse_expose(&e->regions[id], offset, bytes))
        return NULL;
    return (uint8_t *)e->data.at[id] + offset;
}

/* --- Inputs ----------------------------------------------------------------------------------- */

static bool put(embedding *e, operand_id id, size_t offset, const void *from, size_t bytes) {
    uint8_t *to = bytes ? expose(e, id, offset, bytes) : NULL;
    if (to)
        memcpy(to, from, bytes);
    return to || bytes == 0;
}

static bool fill_x(embedding *e) {
    const operand_shape *to = &e->shapes[OPERAND_X], *from = &e->in->shapes[OPERAND_X];
    size_t element = armq_dtype_bytes(to->dtype);
    const uint8_t *row = e->in->data.at[OPERAND_X];
    bool ok = true;
    for (int64_t i = 0; row && ok && i < to->rows; i++)
        ok = put(e, OPERAND_X, (size_t)(i * to->stride) * element,
                 row + (size_t)(i * from->stride) * element, (size_t)to->row * element);
    return ok;
}

/* [tokens, top_k] of 4 bytes each: ids or weights. */
static bool fill_slots(embedding *e, operand_id id) {
    const uint8_t *from = e->in->data.at[id];
    bool ok = true;
    if (from && !is_far(&e->shapes[id]))
        memset(e->data.at[id], id == OPERAND_TOPK_IDS ? 0xff : 0, e->shapes[id].bytes);
    for (int64_t i = 0; from && ok && i < e->large.desc.tokens * e->slots.count; i++) {
        int64_t token = i / e->slots.count, slot = e->slots.at[i % e->slots.count];
        size_t at = (size_t)(token * e->slots.size + slot) * 4;
        int32_t value;
        memcpy(&value, from + i * 4, 4);
        if (id == OPERAND_TOPK_IDS && value >= 0)
            value = (int32_t)e->experts.at[value];
        ok = put(e, id, at, &value, 4);
    }
    return ok;
}

/* [experts, channels, ..], the experts or the channels of which are far apart. */
static bool fill_weights(embedding *e, operand_id id) {
    bool moe = armq_op_is_moe(e->large.desc.op);
    const places *p = moe ? &e->experts : &e->channels;
    const uint8_t *from = e->in->data.at[id];
    size_t bytes = from && p->count ? e->in->shapes[id].bytes / (size_t)p->count : 0;
    bool ok = true;
    if (from && !is_far(&e->shapes[id]))
        memset(e->data.at[id], 0, e->shapes[id].bytes);
    for (int64_t i = 0; from && ok && i < p->count; i++)
        ok = put(e, id, (size_t)p->at[i] * bytes, from + (size_t)i * bytes, bytes);
    return ok;
}

static bool fill(embedding *e) {
    bool ok = fill_x(e);
    for (operand_id id = OPERAND_W; ok && operand_is_input(id); id++)
        if (e->shapes[id].present)
            ok = inputs_per_token(id) ? fill_slots(e, id) : fill_weights(e, id);
    return ok;
}

bool embed_open(embedding *e, const armq_case *c, const armq_support *support, char *why,
                size_t why_bytes) {
    memset(e, 0, sizeof *e);
    e->large = *c;
    operand_shapes(c, support, e->shapes);
    if (!place(e, support, why, why_bytes) || !fits_address_space(e, why, why_bytes) ||
        !open_operands(e, why, why_bytes))
        return false;
    e->in = inputs_get(&e->small);
    bool ok = e->in && fill(e);
    if (ok)
        operand_weights(&e->large, &e->data, e->weights);
    else
        snprintf(why, why_bytes, "no memory, or no data=%s for this op", data_kind_name(c->data));
    return ok;
}

void embed_close(embedding *e) {
    for (int id = 0; id < OPERAND_COUNT; id++) {
        sparse_close(&e->regions[id]);
        guard_close(&e->buffers[id]);
    }
    inputs_release(e->in);
    e->in = NULL;
}

static const void *advance(const void *at, size_t bytes) {
    return at ? (const uint8_t *)at + bytes : NULL;
}

armq_weights embed_weights(const embedding *e, int32_t which, int64_t first) {
    armq_weights w = e->weights[which];
    operand_id id = which == 0 ? OPERAND_W : OPERAND_W2;
    size_t experts = armq_op_is_moe(e->large.desc.op) ? (size_t)e->large.desc.experts : 1;
    size_t skipped = (size_t)first;
    w.w = advance(w.w, e->shapes[id].bytes / experts * skipped);
    w.scales = advance(w.scales, e->shapes[id + 1].bytes / experts * skipped);
    w.zero_points = advance(w.zero_points, e->shapes[id + 2].bytes / experts * skipped);
    w.bias = advance(w.bias, e->shapes[id + 3].bytes / experts * skipped);
    return w;
}

/* --- Outputs ---------------------------------------------------------------------------------- */

/* Elements of y that belong together: those of a channel, or a whole row. */
static int64_t y_unit(const embedding *e) {
    int64_t row = armq_y_row(&e->large.desc), n = e->large.desc.n;
    return n > 0 ? row / n : row;
}

static int64_t y_units(const embedding *e) {
    return e->large.desc.n > 0 ? e->channels.count : armq_y_row(&e->large.desc) > 0;
}

/* Where unit `unit` of a token starts in the large y, in elements. */
static int64_t y_offset(const embedding *e, int64_t token, int64_t unit) {
    int64_t channel = e->large.desc.n > 0 ? e->channels.at[unit] : 0;
    return token * e->shapes[OPERAND_Y].stride + channel * y_unit(e);
}

int64_t embed_column(const embedding *e, int64_t column) {
    return y_offset(e, 0, column / y_unit(e)) + column % y_unit(e);
}

static bool poison_y(embedding *e) {
    size_t element = armq_dtype_bytes(e->large.desc.out), bytes = (size_t)y_unit(e) * element;
    for (int64_t i = 0; i < e->large.desc.tokens; i++)
        for (int64_t unit = 0; unit < y_units(e); unit++) {
            uint8_t *at = expose(e, OPERAND_Y, (size_t)y_offset(e, i, unit) * element, bytes);
            if (!at)
                return false;
            memset(at, 0xff, bytes);
        }
    return true;
}

bool embed_poison(embedding *e) {
    for (operand_id id = OPERAND_Y_SCALES; id < OPERAND_COUNT; id++)
        if (e->data.at[id])
            memset(e->data.at[id], 0xff, e->shapes[id].bytes);
    return !e->data.at[OPERAND_Y] || poison_y(e);
}

static void gather_y(const embedding *e, uint8_t *to) {
    size_t element = armq_dtype_bytes(e->large.desc.out), bytes = (size_t)y_unit(e) * element;
    const uint8_t *y = e->data.at[OPERAND_Y];
    for (int64_t i = 0; i < e->large.desc.tokens; i++)
        for (int64_t unit = 0; unit < y_units(e); unit++, to += bytes)
            memcpy(to, y + (size_t)y_offset(e, i, unit) * element, bytes);
}

bool embed_outputs(const embedding *e, void *got[OPERAND_COUNT]) {
    bool ok = true;
    for (operand_id id = OPERAND_Y; id < OPERAND_COUNT; id++) {
        const operand_shape *small = &e->in->shapes[id];
        got[id] = NULL;
        if (!e->data.at[id] || !small->bytes)
            continue;
        got[id] = malloc(small->bytes);
        ok = ok && got[id];
        if (got[id] && id == OPERAND_Y)
            gather_y(e, got[id]);
        else if (got[id])
            memcpy(got[id], e->data.at[id], small->bytes);
    }
    return ok;
}
