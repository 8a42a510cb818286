/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/generate.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

typedef struct {
    const judgement *j;
    ref_context *reference;
    expected_rows *wanted; /* NULL: nothing is kept */
    armq_weights weights[2];
    int64_t row_length;
    int64_t judged, wrong;
    double worst; /* distance of the worst element from mid; infinite for NaN */
    ref_interval *intervals;
    int64_t *columns;
    int8_t *q;
    /* For the quality of y: */
    double *halves;
    int64_t half_count, half_capacity;
    double square_sum;
} judge;

/* --- Failures --------------------------------------------------------------------------------- */

static void element_text(armq_dtype dtype, const void *got, char text[64]) {
    uint32_t bits = 0;
    size_t bytes = armq_dtype_bytes(dtype);
    memcpy(&bits, got, bytes);
    double value = armq_load(dtype, got, 0);
    if (isnan(value))
        snprintf(text, 64, "NaN (0x%0*" PRIx32 ")", (int)(2 * bytes), bits);
    else
        snprintf(text, 64, "%.9g (0x%0*" PRIx32 ")", value, (int)(2 * bytes), bits);
}

static void describe_wrong(const judge *s, const char *operand, armq_dtype dtype, int64_t row,
                           int64_t column, const void *got, const ref_interval *wanted) {
    check_failure *f = s->j->failure;
    char text[64], want[64];
    element_text(dtype, got, text);
    f->has_element = true;
    snprintf(f->operand, sizeof f->operand, "%s", operand);
    f->row = row;
    f->column = column;
    f->got = armq_load(dtype, got, 0);
    f->lo = armq_round_to(dtype, wanted->lo);
    f->mid = wanted->mid;
    f->hi = armq_round_to(dtype, wanted->hi);
    if (wanted->kind == REF_NAN) {
        f->lo = f->mid = f->hi = (double)NAN;
        snprintf(want, sizeof want, "NaN");
    } else if (f->lo == f->hi) {
        snprintf(want, sizeof want, "%.9g", f->lo);
    } else {
        snprintf(want, sizeof want, "[%.9g, %.9g]", f->lo, f->hi);
    }
    snprintf(f->detail, sizeof f->detail, "%s[%" PRId64 "][%" PRId64 "] is %s, wanted %s", operand,
             row, column, text, want);
}

/* The comparator of the suite: ref_accepts, and nothing else. */
static void judge_element(judge *s, const char *operand, armq_dtype dtype, int64_t row,
                          int64_t column, const void *got, const ref_interval *wanted) {
    bool ok = ref_accepts(wanted, dtype, got);
    s->judged++;
    if (ok)
        return;
    double distance = fabs(armq_load(dtype, got, 0) - wanted->mid);
    if (isnan(distance))
        distance = (double)INFINITY;
    if (s->wrong++ == 0 || distance > s->worst) {
        s->worst = distance;
        describe_wrong(s, operand, dtype, row, column, got, wanted);
    }
}

/* --- Quality ---------------------------------------------------------------------------------- */

static void measure(judge *s, armq_dtype dtype, const void *got, const ref_interval *wanted,
                    int64_t flips) {
    interval_quality *quality = s->j->quality;
    if (!quality || wanted->kind != REF_VALUE || !isfinite(wanted->mid))
        return;
    quality->judged++;
    quality->ambiguous += ref_is_ambiguous(wanted, dtype);
    s->square_sum += wanted->mid * wanted->mid;
    if (s->half_count < s->half_capacity)
        s->halves[s->half_count++] = (wanted->hi - wanted->lo) / 2.0;
    /* Where an intermediate may be rounded either way, a right kernel can use all of the width. */
    if (dtype == ARMQ_DTYPE_F32 && flips == 0) {
        double usage = ref_usage(wanted, dtype, got);
        if (usage > quality->usage_max)
            quality->usage_max = usage;
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of at most 1024 elements, evenly spread. */
static double median(const double *values, int64_t count) {
    enum { MOST = 1024 };
    double some[MOST];
    int64_t n = count < MOST ? count : MOST;
    for (int64_t i = 0; i < n; i++)
        some[i] = values[i * count / n];
    qsort(some, (size_t)n, sizeof *some, ascending);
    return n ? some[n / 2] : 0.0;
}

static int histogram_bin(double relative) {
    int exponent = 0;
    if (!(relative > 0.0))
        return 0;
    (void)frexp(relative, &exponent); /* relative is in [2^(exponent-1), 2^exponent) */
    int bin = exponent - 1 + 32;
    return bin < 0 ? 0 : bin >= RESULT_HISTOGRAM ? RESULT_HISTOGRAM - 1 : bin;
}

enum { MOE_SQNR_TOKENS = 2 };

/* Decibels of the outputs against the op without quantisation, over a bounded number of elements.
 */
static double sqnr(judge *s) {
    const armq_desc *d = &s->j->c->desc;
    if (armq_op_is_gemm(d->op) || d->op == ARMQ_OP_QUANTIZE || !s->j->got[OPERAND_Y])
        return (double)NAN;
    bool moe = armq_op_is_moe(d->op); /* all elements of a few tokens cost little more than one */
    int64_t work = moe ? d->top_k * d->intermediate + 1 : d->k > 0 ? d->k : 1;
    int64_t elements = d->tokens * s->row_length;
    int64_t most = 65536 / work < 8 ? 8 : 65536 / work > 64 ? 64 : 65536 / work;
    int64_t count = elements < most ? elements : most;
    double signal = 0.0, noise = 0.0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t random = random_u64(s->j->c->seed, OPERAND_Y, (uint64_t)i);
        int64_t at = (int64_t)(random % (uint64_t)elements), row = at / s->row_length;
        if (moe)
            at += (i * MOE_SQNR_TOKENS / count * d->tokens / MOE_SQNR_TOKENS - row) * s->row_length;
        double exact = ref_unquantized(s->reference, at / s->row_length, at % s->row_length);
        double got = armq_load(d->out, s->j->got[OPERAND_Y], at);
        if (!isfinite(exact) || !isfinite(got))
            continue;
        signal += exact * exact;
        noise += (got - exact) * (got - exact);
    }
    return signal > 0.0 && noise > 0.0 ? 10.0 * log10(signal / noise) : (double)NAN;
}

static void finish_quality(judge *s) {
    interval_quality *quality = s->j->quality;
    if (!quality)
        return;
    quality->elements = s->j->c->desc.tokens * s->row_length;
    quality->sqnr_db = sqnr(s);
    if (quality->judged == 0)
        return;
    quality->rms = sqrt(s->square_sum / (double)quality->judged);
    if (!(quality->rms > 0.0))
        return;
    quality->half_median = median(s->halves, s->half_count) / quality->rms;
    for (int64_t i = 0; i < s->half_count; i++) {
        double relative = s->halves[i] / quality->rms;
        quality->half_max = relative > quality->half_max ? relative : quality->half_max;
        quality->histogram[histogram_bin(relative)]++;
    }
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* `count` different columns in ascending order, the first and the last among them. */
static void choose_columns(judge *s, int64_t row, int64_t count) {
    int64_t n = s->row_length;
    for (int64_t i = 0; i < count; i++) {
        int64_t from = i * n / count, to = (i + 1) * n / count;
        uint64_t random = random_u64(s->j->c->seed, OPERAND_COUNT, (uint64_t)(row * count + i));
        s->columns[i] = from + (int64_t)(random % (uint64_t)(to - from));
    }
    s->columns[0] = 0;
    s->columns[count - 1] = n - 1;
}

static ref_row_quant quantize(judge *s, int64_t row) {
    const armq_desc *d = &s->j->c->desc;
    int64_t stride = armq_x_row(d) + s->j->c->x_pad;
    const uint8_t *x = s->j->in->at[OPERAND_X];
    if (x)
        x += (size_t)(row * stride) * armq_dtype_bytes(d->in);
    return ref_quantize_row(&d->dialect, d->in, x, d->k, s->q);
}

/* What the reference says of a row: of all columns as of before, if another provider was judged on
 * the same inputs, of some (s->columns) anew. */
static expected_row answer(judge *s, int64_t row, int64_t count) {
    bool all = count == s->row_length;
    const expected_row *kept = all && s->wanted ? expected_find(s->wanted, row) : NULL;
    if (kept)
        return *kept;
    expected_row fresh = {.has_quant = s->j->c->desc.op == ARMQ_OP_QUANTIZE};
    if (count > 0) {
        ref_row_intervals(s->reference, row, all ? NULL : s->columns, count, s->intervals);
        fresh.y = s->intervals;
        fresh.flips = ref_tie_flips(s->reference);
    }
    if (fresh.has_quant)
        fresh.quant = quantize(s, row);
    if (all && s->wanted)
        expected_keep(s->wanted, row, &fresh, count);
    return fresh;
}

static void judge_y(judge *s, int64_t row, int64_t count, const expected_row *wanted) {
    armq_dtype dtype = s->j->c->desc.out;
    const uint8_t *y = s->j->got[OPERAND_Y];
    size_t bytes = armq_dtype_bytes(dtype);
    for (int64_t i = 0; i < count; i++) {
        int64_t column = count == s->row_length ? i : s->columns[i];
        const uint8_t *got = y + (size_t)(row * s->row_length + column) * bytes;
        judge_element(s, "y", dtype, row, column, got, &wanted->y[i]);
        measure(s, dtype, got, &wanted->y[i], wanted->flips);
    }
}

static void judge_quantization(judge *s, int64_t row, ref_row_quant quant) {
    const float *scales = s->j->got[OPERAND_Y_SCALES];
    const int32_t *zeros = s->j->got[OPERAND_Y_ZEROS];
    bool declared = s->j->claims & ARMQ_CLAIM_NONFINITE_ROW_NAN;
    double scale = (double)quant.scale, zero = (double)quant.zero_point;
    ref_interval wanted = {scale, scale, scale, REF_VALUE};
    if (!quant.finite)
        wanted.kind = declared ? REF_NAN : REF_ANY;
    if (scales)
        judge_element(s, "y_scales", ARMQ_DTYPE_F32, row, 0, &scales[row], &wanted);
    wanted = (ref_interval){zero, zero, zero, quant.finite || declared ? REF_VALUE : REF_ANY};
    if (zeros)
        judge_element(s, "y_zero_points", ARMQ_DTYPE_S32, row, 0, &zeros[row], &wanted);
}

static void judge_row(judge *s, int64_t row, int64_t count) {
    if (count > 0 && count < s->row_length)
        choose_columns(s, row, count);
    expected_row wanted = answer(s, row, count);
    if (s->j->got[OPERAND_Y])
        judge_y(s, row, count, &wanted);
    if (wanted.has_quant)
        judge_quantization(s, row, wanted.quant);
}

/* --- Set-up ----------------------------------------------------------------------------------- */

static void judge_close(judge *s) {
    ref_close(s->reference);
    free(s->intervals);
    free(s->columns);
    free(s->q);
    free(s->halves);
}

static bool judge_open(judge *s, const judgement *j, int64_t columns, int64_t elements) {
    const armq_desc *d = &j->c->desc;
    ref_problem problem;
    *s = (judge){.j = j, .row_length = armq_y_row(d)};
    if (j->quality)
        *j->quality = (interval_quality){.sqnr_db = (double)NAN};
    operand_weights(j->c, j->in, s->weights);
    operand_problem(j->c, j->in, s->weights, j->claims, &problem);
    s->reference = ref_open(&problem);
    s->wanted = inputs_expected(j->shared, d, j->claims);
    s->intervals = malloc((size_t)(columns + 1) * sizeof *s->intervals);
    s->columns = malloc((size_t)(columns + 1) * sizeof *s->columns);
    s->q = malloc((size_t)d->k + 1);
    s->half_capacity = j->quality ? elements : 0;
    s->halves = calloc((size_t)s->half_capacity + 1, sizeof *s->halves);
    if (s->reference && s->intervals && s->columns && s->q && s->halves)
        return true;
    j->failure->unjudged = true;
    snprintf(j->failure->detail, sizeof j->failure->detail,
             "not enough memory to judge (or the reference does not have this op)");
    judge_close(s);
    return false;
}

static bool verdict(judge *s) {
    check_failure *f = s->j->failure;
    bool ok = s->wrong == 0;
    if (!ok) {
        size_t used = strlen(f->detail);
        snprintf(f->detail + used, sizeof f->detail - used,
                 "; %" PRId64 " of %" PRId64 " judged elements wrong, this is the worst", s->wrong,
                 s->judged);
    }
    judge_close(s);
    return ok;
}

static int64_t columns_per_row(const judgement *j, int64_t sample) {
    int64_t n = armq_y_row(&j->c->desc), tokens = j->c->desc.tokens;
    if (sample <= 0 || tokens == 0 || armq_op_is_moe(j->c->desc.op))
        return n; /* MoE: whole tokens */
    int64_t count = sample / tokens + (sample % tokens != 0);
    count = count < 3 ? 3 : count;
    return count < n ? count : n;
}

static int64_t rows_judged(const judgement *j, int64_t sample) {
    armq_case c = *j->c;
    c.sample = sample;
    return case_sampled_rows(&c);
}

bool judge_outputs(const judgement *j, int64_t sample) {
    judge s;
    int64_t tokens = j->c->desc.tokens, count = columns_per_row(j, sample);
    int64_t rows = rows_judged(j, sample);
    if (!judge_open(&s, j, count, rows * count))
        return false;
    for (int64_t i = 0; i < rows; i++) /* the first, the last and some between */
        judge_row(&s, rows > 1 ? i * (tokens - 1) / (rows - 1) : 0, count);
    finish_quality(&s);
    return verdict(&s);
}

bool judge_rows(const judgement *j, const int64_t *rows, int64_t count) {
    judge s;
    judgement plain = *j;
    plain.quality = NULL;
    if (!judge_open(&s, &plain, armq_y_row(&j->c->desc), 0))
        return false;
    for (int64_t i = 0; i < count; i++)
        judge_row(&s, rows[i], s.row_length);
    return verdict(&s);
}
