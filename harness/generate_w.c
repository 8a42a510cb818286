/* SPDX-License-Identifier: Apache-2.0 */
/* Weights, their scales and biases. */
#include <string.h>

#include "harness/generate_internal.h"
#include "kernels/api/describe.h"
#include "reference/formats.h"

/* Neighbours in a cycle differ by 2x and more, also with the jitter of 1/32. */
static const float channel_levels[3] = {1.0f, 2.2f, 4.9f};
static const float bias_levels[3] = {3.0f, 7.0f, 15.0f};

/* Root mean square of default x is 0.289 of its maximum (four uniform numbers added up); the
 * maximum itself counts as 12 elements of that size. */
static const float x_rms = 0.289f;
enum { MAXIMUM_COUNTS_AS = 12 };

static int32_t weight_index(operand_id id) { return id >= OPERAND_W2 ? 1 : 0; }

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

/* Root mean square of fill_bf16_row is 0.424 of its largest: sqrt((1 - 1/256) / (2 ln 16)). */
static uint16_t bf16_row_largest(const armq_case *c, operand_id id, int64_t n, int64_t k) {
    float level = channel_levels[n % 3] * random_jitter(random_row_key(c, id, -1), n);
    float root = generate_sqrt(k + MAXIMUM_COUNTS_AS);
    return armq_f32_to_bf16(level / (x_rms * 0.424f * root));
}

static void fill_bf16_extreme(int64_t n, uint16_t *row, int64_t k) {
    enum { ONE = 0x3f80, MINUS_ONE = 0xbf80 };
    static const uint16_t patterns[3][2] = {{ONE, ONE}, {MINUS_ONE, MINUS_ONE}, {ONE, MINUS_ONE}};
    for (int64_t j = 0; j < k; j++)
        row[j] = patterns[n % 3][j % 2];
}

/* --- Operands --------------------------------------------------------------------------------- */

static void generate_bf16(const armq_case *c, operand_id id, int64_t row, int64_t n, int64_t k,
                          uint16_t *data) {
    if (c->data == DATA_EXTREMES)
        fill_bf16_extreme(n, data, k);
    else
        fill_bf16_row(random_row_key(c, id, row), bf16_row_largest(c, id, n, k), data, k);
}

bool generate_weights(const armq_case *c, operand_id id, const operand_shape *shape, void *data) {
    if (c->desc.format != ARMQ_WEIGHT_S8 && c->desc.format != ARMQ_WEIGHT_BF16)
        return false;
    int64_t channels = armq_weight_n(&c->desc, weight_index(id)), k = shape->row;
    for (int64_t row = 0; row < shape->rows; row++) {
        int64_t n = row % channels;
        if (c->desc.format == ARMQ_WEIGHT_BF16)
            generate_bf16(c, id, row, n, k, (uint16_t *)data + row * k);
        else if (c->data == DATA_EXTREMES)
            generate_s8_extreme_w(n, (int8_t *)data + row * k, k);
        else
            generate_s8_row(random_row_key(c, id, row), (int8_t *)data + row * k, k);
    }
    return true;
}

/* Outputs are of order 1 to 30 with the row sizes of x: the rms of int8 weights is 74. */
void generate_scales(const armq_case *c, operand_id id, const operand_shape *shape, void *data) {
    int64_t k = armq_weight_k(&c->desc, weight_index(id));
    float divisor = x_rms * 74.0f * generate_sqrt(k + MAXIMUM_COUNTS_AS);
    for (int64_t expert = 0; expert < shape->rows; expert++) {
        uint64_t key = random_row_key(c, id, expert);
        float *scales = (float *)data + expert * shape->stride;
        for (int64_t n = 0; n < shape->row; n++)
            scales[n] = channel_levels[(n + expert) % 3] * random_jitter(key, n) / divisor;
    }
}

void generate_bias(const armq_case *c, operand_id id, const operand_shape *shape, void *data) {
    for (int64_t expert = 0; expert < shape->rows; expert++) {
        uint64_t key = random_row_key(c, id, expert);
        for (int64_t n = 0; n < shape->row; n++) {
            float value = bias_levels[(n + expert) % 3] * random_jitter(key, n);
            value = random_at(key, (uint64_t)n) >> 63 ? -value : value;
            armq_store(shape->dtype, data, expert * shape->stride + n, (double)value);
        }
    }
}
