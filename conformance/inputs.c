/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "harness/generate.h"
#include "kernels/api/names.h"

/* Bytes between rows: not what the generator puts there, and large as f32 or bf16. */
static const int gap = 0xc6;

/* So many derived ones as the checks of one case make with the first provider. */
enum { KEPT = 4, KEPT_DERIVED = 32 };

/* Per process; workers do not share it. Most recent first. */
static const inputs *kept[KEPT], *kept_derived[KEPT_DERIVED];

bool inputs_per_token(operand_id id) {
    return id == OPERAND_X || id == OPERAND_TOPK_IDS || id == OPERAND_TOPK_WEIGHTS;
}

static void free_inputs(inputs *in) {
    for (int id = 0; id < OPERAND_COUNT; id++)
        if (in->owned[id])
            free(in->data.at[id]);
    if (in->weights_from)
        inputs_release(in->weights_from);
    for (int i = 0; i < 2; i++)
        expected_close(in->wanted[i]);
    free(in->kinds);
    free(in->rows);
    free(in);
}

void inputs_release(const inputs *in) {
    inputs *mine = (inputs *)(uintptr_t)in; /* users is not part of what readers see */
    if (in && --mine->users == 0)
        free_inputs(mine);
}

const inputs *inputs_share(const inputs *in) {
    ((inputs *)(uintptr_t)in)->users++;
    return in;
}

static inputs *new_inputs(const armq_case *c) {
    inputs *in = calloc(1, sizeof *in);
    if (!in)
        return NULL;
    in->c = *c;
    in->users = 1;
    operand_shapes(c, NULL, in->shapes);
    return in;
}

static bool allocate(inputs *in, operand_id id) {
    if (in->shapes[id].bytes == 0)
        return true;
    in->data.at[id] = malloc(in->shapes[id].bytes);
    in->owned[id] = in->data.at[id] != NULL;
    return in->owned[id];
}

static bool allocate_and_generate(inputs *in, operand_id id) {
    return allocate(in, id) &&
           (!in->data.at[id] || generate_operand(&in->c, id, &in->shapes[id], in->data.at[id]));
}

static inputs *generate(const armq_case *c) {
    inputs *in = new_inputs(c);
    if (!in)
        return NULL;
    for (operand_id id = 0; operand_is_input(id); id++) {
        if (in->shapes[id].present && !allocate_and_generate(in, id)) {
            free_inputs(in);
            return NULL;
        }
    }
    in->hash = generate_hash(c, in->shapes, &in->data);
    return in;
}

/* Moves what is at `index` (or is new in its place) to the front. */
static void keep(const inputs **list, int index, const inputs *in) {
    memmove((void *)(list + 1), (const void *)list, (size_t)index * sizeof *list);
    list[0] = in;
}

/* Bytes, as texts take longer than what is saved; what case_bind fills does not matter. A padding
 * byte that differs costs a second set of the same inputs, and nothing else. */
static bool same_case(const armq_case *a, const armq_case *b) {
    armq_case pair[2];
    memcpy(&pair[0], a, sizeof *a);
    memcpy(&pair[1], b, sizeof *b);
    for (int i = 0; i < 2; i++)
        case_bind(&pair[i], 0, 0, 0, 0, 1);
    return memcmp(&pair[0], &pair[1], sizeof *pair) == 0;
}

const inputs *inputs_get(const armq_case *c) {
    for (int i = 0; i < KEPT; i++)
        if (kept[i] && same_case(&kept[i]->c, c)) {
            keep(kept, i, kept[i]);
            return inputs_share(kept[0]);
        }
    const inputs *in = generate(c);
    if (!in)
        return NULL;
    inputs_release(kept[KEPT - 1]);
    keep(kept, KEPT - 1, in);
    return inputs_share(in);
}

expected_rows *inputs_expected(const inputs *in, const armq_desc *desc, uint32_t claims) {
    inputs *mine = (inputs *)(uintptr_t)in; /* what is kept is not part of what readers see */
    if (!in)
        return NULL;
    for (int i = 0; i < 2; i++) {
        if (!mine->wanted[i])
            return mine->wanted[i] = expected_open(desc, claims);
        if (expected_is_for(mine->wanted[i], desc, claims))
            return mine->wanted[i];
    }
    return NULL;
}

/* Router weights depend on what they multiply. */
static bool is_of_another_kind(const inputs *in, const inputs *from, operand_id id) {
    const uint32_t router = ARMQ_USES_WEIGHT_ON_INPUT | ARMQ_USES_NO_ROUTER_WEIGHT;
    return id == OPERAND_TOPK_WEIGHTS && ((in->c.desc.uses ^ from->c.desc.uses) & router) != 0;
}

/* One operand of a set that borrows from another: weights are shared, tokens get room. */
static bool lend_operand(inputs *in, const inputs *from, operand_id id) {
    if (!in->shapes[id].present)
        return true;
    if (!inputs_per_token(id) && from->shapes[id].present) {
        in->data.at[id] = from->data.at[id];
        return true;
    }
    if (!inputs_per_token(id) || is_of_another_kind(in, from, id))
        return allocate_and_generate(in, id);
    if (!allocate(in, id))
        return false;
    if (in->data.at[id])
        memset(in->data.at[id], gap, in->shapes[id].bytes);
    return true;
}

static inputs *lend(const inputs *from, const armq_case *c) {
    inputs *in = new_inputs(c);
    if (!in)
        return NULL;
    in->weights_from = inputs_share(from);
    for (operand_id id = 0; operand_is_input(id); id++)
        if (!lend_operand(in, from, id)) {
            free_inputs(in);
            return NULL;
        }
    return in;
}

/* Row `to` of in = row `row` of from. */
static void copy_row(inputs *in, operand_id id, int64_t to, const inputs *from, int64_t row) {
    const operand_shape *shape = &in->shapes[id];
    size_t element = armq_dtype_bytes(shape->dtype);
    if (!in->owned[id] || !from->data.at[id])
        return;
    memcpy((uint8_t *)in->data.at[id] + (size_t)(to * shape->stride) * element,
           (const uint8_t *)from->data.at[id] + (size_t)(row * from->shapes[id].stride) * element,
           (size_t)shape->row * element);
}

/* Row i of x and of the routing = row rows[i] of `from`. */
static void copy_rows(inputs *in, const inputs *from, const int64_t *rows) {
    for (operand_id id = 0; operand_is_input(id); id++)
        if (inputs_per_token(id) && in->shapes[id].present && !is_of_another_kind(in, from, id))
            for (int64_t i = 0; i < in->c.desc.tokens; i++)
                copy_row(in, id, i, from, rows[i]);
}

/* Ids and weights of the tokens of `from`, over and over; of c itself if it has none. */
static bool repeat_routing(inputs *in, const inputs *from) {
    int64_t tokens = from->c.desc.tokens;
    for (operand_id id = OPERAND_TOPK_IDS; id <= OPERAND_TOPK_WEIGHTS; id++) {
        if (!in->shapes[id].present || !in->data.at[id])
            continue;
        if (tokens == 0 && !generate_operand(&in->c, id, &in->shapes[id], in->data.at[id]))
            return false;
        for (int64_t i = 0; tokens > 0 && i < in->c.desc.tokens; i++)
            copy_row(in, id, i, from, i % tokens);
    }
    return true;
}

static void generate_rows(inputs *in, const data_kind *kinds, const int64_t *rows) {
    uint8_t *x = in->data.at[OPERAND_X];
    size_t pitch =
        (size_t)in->shapes[OPERAND_X].stride * armq_dtype_bytes(in->shapes[OPERAND_X].dtype);
    for (int64_t i = 0; x && i < in->c.desc.tokens; i++) {
        armq_case of_kind = in->c;
        of_kind.data = kinds[i];
        generate_x_row(&of_kind, rows[i], x + (size_t)i * pitch);
    }
}

static void *copy_of(const void *data, size_t bytes) {
    void *copy = malloc(bytes + 1);
    if (copy && bytes)
        memcpy(copy, data, bytes);
    return copy;
}

/* kinds NULL: rows of `from`; else logical rows of these kinds. */
static inputs *derive(const inputs *from, const armq_case *c, const data_kind *kinds,
                      const int64_t *rows) {
    inputs *in = lend(from, c);
    if (!in)
        return NULL;
    in->kinds = kinds ? copy_of(kinds, (size_t)c->desc.tokens * sizeof *kinds) : NULL;
    in->rows = copy_of(rows, (size_t)c->desc.tokens * sizeof *rows);
    if (!in->rows || (kinds && (!in->kinds || !repeat_routing(in, from)))) {
        free_inputs(in);
        return NULL;
    }
    if (kinds)
        generate_rows(in, kinds, rows);
    else
        copy_rows(in, from, rows);
    return in;
}

static bool is_derived_so(const inputs *in, const inputs *from, const armq_case *c,
                          const data_kind *kinds, const int64_t *rows,
                          void (*adjust)(const inputs *in)) {
    size_t tokens = (size_t)c->desc.tokens;
    return in && in->weights_from == from && in->adjusted == adjust &&
           in->c.desc.tokens == c->desc.tokens && (in->kinds != NULL) == (kinds != NULL) &&
           memcmp(in->rows, rows, tokens * sizeof *rows) == 0 &&
           (!kinds || memcmp(in->kinds, kinds, tokens * sizeof *kinds) == 0) &&
           same_case(&in->c, c);
}

static const inputs *get_derived(const inputs *from, const armq_case *c, const data_kind *kinds,
                                 const int64_t *rows, void (*adjust)(const inputs *in)) {
    for (int i = 0; i < KEPT_DERIVED; i++)
        if (is_derived_so(kept_derived[i], from, c, kinds, rows, adjust)) {
            keep(kept_derived, i, kept_derived[i]);
            return inputs_share(kept_derived[0]);
        }
    inputs *in = derive(from, c, kinds, rows);
    if (!in)
        return NULL;
    in->adjusted = adjust;
    if (adjust)
        adjust(in);
    inputs_release(kept_derived[KEPT_DERIVED - 1]);
    keep(kept_derived, KEPT_DERIVED - 1, in);
    return inputs_share(in);
}

const inputs *inputs_rows(const inputs *from, const armq_case *c, const int64_t *rows) {
    return get_derived(from, c, NULL, rows, NULL);
}

const inputs *inputs_kinds(const inputs *from, const armq_case *c, const data_kind *kinds,
                           const int64_t *rows, void (*adjust)(const inputs *in)) {
    return get_derived(from, c, kinds, rows, adjust);
}

const inputs *inputs_adjusted(const inputs *from, void (*adjust)(const inputs *in, void *arg),
                              void *arg) {
    inputs *in = lend(from, &from->c);
    if (!in)
        return NULL;
    for (operand_id id = 0; operand_is_input(id); id++)
        if (in->owned[id])
            memcpy(in->data.at[id], from->data.at[id], in->shapes[id].bytes);
    adjust(in, arg);
    return in;
}

static void relabel_weights(inputs *in, operand_id id, const inputs *from, const int64_t *to) {
    size_t experts = (size_t)in->c.desc.experts, bytes = in->shapes[id].bytes / experts;
    for (size_t e = 0; e < experts; e++)
        memcpy((uint8_t *)in->data.at[id] + (size_t)to[e] * bytes,
               (const uint8_t *)from->data.at[id] + e * bytes, bytes);
}

static void relabel_ids(inputs *in, const inputs *from, const int64_t *to) {
    int32_t *ids = in->data.at[OPERAND_TOPK_IDS];
    const int32_t *old = from->data.at[OPERAND_TOPK_IDS];
    for (int64_t i = 0; i < in->c.desc.tokens * in->c.desc.top_k; i++)
        ids[i] = old[i] < 0 ? old[i] : (int32_t)to[old[i]];
}

const inputs *inputs_relabelled(const inputs *from, const int64_t *to) {
    inputs *in = new_inputs(&from->c);
    if (!in)
        return NULL;
    for (operand_id id = 0; operand_is_input(id); id++) {
        if (!in->shapes[id].present || !from->data.at[id])
            continue;
        if (!allocate(in, id)) {
            free_inputs(in);
            return NULL;
        }
        if (id == OPERAND_TOPK_IDS)
            relabel_ids(in, from, to);
        else if (inputs_per_token(id))
            memcpy(in->data.at[id], from->data.at[id], in->shapes[id].bytes);
        else
            relabel_weights(in, id, from, to);
    }
    return in;
}
