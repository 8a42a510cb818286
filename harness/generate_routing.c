/* SPDX-License-Identifier: Apache-2.0 */
/* Which experts a token goes to, and with which weights. A token's row depends on the seed and its
 * number alone. */
#include <string.h>

#include "harness/generate_internal.h"

/* Experts in a token differ within so many slots; enough for every model, and linear in top_k. */
enum { DISTINCT_SLOTS = 64 };

/* --- Experts ---------------------------------------------------------------------------------- */

/* Every third expert, never the first unless it is the only one. */
static int64_t used_experts(int64_t experts) { return experts < 2 ? experts : (experts + 1) / 3; }
static int64_t used_expert(int64_t experts, int64_t index) {
    return experts < 2 ? index : 3 * index + 1;
}

bool routing_uses_expert(const armq_case *c, int64_t expert) {
    int64_t experts = c->desc.experts;
    switch (c->routing) {
    case ROUTING_ONE:
        return expert == (experts - 1) / 2;
    case ROUTING_LAST:
        return expert == experts - 1;
    case ROUTING_EMPTY:
        return experts < 2 || expert % 3 == 1;
    default:
        return true;
    }
}

/* Uniform in [0, count), but a quarter of the experts is twice to three times as busy. */
static int64_t draw(const armq_case *c, uint64_t bits, int64_t count) {
    uint64_t popularity = random_row_key(c, OPERAND_TOPK_IDS, -1);
    int64_t index = 0;
    for (int tries = 0; tries < 4; tries++, bits = random_mix(bits)) {
        index = (int64_t)(bits % (uint64_t)count);
        bool busy = random_at(popularity, (uint64_t)index) % 4 == 0;
        if (busy || bits >> 62 == 0)
            break;
    }
    return index;
}

static bool is_taken(const int32_t *ids, int64_t slot, int64_t wanted, int64_t window) {
    int64_t first = slot > window ? slot - window : 0;
    for (int64_t s = first; s < slot; s++)
        if (ids[s] == wanted)
            return true;
    return false;
}

/* Experts [0, count) of `chosen`, different as far as there are enough of them. Token 0 has the
 * last and the first of them, in this order. */
static void fill_distinct(const armq_case *c, int64_t token, int64_t count, int32_t *ids) {
    uint64_t key = random_row_key(c, OPERAND_TOPK_IDS, token);
    int64_t window = count - 1 < DISTINCT_SLOTS ? count - 1 : DISTINCT_SLOTS;
    for (int64_t slot = 0; slot < c->desc.top_k; slot++) {
        int64_t index = draw(c, random_at(key, (uint64_t)slot), count);
        if (token == 0 && slot < 2)
            index = slot == 0 ? count - 1 : 0;
        while (is_taken(ids, slot, index, window))
            index = (index + 1) % count;
        ids[slot] = (int32_t)index;
    }
}

/* In turn; descending within every other token, as slots need not be sorted by expert. */
static void fill_balanced(const armq_case *c, int64_t token, int32_t *ids) {
    uint64_t top_k = (uint64_t)c->desc.top_k;
    for (uint64_t slot = 0; slot < top_k; slot++) {
        uint64_t place = token % 2 ? top_k - 1 - slot : slot;
        ids[slot] = (int32_t)(((uint64_t)token * top_k + place) % (uint64_t)c->desc.experts);
    }
}

static void fill_constant(const armq_case *c, int64_t expert, int32_t *ids) {
    for (int64_t slot = 0; slot < c->desc.top_k; slot++)
        ids[slot] = (int32_t)expert;
}

static void fill_empty(const armq_case *c, int64_t token, int32_t *ids) {
    fill_distinct(c, token, used_experts(c->desc.experts), ids);
    for (int64_t slot = 0; slot < c->desc.top_k; slot++)
        ids[slot] = (int32_t)used_expert(c->desc.experts, ids[slot]);
}

/* Side by side in even tokens, half a row apart in odd ones. */
static void fill_repeated(const armq_case *c, int64_t token, int32_t *ids) {
    int64_t top_k = c->desc.top_k, half = (top_k + 1) / 2;
    fill_distinct(c, token, c->desc.experts, ids);
    for (int64_t slot = top_k - 1; slot >= 0 && token % 2 == 0; slot--)
        ids[slot] = ids[slot / 2];
    for (int64_t slot = half; slot < top_k && token % 2 == 1; slot++)
        ids[slot] = ids[slot - half];
}

/* Token 0 keeps its first slot and, if it has two, loses its last. */
static void skip_slots(const armq_case *c, int64_t token, int32_t *ids) {
    uint64_t key = random_row_key(c, OPERAND_TOPK_IDS, token);
    for (int64_t slot = 0; slot < c->desc.top_k; slot++) {
        bool skipped = random_at(key, UINT64_MAX - (uint64_t)slot) % 3 == 0 || token % 7 == 3;
        if (token == 0)
            skipped = slot > 0 && slot == c->desc.top_k - 1;
        if (skipped)
            ids[slot] = -1;
    }
}

void generate_ids(const armq_case *c, int64_t token, int32_t *ids) {
    int64_t experts = c->desc.experts, top_k = c->desc.top_k;
    if (experts == 0) {
        fill_constant(c, -1, ids);
        return;
    }
    switch (c->routing) {
    case ROUTING_BALANCED:
        fill_balanced(c, token, ids);
        break;
    case ROUTING_ONE:
        fill_constant(c, (experts - 1) / 2, ids);
        break;
    case ROUTING_LAST:
        fill_constant(c, experts - 1, ids);
        break;
    case ROUTING_EMPTY:
        fill_empty(c, token, ids);
        break;
    case ROUTING_REPEAT:
        fill_repeated(c, token, ids);
        break;
    default:
        fill_distinct(c, token, experts, ids);
    }
    if (c->routing == ROUTING_MIXED && token % 4 == 1 && top_k > 1)
        ids[top_k - 1] = ids[0];
    if (c->routing == ROUTING_SKIP)
        skip_slots(c, token, ids);
}

/* --- Weights ---------------------------------------------------------------------------------- */

/* Neighbouring slots and tokens differ by 2x and more; a token's sum is about 1. The largest weight
 * starts in tokens whose x is smallest, which keeps outputs of one size. */
static const float slot_levels[3] = {1.0f, 2.2f, 4.9f};
static const float mean_level = 2.7f;
static const float exact_levels[3] = {1.0f, 2.0f, 4.0f};

static float power_of_two_above(int64_t value) {
    float power = 1.0f;
    while (power < (float)value)
        power *= 2.0f;
    return power;
}

/* A slot of no weight, while another has some; one below zero. On the input, where rows of equal
 * numbers have no ties whatever they are times, also weights that no product with is exact. */
static float extreme_weight(float weight, bool exact, float jitter, int64_t token, int64_t slot) {
    weight = exact ? weight * jitter : weight;
    if (token % 4 == 2 && slot == 1)
        return 0.0f;
    return token % 4 == 1 && slot == 0 ? -weight : weight;
}

/* Nothing of a slot that is skipped counts. */
static void spoil_skipped(const armq_case *c, int64_t token, float *weights) {
    static const uint32_t quiet_nan = 0x7fc00001;
    int32_t ids[DISTINCT_SLOTS];
    generate_ids(c, token, ids);
    for (int64_t slot = 0; slot < c->desc.top_k; slot++)
        if (ids[slot] < 0)
            memcpy(&weights[slot], &quiet_nan, sizeof quiet_nan);
}

void generate_router_weights(const armq_case *c, int64_t token, float *weights) {
    uint64_t key = random_row_key(c, OPERAND_TOPK_WEIGHTS, -1);
    int64_t top_k = c->desc.top_k;
    bool exact =
        c->desc.uses & ARMQ_USES_WEIGHT_ON_INPUT && c->desc.dialect.quant != ARMQ_QUANT_NONE;
    float divisor = mean_level * (float)top_k, exact_divisor = power_of_two_above(2 * top_k);
    for (int64_t slot = 0; slot < top_k; slot++) {
        int64_t level = (2 - token % 3 + slot) % 3, index = token * top_k + slot;
        weights[slot] = exact ? exact_levels[level] / exact_divisor
                              : slot_levels[level] * random_jitter(key, index) / divisor;
        if (c->data == DATA_EXTREMES)
            weights[slot] =
                extreme_weight(weights[slot], exact, random_jitter(key, index), token, slot);
    }
    if (c->routing == ROUTING_SKIP && top_k <= DISTINCT_SLOTS)
        spoil_skipped(c, token, weights);
}
