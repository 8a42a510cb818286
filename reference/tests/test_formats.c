/* SPDX-License-Identifier: Apache-2.0 */
/* Number formats: every 16-bit pattern there and back, and every rounding case between neighbours.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "reference/formats.h"

static float f32_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A 16-bit format as the tests see it, computed with ldexp instead of bit fields. */
typedef struct {
    armq_dtype dtype;
    int fraction, bias;
    uint16_t infinity;
    float (*widen)(uint16_t);
    uint16_t (*narrow)(float);
    uint16_t (*narrow_f64)(double);
} format;

static const format formats[] = {
    {ARMQ_DTYPE_BF16, 7, 127, 0x7f80, armq_bf16_to_f32, armq_f32_to_bf16, armq_f64_to_bf16},
    {ARMQ_DTYPE_F16, 10, 15, 0x7c00, armq_f16_to_f32, armq_f32_to_f16, armq_f64_to_f16},
};

/* Value of a finite pattern by its definition. */
static double value_of(const format *f, uint16_t bits) {
    int exponent = (bits & 0x7fff) >> f->fraction;
    int fraction = bits & ((1 << f->fraction) - 1);
    int mantissa = exponent ? fraction + (1 << f->fraction) : fraction;
    double value = ldexp(mantissa, (exponent ? exponent : 1) - f->bias - f->fraction);
    return bits & 0x8000 ? -value : value;
}

static void check_pattern_there_and_back(const format *f) {
    for (uint32_t i = 0; i < 0x10000; i++) {
        uint16_t bits = (uint16_t)i, room[2] = {bits, 0};
        float wide = f->widen(bits);
        if ((bits & 0x7fff) > f->infinity) {
            assert_true(isnan(wide));
            assert_true((f->narrow(wide) & 0x7fff) > f->infinity);
            assert_true((f->narrow_f64((double)wide) & 0x7fff) > f->infinity);
            continue;
        }
        if ((bits & 0x7fff) == f->infinity)
            assert_true(isinf(wide) && (wide < 0) == (bits >> 15));
        else
            assert_true((double)wide == value_of(f, bits));
        assert_int_equal(signbit(wide) != 0, bits >> 15);
        assert_int_equal(f->narrow(wide), bits);
        assert_int_equal(f->narrow_f64((double)wide), bits);
        assert_true(armq_load(f->dtype, room, 0) == (double)wide);
    }
}

static void every_pattern_there_and_back(void **state) {
    (void)state;
    check_pattern_there_and_back(&formats[0]);
    check_pattern_there_and_back(&formats[1]);
}

/* It has a short way of its own. */
static void check_round_to(armq_dtype dtype, double value) {
    float room = 0.0f;
    armq_store(dtype, &room, 0, value);
    double stored = armq_load(dtype, &room, 0), rounded = armq_round_to(dtype, value);
    assert_true(isnan(value) ? isnan(rounded) : memcmp(&stored, &rounded, sizeof stored) == 0);
}

/* For each pair of neighbours: the midpoint goes to the even one, anything beside it to the nearer.
 */
static void check_midpoint_to_even(const format *f) {
    for (uint32_t i = 0; i < f->infinity; i++) {
        uint16_t low = (uint16_t)i, high = (uint16_t)(i + 1), even = i % 2 ? high : low;
        double lower = value_of(f, low);
        double beyond = f->dtype == ARMQ_DTYPE_F16 ? 0x1p16 : 0x1p128;
        double upper = high == f->infinity ? beyond : value_of(f, high);
        double middle = 0.5 * (lower + upper);
        assert_int_equal(f->narrow_f64(middle), even);
        assert_int_equal(f->narrow_f64(-middle), even | 0x8000);
        assert_int_equal(f->narrow_f64(nextafter(middle, 0.0)), low);
        assert_int_equal(f->narrow_f64(nextafter(middle, INFINITY)), high);
        check_round_to(f->dtype, middle);
        check_round_to(f->dtype, -nextafter(middle, 0.0));
        check_round_to(f->dtype, nextafter(middle, INFINITY));
        assert_int_equal(f->narrow((float)middle), even); /* midpoints are f32 values */
        assert_int_equal(f->narrow(nextafterf((float)middle, 0.0f)), low);
        assert_int_equal(f->narrow(nextafterf((float)middle, INFINITY)), high);
    }
}

static void every_midpoint_to_even(void **state) {
    (void)state;
    check_midpoint_to_even(&formats[0]);
    check_midpoint_to_even(&formats[1]);
}

static void bf16_known_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t in;
        uint16_t out;
    } cases[] = {
        {0x3f818000, 0x3f82}, {0x3f808000, 0x3f80}, {0x3f80ffff, 0x3f81}, {0x7f7fffff, 0x7f80},
        {0xff7fffff, 0xff80}, {0x00000000, 0x0000}, {0x80000000, 0x8000}, {0x00008000, 0x0000},
        {0x00008001, 0x0001}, {0x00018000, 0x0002}, {0x007fffff, 0x0080}, {0x7f7f7fff, 0x7f7f},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(armq_f32_to_bf16(f32_of(cases[i].in)), cases[i].out);
        assert_int_equal(armq_f64_to_bf16((double)f32_of(cases[i].in)), cases[i].out);
    }
    static const uint32_t nans[] = {0x7f800001, 0x7fff8c22, 0x7fffffff, 0xff800001, 0xffffffff};
    for (size_t i = 0; i < sizeof nans / sizeof nans[0]; i++)
        assert_true((armq_f32_to_bf16(f32_of(nans[i])) & 0x7fff) > 0x7f80);
}

static void f16_known_answers(void **state) {
    (void)state;
    assert_int_equal(armq_f32_to_f16(65504.0f), 0x7bff);
    assert_int_equal(armq_f32_to_f16(65519.996f), 0x7bff);
    assert_int_equal(armq_f32_to_f16(65520.0f), 0x7c00);
    assert_int_equal(armq_f32_to_f16(-1e30f), 0xfc00);
    assert_int_equal(armq_f32_to_f16(0x1p-24f), 0x0001);
    assert_int_equal(armq_f32_to_f16(0x1p-25f), 0x0000);
    assert_int_equal(armq_f32_to_f16(nextafterf(0x1p-25f, 1.0f)), 0x0001);
    assert_int_equal(armq_f32_to_f16(0x1.8p-24f), 0x0002);
    assert_int_equal(armq_f32_to_f16(-0.0f), 0x8000);
    assert_true((armq_f32_to_f16(f32_of(0x7f800001)) & 0x7fff) > 0x7c00);
}

/* 1 + 2^-8 is a tie of bf16; a little more must round up although f32 can not hold it. */
static void one_rounding_from_double(void **state) {
    (void)state;
    double tie = 1.0 + 0x1p-8;
    assert_int_equal(armq_f64_to_bf16(tie), 0x3f80);
    assert_int_equal(armq_f64_to_bf16(tie + 0x1p-40), 0x3f81);
    assert_int_equal(armq_f32_to_bf16(armq_f64_to_f32(tie + 0x1p-40)), 0x3f80);
    assert_int_equal(armq_f64_to_f16(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
    assert_int_equal(armq_f64_to_bf16(1e300), 0x7f80);
    assert_int_equal(armq_f64_to_bf16(-1e-300), 0x8000);
    assert_int_equal(armq_f64_to_f16(0x1p-1040), 0x0000);
}

/* The CPU's own conversion is the second opinion. */
static void f64_to_f32_like_the_cpu(void **state) {
    (void)state;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 400000; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        uint64_t bits = seed;
        if (i % 2) /* exponents of f32, subnormals and overflow included */
            bits = (bits & 0x800fffffffffffffu) | ((863 + (seed >> 52) % 300) << 52);
        if (i % 4 == 1) /* ties */
            bits = (bits & ~UINT64_C(0x1fffffff)) | 0x10000000;
        double value;
        memcpy(&value, &bits, sizeof value);
        float mine = armq_f64_to_f32(value), cpu = (float)value;
        assert_true(isnan(value) ? isnan(mine) : bits_of(mine) == bits_of(cpu));
        check_round_to(ARMQ_DTYPE_F32, value);
        check_round_to(ARMQ_DTYPE_BF16, value);
        check_round_to(ARMQ_DTYPE_F16, value);
    }
    assert_true(bits_of(armq_f64_to_f32(0x1p-150)) == 0);
    assert_true(bits_of(armq_f64_to_f32(nextafter(0x1p-150, 1.0))) == 1);
    assert_true(isinf(armq_f64_to_f32(0x1.ffffffp127)));
    assert_true(bits_of(armq_f64_to_f32(nextafter(0x1.ffffffp127, 0.0))) == 0x7f7fffff);
}

static void load_and_store_each_dtype(void **state) {
    (void)state;
    static const double values[] = {-128.0, -1.0, 0.0, 1.0, 7.0, 127.0};
    for (int dtype = ARMQ_DTYPE_F32; dtype < ARMQ_DTYPE_COUNT; dtype++) {
        int32_t room[8] = {0};
        for (int i = 0; i < 6; i++)
            armq_store((armq_dtype)dtype, room, i, values[i]);
        for (int i = 0; i < 6; i++) {
            assert_true(armq_load((armq_dtype)dtype, room, i) == values[i]);
            assert_true(armq_round_to((armq_dtype)dtype, values[i]) == values[i]);
        }
    }
    assert_true(isnan(armq_load(ARMQ_DTYPE_NONE, values, 0)));
    assert_true(armq_round_to(ARMQ_DTYPE_BF16, 1.0 + 0x1p-9) == 1.0);
    assert_true(armq_round_to(ARMQ_DTYPE_F16, 1.0 + 0x1p-9) == 1.0 + 0x1p-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_there_and_back), cmocka_unit_test(every_midpoint_to_even),
        cmocka_unit_test(bf16_known_answers),           cmocka_unit_test(f16_known_answers),
        cmocka_unit_test(one_rounding_from_double),     cmocka_unit_test(f64_to_f32_like_the_cpu),
        cmocka_unit_test(load_and_store_each_dtype),
    };
    return cmocka_run_group_tests_name("formats", tests, NULL, NULL);
}
