/* SPDX-License-Identifier: Apache-2.0 */
/* int4 weights, their zero points and the scales of their groups. Nibbles are decoded as armq.h
 * says, not with the generator's code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/generate.h"
#include "harness/tests/tensors.h"

/* --- Weights ---------------------------------------------------------------------------------- */

static const char *const formats[] = {"s4_low", "s4_word8"};

static tensors *linear(const char *format, int64_t n, int64_t k, const char *more) {
    char text[200];
    snprintf(text, sizeof text, "linear_w4a8 tokens=3 n=%" PRId64 " k=%" PRId64 " format=%s %s", n,
             k, format, more);
    return make(text);
}

static void test_codes(void **state) {
    (void)state;
    static const int ks[] = {1, 2, 15, 16, 17, 100};
    for (int i = 0; i < 24; i++) {
        int64_t k = ks[i / 4], seen[16] = {0};
        tensors *t = linear(formats[i % 2], 300, k, i / 2 % 2 ? "zero_points=1" : "");
        for (int64_t n = 0; n < 300; n++) {
            int64_t lowest = 0, highest = 0;
            for (int64_t j = 0; j < k; j++) {
                int w = (int)at(t, OPERAND_W, n, j);
                seen[w + 8]++;
                lowest += w == -8;
                highest += w == 7;
            }
            double zero = i / 2 % 2 ? at(t, OPERAND_W_ZEROS, 0, n) : 0;
            assert_true(fabs(at(t, OPERAND_W, n, k - 1) - zero) >= 4);
            assert_true(k < 16 || (lowest >= 1 && highest >= 1));
        }
        for (int v = 0; v < 16 && k == 100; v++)
            assert_in_range(seen[v], 1500, 2500);
        drop(t);
    }
}

/* The same values; -8 and 7 in low nibbles and in high ones. */
static void test_formats_agree(void **state) {
    (void)state;
    tensors *low = linear("s4_low", 40, 77, ""), *word = linear("s4_word8", 40, 77, "");
    int64_t lowest[2] = {0}, highest[2] = {0};
    for (int64_t n = 0; n < 40; n++)
        for (int64_t j = 0; j < 77; j++) {
            double w = at(low, OPERAND_W, n, j);
            assert_true(w == at(word, OPERAND_W, n, j));
            lowest[j % 2] += w == -8;
            highest[j % 2] += w == 7;
        }
    assert_true(lowest[0] > 20 && lowest[1] > 20 && highest[0] > 20 && highest[1] > 20);
    assert_int_equal(low->shapes[OPERAND_W].bytes, 40 * 39);
    assert_int_equal(word->shapes[OPERAND_W].bytes, 40 * 40);
    drop(low);
    drop(word);
}

/* Nibbles behind the last weight are neither 0 nor what stands for 0, in most rows. */
static void test_padding_is_garbage(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        tensors *t = linear(formats[i % 2], 64, 77, i < 2 ? "" : "data=extremes");
        int64_t garbage = 0, pads = t->shapes[OPERAND_W].row * 2 - 77;
        for (int64_t n = 0; n < 64; n++)
            for (int64_t j = 77; j < 77 + pads; j++)
                garbage += at(t, OPERAND_W, n, j) != 0 && at(t, OPERAND_W, n, j) != -8;
        assert_int_equal(pads, i % 2 ? 3 : 1);
        assert_true(garbage >= 64 * pads * 3 / 4);
        drop(t);
    }
}

static void test_extremes(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        tensors *t =
            linear(formats[i % 2], 10, 65, i < 2 ? "data=extremes" : "data=extremes zero_points=1");
        double most = 0, least = 0;
        for (int64_t n = 0; n < 10; n++) {
            double sum = 0;
            for (int64_t j = 0; j < 65; j++) {
                double w = at(t, OPERAND_W, n, j);
                assert_true(w == -8 || w == 7 || (w == -7 && n % 5 == 1));
                sum += w - (i < 2 ? 0 : at(t, OPERAND_W_ZEROS, 0, n));
            }
            most = fmax(most, sum);
            least = fmin(least, sum);
        }
        assert_true(i < 2 ? most == 7 * 65 && least == -8 * 65
                          : most == 15 * 65 && least == -15 * 65);
        drop(t);
    }
}

/* --- Zero points ------------------------------------------------------------------------------ */

static void test_zero_points(void **state) {
    (void)state;
    tensors *t = make("gemm_s8s4s32 tokens=1 n=50 k=640 group_size=32 zero_points=1");
    tensors *u = make("gemm_s8s4s32 tokens=1 n=50 k=640 zero_points=1");
    assert_int_equal(t->shapes[OPERAND_W_ZEROS].bytes, 50 * 20);
    assert_int_equal(u->shapes[OPERAND_W_ZEROS].bytes, 50);
    int64_t seen[16] = {0}, along_n = 0, along_g = 0, channels = 0;
    for (int64_t n = 0; n < 50; n++) {
        channels += n > 0 && at(u, OPERAND_W_ZEROS, 0, n) == at(u, OPERAND_W_ZEROS, 0, n - 1);
        for (int64_t g = 0; g < 20; g++) {
            double z = at(t, OPERAND_W_ZEROS, 0, n * 20 + g);
            assert_true(z >= -8 && z <= 7);
            seen[(int)z + 8]++;
            along_g += g > 0 && z == at(t, OPERAND_W_ZEROS, 0, n * 20 + g - 1);
            along_n += n > 0 && z == at(t, OPERAND_W_ZEROS, 0, (n - 1) * 20 + g);
        }
    }
    for (int v = 0; v < 16; v++)
        assert_in_range(seen[v], 40, 130);
    assert_int_equal(along_n + along_g + channels, 0);
    drop(t);
    drop(u);
}

/* --- Scales ----------------------------------------------------------------------------------- */

static bool differ(double a, double b) {
    a = fabs(a);
    b = fabs(b);
    return a >= 2 * b || b >= 2 * a;
}

/* By a power of two along the groups or the channels, or to the next expert: another size. */
static void assert_sizes_differ(const tensors *t, operand_id id, int64_t channels, int64_t groups) {
    for (int64_t e = 0; e < t->shapes[id].rows; e++)
        for (int64_t n = 0; n < channels; n++)
            for (int64_t g = 0; g < groups; g++) {
                double scale = at(t, id, e, n * groups + g);
                for (int64_t step = 1; step <= g; step *= 2)
                    assert_true(differ(scale, at(t, id, e, n * groups + g - step)));
                for (int64_t step = 1; step <= n; step *= 2)
                    assert_true(differ(scale, at(t, id, e, (n - step) * groups + g)));
                assert_true(e == 0 || differ(scale, at(t, id, e - 1, n * groups + g)));
            }
}

static void test_scales(void **state) {
    (void)state;
    tensors *t = make("linear_w4a8 tokens=1 n=70 k=640 group_size=32");
    assert_int_equal(t->shapes[OPERAND_W_SCALES].dtype, ARMQ_DTYPE_BF16);
    assert_sizes_differ(t, OPERAND_W_SCALES, 70, 20);
    int64_t negative = 0;
    for (int64_t i = 0; i < 70 * 20; i++)
        negative += at(t, OPERAND_W_SCALES, 0, i) < 0;
    assert_in_range(negative, 70 * 20 / 4, 70 * 20 / 2);
    drop(t);
    t = make("moe_w4a8 tokens=1 hidden=192 intermediate=128 experts=5 top_k=1 group_size=64");
    assert_sizes_differ(t, OPERAND_W2_SCALES, 192, 2);
    drop(t);
    t = make("linear_w4a8 tokens=1 n=70 k=96");
    assert_int_equal(t->shapes[OPERAND_W_SCALES].dtype, ARMQ_DTYPE_F32);
    assert_sizes_differ(t, OPERAND_W_SCALES, 70, 1);
    drop(t);
}

static void test_bad_scales(void **state) {
    (void)state;
    static const char *const cases[] = {"group_size=32", "zero_points=1"};
    for (int i = 0; i < 2; i++) {
        tensors *t = linear("s4_low", 60, 96,
                            i ? "zero_points=1 data=bad_scales" : "group_size=32 data=bad_scales");
        int64_t groups = i ? 1 : 3, bad = 0, zeros = 0, nans = 0, infinite = 0, subnormal = 0;
        for (int64_t j = 0; j < 60 * groups; j++) {
            double scale = at(t, OPERAND_W_SCALES, 0, j);
            bool is_bad = !(fabs(scale) >= 0x1p-126 && fabs(scale) < 1e6);
            assert_true(!is_bad || j / groups % 3 == 1);
            bad += is_bad;
            zeros += scale == 0;
            nans += isnan(scale);
            infinite += isinf(scale) != 0;
            subnormal += scale != 0 && fabs(scale) < 0x1p-126;
        }
        if (bad != 20 || zeros < 4 || nans < 2 || infinite < 4 || subnormal < 6)
            fail_msg("%s: %d bad", cases[i], (int)bad);
        drop(t);
    }
}

/* --- Outputs ---------------------------------------------------------------------------------- */

static double row_rms(const tensors *t, int64_t row) {
    double square = 0;
    for (int64_t n = 0; n < t->c.desc.n; n++) {
        double sum = 0;
        for (int64_t j = 0; j < t->c.desc.k; j++)
            sum += at(t, OPERAND_X, row, j) * real_weight(t, OPERAND_W, 0, n, j);
        square += sum * sum;
    }
    return sqrt(square / (double)t->c.desc.n);
}

static void test_output_size(void **state) {
    (void)state;
    static const char *const more[] = {"",
                                       "zero_points=1",
                                       "quant=symmetric",
                                       "quant=symmetric zero_points=1",
                                       "group_size=32 in=f32",
                                       "group_size=32 zero_points=1",
                                       "group_size=128 zero_points=1 in=f16",
                                       "group_size=128 quant=symmetric"};
    static const int ks[] = {128, 384, 2048};
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 3; k++) {
            tensors *t = linear("s4_low", 60, ks[k], more[i]);
            for (int64_t row = 0; row < 3; row++) {
                double rms = row_rms(t, row);
                if (!(rms >= 0.5 && rms <= 45))
                    fail_msg("k=%d %s: rms of row %d is %g", ks[k], more[i], (int)row, rms);
            }
            drop(t);
        }
}

/* --- The same bytes everywhere ---------------------------------------------------------------- */

static const struct {
    const char *text;
    uint64_t hash;
} golden[] = {
    {"gemm_s8s4s32 tokens=5 n=7 k=61", UINT64_C(0x6b04d189b648a27a)},
    {"gemm_s8s4s32 tokens=5 n=7 k=96 group_size=32 zero_points=1 format=s4_word8",
     UINT64_C(0x05e9b7c5323ff357)},
    {"gemm_s8s4s32 tokens=5 n=7 k=61 zero_points=1 data=extremes", UINT64_C(0x08f1332596ef4b3a)},
    {"linear_w4a8 tokens=5 n=40 k=129 in=bf16 bias=f32 zero_points=1",
     UINT64_C(0xd7166d5fe3f9299f)},
    {"linear_w4a8 tokens=5 n=40 k=192 in=f16 group_size=64 format=s4_word8 seed=2",
     UINT64_C(0x10d5adc52ace465d)},
    {"linear_w4a8 tokens=5 n=40 k=192 in=f32 group_size=96 zero_points=1 data=bad_scales",
     UINT64_C(0x8985a201089a766d)},
    {"linear_w4a8 tokens=5 n=40 k=192 quant=symmetric data=ties", UINT64_C(0x088364139aeb12f6)},
    {"moe_w4a8 tokens=5 hidden=64 intermediate=96 experts=3 top_k=2 group_size=32 zero_points=1 "
     "activation=swigluoai w13_bias=1 w2_bias=1",
     UINT64_C(0xcf54cfce64026ab0)},
    {"moe_w4a8 tokens=5 hidden=33 intermediate=17 experts=3 top_k=2 in=f32 data=poison "
     "routing=empty router=input",
     UINT64_C(0xfa3c96e4a97d8363)},
};

static void test_golden_hashes(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        tensors *t = make(golden[i].text);
        uint64_t hash = generate_hash(&t->c, t->shapes, &t->data);
        if (hash != golden[i].hash) {
            print_message("    {\"%s\", UINT64_C(0x%016" PRIx64 ")},\n", golden[i].text, hash);
            wrong++;
        }
        drop(t);
    }
    assert_int_equal(wrong, 0);
}

static void test_hash_sees_every_byte(void **state) {
    (void)state;
    tensors *t = make("moe_w4a8 tokens=3 hidden=64 intermediate=32 experts=2 top_k=1 group_size=32 "
                      "zero_points=1 format=s4_word8");
    uint64_t hash = generate_hash(&t->c, t->shapes, &t->data);
    for (int id = 0; operand_is_input((operand_id)id); id++)
        for (size_t i = 0; i < t->shapes[id].bytes; i += 7) {
            char *byte = (char *)t->data.at[id] + i;
            *byte ^= 16;
            assert_true(hash != generate_hash(&t->c, t->shapes, &t->data));
            *byte ^= 16;
        }
    drop(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_formats_agree),
        cmocka_unit_test(test_padding_is_garbage),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_zero_points),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_bad_scales),
        cmocka_unit_test(test_output_size),
        cmocka_unit_test(test_golden_hashes),
        cmocka_unit_test(test_hash_sees_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
