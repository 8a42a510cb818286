/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/golden_case.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/api/describe.h"
#include "kernels/api/dialects.h"
#include "kernels/api/names.h"
#include "reference/formats.h"
#include "reference/int4.h"

verdict golden_because(golden_case *c, verdict v, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(c->message, sizeof c->message, format, list);
    va_end(list);
    return v;
}

int64_t golden_int(const golden_case *c, const char *key) {
    return json_integer_value(json_object_get(c->params, key));
}

const char *golden_text(const golden_case *c, const char *key) {
    const char *text = json_string_value(json_object_get(c->params, key));
    return text ? text : "";
}

bool golden_has(const golden_case *c, const char *name) {
    return json_object_get(json_object_get(c->entry, "arrays"), name) != NULL;
}

static bool parse_dtype(const char *text, armq_dtype *dtype) {
    if (strcmp(text, "i8") == 0)
        *dtype = ARMQ_DTYPE_S8;
    else if (strcmp(text, "i32") == 0)
        *dtype = ARMQ_DTYPE_S32;
    else
        return armq_dtype_parse(text, dtype);
    return true;
}

const void *golden_array(golden_case *c, const char *name, armq_dtype dtype, int64_t count) {
    const json_t *a = json_object_get(json_object_get(c->entry, "arrays"), name);
    const char *type = json_string_value(json_object_get(a, "dtype"));
    armq_dtype found = ARMQ_DTYPE_NONE;
    if (!a || !type || !parse_dtype(type, &found) || found != dtype) {
        golden_because(c, FAILED, "array %s: dtype %s, expected %s", name, type ? type : "missing",
                       armq_dtype_name(dtype));
        return NULL;
    }
    json_int_t offset = json_integer_value(json_object_get(a, "offset"));
    json_int_t bytes = json_integer_value(json_object_get(a, "nbytes"));
    if (bytes != count * (int64_t)armq_dtype_bytes(dtype)) {
        golden_because(c, FAILED, "array %s: %lld bytes, expected %lld elements", name,
                       (long long)bytes, (long long)count);
        return NULL;
    }
    if (offset < 0 || offset % 8 != 0 || (uint64_t)offset > c->size ||
        (uint64_t)bytes > c->size - (uint64_t)offset) {
        golden_because(c, FAILED, "array %s: outside the file or not aligned", name);
        return NULL;
    }
    return c->bytes + offset;
}

/* --- Descriptions -----
 */

int golden_formats(armq_op op, armq_weight_format formats[2]) {
    bool int4 = op == ARMQ_OP_LINEAR_W4A8 || op == ARMQ_OP_MOE_W4A8 || op == ARMQ_OP_GEMM_S8S4S32;
    formats[0] = int4                     ? ARMQ_WEIGHT_S4_LOW
                 : armq_op_is_bf16(op)    ? ARMQ_WEIGHT_BF16
                 : op == ARMQ_OP_QUANTIZE ? ARMQ_WEIGHT_NONE
                                          : ARMQ_WEIGHT_S8;
    formats[1] = ARMQ_WEIGHT_S4_WORD8;
    return int4 ? 2 : 1;
}

bool golden_ties_are_excused(const golden_case *c) {
    static const char *const names[] = {"kleidi_qsi4cx_f16_m12_n9_k64_bias_special",
                                        "kleidi_qsi4c32_bf16_m12_n9_k64_g32_bias_special"};
    return strcmp(c->name, names[0]) == 0 || strcmp(c->name, names[1]) == 0;
}

bool golden_dialect_work(const golden_case *c, armq_dialect *dialect, const char **why) {
    const char *work = golden_text(c, "work");
    *why = "work is not known";
    return !*work || armq_dtype_parse(work, &dialect->work);
}

bool golden_describe(golden_case *c, armq_desc *desc, armq_activation activation,
                     const char *bias_array) {
    const char *why = "dtype is not known", *bias_dtype = golden_text(c, "bias_dtype");
    armq_weight_format formats[2];
    char reason[256] = "";
    (void)golden_formats(desc->op, formats);
    desc->format = formats[0];
    desc->group_size = golden_int(c, "group_size");
    bool scaled = desc->format != ARMQ_WEIGHT_NONE && !armq_op_is_gemm(desc->op) &&
                  !armq_op_is_bf16(desc->op);
    desc->scale_dtype = !scaled                ? ARMQ_DTYPE_NONE
                        : desc->group_size > 0 ? ARMQ_DTYPE_BF16
                                               : ARMQ_DTYPE_F32;
    desc->max_threads = 1;
    bool ok = armq_dtype_parse(golden_text(c, "dtype"), &desc->in);
    desc->out = armq_op_is_gemm(desc->op)      ? ARMQ_DTYPE_S32
                : desc->op == ARMQ_OP_QUANTIZE ? ARMQ_DTYPE_S8
                                               : desc->in;
    if (golden_has(c, bias_array)) {
        desc->uses |= strcmp(bias_array, "bias") == 0 ? ARMQ_USES_BIAS
                                                      : ARMQ_USES_W13_BIAS | ARMQ_USES_W2_BIAS;
        desc->bias_dtype = ARMQ_DTYPE_F32;
        ok = ok && (!*bias_dtype || armq_dtype_parse(bias_dtype, &desc->bias_dtype));
    }
    if (golden_has(c, "wz") || golden_has(c, "w13z"))
        desc->uses |= ARMQ_USES_WEIGHT_ZERO;
    ok = ok && armq_dialect_preset(golden_text(c, "dialect"), desc->op, desc->in, desc->group_size,
                                   activation, &desc->dialect, &why);
    ok = ok && golden_dialect_work(c, &desc->dialect, &why);
    if (ok && golden_ties_are_excused(c))
        desc->dialect.q_rounding = ARMQ_ROUND_TIES_EVEN;
    if (ok && armq_desc_check(desc, reason, sizeof reason) == ARMQ_OK)
        return true;
    golden_because(c, FAILED, "params: %s", *reason ? reason : why);
    return false;
}

const void *golden_weights(golden_case *c, const char *name, const armq_desc *desc, int64_t rows,
                           int64_t k, void **buffer) {
    const int8_t *values = golden_array(c, name, ARMQ_DTYPE_S8, rows * k);
    if (!values || desc->format == ARMQ_WEIGHT_S8)
        return values;
    for (int64_t i = 0; i < rows * k; i++)
        if (values[i] < -8 || values[i] > 7) {
            golden_because(c, FAILED, "array %s: %d is no int4", name, values[i]);
            return NULL;
        }
    *buffer = malloc((size_t)(rows * ref_int4_row_bytes(desc->format, k)) + 1);
    if (*buffer)
        ref_int4_pack(desc->format, values, rows, k, *buffer);
    else
        golden_because(c, FAILED, "no memory");
    return *buffer;
}

/* --- Checks -----
 */

/* Ranges below this count as zero rows in armq; the recorded kernels quantise them. */
static bool is_tiny_range(const armq_desc *desc, const void *x, int64_t k) {
    double smallest = 0.0, largest = 0.0;
    for (int64_t i = 0; i < k; i++) {
        smallest = fmin(smallest, armq_load(desc->in, x, i));
        largest = fmax(largest, armq_load(desc->in, x, i));
    }
    return desc->dialect.quant == ARMQ_QUANT_ASYMMETRIC && largest > smallest &&
           largest - smallest < 0x1p-120;
}

verdict golden_check_integers(golden_case *c, const armq_desc *desc, int64_t row, const void *x,
                              int64_t k, const golden_integers *r, int8_t *q) {
    ref_row_quant quant = ref_quantize_row(&desc->dialect, desc->in, x, k, q);
    const int8_t *wanted = r->q + row * k;
    if (!quant.finite || is_tiny_range(desc, x, k))
        return PASSED;
    if (quant.scale != r->scales[row])
        return golden_because(c, FAILED, "xs[%lld]: reference %a, recorded %a", (long long)row,
                              (double)quant.scale, (double)r->scales[row]);
    if (r->zero_points && quant.zero_point != r->zero_points[row])
        return golden_because(c, FAILED, "xzp[%lld]: reference %d, recorded %d", (long long)row,
                              quant.zero_point, r->zero_points[row]);
    for (int64_t i = 0; i < k; i++)
        if (q[i] != wanted[i])
            return golden_because(c, FAILED, "xq[%lld][%lld]: reference %d, recorded %d",
                                  (long long)row, (long long)i, q[i], wanted[i]);
    return PASSED;
}

verdict golden_check_values(golden_case *c, const char *name, armq_dtype dtype, int64_t row,
                            int64_t count, const ref_interval *intervals, const void *values) {
    size_t bytes = armq_dtype_bytes(dtype);
    for (int64_t n = 0; n < count; n++) {
        const char *got = (const char *)values + (size_t)(row * count + n) * bytes;
        if (!ref_accepts(&intervals[n], dtype, got))
            return golden_because(c, FAILED, "%s[%lld][%lld]: got %.9g, interval [%.9g, %.9g]",
                                  name, (long long)row, (long long)n, armq_load(dtype, got, 0),
                                  intervals[n].lo, intervals[n].hi);
    }
    return PASSED;
}

verdict golden_check_outputs(golden_case *c, const char *name, const armq_desc *desc, int64_t row,
                             const ref_interval *intervals, const void *y) {
    int64_t count = armq_y_row(desc);
    size_t bytes = armq_dtype_bytes(desc->out);
    for (int64_t n = 0; n < count; n++) {
        const char *got = (const char *)y + (size_t)(row * count + n) * bytes;
        if (intervals[n].kind != REF_VALUE)
            continue;
        c->judged++;
        c->ambiguous += ref_is_ambiguous(&intervals[n], desc->out);
        c->usage = fmax(c->usage, ref_usage(&intervals[n], desc->out, got));
    }
    return golden_check_values(c, name, desc->out, row, count, intervals, y);
}
