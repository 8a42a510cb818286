/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the reference: intervals and how each step of f32 arithmetic moves their ends. Formulas
 * and counts of roundings: reference/README.md, "Intervals". */
#ifndef ARMQ_REFERENCE_INTERVAL_H
#define ARMQ_REFERENCE_INTERVAL_H

#include "reference/reference.h"

/* lo = mid = hi = value. */
ref_interval ref_exact(double value);

/* Largest error of rounding value to f32, beyond its range too. */
double ref_f32_error(double value);

/* f32 holds value without rounding. */
bool ref_is_f32(double value);

/* f32(acc) * s_x * s_w, the factors in any order: three roundings. s_x finite, s_w anything. */
ref_interval ref_scaled(int64_t acc, float s_x, float s_w);

/* The same where acc (whole numbers) and s_x are uncertain. */
ref_interval ref_scaled_interval(ref_interval acc, ref_interval s_x, double s_w);

/* y + addend in f32, rounded or as the end of a fused multiply-add. addend: any f32. */
ref_interval ref_plus_f32(ref_interval y, double addend);
ref_interval ref_sum_f32(ref_interval a, ref_interval b);

/* a * b in f32, rounded, or unrounded inside a fused multiply-add. */
ref_interval ref_times_f32(ref_interval a, ref_interval b);

/* a * b without any rounding. */
ref_interval ref_times(ref_interval a, ref_interval b);

/* Either of the two may be: the smallest interval around both, mid of a. */
ref_interval ref_hull(ref_interval a, ref_interval b);

/* A rounding that the dialect declares: both ends and mid go through it. */
ref_interval ref_rounded(ref_interval y, armq_dtype dtype);

#endif
