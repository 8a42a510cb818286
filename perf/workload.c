/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/workload.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/generate.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

__attribute__((format(printf, 2, 3))) static bool fail(char why[WORKLOAD_WHY], const char *format,
                                                       ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(why, WORKLOAD_WHY, format, args);
    va_end(args);
    return false;
}

static bool allocate(workload *w, char why[WORKLOAD_WHY]) {
    for (int id = 0; id < OPERAND_COUNT; id++) {
        const operand_shape *shape = &w->shapes[id];
        if (!shape->present || shape->bytes == 0)
            continue;
        const size_t align = shape->align > 64 ? shape->align : 64;
        if (posix_memalign(&w->data.at[id], align, shape->bytes) != 0) {
            w->data.at[id] = NULL;
            return fail(why, "no memory for %zu bytes of %s", shape->bytes, shape->name);
        }
        if (operand_is_input((operand_id)id))
            generate_operand(&w->c, (operand_id)id, shape, w->data.at[id]);
        else
            memset(w->data.at[id], 0xff, shape->bytes); /* pages are there before time is taken */
    }
    return true;
}

static bool hand_over(workload *w, char why[WORKLOAD_WHY]) {
    operand_weights(&w->c, &w->data, w->weights);
    armq_status status = operand_pack(w->provider, &w->c, w->weights, &w->support, &w->data);
    if (status != ARMQ_OK)
        return fail(why, "pack returned %s", armq_status_name(status));
    w->threads = threads_serial(1);
    if (w->c.threads > 1) {
        w->pool = thread_pool_open(w->c.threads);
        if (w->pool == NULL)
            return fail(why, "%d threads cannot be started", w->c.threads);
        w->threads = thread_pool_threads(w->pool, w->c.threads);
    }
    operand_args(&w->c, &w->data, w->weights, w->support.claims, &w->threads, &w->args);
    if (w->provider->prepare != NULL) {
        status = w->provider->prepare(&w->c.desc, w->args.packed, &w->plan);
        if (status != ARMQ_OK)
            return fail(why, "prepare returned %s", armq_status_name(status));
    }
    return true;
}

/* At most `most` of 0 .. count-1, first and last included, in ascending order. */
static int64_t spread(int64_t count, int64_t most, int64_t *at) {
    const int64_t n = count < most ? count : most;
    for (int64_t i = 0; i < n; i++)
        at[i] = n == 1 ? 0 : (int64_t)((double)(count - 1) * (double)i / (double)(n - 1));
    return n;
}

static bool take_sample(workload *w, char why[WORKLOAD_WHY]) {
    workload_sample *s = &w->sample;
    s->rows = spread(w->shapes[OPERAND_Y].rows, WORKLOAD_ROWS, s->row);
    s->columns = spread(w->shapes[OPERAND_Y].row, WORKLOAD_COLUMNS, s->column);
    if (s->rows == 0 || s->columns == 0)
        return fail(why, "the case has no output, so there is nothing to time");
    ref_problem problem;
    operand_problem(&w->c, &w->data, w->weights, w->support.claims, &problem);
    ref_context *reference = ref_open(&problem);
    if (reference == NULL)
        return fail(why, "the reference cannot judge %s (not implemented, or no memory)",
                    armq_op_name(w->c.desc.op));
    for (int64_t i = 0; i < s->rows; i++)
        ref_row_intervals(reference, s->row[i], s->column, s->columns, s->interval[i]);
    ref_close(reference);
    return true;
}

bool workload_open(workload *w, const armq_case *c, const armq_provider *provider,
                   char why[WORKLOAD_WHY]) {
    *w = (workload){.c = *c, .provider = provider, .support = {.size = sizeof w->support}};
    if (provider->query(&w->c.desc, &w->support) != ARMQ_OK)
        return fail(why, "refused: %s", w->support.reason);
    operand_shapes(&w->c, &w->support, w->shapes);
    if (allocate(w, why) && hand_over(w, why) && take_sample(w, why))
        return true;
    workload_close(w);
    return false;
}

void workload_close(workload *w) {
    if (w->plan != NULL)
        w->provider->release(w->plan);
    if (w->pool != NULL)
        thread_pool_close(w->pool);
    for (int id = 0; id < OPERAND_COUNT; id++)
        free(w->data.at[id]);
    *w = (workload){.provider = NULL};
}

void workload_poison(workload *w) {
    for (int id = OPERAND_Y; id < OPERAND_COUNT; id++)
        if (w->data.at[id] != NULL)
            memset(w->data.at[id], 0xff, w->shapes[id].bytes);
}

bool workload_judge(const workload *w, char why[WORKLOAD_WHY]) {
    const workload_sample *s = &w->sample;
    const operand_shape *y = &w->shapes[OPERAND_Y];
    for (int64_t i = 0; i < s->rows; i++) {
        const char *row = (const char *)w->data.at[OPERAND_Y] +
                          s->row[i] * y->stride * (int64_t)armq_dtype_bytes(y->dtype);
        for (int64_t j = 0; j < s->columns; j++) {
            const ref_interval *want = &s->interval[i][j];
            const char *got = row + s->column[j] * (int64_t)armq_dtype_bytes(y->dtype);
            if (ref_accepts(want, y->dtype, got))
                continue;
            return fail(why,
                        "wrong answer, so no time: y[%" PRId64 "][%" PRId64
                        "] is %.9g, a correct kernel gives %.9g to %.9g",
                        s->row[i], s->column[j], armq_load(y->dtype, got, 0),
                        armq_round_to(y->dtype, want->lo), armq_round_to(y->dtype, want->hi));
        }
    }
    return true;
}
