/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the generator. Internal to the harness. */
#ifndef ARMQ_HARNESS_GENERATE_INTERNAL_H
#define ARMQ_HARNESS_GENERATE_INTERNAL_H

#include "harness/generate.h"

static inline uint64_t random_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A stream's start; two rounds, so that neither seed nor stream can cancel the other. */
static inline uint64_t random_key(uint64_t seed, uint64_t stream) {
    return random_mix(random_mix(seed + UINT64_C(0x9e3779b97f4a7c15)) +
                      stream * UINT64_C(0xd1342543de82ef95));
}

/* SplitMix64, entered at any index. */
static inline uint64_t random_at(uint64_t key, uint64_t index) {
    return random_mix(key + (index + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* The stream of one row of one operand. */
static inline uint64_t random_row_key(const armq_case *c, operand_id id, int64_t row) {
    return random_key(c->seed, ((uint64_t)id << 56) ^ (uint64_t)row);
}

/* 1 <= factor < 1 + 2^-5, distinct for 65,536 consecutive indices (in f32). Exact. */
static inline float random_jitter(uint64_t key, int64_t index) {
    uint64_t m = ((uint64_t)index * UINT64_C(40503) + key) & 0xffff;
    return 1.0f + (float)m * 0x1p-21f;
}

/* sqrt(value) rounded down to a multiple of 2^-8; value < 2^47. */
float generate_sqrt(int64_t value);

/* int8 over the whole range: -128 and 127 occur in every row of 16 and more, and the last is large.
 */
void generate_s8_row(uint64_t key, int8_t *row, int64_t k);

/* The edge of the integer contract: row `index` of a cycle of constant and alternating rows. */
void generate_s8_extreme_x(int64_t index, int8_t *row, int64_t k);
void generate_s8_extreme_w(int64_t index, int8_t *row, int64_t k);

/* One row of float activations. */
void generate_float_row(const armq_case *c, int64_t row, void *data, int64_t length);

/* One row of gates and ups for the activation op; with extremes, a row of a cycle of five. */
void generate_gate_row(const armq_case *c, int64_t row, void *data);
void generate_extreme_gate_row(const armq_case *c, int64_t row, void *data);

/* Root mean squares of gate and up over all rows of the default data of a MoE. Up's is smaller by
 * GATE_OVER_UP, which is not near a ratio of levels, so that each has its own size everywhere. */
#define GATE_OVER_UP 2.1f
float generate_gate_share(const armq_case *c);

/* Row `token` of topk_ids and topk_weights. */
void generate_ids(const armq_case *c, int64_t token, int32_t *ids);
void generate_router_weights(const armq_case *c, int64_t token, float *weights);

/* False for an expert to which the case's kind of routing sends no token, whatever the seed. */
bool routing_uses_expert(const armq_case *c, int64_t expert);

/* Four uniform 16-bit numbers added up: a bell in [-1, 1) with rms 0.289. Exact. */
static inline float random_bell(uint64_t key, int64_t j) {
    uint64_t bits = random_at(key, (uint64_t)j);
    int32_t sum =
        (int16_t)bits + (int16_t)(bits >> 16) + (int16_t)(bits >> 32) + (int16_t)(bits >> 48);
    return (float)sum * 0x1p-17f;
}

/* int4: row `row` (of all experts) in the case's format, `bytes` long. */
void generate_s4_row(const armq_case *c, operand_id id, int64_t row, size_t bytes, uint8_t *data);
void generate_zeros(const armq_case *c, operand_id id, const operand_shape *shape, int8_t *data);

/* Groups of a channel of weights; 1 without groups. */
int64_t generate_groups(const armq_case *c, operand_id id);

/* Size of a sum of k products with int4 weights over the rms of x, of which the largest counts as
 * so many. */
float generate_s4_root(const armq_case *c, operand_id id, int64_t counts_as);

/* Scales of groups 0, 1, 2, 3 = 0, ... over the usual one of their channel. */
void generate_group_shares(int64_t groups, float shares[3]);

/* Weights and what belongs to them. */
void generate_weights(const armq_case *c, operand_id id, const operand_shape *shape, void *data);
void generate_scales(const armq_case *c, operand_id id, const operand_shape *shape, void *data);
void generate_bias(const armq_case *c, operand_id id, const operand_shape *shape, void *data);

#endif
