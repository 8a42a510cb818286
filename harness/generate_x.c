/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of float activations. A row is planned first (its two extremes, and with them the multiplier
 * of its quantisation), then filled element by element between them. */
#include <string.h>

#include "harness/generate_internal.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

/* What is promised, and twice that, which leaves room for the rounding of either formula. */
static const float promised_distance = 0x1p-12f;
static const float tie_distance = 0x1p-11f;

static const float row_levels[3] = {0.8f, 2.0f, 4.5f};
static const float outlier_factor = 32.0f; /* a power of two: divisions by it are exact */

typedef struct {
    const armq_case *c;
    armq_dtype dtype;
    armq_dtype work; /* what the quantiser rounds each value to first; F32 for nothing to do */
    void *data;
    int64_t row, length;
    uint64_t key;
    bool negative;                 /* the larger extreme is the low one */
    float high, low;               /* the extremes, low <= 0 <= high; values of dtype */
    int64_t high_place, low_place; /* where they stand; -1: nowhere (symmetric rows have one) */
    float multiplier, scale;       /* q = x * multiplier or x / scale; 0 = not quantised */
} x_row;

/* --- Values of a dtype ------------------------------------------------------------------------ */

static float rounded(armq_dtype dtype, float value) {
    switch (dtype) {
    case ARMQ_DTYPE_BF16:
        return armq_bf16_to_f32(armq_f32_to_bf16(value));
    case ARMQ_DTYPE_F16:
        return armq_f16_to_f32(armq_f32_to_f16(value));
    default:
        return value;
    }
}

/* The next value towards zero; for f32 one that is 2^-10 smaller, a step that moves q. */
static float stepped(armq_dtype dtype, float value) {
    switch (dtype) {
    case ARMQ_DTYPE_BF16:
        return armq_bf16_to_f32((uint16_t)(armq_f32_to_bf16(value) - 1));
    case ARMQ_DTYPE_F16:
        return armq_f16_to_f32((uint16_t)(armq_f32_to_f16(value) - 1));
    default:
        return value - value * 0x1p-10f;
    }
}

/* value is one of dtype. */
static void put(const x_row *r, int64_t j, float value) {
    uint16_t half;
    switch (r->dtype) {
    case ARMQ_DTYPE_BF16:
        half = armq_f32_to_bf16(value);
        memcpy((uint16_t *)r->data + j, &half, sizeof half);
        break;
    case ARMQ_DTYPE_F16:
        half = armq_f32_to_f16(value);
        memcpy((uint16_t *)r->data + j, &half, sizeof half);
        break;
    default:
        memcpy((float *)r->data + j, &value, sizeof value);
    }
}

/* A value of dtype as the quantiser takes it. */
static float seen(const x_row *r, float value) { return rounded(r->work, value); }

/* Small and large numbers are those of f16. */
static bool has_f16_range(const x_row *r) {
    return r->dtype == ARMQ_DTYPE_F16 || r->work == ARMQ_DTYPE_F16;
}

static void put_bits(const x_row *r, int64_t j, uint32_t bits) {
    size_t element = armq_dtype_bytes(r->dtype);
    memcpy((char *)r->data + (size_t)j * element, &bits, element); /* little-endian */
}

/* --- Ties ------------------------------------------------------------------------------------- */

static float magnitude(float value) { return value < 0 ? -value : value; }

static bool is_clear(float scaled, float distance) {
    float size = magnitude(scaled);
    float fraction = size - (float)(int32_t)size;
    return magnitude(fraction - 0.5f) >= distance;
}

/* By both correct formulas. */
static bool keeps_distance(const x_row *r, float value, float distance) {
    return is_clear(value * r->multiplier, distance) && is_clear(value / r->scale, distance);
}

static bool is_tie_free(const x_row *r, float value) {
    return r->multiplier == 0 || keeps_distance(r, seen(r, value), tie_distance);
}

static bool is_asymmetric(const x_row *r) {
    return r->c->desc.dialect.quant == ARMQ_QUANT_ASYMMETRIC && r->c->desc.op != ARMQ_OP_ACTIVATION;
}

static bool is_moe(const x_row *r) { return armq_op_is_moe(r->c->desc.op); }

/* The multiplier that the dialect derives from the extremes. */
static void set_multiplier(x_row *r) {
    r->multiplier = r->scale = 0;
    float low = seen(r, r->low), high = seen(r, r->high);
    float amax = high > magnitude(low) ? high : magnitude(low);
    if (r->c->desc.dialect.quant == ARMQ_QUANT_NONE || amax == 0)
        return;
    if (is_asymmetric(r)) {
        float range = high - low;
        r->multiplier = 255.0f / range;
        r->scale = range / 255.0f;
        return;
    }
    amax = amax < 1e-7f ? 1e-7f : amax;
    r->multiplier = 127.0f / amax;
    r->scale = amax / 127.0f;
}

static bool is_zero_point_clear(const x_row *r) {
    if (!is_asymmetric(r))
        return true;
    float low = seen(r, r->low) * r->multiplier, high = seen(r, r->high) * r->multiplier;
    float error = (-128.0f + low) + (127.0f + high);
    return is_clear(error > 0 ? -128.0f - low : 127.0f - high, tie_distance) &&
           is_tie_free(r, r->low) && is_tie_free(r, r->high);
}

/* --- Planning --------------------------------------------------------------------------------- */

/* Places of the extremes; a quarter of the rows have one at the end, where a K tail begins. */
static void plan_places(x_row *r, uint64_t key) {
    uint64_t k = (uint64_t)r->length, h = random_at(key, UINT64_MAX);
    uint64_t first = (h & 3) == 0 ? k - 1 : (h >> 8) % k;
    uint64_t second = k > 1 ? (first + 1 + (h >> 36) % (k - 1)) % k : UINT64_MAX;
    r->negative = (h >> 2) & 1;
    r->high_place = (int64_t)(r->negative ? second : first);
    r->low_place = (int64_t)(r->negative ? first : second);
}

/* Extremes of size `largest` (one of them) with the smaller of an asymmetric row moved until the
 * zero point is clear. */
static void plan_extremes(x_row *r, float largest) {
    float main = rounded(r->dtype, largest), other = main;
    if (is_asymmetric(r)) {
        float share = 0.3f + (float)(random_at(r->key, UINT64_MAX - 1) >> 48) * 0x1p-18f;
        other = r->length > 1 ? rounded(r->dtype, main * share) : 0;
    } else {
        /* One extreme; the rest stays inside. */
        *(r->negative ? &r->high_place : &r->low_place) = -1;
    }
    for (int tries = 0; tries < 64; tries++) {
        r->high = r->negative ? other : main;
        r->low = -(r->negative ? main : other);
        set_multiplier(r);
        if (other == 0 || is_zero_point_clear(r))
            break;
        other = stepped(r->dtype, other);
    }
}

static float row_size(const x_row *r) { return row_levels[r->row % 3] * random_jitter(r->key, 0); }

static void plan(x_row *r, float largest) {
    plan_places(r, r->key);
    plan_extremes(r, largest);
}

/* --- Filling ---------------------------------------------------------------------------------- */

/* The last element is never small: a K tail that is skipped must show. */
static float shape_last(float share) {
    return share < 0 ? share * 0.5f - 0.5f : share * 0.5f + 0.5f;
}

static float tie_free_between(const x_row *r, float share, float high, float low) {
    float value = rounded(r->dtype, share < 0 ? -share * low : share * high);
    while (!is_tie_free(r, value))
        value = stepped(r->dtype, value);
    return value;
}

static void put_extremes(const x_row *r) {
    if (r->high_place >= 0)
        put(r, r->high_place, r->high);
    if (r->low_place >= 0)
        put(r, r->low_place, r->low);
}

static void fill_between(const x_row *r, float high, float low) {
    for (int64_t j = 0; j < r->length; j++) {
        float share = random_bell(r->key, j);
        if (j == r->length - 1)
            share = shape_last(share);
        put(r, j, tie_free_between(r, share, high, low));
    }
    put_extremes(r);
}

static void fill_sized(x_row *r, float largest) {
    plan(r, largest);
    fill_between(r, r->high, r->low);
}

static void fill_ordinary(x_row *r) {
    if (r->c->desc.op == ARMQ_OP_ACTIVATION) {
        r->high_place = r->low_place = -1;
        generate_gate_row(r->c, r->row, r->data);
    } else {
        fill_sized(r, row_size(r));
    }
}

/* --- Ties ------------------------------------------------------------------------------------- */

/* Plus 0.5 it is 1 in f32, so that adding and truncating rounds it up. */
static const float below_half = 0x1.fffffep-2f;

/* Half-integers between the extremes, which are of at least 124; then all times unit. */
static void fill_half_integers(x_row *r, float unit) {
    for (int64_t j = 0; j < r->length; j++) {
        uint64_t bits = random_at(r->key, (uint64_t)j);
        int32_t size = (int32_t)((bits >> 8) % 123);
        float value = (float)(j == r->length - 1 ? 64 + size % 59 : size);
        value += (bits & 3) == 0 ? 0.0f : 0.5f;
        if ((bits >> 3 & 15) == 0 && j < r->length - 1)
            value = seen(r, rounded(r->dtype, below_half));
        put(r, j, ((bits >> 2) & 1 ? -value : value) * unit);
    }
    r->high *= unit;
    r->low *= unit;
    put_extremes(r);
}

/* In a MoE all is a power of two smaller, so that gates have their usual size. */
static float tie_unit(const x_row *r) { return is_moe(r) ? 0x1p-6f : 1.0f; }

/* amax 127, or a range of 255: every formula of the multiplier gives exactly 1, and half-integers
 * (exact in all dtypes up to 127.5) are ties. The zero point is a small integer. */
static void fill_integer_extremes(x_row *r) {
    plan_places(r, r->key);
    int32_t shift = (int32_t)(random_at(r->key, UINT64_MAX - 1) % 7) - 3;
    r->high = 127.0f;
    r->low = -127.0f;
    if (is_asymmetric(r)) {
        r->high = r->length > 1 ? (float)(128 - shift) : 255.0f;
        r->low = r->length > 1 ? (float)(-127 - shift) : -255.0f;
    }
    fill_half_integers(r, tie_unit(r));
}

/* The same with a tie as zero point, which goes to the even one (armq.h): the one place where q
 * leaves int8 and must saturate. With 127.5, 129.5, ... as maximum that is at 127; with 126.5,
 * 128.5, ..., where q is rounded away from zero, at -128. bf16 has +-127.5 alone. */
static void fill_clamped_extremes(x_row *r) {
    if (!is_asymmetric(r) || r->length < 2) {
        fill_integer_extremes(r);
        return;
    }
    plan_places(r, r->key);
    int32_t shift = 2 * (int32_t)(random_at(r->key, UINT64_MAX - 1) % 3) - 2;
    bool bf16 = r->dtype == ARMQ_DTYPE_BF16 || r->work == ARMQ_DTYPE_BF16;
    shift = bf16 ? 0 : shift + (int32_t)(r->row / 3 % 2);
    r->high = 127.5f + (float)shift;
    r->low = r->high - 255.0f;
    fill_half_integers(r, tie_unit(r));
}

/* As far from a tie as the default data promises, on either side of it, with a large q: a
 * multiplier that is off by a few millionths shows. Only f32 is so fine. */
static float beside_tie(const x_row *r, int64_t j) {
    uint64_t bits = random_at(r->key, (uint64_t)j);
    bool negative = bits & 1;
    float most = magnitude(negative ? r->low : r->high) * r->multiplier;
    int32_t last = (int32_t)most - 2, first = (int32_t)(0.75f * most);
    if (last <= first)
        return 0.0f;
    float tie = (float)(first + (int32_t)((bits >> 8) % (uint64_t)(last - first))) + 0.5f;
    float sign = negative ? -1.0f : 1.0f, side = bits & 2 ? -1.0f : 1.0f, value;
    float distance = promised_distance;
    do {
        distance += promised_distance * 0.125f;
        value = sign * (tie + side * distance) / r->multiplier;
    } while (!keeps_distance(r, value, promised_distance));
    return value;
}

/* Whether dtype is finer than work, so that most of its values are rounded. */
static bool is_rounded_first(const x_row *r) {
    return r->work != ARMQ_DTYPE_F32 && r->work != r->dtype && r->dtype != ARMQ_DTYPE_BF16;
}

/* Not a tie themselves: next to one, on either side, to which the working dtype rounds them. So are
 * the extremes. */
static void fill_rounded_to_ties(x_row *r) {
    fill_integer_extremes(r);
    size_t element = armq_dtype_bytes(r->dtype);
    for (int64_t j = 0; j < r->length; j++) {
        uint32_t bits = 0;
        memcpy(&bits, (char *)r->data + (size_t)j * element, element);
        bool zero = (r->dtype == ARMQ_DTYPE_F32 ? bits << 1 : bits << 17) == 0;
        if (!zero)
            put_bits(r, j, random_at(r->key, (uint64_t)j) >> 40 & 1 ? bits + 1 : bits - 1);
    }
}

static bool is_baseline(const x_row *r) { return r->c->desc.dialect.quant == ARMQ_QUANT_NONE; }

/* Ties of the rounding to bf16, and their neighbours. */
static void fill_narrowing_ties(x_row *r) {
    fill_ordinary(r);
    uint32_t half = r->dtype == ARMQ_DTYPE_F32 ? 0x8000 : 4;
    size_t element = armq_dtype_bytes(r->dtype);
    for (int64_t j = 0; j < r->length && r->dtype != ARMQ_DTYPE_BF16; j++) {
        static const int32_t beside[4] = {0, 0, -1, 1};
        uint32_t bits = 0, tie = half + (uint32_t)beside[random_at(r->key, (uint64_t)j) & 3];
        memcpy(&bits, (char *)r->data + (size_t)j * element, element);
        put_bits(r, j, (bits & ~(2 * half - 1)) | tie);
    }
}

static void fill_ties(x_row *r) {
    if (is_baseline(r))
        fill_narrowing_ties(r);
    else if (r->row % 3 == 0)
        fill_integer_extremes(r);
    else if (r->row % 3 == 2 && is_rounded_first(r))
        fill_rounded_to_ties(r);
    else if (r->row % 3 == 1 || r->dtype != ARMQ_DTYPE_F32)
        fill_clamped_extremes(r);
    else {
        plan(r, row_size(r));
        for (int64_t j = 0; j < r->length; j++)
            put(r, j, beside_tie(r, j));
        put_extremes(r);
    }
}

/* The same channels are large in every row, as in real models. */
static void fill_outliers(x_row *r) {
    uint64_t channels = random_row_key(r->c, OPERAND_X, -1);
    plan_places(r, channels);
    /* In a MoE the outliers, not the rest, give gates their usual size. */
    plan_extremes(r, row_size(r) * (is_moe(r) ? 2.0f : outlier_factor));
    float high = r->high / outlier_factor, low = r->low / outlier_factor;
    for (int64_t j = 0; j < r->length; j++) {
        float share = random_bell(r->key, j);
        bool large = random_at(channels, (uint64_t)j) % 128 == 0;
        if (j == r->length - 1)
            share = shape_last(share);
        put(r, j, tie_free_between(r, share, large ? r->high : high, large ? r->low : low));
    }
    put_extremes(r);
}

static void fill_constant(x_row *r, float value) {
    for (int64_t j = 0; j < r->length; j++)
        put(r, j, value);
}

static float extreme_size(const x_row *r) {
    /* The baseline's weights are +-1 here, so its sums are exact. */
    return is_baseline(r) ? 1.0f : rounded(r->dtype, row_size(r));
}

static void fill_all_high(x_row *r) { fill_constant(r, extreme_size(r)); }
static void fill_all_low(x_row *r) { fill_constant(r, -extreme_size(r)); }

static void fill_alternating(x_row *r) {
    plan(r, extreme_size(r));
    for (int64_t j = 0; j < r->length; j++)
        put(r, j, j % 2 == 0 ? r->high : r->low);
}

/* One element so large that the others are rounded to the zero point. */
static void fill_one_huge(x_row *r) {
    plan_places(r, r->key);
    int64_t place = r->high_place >= 0 ? r->high_place : r->low_place;
    r->high_place = r->low_place = -1;
    /* Its square, and a sum of these, is finite in f32, but not in f16. */
    r->high = has_f16_range(r) ? 61440.0f : is_moe(r) ? 0x1p40f : 0x1p60f;
    r->low = -rounded(r->dtype, row_size(r));
    set_multiplier(r);
    fill_between(r, -r->low, r->low);
    put(r, place, r->high);
}

/* Finite, as is its range, but neither its squares nor their sum, nor the sum of the row. */
static void fill_large(x_row *r) {
    if (is_baseline(r) || is_moe(r))
        fill_all_high(r);
    else
        fill_sized(r, row_size(r) * (has_f16_range(r) ? 0x1p13f : 0x1p124f));
}

static void fill_zero(x_row *r) { fill_constant(r, 0.0f); }
static void fill_minus_zero(x_row *r) { fill_constant(r, -0.0f); }

/* Normal numbers whose range is below 2^-120. f16 has none: zeros of both signs. */
static void fill_vanishing(x_row *r) {
    for (int64_t j = 0; j < r->length; j++) {
        float size =
            r->dtype == ARMQ_DTYPE_F16
                ? 0.0f
                : rounded(r->dtype, (1.0f + magnitude(random_bell(r->key, j))) * 0x1p-124f);
        put(r, j, random_at(r->key, (uint64_t)j) >> 40 & 1 ? -size : size);
    }
}

static void put_subnormal(const x_row *r, int64_t j) {
    uint64_t bits = random_at(r->key, (uint64_t)j);
    uint32_t sign = (uint32_t)(bits >> 63), size = (uint32_t)(bits >> 8);
    if (r->dtype == ARMQ_DTYPE_F32)
        put_bits(r, j, sign << 31 | (size & 0x7fffff));
    else
        put_bits(r, j, sign << 15 | (size & 0x7f));
}

/* Subnormals of f16 are not small for a quantiser, so they are planned as any row is. */
static void fill_subnormal(x_row *r) {
    if (has_f16_range(r)) {
        fill_sized(r, row_size(r) * 0x1p-17f);
        return;
    }
    for (int64_t j = 0; j < r->length; j++)
        put_subnormal(r, j);
}

static void fill_tiny(x_row *r) {
    /* Alone, as small as a range can be that counts; products with the scale would be subnormal. */
    float size = r->c->desc.op == ARMQ_OP_QUANTIZE ? 0x1p-119f : 0x1p-100f;
    fill_sized(r, row_size(r) * (has_f16_range(r) ? 0x1p-14f : size));
}

/* Below the floor of amax in the symmetric rule (1e-7), yet above half a step of q. */
static void fill_below_floor(x_row *r) {
    if (has_f16_range(r))
        fill_subnormal(r);
    else
        fill_sized(r, row_size(r) * 0x1p-26f);
}

/* An ordinary row with a subnormal in every third element that is neither last nor an extreme. */
static void fill_sprinkled(x_row *r) {
    fill_ordinary(r);
    for (int64_t j = 0; j + 1 < r->length; j += 3)
        if (j != r->high_place && j != r->low_place)
            put_subnormal(r, j);
}

static uint64_t poison_place(const x_row *r) {
    return random_at(r->key, UINT64_MAX - 2) % (uint64_t)r->length;
}

static uint32_t infinity_bits(const x_row *r) {
    return r->dtype == ARMQ_DTYPE_F32    ? 0x7f800000u
           : r->dtype == ARMQ_DTYPE_BF16 ? 0x7f80u
                                         : 0x7c00u;
}

/* Quiet and signalling ones of both signs; rounded to bf16 as if they were numbers, some would
 * become -0 or infinity. */
static void fill_nan(x_row *r) {
    static const uint32_t f32[5] = {0x7fc00001, 0x7fffffff, 0x7f800001, 0x7fff8c22, 0xffffffff};
    static const uint32_t bf16[5] = {0x7fc1, 0x7fff, 0x7f81, 0xff81, 0xffff};
    static const uint32_t f16[5] = {0x7e01, 0x7fff, 0x7c01, 0xfc01, 0xffff};
    const uint32_t *payloads = r->dtype == ARMQ_DTYPE_F32    ? f32
                               : r->dtype == ARMQ_DTYPE_BF16 ? bf16
                                                             : f16;
    fill_ordinary(r);
    put_bits(r, (int64_t)poison_place(r), payloads[(r->row / 6 + r->length) % 5]);
}

static void fill_infinite(x_row *r) {
    fill_ordinary(r);
    uint32_t sign = r->row % 2 ? 0 : r->dtype == ARMQ_DTYPE_F32 ? 0x80000000u : 0x8000u;
    put_bits(r, (int64_t)poison_place(r), infinity_bits(r) | sign);
}

/* Of dtype, yet rounded to the working dtype it is infinite; 0 if there is none. */
static float infinite_when_rounded(const x_row *r) {
    if (r->work == ARMQ_DTYPE_F16 && r->dtype != ARMQ_DTYPE_F16)
        return 65536.0f;
    return r->work == ARMQ_DTYPE_BF16 && r->dtype == ARMQ_DTYPE_F32 ? 0x1.fffffep127f : 0.0f;
}

/* Finite values whose range is not; where that is no poison, the last element is infinite, or
 * becomes so. */
static void fill_overflow(x_row *r) {
    fill_ordinary(r);
    float last = infinite_when_rounded(r);
    if (is_asymmetric(r) && r->dtype != ARMQ_DTYPE_F16 && r->length > 1) {
        put(r, r->high_place, 0x1.fcp127f);
        put(r, r->low_place, -0x1.fcp127f);
    } else if (last > 0) {
        put(r, r->length - 1, -last);
    } else {
        put_bits(r, r->length - 1,
                 infinity_bits(r) | (r->dtype == ARMQ_DTYPE_F32 ? 0x80000000u : 0x8000u));
    }
}

/* --- Kinds of data ---------------------------------------------------------------------------- */

typedef void row_filler(x_row *r);

/* Rows go through these in turn. */
enum { CYCLE_MAX = 8 };
static row_filler *const cycles[DATA_KIND_COUNT][CYCLE_MAX] = {
    [DATA_NORMAL] = {fill_ordinary},
    [DATA_TIES] = {fill_ties},
    [DATA_EXTREMES] = {fill_all_high, fill_all_low, fill_alternating, fill_one_huge, fill_large},
    [DATA_OUTLIERS] = {fill_outliers},
    [DATA_ZERO_ROWS] = {fill_zero, fill_ordinary, fill_ordinary, fill_minus_zero, fill_ordinary,
                        fill_vanishing, fill_ordinary},
    [DATA_SUBNORMALS] = {fill_subnormal, fill_ordinary, fill_tiny, fill_sprinkled, fill_below_floor,
                         fill_ordinary},
    [DATA_POISON] = {fill_ordinary, fill_nan, fill_ordinary, fill_infinite, fill_ordinary,
                     fill_overflow},
    [DATA_BAD_SCALES] = {fill_ordinary, fill_ordinary, fill_zero, fill_ordinary},
};

void generate_float_row(const armq_case *c, int64_t row, void *data, int64_t length) {
    x_row r = {
        .c = c,
        .dtype = c->desc.in,
        .work = c->desc.dialect.quant == ARMQ_QUANT_NONE ? ARMQ_DTYPE_F32 : c->desc.dialect.work,
        .data = data,
        .row = row,
        .length = length,
        .key = random_row_key(c, OPERAND_X, row),
    };
    if (c->desc.op == ARMQ_OP_ACTIVATION && c->data == DATA_EXTREMES) {
        generate_extreme_gate_row(c, row, data);
        return;
    }
    row_filler *const *cycle = cycles[c->data];
    int64_t count = 1;
    while (count < CYCLE_MAX && cycle[count])
        count++;
    cycle[row % count](&r);
}
