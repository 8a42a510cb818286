/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/formats.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float f32_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of_f64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A binary format: fraction bits, exponent bits; bias and infinity follow. */
typedef struct {
    int fraction, exponent;
} layout;

static const layout layout_f32 = {23, 8}, layout_bf16 = {7, 8}, layout_f16 = {10, 5};

/* Drops `shift` low bits of mantissa, nearest, ties to even. shift in [1, 54]. */
static uint64_t shift_rne(uint64_t mantissa, int shift) {
    uint64_t kept = mantissa >> shift;
    uint64_t rest = mantissa & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

static uint32_t nan_pattern(const layout *to, uint64_t bits) {
    uint32_t infinity = ((1u << to->exponent) - 1u) << to->fraction;
    uint64_t payload = (bits & ((UINT64_C(1) << 52) - 1)) >> (52 - to->fraction);
    return infinity | (1u << (to->fraction - 1)) | (uint32_t)payload;
}

/* Integer arithmetic only: the result does not depend on rounding or flush modes of the CPU. */
static uint32_t round_f64(const layout *to, double value) {
    uint64_t bits = bits_of_f64(value);
    uint32_t sign = (uint32_t)(bits >> 63) << (to->exponent + to->fraction);
    int biased = (int)((bits >> 52) & 0x7ff);
    if (biased == 0x7ff && (bits << 12) != 0)
        return sign | nan_pattern(to, bits);

    uint32_t infinity = ((1u << to->exponent) - 1u) << to->fraction;
    int bias = (1 << (to->exponent - 1)) - 1;
    int target = biased - 1023 + bias; /* biased exponent in the new format */
    if (target >= (1 << to->exponent) - 1)
        return sign | infinity;
    int shift = 52 - to->fraction + (target < 1 ? 1 - target : 0);
    if (shift > 53 || biased == 0) /* below half of the smallest subnormal */
        return sign;
    uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | (UINT64_C(1) << 52);
    uint32_t kept = (uint32_t)shift_rne(mantissa, shift);
    /* A carry out of the fraction, into the exponent or to infinity, lands where it belongs. */
    return sign | (target < 1 ? kept : ((uint32_t)(target - 1) << to->fraction) + kept);
}

float armq_f16_to_f32(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
    if (exponent == 0x1f)
        return f32_of_bits(sign | 0x7f800000u | (fraction << 13));
    if (exponent == 0) {
        float magnitude = (float)fraction * 0x1p-24f; /* exact, a normal f32 or zero */
        return f32_of_bits(sign | bits_of_f32(magnitude));
    }
    return f32_of_bits(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

uint16_t armq_f32_to_bf16(float value) {
    uint32_t bits = bits_of_f32(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

uint16_t armq_f32_to_f16(float value) { return (uint16_t)round_f64(&layout_f16, (double)value); }

float armq_f64_to_f32(double value) { return f32_of_bits(round_f64(&layout_f32, value)); }

uint16_t armq_f64_to_bf16(double value) { return (uint16_t)round_f64(&layout_bf16, value); }

uint16_t armq_f64_to_f16(double value) { return (uint16_t)round_f64(&layout_f16, value); }

void armq_store(armq_dtype dtype, void *array, int64_t index, double value) {
    switch (dtype) {
    case ARMQ_DTYPE_F32:
        ((float *)array)[index] = armq_f64_to_f32(value);
        break;
    case ARMQ_DTYPE_BF16:
        ((uint16_t *)array)[index] = armq_f64_to_bf16(value);
        break;
    case ARMQ_DTYPE_F16:
        ((uint16_t *)array)[index] = armq_f64_to_f16(value);
        break;
    case ARMQ_DTYPE_S8:
        ((int8_t *)array)[index] = (int8_t)value;
        break;
    case ARMQ_DTYPE_S32:
        ((int32_t *)array)[index] = (int32_t)value;
        break;
    default:
        break;
    }
}

double armq_round_any_to(armq_dtype dtype, double value) {
    switch (dtype) {
    case ARMQ_DTYPE_F32:
        return (double)armq_f64_to_f32(value);
    case ARMQ_DTYPE_BF16:
        return (double)armq_bf16_to_f32(armq_f64_to_bf16(value));
    case ARMQ_DTYPE_F16:
        return (double)armq_f16_to_f32(armq_f64_to_f16(value));
    default:
        return value;
    }
}
