/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/int4.h"

#include <string.h>

#include "reference/formats.h"
#include "reference/grouped.h"
#include "reference/interval.h"

int64_t ref_groups(const armq_desc *desc, int64_t k) {
    return desc->group_size > 0 ? k / desc->group_size : 1;
}

bool ref_int4_accepts(const armq_desc *desc, int64_t k) {
    armq_dtype scale = desc->op == ARMQ_OP_GEMM_S8S4S32 ? ARMQ_DTYPE_NONE
                       : desc->group_size > 0           ? ARMQ_DTYPE_BF16
                                                        : ARMQ_DTYPE_F32;
    bool format = desc->format == ARMQ_WEIGHT_S4_LOW || desc->format == ARMQ_WEIGHT_S4_WORD8;
    bool whole = desc->group_size == 0 || (desc->group_size > 0 && k % desc->group_size == 0);
    return format && whole && desc->scale_dtype == scale;
}

/* --- Formats -------------------------------------------------------------------------------------
 */

/* Blocks of a fixed length let the compiler vectorise. */
enum { BLOCK = 64 };

int64_t ref_int4_row_bytes(armq_weight_format format, int64_t k) {
    return format == ARMQ_WEIGHT_S4_WORD8 ? (k + 7) / 8 * (int64_t)sizeof(uint32_t) : (k + 1) / 2;
}

/* Two's complement of four bits. */
static int8_t signed_nibble(unsigned nibble) { return (int8_t)((int)(nibble ^ 8u) - 8); }

static void unpack_bytes(const uint8_t *bytes, int64_t k, int8_t *w) {
    int64_t i = 0;
    for (; i + BLOCK <= k; i += BLOCK)
        for (int j = 0; j < BLOCK; j += 2) {
            w[i + j] = signed_nibble(bytes[(i + j) / 2] & 15u);
            w[i + j + 1] = signed_nibble(bytes[(i + j) / 2] >> 4);
        }
    for (; i < k; i++)
        w[i] = signed_nibble((unsigned)bytes[i / 2] >> (i % 2 ? 4 : 0) & 15u);
}

static void unpack_words(const uint32_t *words, int64_t k, int8_t *w) {
    int64_t i = 0;
    for (; i + 8 <= k; i += 8)
        for (int j = 0; j < 8; j++)
            w[i + j] = (int8_t)((int)(words[i / 8] >> (4 * j) & 15u) - 8);
    for (; i < k; i++)
        w[i] = (int8_t)((int)(words[i / 8] >> (4 * (i % 8)) & 15u) - 8);
}

static void subtract_zero_points(const int8_t *zero_points, int64_t groups, int64_t k, int8_t *w) {
    int64_t length = groups ? k / groups : 0;
    for (int64_t g = 0; g < groups; g++)
        for (int64_t i = g * length; i < (g + 1) * length; i++)
            w[i] = (int8_t)(w[i] - zero_points[g]);
}

void ref_int4_row(const armq_desc *desc, const armq_weights *weights, int64_t row, int64_t k,
                  int8_t *w) {
    int64_t groups = ref_groups(desc, k);
    if (k == 0)
        return;
    const char *start = (const char *)weights->w + row * ref_int4_row_bytes(desc->format, k);
    if (desc->format == ARMQ_WEIGHT_S4_WORD8)
        unpack_words((const void *)start, k, w);
    else
        unpack_bytes((const void *)start, k, w);
    if (desc->uses & ARMQ_USES_WEIGHT_ZERO)
        subtract_zero_points(weights->zero_points + row * groups, groups, k, w);
}

void ref_int4_pack(armq_weight_format format, const int8_t *values, int64_t rows, int64_t k,
                   void *packed) {
    int64_t bytes = ref_int4_row_bytes(format, k);
    memset(packed, 0, (size_t)(rows * bytes));
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < k; i++) {
            char *start = (char *)packed + row * bytes;
            unsigned code = (unsigned)(values[row * k + i] + 8); /* 0 .. 15 */
            if (format == ARMQ_WEIGHT_S4_WORD8)
                ((uint32_t *)(void *)start)[i / 8] |= code << (i % 8 * 4);
            else
                start[i / 2] |= (char)((code ^ 8u) << (i % 2 * 4));
        }
}

/* --- Products ------------------------------------------------------------------------------------
 */

/* w: unpacked row `row`. */
static ref_interval one_product(const armq_desc *desc, const armq_weights *weights, int64_t row,
                                int64_t k, const ref_variant *x, const int8_t *w) {
    if (desc->group_size == 0)
        return ref_scaled_interval(ref_dot_variant(x, w, k), x->scale,
                                   armq_load(ARMQ_DTYPE_F32, weights->scales, row));
    const uint16_t *scales = (const uint16_t *)weights->scales + row * ref_groups(desc, k);
    return ref_grouped_product(&desc->dialect, x, w, k, desc->group_size, scales);
}

ref_interval ref_int4_product(const armq_desc *desc, const armq_weights *weights, int64_t row,
                              int64_t k, const ref_variant *x, int count, int8_t *scratch) {
    ref_interval y = ref_exact(0.0);
    if (k == 0)
        return y;
    ref_int4_row(desc, weights, row, k, scratch);
    for (int i = 0; i < count; i++) {
        ref_interval one = one_product(desc, weights, row, k, &x[i], scratch);
        y = i == 0 ? one : ref_hull(y, one);
    }
    return y;
}

/* Element by element: no scratch, and a second way to read the formats. */
static int weight_at(const armq_desc *desc, const void *w, int64_t row, int64_t k, int64_t i) {
    if (desc->format == ARMQ_WEIGHT_S4_WORD8) {
        uint32_t word = ((const uint32_t *)w)[row * ((k + 7) / 8) + i / 8];
        return (int)(word >> (i % 8 * 4) & 15u) - 8;
    }
    unsigned byte = ((const uint8_t *)w)[row * ((k + 1) / 2) + i / 2];
    int nibble = (int)(i % 2 ? byte >> 4 : byte & 15u);
    return nibble < 8 ? nibble : nibble - 16;
}

double ref_int4_exact(const armq_desc *desc, const armq_weights *weights, int64_t row, int64_t k,
                      const double *values) {
    int64_t groups = ref_groups(desc, k), length = groups ? k / groups : 1;
    double sum = 0.0;
    for (int64_t i = 0; i < k; i++) {
        int64_t at = row * groups + i / length;
        int zero = desc->uses & ARMQ_USES_WEIGHT_ZERO ? weights->zero_points[at] : 0;
        sum += values[i] * (weight_at(desc, weights->w, row, k, i) - zero) *
               armq_load(desc->scale_dtype, weights->scales, at);
    }
    return sum;
}
