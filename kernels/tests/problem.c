/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/tests/problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/api/describe.h"
#include "kernels/api/dialects.h"
#include "kernels/api/names.h"
#include "kernels/tests/s4.h"
#include "reference/formats.h"

void *guarded(size_t bytes, size_t align, int fill) {
    if (bytes == 0)
        return NULL;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t body = (bytes + page - 1) / page * page;
    char *base =
        mmap(NULL, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base + body, page, PROT_NONE) != 0)
        fail_msg("no guarded memory");
    char *start = base + (body - bytes) / align * align;
    memset(start, fill, bytes);
    return start;
}

uint32_t random_u32(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 32);
}

/* About normal, standard deviation 1. */
static double random_normal(uint64_t *state) {
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += random_u32(state) * 0x1p-32;
    return sum - 6;
}

static void *random_floats(armq_dtype dtype, int64_t rows, int64_t row, int64_t stride,
                           uint64_t *state) {
    const size_t element = armq_dtype_bytes(dtype);
    const int64_t count = rows && row ? (rows - 1) * stride + row : 0;
    char *array = guarded((size_t)count * element, element, 0x5a);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < row; i++) {
            double value = random_normal(state) * (double)(1 + r % 5);
            if (dtype == ARMQ_DTYPE_S8)
                value = (double)(int8_t)random_u32(state);
            armq_store(dtype, array, r * stride + i, armq_round_to(dtype, value));
        }
    return array;
}

static bool is_s4(const armq_desc *d) {
    return d->format == ARMQ_WEIGHT_S4_LOW || d->format == ARMQ_WEIGHT_S4_WORD8;
}

static void describe_weights(armq_desc *d, const problem_spec *spec) {
    const bool s4 = spec->op == ARMQ_OP_LINEAR_W4A8 || spec->op == ARMQ_OP_GEMM_S8S4S32;
    d->group_size = spec->group_size;
    d->format = spec->op == ARMQ_OP_LINEAR_BF16 ? ARMQ_WEIGHT_BF16
                : !s4                           ? ARMQ_WEIGHT_S8
                : spec->word8                   ? ARMQ_WEIGHT_S4_WORD8
                                                : ARMQ_WEIGHT_S4_LOW;
    if (spec->op == ARMQ_OP_LINEAR_W8A8 || spec->op == ARMQ_OP_LINEAR_W4A8)
        d->scale_dtype = spec->group_size ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
}

problem problem_make(problem_spec spec) {
    uint64_t state = (uint64_t)(spec.tokens * 1000003 + spec.n * 10007 + spec.k * 101) + spec.in;
    problem p = {.desc = {.size = sizeof(armq_desc), .abi = ARMQ_ABI_VERSION}};
    armq_desc *d = &p.desc;
    const char *why = "";
    if (!armq_dialect_preset(spec.dialect, spec.op, spec.in, spec.group_size, ARMQ_ACT_NONE,
                             &d->dialect, &why))
        fail_msg("%s: %s", spec.dialect, why);
    if (spec.quant != ARMQ_QUANT_NONE)
        d->dialect.quant = spec.quant;
    d->op = spec.op;
    d->tokens = spec.tokens, d->n = spec.n, d->k = spec.k;
    d->in = spec.in, d->out = spec.out;
    d->bias_dtype = spec.bias ? ARMQ_DTYPE_F32 : ARMQ_DTYPE_NONE;
    describe_weights(d, &spec);
    d->uses = (spec.bias ? ARMQ_USES_BIAS : 0) | (spec.zero_points ? ARMQ_USES_WEIGHT_ZERO : 0) |
              (spec.strides ? ARMQ_USES_X_STRIDE | ARMQ_USES_Y_STRIDE : 0);
    d->max_threads = spec.max_threads ? spec.max_threads : 1;
    d->l1 = spec.l1;
    d->features = spec.features;
    p.x_stride = spec.k + (spec.strides ? 3 : 0);
    p.y_row = armq_y_row(d);
    p.y_stride = p.y_row + (spec.strides ? 5 : 0);
    p.x = random_floats(spec.in, spec.tokens, spec.k, p.x_stride, &state);
    p.weights.size = sizeof p.weights;
    float *bias = guarded((size_t)spec.n * 4, 4, 0);
    for (int64_t i = 0; i < spec.n; i++)
        bias[i] = (float)(1000 * i);
    p.weights.bias = spec.bias ? bias : NULL;
    if (is_s4(d)) {
        s4_fill(d, &p.weights, spec.n, spec.k, 0.01, &state);
        return p;
    }
    armq_dtype weight = spec.op == ARMQ_OP_LINEAR_BF16 ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_S8;
    p.weights.w = random_floats(weight, spec.n, spec.k, spec.k, &state);
    float *scales = guarded((size_t)spec.n * 4, 4, 0);
    for (int64_t i = 0; i < spec.n; i++)
        scales[i] = 0.001f * (float)(1 + i % 7);
    p.weights.scales = d->scale_dtype == ARMQ_DTYPE_F32 ? scales : NULL;
    return p;
}

size_t problem_y_bytes(const problem *p) {
    const armq_desc *d = &p->desc;
    if (d->tokens == 0 || p->y_row == 0)
        return 0;
    return (size_t)((d->tokens - 1) * p->y_stride + p->y_row) * armq_dtype_bytes(d->out);
}

void *problem_run(const armq_provider *provider, const problem *p, const armq_threads *threads) {
    armq_support support = {.size = sizeof support};
    if (provider->query(&p->desc, &support) != ARMQ_OK)
        fail_msg("%s refuses: %s", provider->name, support.reason);
    void *packed = guarded(support.packed_bytes[0], support.packed_align, 0x5a);
    assert_int_equal(provider->pack(&p->desc, 0, 0, 1, &p->weights, packed), ARMQ_OK);
    const bool strides = (p->desc.uses & ARMQ_USES_Y_STRIDE) != 0;
    const armq_args args = {
        .size = sizeof args,
        .x = p->x,
        .x_stride = strides ? p->x_stride : 0,
        .y = guarded(problem_y_bytes(p), armq_dtype_bytes(p->desc.out), 0xa5),
        .y_stride = strides ? p->y_stride : 0,
        .packed = {packed},
        .workspace = guarded(support.workspace_bytes, support.workspace_align, 0xff),
        .threads = threads,
    };
    assert_int_equal(provider->run(&p->desc, NULL, &args), ARMQ_OK);
    return args.y;
}

/* --- The op in plain C ---------------------------------------------------------------------------
 */

typedef struct {
    float multiplier, scale;
    int32_t zero_point;
} row_quant;

static bool is_raw(const problem *p) { return p->desc.out == ARMQ_DTYPE_S32; }

/* In the working dtype. */
static float input(const problem *p, int64_t row, int64_t i) {
    return (float)armq_round_to(p->desc.dialect.work,
                                armq_load(p->desc.in, p->x, row * p->x_stride + i));
}

static row_quant quantize(const problem *p, int64_t row) {
    float min = 0, max = 0;
    for (int64_t i = 0; i < p->desc.k; i++) {
        const float x = input(p, row, i);
        min = x < min ? x : min;
        max = x > max ? x : max;
    }
    if (p->desc.dialect.quant == ARMQ_QUANT_SYMMETRIC) {
        float amax = max > -min ? max : -min;
        if (amax < 1e-7f)
            amax = 1e-7f;
        return (row_quant){127.0f / amax, amax / 127.0f, 0};
    }
    float range = max - min, k = range == 0 ? 1.0f : 255.0f / range;
    float error = (-128.0f + min * k) + (127.0f + max * k);
    float zero = error > 0 ? -128.0f - min * k : 127.0f - max * k;
    zero = zero < -128 ? -128 : zero > 127 ? 127 : zero;
    return (row_quant){k, 1.0f / k, (int32_t)rintf(zero)};
}

static int64_t quantized(const problem *p, row_quant q, int64_t row, int64_t i) {
    const float x = input(p, row, i) * q.multiplier;
    float rounded = p->desc.dialect.q_rounding == ARMQ_ROUND_TIES_AWAY ? roundf(x) : rintf(x);
    int64_t value = (int64_t)rounded + q.zero_point;
    return value < -128 ? -128 : value > 127 ? 127 : value;
}

uint32_t output_bits(const problem *p, const void *y, int64_t row, int64_t column) {
    const size_t element = armq_dtype_bytes(p->desc.out);
    uint32_t bits = 0;
    memcpy(&bits, (const char *)y + (size_t)(row * p->y_stride + column) * element, element);
    return bits;
}

static uint32_t bits_of(armq_dtype dtype, double value) {
    uint32_t bits = 0;
    armq_store(dtype, &bits, 0, value);
    return bits;
}

/* Sum over elements [first, last) of what the row and the column have there, times the row's zero
 * point or not; in *weights the sum of the column's. */
static int64_t sum_of(const problem *p, row_quant q, int64_t row, int64_t column, int64_t first,
                      int64_t last, int64_t *weights) {
    const armq_desc *d = &p->desc;
    int64_t acc = 0;
    *weights = 0;
    for (int64_t i = first; i < last; i++) {
        const int64_t a =
            is_raw(p) ? ((const int8_t *)p->x)[row * p->x_stride + i] : quantized(p, q, row, i);
        const int64_t w = is_s4(d) ? s4_value(d, &p->weights, d->k, column, i)
                                   : ((const int8_t *)p->weights.w)[column * d->k + i];
        acc += a * w;
        *weights += w;
    }
    return acc;
}

/* Groups ascending, fused; the zero point's part apart from them, in one rounding. */
static float grouped_output(const problem *p, row_quant q, int64_t row, int64_t column) {
    const armq_desc *d = &p->desc;
    const int64_t size = d->group_size;
    float sum = 0;
    double correction = 0;
    for (int64_t first = 0; first < d->k; first += size) {
        int64_t weights;
        const float acc = (float)sum_of(p, q, row, column, first, first + size, &weights);
        const float scale = s4_scale(d, &p->weights, d->k, column, first);
        sum = fmaf(acc, scale, sum);
        correction += (double)scale * (double)weights;
    }
    if (d->dialect.quant == ARMQ_QUANT_ASYMMETRIC)
        sum = fmaf(-(float)correction, (float)q.zero_point, sum);
    return sum * q.scale;
}

uint32_t scalar_output(const problem *p, int64_t row, int64_t column) {
    const armq_desc *d = &p->desc;
    if (is_raw(p)) {
        const int64_t size = d->group_size ? d->group_size : d->k;
        const int64_t groups = d->group_size ? d->k / size : 1;
        const int64_t first = column % groups * size;
        int64_t weights;
        return bits_of(ARMQ_DTYPE_S32, (double)sum_of(p, (row_quant){1, 1, 0}, row, column / groups,
                                                      first, first + size, &weights));
    }
    const row_quant q = quantize(p, row);
    int64_t weights, acc = sum_of(p, q, row, column, 0, d->k, &weights);
    float y;
    if (d->group_size)
        y = grouped_output(p, q, row, column);
    else if (is_s4(d))
        y = (float)(acc - q.zero_point * weights) *
            (q.scale * s4_scale(d, &p->weights, d->k, column, 0));
    else
        y = (float)(acc - q.zero_point * weights) *
            (q.scale * ((const float *)p->weights.scales)[column]);
    if (p->weights.bias) {
        if (d->dialect.linear_round_before_bias)
            y = (float)armq_round_to(d->out, y);
        y += ((const float *)p->weights.bias)[column];
    }
    return bits_of(d->out, y);
}

double exact_bf16(const problem *p, int64_t row, int64_t column, double *magnitude) {
    const armq_desc *d = &p->desc;
    double sum = p->weights.bias ? ((const float *)p->weights.bias)[column] : 0;
    *magnitude = fabs(sum);
    for (int64_t i = 0; i < d->k; i++) {
        double x = armq_round_to(ARMQ_DTYPE_BF16, armq_load(d->in, p->x, row * p->x_stride + i));
        double term = x * armq_load(ARMQ_DTYPE_BF16, p->weights.w, column * d->k + i);
        sum += term;
        *magnitude += fabs(term);
    }
    return sum;
}

/* --- A pool on one thread ------------------------------------------------------------------------
 */

static void run_serially(void *ctx, int64_t jobs, void (*f)(void *, int64_t, int32_t), void *arg) {
    serial_pool *pool = ctx;
    for (int64_t i = 0; i < jobs; i++) {
        int64_t job = pool->reverse ? jobs - 1 - i : i;
        int32_t thread = (int32_t)(job % pool->threads.n);
        pool->indices_used |= UINT64_C(1) << thread;
        pool->jobs_run++;
        f(arg, job, thread);
    }
}

void serial_pool_init(serial_pool *pool, int32_t n, bool reverse) {
    *pool = (serial_pool){.threads = {pool, n, run_serially}, .reverse = reverse};
}
