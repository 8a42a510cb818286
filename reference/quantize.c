/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation of activations, row by row, every step in f32 as the dialects of production kernels
 * do it (reference/README.md, "Quantisation of activations"). */
#include <math.h>

#include "reference/formats.h"
#include "reference/ops.h"

static float element(const armq_dialect *dialect, armq_dtype in, const void *x, int64_t i) {
    double value = armq_load(in, x, i);
    return (float)(dialect->work == ARMQ_DTYPE_F32 ? value : armq_round_to(dialect->work, value));
}

/* Exact: both are single IEEE operations. */
float ref_whole(armq_rounding rounding, float value) {
    return rounding == ARMQ_ROUND_TIES_AWAY ? roundf(value) : rintf(value);
}

static int8_t clamp_s8(float value) { return (int8_t)fminf(fmaxf(value, -128.0f), 127.0f); }

/* The bounds of a row and 0; false if it holds NaN or Inf. */
static bool row_bounds(const armq_dialect *dialect, armq_dtype in, const void *x, int64_t k,
                       float *smallest, float *largest) {
    *smallest = *largest = 0.0f;
    for (int64_t i = 0; i < k; i++) {
        float value = element(dialect, in, x, i);
        if (!isfinite(value))
            return false;
        *smallest = fminf(*smallest, value);
        *largest = fmaxf(*largest, value);
    }
    return true;
}

static ref_row_quant not_finite(int64_t k, int8_t *q) {
    for (int64_t i = 0; i < k; i++)
        q[i] = 0;
    return (ref_row_quant){.scale = NAN, .zero_point = 0, .finite = false};
}

static ref_row_quant quantize_symmetric(const armq_dialect *dialect, armq_dtype in, const void *x,
                                        int64_t k, float amax, int8_t *q) {
    amax = fmaxf(amax, REF_SMALLEST_AMAX);
    float inverse = 127.0f / amax;
    for (int64_t i = 0; i < k; i++)
        q[i] = clamp_s8(ref_whole(dialect->q_rounding, element(dialect, in, x, i) * inverse));
    return (ref_row_quant){.scale = amax / 127.0f, .zero_point = 0, .finite = true};
}

float ref_zero_point(float rmin, float rmax, float factor) {
    float lo = rmin * factor, hi = rmax * factor;
    float error = (-128.0f + lo) + (127.0f + hi);
    float point = error > 0.0f ? -128.0f - lo : 127.0f - hi;
    return rintf(fminf(fmaxf(point, -128.0f), 127.0f));
}

static ref_row_quant quantize_asymmetric(const armq_dialect *dialect, armq_dtype in, const void *x,
                                         int64_t k, float rmin, float rmax, int8_t *q) {
    if (rmax - rmin < REF_SMALLEST_RANGE)
        rmin = rmax = 0.0f;
    float factor = rmax > rmin ? 255.0f / (rmax - rmin) : 1.0f;
    float zero = ref_zero_point(rmin, rmax, factor);
    for (int64_t i = 0; i < k; i++)
        q[i] = clamp_s8(ref_whole(dialect->q_rounding, element(dialect, in, x, i) * factor) + zero);
    return (ref_row_quant){.scale = 1.0f / factor, .zero_point = (int32_t)zero, .finite = true};
}

ref_row_quant ref_quantize_row(const armq_dialect *dialect, armq_dtype in, const void *x, int64_t k,
                               int8_t *q) {
    float rmin, rmax;
    if (!row_bounds(dialect, in, x, k, &rmin, &rmax))
        return not_finite(k, q);
    if (dialect->quant == ARMQ_QUANT_SYMMETRIC)
        return quantize_symmetric(dialect, in, x, k, fmaxf(-rmin, rmax), q);
    if (!isfinite(rmax - rmin))
        return not_finite(k, q);
    return quantize_asymmetric(dialect, in, x, k, rmin, rmax, q);
}

/* --- The op `quantize`: y is q, exact. y_scales and y_zero_points are ref_quantize_row's. --------
 */

static bool quantize_open(ref_context *context) {
    return ref_cache_open(context) && context->problem.desc->dialect.quant != ARMQ_QUANT_NONE;
}

static void quantize_row(ref_context *context, int64_t row, const int64_t *columns, int64_t count,
                         ref_interval *intervals) {
    const ref_row_cache *cache = ref_cache_row(context, row);
    for (int64_t i = 0; i < count; i++) {
        int64_t column = columns ? columns[i] : i;
        intervals[i] = ref_exact((double)cache->q[column]);
        if (!cache->quant.finite && !(context->problem.claims & ARMQ_CLAIM_NONFINITE_ROW_NAN))
            intervals[i].kind = REF_ANY;
    }
}

static double quantize_unquantized(ref_context *context, int64_t row, int64_t column) {
    return armq_load(context->problem.desc->in, ref_x_row(context, row), column);
}

const ref_op ref_op_quantize = {
    .op = ARMQ_OP_QUANTIZE,
    .open = quantize_open,
    .row = quantize_row,
    .unquantized = quantize_unquantized,
};
