/* SPDX-License-Identifier: Apache-2.0 */
/* linear_w4a8: every permitted order of f32 operations must land inside the intervals, and the
 * intervals must be narrow. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/api/dialects.h"
#include "reference/formats.h"
#include "reference/int4.h"
#include "reference/tests/int4_orders.h"

enum { TOKENS = 6, CHANNELS = 24, LONGEST = 2048, MOST_GROUPS = LONGEST / 32 };

static uint64_t next_random(void) {
    static uint64_t seed = 0x9e3779b97f4a7c15u;
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed >> 16;
}

static float random_float(float size) {
    return size * ((float)(next_random() % 2000001) * 1e-6f - 1.0f);
}

static int8_t random_s4(void) { return (int8_t)((int)(next_random() % 16) - 8); }

/* Group sums of any sign; all positive; all equal; all equal but for the sign, which alternates. */
typedef enum { MIXED, POSITIVE, EQUAL, ALTERNATING } content;

/* Dense for the k and groups in use. */
typedef struct {
    float x[TOKENS * LONGEST]; /* room for any dtype */
    int8_t w[CHANNELS * LONGEST], zero_points[CHANNELS * MOST_GROUPS];
    uint32_t packed[CHANNELS * LONGEST / 4];
    float scales[CHANNELS * MOST_GROUPS];
    uint16_t half_scales[CHANNELS * MOST_GROUPS];
    float bias[CHANNELS]; /* room for any dtype */
} tensors;

typedef struct {
    armq_desc desc;
    armq_weights weights;
    ref_problem problem;
    tensors *t;
    content content;
} setup;

static void fill(setup *s) {
    tensors *t = s->t;
    const armq_desc *d = &s->desc;
    int64_t groups = ref_groups(d, d->k);
    for (int64_t i = 0; i < CHANNELS * d->k; i++)
        t->w[i] = (int8_t)(s->content >= EQUAL      ? 1 + i / d->k % 7
                           : s->content == POSITIVE ? random_s4() & 7
                                                    : random_s4());
    for (int64_t i = 0; i < CHANNELS * groups; i++) {
        float scale = (2.0f + random_float(1)) * ldexpf(1e-3f, (int)(next_random() % 3));
        if (s->content >= EQUAL && i % groups)
            scale = t->scales[i - 1];
        t->half_scales[i] = armq_f32_to_bf16(scale);
        t->scales[i] = d->group_size ? armq_bf16_to_f32(t->half_scales[i]) : scale;
        t->zero_points[i] = random_s4();
    }
    for (int64_t m = 0; m < TOKENS; m++) /* sizes and zero points differ, one row is positive */
        for (int64_t i = 0; i < d->k; i++) {
            float value = random_float(1 + (float)m) + 0.3f * (float)(m % 3);
            bool positive = m == 4 || s->content == POSITIVE;
            if (s->content >= EQUAL)
                value = s->content == ALTERNATING && i / 32 % 2 ? -0.7f : 0.7f + (float)m;
            armq_store(d->in, t->x, m * d->k + i, (double)(positive ? fabsf(value) : value));
        }
    for (int n = 0; n < CHANNELS; n++)
        if (d->uses & ARMQ_USES_BIAS)
            armq_store(d->bias_dtype, t->bias, n, (double)random_float(3));
    ref_int4_pack(d->format, t->w, CHANNELS, d->k, t->packed);
}

static void set_up(setup *s, tensors *t, armq_dtype in, armq_dtype out, int64_t k,
                   int64_t group_size) {
    memset(s, 0, sizeof *s);
    s->t = t;
    s->desc = (armq_desc){.size = sizeof(armq_desc), .abi = ARMQ_ABI_VERSION};
    s->desc.op = ARMQ_OP_LINEAR_W4A8;
    s->desc.tokens = TOKENS;
    s->desc.n = CHANNELS;
    s->desc.k = k;
    s->desc.in = in;
    s->desc.out = out;
    s->desc.group_size = group_size;
    s->desc.scale_dtype = group_size ? ARMQ_DTYPE_BF16 : ARMQ_DTYPE_F32;
    s->desc.format = ARMQ_WEIGHT_S4_LOW;
    assert_true(armq_dialect_preset("vllm-w4a8", s->desc.op, in, group_size, ARMQ_ACT_NONE,
                                    &s->desc.dialect, NULL));
    s->weights = (armq_weights){.size = sizeof s->weights, .w = t->packed};
    s->weights.scales = group_size ? (const void *)t->half_scales : t->scales;
    s->problem = (ref_problem){.x = t->x};
}

static void use_zero_points(setup *s) {
    s->desc.uses |= ARMQ_USES_WEIGHT_ZERO;
    s->weights.zero_points = s->t->zero_points;
}

static void use_bias(setup *s, armq_dtype dtype) {
    s->desc.uses |= ARMQ_USES_BIAS;
    s->desc.bias_dtype = dtype;
    s->weights.bias = s->t->bias;
}

typedef struct {
    double half[1 << 14], squares, usage;
    int64_t count, ambiguous;
} quality;

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_over_rms(quality *q) {
    qsort(q->half, (size_t)q->count, sizeof q->half[0], ascending);
    return q->half[q->count / 2] / sqrt(q->squares / (double)q->count);
}

static void judge(const setup *s, const int4_row *row, const ref_interval *wanted, quality *q) {
    armq_dtype out = s->desc.out;
    for (int order = 0; order < INT4_ORDERS; order++) {
        float y = int4_in_order(order, row), got = 0; /* room for any dtype */
        armq_store(out, &got, 0, (double)y);
        if (!ref_accepts(wanted, out, &got))
            fail_msg("order %d, k %d, group %d: %a not in [%a, %a]", order, row->k, row->group,
                     (double)y, wanted->lo, wanted->hi);
        q->usage = fmax(q->usage, ref_usage(wanted, out, &got));
    }
    assert_true(wanted->kind == REF_VALUE && wanted->lo <= wanted->mid &&
                wanted->mid <= wanted->hi);
    q->ambiguous += ref_is_ambiguous(wanted, out);
    q->half[q->count++] = 0.5 * (wanted->hi - wanted->lo);
    q->squares += wanted->mid * wanted->mid;
}

static void soak_row(const setup *s, int64_t m, const ref_interval *wanted, quality *found) {
    const tensors *t = s->t;
    const armq_desc *d = &s->desc;
    int64_t k = d->k, groups = ref_groups(d, k);
    int8_t q[LONGEST], w[LONGEST];
    const char *x = (const char *)t->x + m * k * (d->in == ARMQ_DTYPE_F32 ? 4 : 2);
    ref_row_quant quant = ref_quantize_row(&d->dialect, d->in, x, k, q);
    for (int64_t n = 0; n < CHANNELS; n++) {
        for (int64_t i = 0; i < k; i++) {
            int8_t zero = t->zero_points[n * groups + i * groups / k];
            w[i] = (int8_t)(t->w[n * k + i] - (d->uses & ARMQ_USES_WEIGHT_ZERO ? zero : 0));
        }
        const int4_row row = {
            .q = q,
            .zero_point = (float)quant.zero_point,
            .s_x = quant.scale,
            .w = w,
            .scales = t->scales + n * groups,
            .k = (int)k,
            .group = (int)(k / groups),
            .channel = d->group_size == 0,
            .bias = d->uses & ARMQ_USES_BIAS ? (float)armq_load(d->bias_dtype, t->bias, n) : 0};
        judge(s, &row, &wanted[n], found);
    }
}

static void soak_once(setup *s, quality *q) {
    fill(s);
    s->problem.desc = &s->desc;
    s->problem.weights[0] = &s->weights;
    ref_context *context = ref_open(&s->problem);
    assert_non_null(context);
    for (int64_t m = 0; m < TOKENS; m++) {
        ref_interval wanted[CHANNELS];
        ref_row_intervals(context, m, NULL, CHANNELS, wanted);
        soak_row(s, m, wanted, q);
    }
    ref_close(context);
}

static quality *new_quality(void) {
    quality *q = calloc(1, sizeof *q);
    assert_non_null(q);
    return q;
}

/* Zero points or not, each dtype of the bias or none, either format. */
static void soak(armq_dtype in, armq_dtype out, int64_t k, int64_t group_size, armq_quant quant) {
    tensors *t = malloc(sizeof *t);
    quality *q = new_quality();
    assert_non_null(t);
    for (int i = 0; i < (k > 1024 ? 2 : 12); i++) {
        setup s;
        set_up(&s, t, in, out, k, group_size);
        s.desc.dialect.quant = quant;
        if (i % 2)
            use_zero_points(&s);
        if (i / 2 % 3)
            use_bias(&s, i / 2 % 3 == 1 ? ARMQ_DTYPE_F32 : in);
        s.desc.format = i / 6 ? ARMQ_WEIGHT_S4_WORD8 : ARMQ_WEIGHT_S4_LOW;
        soak_once(&s, q);
    }
    double median = median_over_rms(q);
    print_message("in %d, out %d, k %d, group %d, quant %d: median half-width %.1e of rms, "
                  "ambiguous %.1f %%, usage %.2f\n",
                  (int)in, (int)out, (int)k, (int)group_size, (int)quant, median,
                  100.0 * (double)q->ambiguous / (double)q->count, q->usage);
    assert_true(median <= 2e-5);
    assert_true(out != ARMQ_DTYPE_F32 || (q->usage > 0.02 && q->usage <= 0.9));
    free(q);
    free(t);
}

static const armq_dtype dtypes[] = {ARMQ_DTYPE_F32, ARMQ_DTYPE_BF16, ARMQ_DTYPE_F16};

static void soak_channels(void **state) {
    (void)state;
    for (int i = 0; i < 9; i++)
        for (int quant = ARMQ_QUANT_SYMMETRIC; quant <= ARMQ_QUANT_ASYMMETRIC; quant++)
            soak(dtypes[i / 3], dtypes[i % 3], i % 2 ? 192 : 301, 0, (armq_quant)quant);
}

static void soak_groups(void **state) {
    (void)state;
    static const int64_t sizes[] = {32, 96, 192};
    for (int i = 0; i < 9; i++)
        for (int quant = ARMQ_QUANT_SYMMETRIC; quant <= ARMQ_QUANT_ASYMMETRIC; quant++)
            soak(dtypes[i / 3], dtypes[i / 3], 192, sizes[i % 3], (armq_quant)quant);
    soak(ARMQ_DTYPE_F32, ARMQ_DTYPE_BF16, 192, 32, ARMQ_QUANT_ASYMMETRIC);
    soak(ARMQ_DTYPE_F16, ARMQ_DTYPE_F32, 192, 32, ARMQ_QUANT_ASYMMETRIC);
}

static void soak_many_groups(void **state) {
    (void)state;
    for (int quant = ARMQ_QUANT_SYMMETRIC; quant <= ARMQ_QUANT_ASYMMETRIC; quant++)
        for (int i = 0; i < 3; i++)
            soak(dtypes[i], dtypes[i], 2048, 32, (armq_quant)quant);
}

/* Roundings that repeat, and sums that grow with every group, or only in some orders. */
static void soak_partial_sums(void **state) {
    (void)state;
    static const int64_t lengths[] = {96, 160, 256, 512, 1024, 2048};
    tensors *t = malloc(sizeof *t);
    assert_non_null(t);
    for (int i = 0; i < 6 * 3 * 2; i++) {
        setup s;
        quality *q = new_quality();
        set_up(&s, t, ARMQ_DTYPE_F32, ARMQ_DTYPE_F32, lengths[i % 6], 32);
        s.content = (content)(POSITIVE + i / 6 % 3);
        if (i / 18)
            s.desc.dialect.quant = ARMQ_QUANT_SYMMETRIC;
        soak_once(&s, q);
        print_message("k %d, content %d, quant %d: usage %.2f\n", (int)lengths[i % 6],
                      (int)s.content, (int)s.desc.dialect.quant, q->usage);
        free(q);
    }
    free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(soak_channels),
        cmocka_unit_test(soak_groups),
        cmocka_unit_test(soak_many_groups),
        cmocka_unit_test(soak_partial_sums),
    };
    return cmocka_run_group_tests_name("int4 soak", tests, NULL, NULL);
}
