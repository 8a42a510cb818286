/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/requantize.h"

#include <math.h>
#include <stdlib.h>

#include "reference/formats.h"
#include "reference/ops.h"

/* Ends of an f32 (or narrower) quantity, and the exact path between them. */
typedef struct {
    float lo, mid, hi;
} span;

static span span_of(ref_interval y) { return (span){(float)y.lo, (float)y.mid, (float)y.hi}; }

static ref_interval interval_of(span s) {
    return (ref_interval){(double)s.lo, (double)s.mid, (double)s.hi, REF_VALUE};
}

static bool is_certain(span s) { return s.lo == s.hi; }

/* --- Memory --------------------------------------------------------------------------------------
 */

bool ref_quantized_alloc(ref_quantized *row, int64_t k) {
    *row = (ref_quantized){.kind = REF_VALUE};
    if (k < 0 || (uint64_t)k > SIZE_MAX / sizeof(ref_flip) - 1)
        return false;
    size_t count = (size_t)k + 1; /* never 0 bytes */
    for (int i = 0; i < REF_VARIANTS; i++) {
        row->variants[i].centered = malloc(count * sizeof *row->variants[i].centered);
        row->variants[i].flips = malloc(count * sizeof *row->variants[i].flips);
        if (!row->variants[i].centered || !row->variants[i].flips)
            return false;
    }
    return true;
}

void ref_quantized_free(ref_quantized *row) {
    for (int i = 0; i < REF_VARIANTS; i++) {
        free(row->variants[i].centered);
        free(row->variants[i].flips);
    }
    *row = (ref_quantized){.kind = REF_VALUE};
}

/* --- Certain values ------------------------------------------------------------------------------
 */

void ref_quantize_certain(const armq_dialect *dialect, const float *values, int64_t k,
                          ref_kind if_not_finite, int8_t *q, ref_quantized *row) {
    ref_row_quant quant = ref_quantize_row(dialect, ARMQ_DTYPE_F32, values, k, q);
    ref_variant *only = &row->variants[0];
    float zero = (float)quant.zero_point;
    row->kind = quant.finite ? REF_VALUE : if_not_finite;
    row->count = 1;
    only->flip_count = 0;
    only->scale = interval_of((span){quant.scale, quant.scale, quant.scale});
    only->zero_point = interval_of((span){zero, zero, zero});
    for (int64_t i = 0; i < k; i++)
        only->centered[i] = (int16_t)(q[i] - quant.zero_point);
}

/* --- Ranges of a row -----------------------------------------------------------------------------
 */

/* The row's bounds together with 0, each known within a span. */
typedef struct {
    span amax, smallest, largest;
} bounds;

static span smaller(span a, span b) {
    return (span){fminf(a.lo, b.lo), fminf(a.mid, b.mid), fminf(a.hi, b.hi)};
}

static span larger(span a, span b) {
    return (span){fmaxf(a.lo, b.lo), fmaxf(a.mid, b.mid), fmaxf(a.hi, b.hi)};
}

static span magnitude(span v) {
    bool crosses = v.lo < 0.0f && v.hi > 0.0f;
    return (span){crosses ? 0.0f : fminf(fabsf(v.lo), fabsf(v.hi)), fabsf(v.mid),
                  fmaxf(fabsf(v.lo), fabsf(v.hi))};
}

/* REF_VALUE, if_not_finite if a value is surely NaN or infinite, REF_ANY if one may be. */
static ref_kind row_bounds(const ref_interval *values, int64_t k, ref_kind if_not_finite,
                           bounds *b) {
    *b = (bounds){{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    ref_kind kind = REF_VALUE;
    for (int64_t i = 0; i < k; i++) {
        const ref_interval *v = &values[i];
        if (v->kind == REF_NAN || (v->kind == REF_VALUE && isinf(v->lo) && v->lo == v->hi))
            return if_not_finite;
        if (v->kind == REF_ANY || isinf(v->lo) || isinf(v->hi)) {
            kind = REF_ANY;
            continue;
        }
        b->amax = larger(b->amax, magnitude(span_of(*v)));
        b->smallest = smaller(b->smallest, span_of(*v));
        b->largest = larger(b->largest, span_of(*v));
    }
    return kind;
}

/* --- What a row's bounds make of its values ------------------------------------------------------
 */

/* q - zero_point = round(value * factor), q within [least_q, 127]. No value is outside [least,
 * most], as those are the row's bounds. */
typedef struct {
    span factor, scale, zero_point;
    float least_q, least, most;
} parameters;

static parameters symmetric(span amax) {
    const span floor = {REF_SMALLEST_AMAX, REF_SMALLEST_AMAX, REF_SMALLEST_AMAX};
    span a = larger(amax, floor);
    return (parameters){
        .factor = {127.0f / a.hi, 127.0f / a.mid, 127.0f / a.lo},
        .scale = {a.lo / 127.0f, a.mid / 127.0f, a.hi / 127.0f},
        .zero_point = {0, 0, 0},
        .least_q = -127.0f,
        .least = -amax.hi,
        .most = amax.hi,
    };
}

/* Zero point over spans: -128 - lo and 127 - hi are the same number but for f32 roundings. */
static span zero_points(span smallest, span largest, span factor) {
    span z;
    z.mid = ref_zero_point(smallest.mid, largest.mid, factor.mid);
    if (is_certain(smallest) && is_certain(largest))
        return (span){z.mid, z.mid, z.mid};
    float from_below_lo = -128.0f - smallest.hi * factor.lo;
    float from_below_hi = -128.0f - smallest.lo * factor.hi;
    float from_above_lo = 127.0f - largest.hi * factor.hi;
    float from_above_hi = 127.0f - largest.lo * factor.lo;
    z.lo = rintf(fminf(fmaxf(fminf(from_below_lo, from_above_lo), -128.0f), 127.0f));
    z.hi = rintf(fminf(fmaxf(fmaxf(from_below_hi, from_above_hi), -128.0f), 127.0f));
    return z;
}

/* False if rows of zeros and others are both possible. */
static bool asymmetric(span smallest, span largest, parameters *p) {
    span range = {largest.lo - smallest.hi, largest.mid - smallest.mid, largest.hi - smallest.lo};
    bool zero = range.hi < REF_SMALLEST_RANGE;
    if (!zero && range.lo < REF_SMALLEST_RANGE)
        return false;
    p->least_q = -128.0f;
    p->least = smallest.lo;
    p->most = largest.hi;
    if (zero)
        smallest = largest = (span){0, 0, 0};
    p->factor =
        zero ? (span){1, 1, 1} : (span){255.0f / range.hi, 255.0f / range.mid, 255.0f / range.lo};
    p->scale = (span){1.0f / p->factor.hi, 1.0f / p->factor.mid, 1.0f / p->factor.lo};
    p->zero_point = zero_points(smallest, largest, p->factor);
    return true;
}

static int16_t centered(const armq_dialect *dialect, const parameters *p, float value, float factor,
                        float zero_point) {
    float whole = ref_whole(dialect->q_rounding, fminf(fmaxf(value, p->least), p->most) * factor);
    return (int16_t)fminf(fmaxf(whole, p->least_q - zero_point), 127.0f - zero_point);
}

/* Every step is monotone in value and factor, and every end is a number that the dialect's own f32
 * arithmetic can meet: the ends are exact, no rounding is counted. */
static void fill_variant(const armq_dialect *dialect, const parameters *p,
                         const ref_interval *values, int64_t k, ref_variant *out) {
    const span *factor = &p->factor, *zero = &p->zero_point;
    out->scale = interval_of(p->scale);
    out->zero_point = interval_of(p->zero_point);
    out->flip_count = 0;
    for (int64_t i = 0; i < k; i++) {
        span v = span_of(values[i]);
        int16_t lo = centered(dialect, p, v.lo, v.lo >= 0.0f ? factor->lo : factor->hi, zero->hi);
        int16_t hi = centered(dialect, p, v.hi, v.hi >= 0.0f ? factor->hi : factor->lo, zero->lo);
        out->centered[i] = centered(dialect, p, v.mid, factor->mid, zero->mid);
        if (lo != hi)
            out->flips[out->flip_count++] = (ref_flip){i, lo, hi};
    }
}

/* --- Variants ------------------------------------------------------------------------------------
 */

/* The values of dtype in [lo, hi], the one of mid first. 0 if there are more than REF_VARIANTS. */
static int candidates(armq_dtype dtype, span s, span found[REF_VARIANTS]) {
    found[0] = (span){s.mid, s.mid, s.mid};
    if (is_certain(s))
        return 1;
    if (dtype == ARMQ_DTYPE_F32)
        return 0;
    uint16_t bits[2]; /* one, in room for an element of any dtype */
    int count = 1;
    armq_store(dtype, bits, 0, (double)(s.lo + 0.0f)); /* -0 becomes 0 */
    bool negative = s.hi <= 0.0f;
    for (float value = s.lo; value <= s.hi; *bits = (uint16_t)(*bits + (negative ? -1 : 1))) {
        value = (float)armq_load(dtype, bits, 0);
        if (!(value <= s.hi))
            break;
        if (value == s.mid)
            continue;
        if (count == REF_VARIANTS)
            return 0;
        found[count++] = (span){value, value, value};
    }
    return count;
}

/* The whole spans as one variant: always right, and wide if dtype has few values. */
static void one_variant(const armq_dialect *dialect, const bounds *b, const ref_interval *values,
                        int64_t k, ref_quantized *row) {
    parameters p = symmetric(b->amax);
    if (dialect->quant == ARMQ_QUANT_ASYMMETRIC && !asymmetric(b->smallest, b->largest, &p)) {
        row->kind = REF_ANY;
        return;
    }
    row->count = 1;
    fill_variant(dialect, &p, values, k, &row->variants[0]);
}

static void add_variant(const armq_dialect *dialect, const parameters *p,
                        const ref_interval *values, int64_t k, ref_quantized *row) {
    fill_variant(dialect, p, values, k, &row->variants[row->count++]);
}

static bool symmetric_variants(const armq_dialect *dialect, armq_dtype dtype, const bounds *b,
                               const ref_interval *values, int64_t k, ref_quantized *row) {
    span amax[REF_VARIANTS];
    int count = candidates(dtype, b->amax, amax);
    for (int i = 0; i < count; i++) {
        parameters p = symmetric(amax[i]);
        add_variant(dialect, &p, values, k, row);
    }
    return count > 0;
}

static bool asymmetric_variants(const armq_dialect *dialect, armq_dtype dtype, const bounds *b,
                                const ref_interval *values, int64_t k, ref_quantized *row) {
    span least[REF_VARIANTS], most[REF_VARIANTS];
    int below = candidates(dtype, b->smallest, least), above = candidates(dtype, b->largest, most);
    if (below == 0 || above == 0 || below * above > REF_VARIANTS)
        return false;
    for (int i = 0; i < below * above; i++) {
        parameters p;
        if (!asymmetric(least[i / above], most[i % above], &p))
            return false;
        add_variant(dialect, &p, values, k, row);
    }
    return true;
}

void ref_requantize(const armq_dialect *dialect, armq_dtype dtype, const ref_interval *values,
                    int64_t k, ref_kind if_not_finite, ref_quantized *row) {
    bool is_symmetric = dialect->quant == ARMQ_QUANT_SYMMETRIC;
    bounds b;
    row->count = 0;
    row->kind = row_bounds(values, k, if_not_finite, &b);
    if (row->kind != REF_VALUE)
        return;
    if (!is_symmetric && !isfinite(b.largest.hi - b.smallest.lo)) {
        row->kind = isfinite(b.largest.lo - b.smallest.hi) ? REF_ANY : if_not_finite;
        return;
    }
    bool listed = is_symmetric ? symmetric_variants(dialect, dtype, &b, values, k, row)
                               : asymmetric_variants(dialect, dtype, &b, values, k, row);
    if (!listed)
        one_variant(dialect, &b, values, k, row);
}

/* --- Use -----------------------------------------------------------------------------------------
 */

ref_interval ref_dot_slice(const ref_variant *variant, const int8_t *w, int64_t first, int64_t last,
                           int64_t *flip) {
    int64_t mid = ref_dot(variant->centered + first, w + first, last - first), lo = mid, hi = mid;
    for (; *flip < variant->flip_count && variant->flips[*flip].at < last; ++*flip) {
        const ref_flip *open = &variant->flips[*flip];
        int32_t now = variant->centered[open->at]; /* differences below 2^9, w below 2^8 */
        int32_t a = (open->lo - now) * w[open->at], b = (open->hi - now) * w[open->at];
        lo += a < b ? a : b;
        hi += a < b ? b : a;
    }
    return (ref_interval){(double)lo, (double)mid, (double)hi, REF_VALUE};
}

ref_interval ref_dot_variant(const ref_variant *variant, const int8_t *w, int64_t k) {
    int64_t flip = 0;
    return ref_dot_slice(variant, w, 0, k, &flip);
}

int64_t ref_flips(const ref_quantized *row) {
    int64_t count = row->count - 1;
    for (int i = 0; row->kind == REF_VALUE && i < row->count; i++)
        count += row->variants[i].flip_count;
    return row->kind == REF_VALUE ? count : 0;
}
