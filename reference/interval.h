/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the reference: intervals and how each step of f32 arithmetic moves their ends. Formulas
 * and counts of roundings: reference/README.md, "Intervals". */
#ifndef ARMQ_REFERENCE_INTERVAL_H
#define ARMQ_REFERENCE_INTERVAL_H

#include "reference/reference.h"

/* lo = mid = hi = value. */
ref_interval ref_exact(double value);

/* f32(acc) * s_x * s_w, the factors in any order: three roundings. s_x finite, s_w anything. */
ref_interval ref_scaled(int64_t acc, float s_x, float s_w);

/* y + addend in f32, rounded or as the end of a fused multiply-add. addend: any f32. */
ref_interval ref_plus_f32(ref_interval y, double addend);

/* A rounding that the dialect declares: both ends and mid go through it. */
ref_interval ref_rounded(ref_interval y, armq_dtype dtype);

#endif
