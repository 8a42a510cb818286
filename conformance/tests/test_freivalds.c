/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "conformance/freivalds.h"
#include "harness/generate.h"

enum { TOKENS = 5, N = 37, K = 53, STRIDE = 60 };

static int8_t x[TOKENS * STRIDE], w[N * K];
static int32_t y[TOKENS * N];
static const freivalds_product product = {x, STRIDE, w, y, TOKENS, N, K, 1};

static int fill(void **state) {
    (void)state;
    for (int64_t i = 0; i < (int64_t)TOKENS * STRIDE; i++)
        x[i] = (int8_t)random_u64(1, 0, (uint64_t)i);
    for (int64_t i = 0; i < (int64_t)N * K; i++)
        w[i] = (int8_t)random_u64(1, 1, (uint64_t)i);
    w[0] = x[0] = -128;
    for (int64_t m = 0; m < TOKENS; m++)
        for (int64_t n = 0; n < N; n++) {
            int32_t sum = 0;
            for (int64_t k = 0; k < K; k++)
                sum += x[m * STRIDE + k] * w[n * K + k];
            y[m * N + n] = sum;
        }
    return 0;
}

static void a_right_product_is_equal(void **state) {
    (void)state;
    int64_t row;
    for (uint64_t seed = 0; seed < 50; seed++)
        assert_int_equal(freivalds_check(&product, seed, 2, &row), FREIVALDS_EQUAL);
}

static void any_accumulator_off_by_one_is_found_in_its_row(void **state) {
    (void)state;
    for (int64_t i = 0; i < (int64_t)TOKENS * N; i++) {
        int64_t row = -1;
        int32_t right = y[i];
        y[i] = right + (i % 2 ? 1 : -1);
        assert_int_equal(freivalds_check(&product, (uint64_t)i, 1, &row), FREIVALDS_DIFFERENT);
        assert_int_equal(row, i / N);
        y[i] = right;
    }
}

/* What a check by row sums alone would not see. */
static void swapped_and_compensating_errors_are_found(void **state) {
    (void)state;
    int64_t row = -1;
    y[N + 3] += 7;
    y[N + 4] -= 7;
    assert_int_equal(freivalds_check(&product, 1, 1, &row), FREIVALDS_DIFFERENT);
    assert_int_equal(row, 1);
    y[N + 3] -= 7;
    y[N + 4] += 7;
    int32_t *last = &y[(size_t)4 * N], other = last[0];
    last[0] = last[1];
    last[1] = other;
    assert_int_equal(freivalds_check(&product, 1, 1, &row), FREIVALDS_DIFFERENT);
    assert_int_equal(row, 4);
    last[1] = last[0];
    last[0] = other;
    assert_int_equal(freivalds_check(&product, 1, 1, &row), FREIVALDS_EQUAL);
}

/* Accumulators of groups: each one, what moves from one group to the next, and groups that changed
 * places. */
static void errors_of_groups_are_found(void **state) {
    (void)state;
    enum { GROUPS = 4, LENGTH = 13, ALL = GROUPS * LENGTH };
    static int32_t sums[TOKENS * N * GROUPS];
    freivalds_product p = {x, STRIDE, w, sums, TOKENS, N, ALL, GROUPS};
    int64_t row = -1;
    for (int64_t i = 0; i < (int64_t)TOKENS * N * GROUPS; i++) {
        int64_t m = i / (N * GROUPS), n = i / GROUPS % N, first = i % GROUPS * LENGTH;
        for (int64_t k = first; k < first + LENGTH; k++)
            sums[i] += x[m * STRIDE + k] * w[n * ALL + k];
    }
    assert_int_equal(freivalds_check(&p, 1, 2, &row), FREIVALDS_EQUAL);
    for (int64_t i = 0; i < (int64_t)TOKENS * N * GROUPS; i++) {
        sums[i]++;
        assert_int_equal(freivalds_check(&p, (uint64_t)i, 1, &row), FREIVALDS_DIFFERENT);
        assert_int_equal(row, i / (N * GROUPS));
        sums[i]--;
    }
    sums[9] += 3;
    sums[10] -= 3;
    assert_int_equal(freivalds_check(&p, 1, 1, &row), FREIVALDS_DIFFERENT);
    sums[9] -= 3;
    sums[10] += 3;
    p.groups = 1;
    p.n = N * GROUPS;
    p.k = LENGTH;
    assert_int_equal(freivalds_check(&p, 1, 1, &row), FREIVALDS_DIFFERENT);
}

/* -128 * -128 all along: a sum that int16 and a signed modulus would get wrong. */
static void the_edge_of_the_contract(void **state) {
    (void)state;
    enum { LONG = 131071 };
    int8_t *edge = malloc(LONG);
    int32_t sum = LONG * 16384;
    int64_t row;
    assert_non_null(edge);
    for (int64_t i = 0; i < LONG; i++)
        edge[i] = -128;
    const freivalds_product longest = {edge, LONG, edge, &sum, 1, 1, LONG, 1};
    assert_int_equal(freivalds_check(&longest, 1, 2, &row), FREIVALDS_EQUAL);
    sum = -sum;
    assert_int_equal(freivalds_check(&longest, 1, 2, &row), FREIVALDS_DIFFERENT);
    free(edge);
}

static void empty_products(void **state) {
    (void)state;
    int64_t row;
    int32_t zeros[3] = {0, 0, 0};
    const freivalds_product nothing = {NULL, 0, NULL, NULL, 0, 0, 0, 1};
    freivalds_product no_k = {NULL, 0, NULL, zeros, 1, 3, 0, 1};
    assert_int_equal(freivalds_check(&nothing, 1, 2, &row), FREIVALDS_EQUAL);
    assert_int_equal(freivalds_check(&no_k, 1, 2, &row), FREIVALDS_EQUAL);
    zeros[2] = 1;
    assert_int_equal(freivalds_check(&no_k, 1, 2, &row), FREIVALDS_DIFFERENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_product_is_equal),
        cmocka_unit_test(any_accumulator_off_by_one_is_found_in_its_row),
        cmocka_unit_test(swapped_and_compensating_errors_are_found),
        cmocka_unit_test(errors_of_groups_are_found),
        cmocka_unit_test(the_edge_of_the_contract),
        cmocka_unit_test(empty_products),
    };
    return cmocka_run_group_tests_name("freivalds", tests, fill, NULL);
}
