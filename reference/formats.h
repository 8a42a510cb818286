/* SPDX-License-Identifier: Apache-2.0 */
/* Number formats: bf16 and f16 as 16-bit patterns, and rounding from double (ties to even). */
#ifndef ARMQ_REFERENCE_FORMATS_H
#define ARMQ_REFERENCE_FORMATS_H

#include <stdint.h>

#include "kernels/armq.h"

float armq_bf16_to_f32(uint16_t bits);
float armq_f16_to_f32(uint16_t bits);

/* Nearest, ties to even, overflow to infinity, gradual underflow; a NaN stays a NaN (quiet). */
uint16_t armq_f32_to_bf16(float value);
uint16_t armq_f32_to_f16(float value);

/* One rounding from double (never through f32: two roundings can differ from one). */
float armq_f64_to_f32(double value);
uint16_t armq_f64_to_bf16(double value);
uint16_t armq_f64_to_f16(double value);

/* Element `index` of an array of dtype (any of armq_dtype but NONE), exactly. */
double armq_load(armq_dtype dtype, const void *array, int64_t index);

/* Rounds to dtype and stores; integers: value must be in range and whole. */
void armq_store(armq_dtype dtype, void *array, int64_t index, double value);

/* value rounded to dtype, as a double. */
double armq_round_to(armq_dtype dtype, double value);

#endif
