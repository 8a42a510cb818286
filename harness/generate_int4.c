/* SPDX-License-Identifier: Apache-2.0 */
/* int4 weights, their zero points, and the sizes of their groups. */
#include <string.h>

#include "harness/generate_internal.h"
#include "kernels/api/describe.h"

/* --- Nibbles ---------------------------------------------------------------------------------- */

/* Both formats hold element j in nibble j of the row, counted from the lowest bits (armq.h); they
 * differ in the sign bit, which S4_WORD8 has inverted. */
static uint64_t sign_bits(const armq_case *c) {
    return c->desc.format == ARMQ_WEIGHT_S4_WORD8 ? UINT64_C(0x8888888888888888) : 0;
}

static void put_nibble(const armq_case *c, uint8_t *row, int64_t j, int32_t value) {
    uint8_t nibble = (uint8_t)((value & 15) ^ (int32_t)(sign_bits(c) & 15));
    row[j / 2] =
        (uint8_t)(j % 2 == 0 ? (row[j / 2] & 0xf0) | nibble : (row[j / 2] & 0x0f) | (nibble << 4));
}

static int32_t nibble_at(const armq_case *c, const uint8_t *row, int64_t j) {
    int32_t nibble = (row[j / 2] >> (j % 2 * 4) & 15) ^ (int32_t)(sign_bits(c) & 15);
    return nibble < 8 ? nibble : nibble - 16;
}

/* Also into the nibbles that pad the row, which nobody may take for weights. */
static void fill_random(const armq_case *c, uint64_t key, uint8_t *row, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = random_at(key, i / 8) ^ sign_bits(c); /* little-endian */
        memcpy(row + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

/* --- Zero points ------------------------------------------------------------------------------ */

static operand_id weight_of(operand_id id) { return id < OPERAND_W2 ? OPERAND_W : OPERAND_W2; }

static int64_t channels_of(const armq_case *c, operand_id id) {
    return armq_weight_n(&c->desc, weight_of(id) == OPERAND_W2);
}

static int64_t weight_k(const armq_case *c, operand_id id) {
    return armq_weight_k(&c->desc, weight_of(id) == OPERAND_W2);
}

int64_t generate_groups(const armq_case *c, operand_id id) {
    return c->desc.group_size > 0 ? weight_k(c, id) / c->desc.group_size : 1;
}

/* The cycle of a channel's pattern in extreme data. */
static int64_t extreme_index(const armq_case *c, operand_id id, int64_t row) {
    int64_t channels = channels_of(c, id);
    return row / channels + row % channels;
}

/* As far from the weights as can be: differences of 15 of either sign. */
static const int8_t extreme_zeros[5] = {7, 7, -8, -8, 7};

/* A cycle of 17 steps, all of which but one have a value of their own: neighbouring channels and
 * groups differ, and those that are a power of two apart. */
static int32_t zero_point(const armq_case *c, operand_id id, int64_t row, int64_t group) {
    if (!(c->desc.uses & ARMQ_USES_WEIGHT_ZERO))
        return 0;
    if (c->data == DATA_EXTREMES)
        return extreme_zeros[extreme_index(c, id, row) % 5];
    uint64_t start = random_row_key(c, (operand_id)(weight_of(id) + 2), -1) >> 32;
    uint64_t step = (start + 5 * (uint64_t)row + 3 * (uint64_t)group) % 17;
    return step == 16 ? 0 : (int32_t)step - 8;
}

void generate_zeros(const armq_case *c, operand_id id, const operand_shape *shape, int8_t *data) {
    int64_t channels = channels_of(c, id), groups = generate_groups(c, id);
    for (int64_t row = 0; row < shape->rows * channels; row++)
        for (int64_t group = 0; group < groups; group++)
            data[row * groups + group] = (int8_t)zero_point(c, id, row, group);
}

/* --- Rows ------------------------------------------------------------------------------------- */

static void fill_extreme(const armq_case *c, operand_id id, int64_t row, uint8_t *data) {
    static const int8_t patterns[5][2] = {{-8, -8}, {-7, -7}, {7, 7}, {-8, 7}, {7, -8}};
    const int8_t *pattern = patterns[extreme_index(c, id, row) % 5];
    for (int64_t j = 0; j < weight_k(c, id); j++)
        put_nibble(c, data, j, pattern[j % 2]);
}

/* Never near its zero point: a K tail that is skipped must show. */
static int32_t last_weight(int32_t value, int32_t zero) {
    int32_t difference = value - zero;
    if (difference <= -4 || difference >= 4)
        return value;
    return zero >= 0 ? zero - 4 - (value & 3) : zero + 4 + (value & 3);
}

/* -8 and 7 occur in every row of 16 and more. */
void generate_s4_row(const armq_case *c, operand_id id, int64_t row, size_t bytes, uint8_t *data) {
    uint64_t key = random_row_key(c, id, row);
    int64_t k = weight_k(c, id);
    fill_random(c, key, data, bytes);
    if (k == 0)
        return;
    if (c->data == DATA_EXTREMES) {
        fill_extreme(c, id, row, data);
        return;
    }
    if (k >= 16) {
        int64_t place = (int64_t)(random_at(key, UINT64_MAX - 1) % (uint64_t)(k - 2));
        put_nibble(c, data, place, -8);
        put_nibble(c, data, place + 1, 7);
    }
    int32_t zero = zero_point(c, id, row, generate_groups(c, id) - 1);
    put_nibble(c, data, k - 1, last_weight(nibble_at(c, data, k - 1), zero));
}

/* --- Sizes ------------------------------------------------------------------------------------ */

/* Squares of weights minus zero points are 21.5 on average, or 43 with zero points; where x is off
 * 0 on average, each group adds its sum of weights times that, which grows with the length of the
 * group and not its root. 76 is what the generator's asymmetric rows, and intermediates of
 * swigluoai, make of it; weights are off 0 by a half, zero points by half their range. */
float generate_s4_root(const armq_case *c, operand_id id, int64_t counts_as) {
    bool zeros = c->desc.uses & ARMQ_USES_WEIGHT_ZERO, second = weight_of(id) == OPERAND_W2;
    bool off_zero = second ? c->desc.dialect.activation == ARMQ_ACT_SWIGLUOAI
                           : c->desc.dialect.quant == ARMQ_QUANT_ASYMMETRIC;
    int64_t k = weight_k(c, id), length = c->desc.group_size > 0 ? c->desc.group_size : k;
    int64_t square = (k + counts_as) * 43 / (zeros ? 1 : 2);
    return generate_sqrt(square + (off_zero ? k * length / (zeros ? 1 : 76) : 0));
}

/* Neighbouring groups differ by 2x and more; all of a channel together keep its size. */
void generate_group_shares(int64_t groups, float shares[3]) {
    static const int64_t tenths[3] = {10, 49, 22};
    int64_t square = 0;
    for (int64_t g = 0; g < 3; g++)
        square += tenths[g] * tenths[g] * ((groups + 2 - g) / 3);
    for (int64_t g = 0; g < 3; g++)
        shares[g] = (float)tenths[g] * generate_sqrt(groups) / generate_sqrt(square);
}
