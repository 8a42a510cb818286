/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/freivalds.h"

#include <stdlib.h>
#include <string.h>

#include "harness/generate.h"

static const uint64_t prime = (UINT64_C(1) << 61) - 1;

/* A random stream of its own. */
enum { STREAM = 0xf4e1 };

/* Rows of w summed up between two reductions: 2^20 * 2^7 * 2^31 = 2^58 fits int64. */
static const int64_t rows_between = INT64_C(1) << 20;

static const int low_bits = 31;

/* value mod 2^61 - 1, in [0, prime). */
static uint64_t reduce(__int128 value) {
    __int128 rest = value % (__int128)prime;
    return (uint64_t)(rest < 0 ? rest + (__int128)prime : rest);
}

typedef struct {
    uint64_t *r;        /* [n, groups] in [0, prime) */
    uint64_t *u;        /* [k] w^T r, each k with the r of its group */
    int64_t *low, *top; /* [k] sums of w times the low 31 bits of r, and the other 30 */
} vectors;

static void random_vector(uint64_t *r, int64_t n, uint64_t seed, int32_t index) {
    for (int64_t i = 0; i < n; i++)
        r[i] = (random_u64(seed, STREAM + (uint64_t)index, (uint64_t)i) >> 3) % prime;
}

/* r is split so that the inner loop multiplies 32-bit numbers and adds 64-bit ones. */
static void add_row(int64_t *low, int64_t *top, const int8_t *w, int64_t k, uint64_t r) {
    int32_t r_low = (int32_t)(r & ((UINT64_C(1) << low_bits) - 1)),
            r_top = (int32_t)(r >> low_bits);
    for (int64_t j = 0; j < k; j++) {
        low[j] += (int64_t)w[j] * r_low;
        top[j] += (int64_t)w[j] * r_top;
    }
}

static void transposed_times_vector(const freivalds_product *p, const vectors *v) {
    size_t bytes = (size_t)p->k * sizeof(int64_t);
    memset(v->u, 0, bytes);
    for (int64_t first = 0; first < p->n; first += rows_between) {
        int64_t last = p->n - first < rows_between ? p->n : first + rows_between;
        memset(v->low, 0, bytes);
        memset(v->top, 0, bytes);
        for (int64_t i = first * p->groups; i < last * p->groups; i++) {
            int64_t length = p->k / p->groups, at = i % p->groups * length;
            add_row(v->low + at, v->top + at, p->w + i * length, length, v->r[i]);
        }
        for (int64_t j = 0; j < p->k; j++)
            v->u[j] = reduce((__int128)v->u[j] + v->low[j] +
                             (__int128)v->top[j] * (INT64_C(1) << low_bits));
    }
}

/* |x| <= 2^7, u < 2^61, k < 2^59: the sum fits 128 bits; likewise y and r. */
static bool row_agrees(const freivalds_product *p, const vectors *v, int64_t row) {
    __int128 left = 0, right = 0;
    const int8_t *x = p->k ? p->x + row * p->x_stride : NULL;
    const int32_t *y = p->y + row * p->n * p->groups;
    for (int64_t i = 0; i < p->n * p->groups; i++)
        left += (__int128)y[i] * (int64_t)v->r[i];
    for (int64_t j = 0; j < p->k; j++)
        right += (__int128)x[j] * (int64_t)v->u[j];
    return reduce(left) == reduce(right);
}

static freivalds_verdict check_with(const freivalds_product *p, const vectors *v, uint64_t seed,
                                    int32_t count, int64_t *row) {
    for (int32_t index = 0; index < count; index++) {
        random_vector(v->r, p->n * p->groups, seed, index);
        transposed_times_vector(p, v);
        for (*row = 0; *row < p->tokens; ++*row)
            if (!row_agrees(p, v, *row))
                return FREIVALDS_DIFFERENT;
    }
    return FREIVALDS_EQUAL;
}

freivalds_verdict freivalds_check(const freivalds_product *p, uint64_t seed, int32_t count,
                                  int64_t *row) {
    size_t k = (size_t)p->k + 1; /* never 0 bytes */
    vectors v = {
        .r = calloc((size_t)(p->n * p->groups) + 1, sizeof *v.r),
        .u = malloc(k * sizeof *v.u),
        .low = malloc(k * sizeof *v.low),
        .top = malloc(k * sizeof *v.top),
    };
    freivalds_verdict verdict = FREIVALDS_NO_MEMORY;
    if (v.r && v.u && v.low && v.top)
        verdict = p->tokens && p->n ? check_with(p, &v, seed, count, row) : FREIVALDS_EQUAL;
    free(v.r);
    free(v.u);
    free(v.low);
    free(v.top);
    return verdict;
}
