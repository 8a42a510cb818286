/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/generate.h"

#include <string.h>

#include "harness/generate_internal.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"

uint64_t random_u64(uint64_t seed, uint64_t stream, uint64_t index) {
    return random_at(random_key(seed, stream), index);
}

static uint64_t integer_sqrt(uint64_t value) {
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1)
        if ((root + bit) * (root + bit) <= value)
            root += bit;
    return root;
}

float generate_sqrt(int64_t value) { return (float)integer_sqrt((uint64_t)value << 16) * 0x1p-8f; }

/* --- x ---------------------------------------------------------------------------------------- */

void generate_x_row(const armq_case *c, int64_t row, void *data) {
    int64_t length = armq_x_row(&c->desc);
    if (length == 0)
        return;
    if (c->desc.in != ARMQ_DTYPE_S8)
        generate_float_row(c, row, data, length);
    else if (c->data == DATA_EXTREMES)
        generate_s8_extreme_x(row, data, length);
    else
        generate_s8_row(random_row_key(c, OPERAND_X, row), data, length);
}

static void generate_x(const armq_case *c, const operand_shape *shape, void *data) {
    size_t element = armq_dtype_bytes(shape->dtype);
    int gap = c->desc.in == ARMQ_DTYPE_S8 ? 0x55 : 0xff;
    for (int64_t row = 0; row < shape->rows; row++) {
        char *at = (char *)data + (size_t)row * (size_t)shape->stride * element;
        generate_x_row(c, row, at);
        if (row + 1 < shape->rows)
            memset(at + (size_t)shape->row * element, gap,
                   (size_t)(shape->stride - shape->row) * element);
    }
}

static void generate_routing(const armq_case *c, operand_id id, const operand_shape *shape,
                             void *data) {
    for (int64_t token = 0; token < shape->rows; token++)
        if (id == OPERAND_TOPK_IDS)
            generate_ids(c, token, (int32_t *)data + token * shape->stride);
        else
            generate_router_weights(c, token, (float *)data + token * shape->stride);
}

/* --- All operands ----------------------------------------------------------------------------- */

bool generate_operand(const armq_case *c, operand_id id, const operand_shape *shape, void *data) {
    if (!shape->present || !operand_is_input(id) || !data_kind_exists(c->desc.op, c->data))
        return false;
    if (shape->bytes == 0)
        return true;
    switch (id) {
    case OPERAND_X:
        generate_x(c, shape, data);
        return true;
    case OPERAND_W:
    case OPERAND_W2:
        generate_weights(c, id, shape, data);
        return true;
    case OPERAND_W_SCALES:
    case OPERAND_W2_SCALES:
        generate_scales(c, id, shape, data);
        return true;
    case OPERAND_W_ZEROS:
    case OPERAND_W2_ZEROS:
        generate_zeros(c, id, shape, data);
        return true;
    case OPERAND_W_BIAS:
    case OPERAND_W2_BIAS:
        generate_bias(c, id, shape, data);
        return true;
    case OPERAND_TOPK_IDS:
    case OPERAND_TOPK_WEIGHTS:
        generate_routing(c, id, shape, data);
        return true;
    default:
        return false;
    }
}

/* --- Hash ------------------------------------------------------------------------------------- */

static uint64_t hash_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x100000001b3);
    return hash ^ (hash >> 32);
}

static uint64_t hash_bytes(uint64_t hash, const char *data, size_t bytes) {
    uint64_t word;
    for (; bytes >= sizeof word; data += sizeof word, bytes -= sizeof word) {
        memcpy(&word, data, sizeof word);
        hash = hash_word(hash, word);
    }
    word = 0;
    memcpy(&word, data, bytes);
    return bytes > 0 ? hash_word(hash, word) : hash;
}

uint64_t generate_hash(const armq_case *c, const operand_shape shapes[OPERAND_COUNT],
                       const operands *data) {
    (void)c;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int id = 0; operand_is_input((operand_id)id); id++) {
        const operand_shape *shape = &shapes[id];
        if (!shape->present || shape->bytes == 0)
            continue;
        size_t element = shape->dtype == ARMQ_DTYPE_NONE ? 1 : armq_dtype_bytes(shape->dtype);
        for (int64_t row = 0; row < shape->rows; row++)
            hash = hash_bytes(
                hash, (const char *)data->at[id] + (size_t)row * (size_t)shape->stride * element,
                (size_t)shape->row * element);
    }
    return hash;
}
