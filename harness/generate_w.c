/* SPDX-License-Identifier: Apache-2.0 */
/* Weights, their scales and biases. */
#include <math.h>
#include <string.h>

#include "harness/generate_internal.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

/* Neighbours in a cycle differ by 2x and more, also with the jitter of 1/32. */
static const float channel_levels[3] = {1.0f, 2.2f, 4.9f};
static const float bias_levels[3] = {3.0f, 7.0f, 15.0f};

/* Root mean square of default x is 0.289 of its maximum (four uniform numbers added up); the
 * maximum itself counts as 12 elements of that size. */
static const float x_rms = 0.289f;
enum { MAXIMUM_COUNTS_AS = 12 };

static int32_t weight_index(operand_id id) { return id >= OPERAND_W2 ? 1 : 0; }

/* --- Sizes ------------------------------------------------------------------------------------ */

/* One output channel of one expert. */
typedef struct {
    int64_t expert, n; /* n within the expert */
    int64_t level;     /* into a cycle of levels */
    float share;       /* of the usual size */
} channel;

/* rms of silu(gate) * up and the like, of a row in the middle, over that of its gates. */
static const float intermediate_rms_silu = 1.6f, intermediate_rms_clamped = 8.0f;

/* Gate i and up i stand at one level; up is smaller by a factor that no ratio of levels is near. */
static channel w13_channel(const armq_case *c, int64_t expert, int64_t n) {
    int64_t width = c->desc.intermediate;
    bool interleaved = c->desc.dialect.gate_layout == ARMQ_GATE_INTERLEAVED;
    bool up = interleaved ? n % 2 == 1 : n >= width;
    int64_t i = interleaved ? n / 2 : up ? n - width : n;
    float share = generate_gate_share(c);
    return (channel){expert, n, (i + expert) % 3, up ? share / GATE_OVER_UP : share};
}

static channel channel_of(const armq_case *c, operand_id id, int64_t expert, int64_t n) {
    if (!armq_op_is_moe(c->desc.op))
        return (channel){expert, n, (n + expert) % 3, 1.0f};
    if (weight_index(id) == 0)
        return w13_channel(c, expert, n);
    bool clamps = c->desc.dialect.activation == ARMQ_ACT_SWIGLUOAI;
    float rms = clamps ? intermediate_rms_clamped : intermediate_rms_silu;
    return (channel){expert, n, (n + expert) % 3, x_rms / rms};
}

/* What no token may ever see. */
static bool is_poisoned(const armq_case *c, int64_t expert) {
    return c->data == DATA_POISON && armq_op_is_moe(c->desc.op) && !routing_uses_expert(c, expert);
}

/* --- int8 ------------------------------------------------------------------------------------- */

void generate_s8_row(uint64_t key, int8_t *row, int64_t k) {
    int64_t j = 0;
    for (; j + 8 <= k; j += 8) {
        uint64_t word = random_at(key, (uint64_t)j / 8);
        memcpy(row + j, &word, 8);
    }
    if (j < k) {
        uint64_t word = random_at(key, (uint64_t)j / 8);
        memcpy(row + j, &word, (size_t)(k - j));
    }
    if (k == 0)
        return;
    if (k >= 16) {
        uint64_t place = random_at(key, UINT64_MAX - 1) % (uint64_t)(k - 2);
        row[place] = -128;
        row[place + 1] = 127;
    }
    /* At least half of full size: a K tail that is skipped must show. */
    int8_t last = row[k - 1];
    if (last > -64 && last < 64)
        row[k - 1] = (int8_t)(last < 0 ? last - 64 : last + 64);
}

static void fill_pattern(int8_t *row, int64_t k, int8_t even, int8_t odd) {
    for (int64_t j = 0; j < k; j++)
        row[j] = j % 2 == 0 ? even : odd;
}

/* The cycles' lengths have no common factor, so every pair of patterns meets in M=4, N=5. */
void generate_s8_extreme_x(int64_t index, int8_t *row, int64_t k) {
    static const int8_t patterns[4][2] = {{-128, -128}, {127, 127}, {-128, 127}, {127, -128}};
    fill_pattern(row, k, patterns[index % 4][0], patterns[index % 4][1]);
}

void generate_s8_extreme_w(int64_t index, int8_t *row, int64_t k) {
    static const int8_t patterns[5][2] = {
        {-128, -128}, {-127, -127}, {127, 127}, {-128, 127}, {127, -128}};
    fill_pattern(row, k, patterns[index % 5][0], patterns[index % 5][1]);
}

/* --- bf16 ------------------------------------------------------------------------------------- */

/* Uniform in the logarithm over four octaves below `largest`: integer arithmetic only, and every
 * pattern of the significand occurs. The last is in the upper octave. */
static void fill_bf16_row(uint64_t key, uint16_t largest, uint16_t *row, int64_t k) {
    for (int64_t j = 0; j < k; j++) {
        uint64_t bits = random_at(key, (uint64_t)j / 4) >> (16 * ((uint64_t)j % 4));
        uint64_t below = bits & (j + 1 < k ? 0x1ffu : 0x7fu);
        row[j] = (uint16_t)((bits & 0x8000) | (largest - below));
    }
}

static void fill_bf16_extreme(int64_t n, uint16_t size, uint16_t *row, int64_t k) {
    enum { MINUS = 0x8000 };
    static const uint16_t patterns[3][2] = {{0, 0}, {MINUS, MINUS}, {0, MINUS}};
    for (int64_t j = 0; j < k; j++)
        row[j] = size | patterns[n % 3][j % 2];
}

/* Root mean square of fill_bf16_row is 0.424 of its largest: sqrt((1 - 1/256) / (2 ln 16)). */
static uint16_t bf16_row_largest(const armq_case *c, operand_id id, channel at, int64_t row,
                                 int64_t k) {
    float level = channel_levels[at.level] * random_jitter(random_row_key(c, id, -1), row);
    float root = generate_sqrt(k + MAXIMUM_COUNTS_AS);
    return armq_f32_to_bf16(level * at.share / (x_rms * 0.424f * root));
}

/* +-1; in a MoE a power of two for which sums of k are small, so that their products stay so. */
static uint16_t bf16_extreme_size(const armq_case *c, int64_t k) {
    float size = 1.0f;
    for (int64_t sum = k; armq_op_is_moe(c->desc.op) && sum > 8; sum /= 2)
        size *= 0.5f;
    return armq_f32_to_bf16(size);
}

static void generate_bf16(const armq_case *c, operand_id id, int64_t row, channel at, int64_t k,
                          uint16_t *data) {
    enum { QUIET_NAN = 0x7fc1 };
    if (is_poisoned(c, at.expert))
        for (int64_t j = 0; j < k; j++)
            data[j] = QUIET_NAN;
    else if (c->data == DATA_EXTREMES)
        fill_bf16_extreme(at.n + at.expert, bf16_extreme_size(c, k), data, k);
    else
        fill_bf16_row(random_row_key(c, id, row), bf16_row_largest(c, id, at, row, k), data, k);
}

/* --- Operands --------------------------------------------------------------------------------- */

static bool is_int4(const armq_case *c) {
    return c->desc.format == ARMQ_WEIGHT_S4_LOW || c->desc.format == ARMQ_WEIGHT_S4_WORD8;
}

void generate_weights(const armq_case *c, operand_id id, const operand_shape *shape, void *data) {
    int64_t channels = armq_weight_n(&c->desc, weight_index(id)), k = shape->row;
    for (int64_t row = 0; row < shape->rows; row++) {
        channel at = channel_of(c, id, row / channels, row % channels);
        if (is_int4(c))
            generate_s4_row(c, id, row, (size_t)k, (uint8_t *)data + row * k);
        else if (c->desc.format == ARMQ_WEIGHT_BF16)
            generate_bf16(c, id, row, at, k, (uint16_t *)data + row * k);
        else if (c->data == DATA_EXTREMES)
            generate_s8_extreme_w(at.n + at.expert, (int8_t *)data + row * k, k);
        else
            generate_s8_row(random_row_key(c, id, row), (int8_t *)data + row * k, k);
    }
}

/* The largest of weights minus zero points, and a quarter of it per element of a row: weights at
 * their extremes add up instead of cancelling, and the intermediate of a MoE is their square. */
static float extreme_divisor(const armq_case *c, int64_t k) {
    bool zeros = c->desc.uses & ARMQ_USES_WEIGHT_ZERO;
    return (is_int4(c) ? zeros ? 4.0f : 2.0f : 32.0f) * (float)(k > 0 ? k : 1);
}

/* The rms of int8 weights is 74. */
static float scale_divisor(const armq_case *c, operand_id id) {
    int64_t k = armq_weight_k(&c->desc, weight_index(id));
    if (c->data == DATA_EXTREMES && armq_op_is_moe(c->desc.op))
        return extreme_divisor(c, k);
    if (is_int4(c))
        return x_rms * generate_s4_root(c, id, MAXIMUM_COUNTS_AS);
    return x_rms * 74.0f * generate_sqrt(k + MAXIMUM_COUNTS_AS);
}

/* Instead of every third channel's scale, or that of one of its groups: 0, -0, subnormals,
 * infinities, NaN. Of a MoE's first product, whose infinities and NaN take the whole token with
 * them, only every fifth expert has those. */
static float bad_scale(const armq_case *c, operand_id id, channel at, int64_t group, float scale) {
    static const float bad[8] = {0.0f,       -0.0f,           0x1p-127f,        -0x1.8p-128f,
                                 (float)NAN, (float)INFINITY, -(float)INFINITY, 0x1.fp-130f};
    if (c->data != DATA_BAD_SCALES || at.n % 3 != 1 || group != at.n / 3 % generate_groups(c, id))
        return scale;
    bool first = armq_op_is_moe(c->desc.op) && weight_index(id) == 0;
    return bad[(at.n / 3 + at.expert) % (first && at.expert % 5 != 2 ? 4 : 8)];
}

/* Outputs are of order 1 to 30 with the row sizes of x. A third of the scales is negative. */
void generate_scales(const armq_case *c, operand_id id, const operand_shape *shape, void *data) {
    int64_t groups = generate_groups(c, id);
    float divisor = scale_divisor(c, id), shares[3];
    generate_group_shares(groups, shares);
    for (int64_t expert = 0; expert < shape->rows; expert++) {
        uint64_t key = random_row_key(c, id, expert);
        for (int64_t i = 0; i < shape->row; i++) {
            channel at = channel_of(c, id, expert, i / groups);
            float scale = channel_levels[at.level] * random_jitter(key, i) * at.share / divisor;
            scale *= shares[i % groups % 3];
            scale = random_at(key, (uint64_t)i) % 3 == 0 ? -scale : scale;
            scale = bad_scale(c, id, at, i % groups, scale);
            scale = is_poisoned(c, expert) ? (float)NAN : scale;
            armq_store(shape->dtype, data, expert * shape->stride + i, (double)scale);
        }
    }
}

/* A bias of a MoE's first product stays within what its gates reach without. */
static float bias_share(const armq_case *c, operand_id id) {
    return armq_op_is_moe(c->desc.op) && weight_index(id) == 0 ? 0.25f : 1.0f;
}

void generate_bias(const armq_case *c, operand_id id, const operand_shape *shape, void *data) {
    float share = bias_share(c, id);
    for (int64_t expert = 0; expert < shape->rows; expert++) {
        uint64_t key = random_row_key(c, id, expert);
        for (int64_t n = 0; n < shape->row; n++) {
            float value = bias_levels[(n + expert) % 3] * random_jitter(key, n) * share;
            value = random_at(key, (uint64_t)n) >> 63 ? -value : value;
            value = is_poisoned(c, expert) ? (float)NAN : value;
            armq_store(shape->dtype, data, expert * shape->stride + n, (double)value);
        }
    }
}
