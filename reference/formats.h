/* SPDX-License-Identifier: Apache-2.0 */
/* Number formats: bf16 and f16 as 16-bit patterns, and rounding from double (ties to even). */
#ifndef ARMQ_REFERENCE_FORMATS_H
#define ARMQ_REFERENCE_FORMATS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/armq.h"

static inline float armq_bf16_to_f32(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

float armq_f16_to_f32(uint16_t bits);

/* Nearest, ties to even, overflow to infinity, gradual underflow; a NaN stays a NaN (quiet). */
uint16_t armq_f32_to_bf16(float value);
uint16_t armq_f32_to_f16(float value);

/* One rounding from double (never through f32: two roundings can differ from one). */
float armq_f64_to_f32(double value);
uint16_t armq_f64_to_bf16(double value);
uint16_t armq_f64_to_f16(double value);

/* Element `index` of an array of dtype (any of armq_dtype but NONE), exactly. */
static inline double armq_load(armq_dtype dtype, const void *array, int64_t index) {
    switch (dtype) {
    case ARMQ_DTYPE_F32:
        return (double)((const float *)array)[index];
    case ARMQ_DTYPE_BF16:
        return (double)armq_bf16_to_f32(((const uint16_t *)array)[index]);
    case ARMQ_DTYPE_F16:
        return (double)armq_f16_to_f32(((const uint16_t *)array)[index]);
    case ARMQ_DTYPE_S8:
        return (double)((const int8_t *)array)[index];
    case ARMQ_DTYPE_S32:
        return (double)((const int32_t *)array)[index];
    default:
        return (double)NAN;
    }
}

/* Rounds to dtype and stores; integers: value must be in range and whole. */
void armq_store(armq_dtype dtype, void *array, int64_t index, double value);

/* Any value rounded to dtype, as a double. */
double armq_round_any_to(armq_dtype dtype, double value);

/* The same; in a few instructions where value and result are normal numbers of dtype. */
static inline double armq_round_to(armq_dtype dtype, double value) {
    static const struct {
        unsigned drop;        /* bits of a double's fraction that dtype does not have; 0: none */
        uint64_t first, last; /* biased exponents of its normal numbers, as a double's */
    } formats[ARMQ_DTYPE_COUNT] = {
        [ARMQ_DTYPE_F32] = {52 - 23, 1023 - 126, 1023 + 127},
        [ARMQ_DTYPE_BF16] = {52 - 7, 1023 - 126, 1023 + 127},
        [ARMQ_DTYPE_F16] = {52 - 10, 1023 - 14, 1023 + 15},
    };
    uint64_t bits, exponent;
    memcpy(&bits, &value, sizeof bits);
    exponent = bits >> 52 & 0x7ff;
    /* From the last exponent a carry would lead to infinity. */
    if (dtype >= ARMQ_DTYPE_COUNT || exponent < formats[dtype].first ||
        exponent >= formats[dtype].last)
        return armq_round_any_to(dtype, value);
    unsigned drop = formats[dtype].drop;
    uint64_t unit = UINT64_C(1) << drop;
    bits += unit / 2 - 1 + (bits >> drop & 1); /* ties to even */
    bits &= ~(unit - 1);
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
