/* SPDX-License-Identifier: Apache-2.0 */
/* armq-golden [DIR]: judges the reference by recorded outputs of production kernels. The recorded
 * integers and scales of x must be reproduced bit for bit, the recorded y must lie inside the
 * intervals; of a mixture of experts also every recorded stage in between.
 * Format of DIR: reference/golden/README.md. */
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/api/describe.h"
#include "kernels/api/dialects.h"
#include "kernels/api/names.h"
#include "reference/formats.h"
#include "reference/reference.h"

typedef enum { PASSED, FAILED, SKIPPED, VERDICT_COUNT } verdict;

/* One case of the index with the bytes of its file. */
typedef struct {
    const json_t *entry, *params;
    const char *name;
    char *bytes;
    size_t size;
    char message[320]; /* why it failed or was skipped */
    int64_t judged;    /* elements of y */
    int64_t ambiguous; /* of those, with more than one admissible value */
    int64_t flips;     /* integers of the second stage with more than one possible value */
    double usage;      /* largest share of a half-width that was needed */
} golden_case;

__attribute__((format(printf, 3, 4))) static verdict because(golden_case *c, verdict v,
                                                             const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(c->message, sizeof c->message, format, list);
    va_end(list);
    return v;
}

static int64_t param_int(const golden_case *c, const char *key) {
    return json_integer_value(json_object_get(c->params, key));
}

static const char *param_text(const golden_case *c, const char *key) {
    const char *text = json_string_value(json_object_get(c->params, key));
    return text ? text : "";
}

static bool has_array(const golden_case *c, const char *name) {
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

/* The array, which must have this dtype and number of elements. On failure NULL and a message. */
static const void *array(golden_case *c, const char *name, armq_dtype dtype, int64_t count) {
    const json_t *a = json_object_get(json_object_get(c->entry, "arrays"), name);
    const char *type = json_string_value(json_object_get(a, "dtype"));
    armq_dtype found = ARMQ_DTYPE_NONE;
    if (!a || !type || !parse_dtype(type, &found) || found != dtype) {
        because(c, FAILED, "array %s: dtype %s, expected %s", name, type ? type : "missing",
                armq_dtype_name(dtype));
        return NULL;
    }
    json_int_t offset = json_integer_value(json_object_get(a, "offset"));
    json_int_t bytes = json_integer_value(json_object_get(a, "nbytes"));
    if (bytes != count * (int64_t)armq_dtype_bytes(dtype)) {
        because(c, FAILED, "array %s: %lld bytes, expected %lld elements", name, (long long)bytes,
                (long long)count);
        return NULL;
    }
    if (offset < 0 || offset % 8 != 0 || (uint64_t)offset > c->size ||
        (uint64_t)bytes > c->size - (uint64_t)offset) {
        because(c, FAILED, "array %s: outside the file or not aligned", name);
        return NULL;
    }
    return c->bytes + offset;
}

/* --- What recorded data is excused from
 * ----------------------------------------------------------- */

/* Ranges below this count as zero rows in armq; the recorded kernels quantise them. */
static bool is_tiny_range(const armq_desc *desc, const void *x) {
    double smallest = 0.0, largest = 0.0;
    for (int64_t i = 0; i < desc->k; i++) {
        smallest = fmin(smallest, armq_load(desc->in, x, i));
        largest = fmax(largest, armq_load(desc->in, x, i));
    }
    return desc->dialect.quant == ARMQ_QUANT_ASYMMETRIC && largest > smallest &&
           largest - smallest < 0x1p-120;
}

/* --- linear_w8a8
 * ---------------------------------------------------------------------------------- */

/* The recorded stages of a linear layer; zero_points NULL if symmetric. */
typedef struct {
    const int8_t *q;
    const float *scales;
    const int32_t *zero_points;
    const void *y;
} recorded;

static verdict check_quantised(golden_case *c, const armq_desc *desc, int64_t row, const void *x,
                               const recorded *r, int8_t *q) {
    ref_row_quant quant = ref_quantize_row(&desc->dialect, desc->in, x, desc->k, q);
    const int8_t *wanted = r->q + row * desc->k;
    if (!quant.finite || is_tiny_range(desc, x))
        return PASSED;
    if (quant.scale != r->scales[row])
        return because(c, FAILED, "xs[%lld]: reference %a, recorded %a", (long long)row,
                       (double)quant.scale, (double)r->scales[row]);
    if (r->zero_points && quant.zero_point != r->zero_points[row])
        return because(c, FAILED, "xzp[%lld]: reference %d, recorded %d", (long long)row,
                       quant.zero_point, r->zero_points[row]);
    for (int64_t i = 0; i < desc->k; i++)
        if (q[i] != wanted[i])
            return because(c, FAILED, "xq[%lld][%lld]: reference %d, recorded %d", (long long)row,
                           (long long)i, q[i], wanted[i]);
    return PASSED;
}

/* Row `row` of a recorded array against its intervals. */
static verdict check_values(golden_case *c, const char *name, armq_dtype dtype, int64_t row,
                            int64_t count, const ref_interval *intervals, const void *values) {
    size_t bytes = armq_dtype_bytes(dtype);
    for (int64_t n = 0; n < count; n++) {
        const char *got = (const char *)values + (size_t)(row * count + n) * bytes;
        if (!ref_accepts(&intervals[n], dtype, got))
            return because(c, FAILED, "%s[%lld][%lld]: got %.9g, interval [%.9g, %.9g]", name,
                           (long long)row, (long long)n, armq_load(dtype, got, 0), intervals[n].lo,
                           intervals[n].hi);
    }
    return PASSED;
}

/* The same for an output, with its share of the half-width. */
static verdict check_outputs(golden_case *c, const char *name, const armq_desc *desc, int64_t row,
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
    return check_values(c, name, desc->out, row, count, intervals, y);
}

static verdict check_rows(golden_case *c, const ref_problem *problem, const recorded *r) {
    const armq_desc *desc = problem->desc;
    int8_t *q = malloc((size_t)desc->k + 1);
    ref_interval *intervals = malloc(((size_t)desc->n + 1) * sizeof *intervals);
    ref_context *context = ref_open(problem);
    bool ready = q && intervals && context;
    verdict v = ready ? PASSED : because(c, FAILED, "reference: can not open");
    size_t row_bytes = (size_t)desc->k * armq_dtype_bytes(desc->in);
    for (int64_t row = 0; ready && row < desc->tokens && v == PASSED; row++) {
        const char *x = (const char *)problem->x + (size_t)row * row_bytes;
        v = check_quantised(c, desc, row, x, r, q);
        if (v != PASSED)
            break;
        ref_row_intervals(context, row, NULL, desc->n, intervals);
        v = check_outputs(c, "y", desc, row, intervals, r->y);
    }
    ref_close(context);
    free(intervals);
    free(q);
    return v;
}

static bool describe_linear(golden_case *c, armq_desc *desc) {
    const char *why = "";
    *desc = (armq_desc){.size = sizeof *desc, .abi = ARMQ_ABI_VERSION};
    desc->op = ARMQ_OP_LINEAR_W8A8;
    desc->tokens = param_int(c, "tokens");
    desc->n = param_int(c, "n");
    desc->k = param_int(c, "k");
    desc->scale_dtype = ARMQ_DTYPE_F32;
    desc->format = ARMQ_WEIGHT_S8;
    if (desc->tokens < 0 || desc->n < 0 || desc->k < 0 ||
        !armq_dtype_parse(param_text(c, "dtype"), &desc->in)) {
        because(c, FAILED, "params: tokens, n, k or dtype is not valid");
        return false;
    }
    desc->out = desc->in;
    if (has_array(c, "bias")) {
        desc->uses |= ARMQ_USES_BIAS;
        desc->bias_dtype = ARMQ_DTYPE_F32;
    }
    if (!armq_dialect_preset(param_text(c, "dialect"), desc->op, desc->in, 0, ARMQ_ACT_NONE,
                             &desc->dialect, &why)) {
        because(c, FAILED, "dialect %s: %s", param_text(c, "dialect"), why);
        return false;
    }
    return true;
}

static verdict judge_linear_w8a8(golden_case *c) {
    armq_desc desc;
    if (!describe_linear(c, &desc))
        return FAILED;
    bool asymmetric = desc.dialect.quant == ARMQ_QUANT_ASYMMETRIC;
    bool bias = desc.uses & ARMQ_USES_BIAS;
    int64_t m = desc.tokens, n = desc.n, k = desc.k;
    armq_weights weights = {.size = sizeof weights};
    ref_problem problem = {.desc = &desc, .x_stride = k, .weights = {&weights, NULL}};
    recorded r = {0};
    bool complete = (problem.x = array(c, "x", desc.in, m * k)) &&
                    (weights.w = array(c, "w", ARMQ_DTYPE_S8, n * k)) &&
                    (weights.scales = array(c, "ws", ARMQ_DTYPE_F32, n)) &&
                    (!bias || (weights.bias = array(c, "bias", ARMQ_DTYPE_F32, n))) &&
                    (r.q = array(c, "xq", ARMQ_DTYPE_S8, m * k)) &&
                    (r.scales = array(c, "xs", ARMQ_DTYPE_F32, m)) &&
                    (!asymmetric || (r.zero_points = array(c, "xzp", ARMQ_DTYPE_S32, m))) &&
                    (r.y = array(c, "y", desc.out, m * n));
    return complete ? check_rows(c, &problem, &r) : FAILED;
}

/* --- moe_w8a8
 * ---------------------------------------------------------------------------------- */

/* What was recorded of both stages. Rows of the second stage stand in ascending (expert, token,
 * slot). */
typedef struct {
    recorded input; /* xq, xs, and y */
    const void *y_nofma, *act;
    const int8_t *act_q;
    const float *act_scales;
} recorded_moe;

/* Everything that judging a MoE case needs; arrays of one row. */
typedef struct {
    golden_case *c;
    armq_desc desc;
    armq_weights weights[2];
    ref_problem problem;
    recorded_moe r;
    ref_context *context;
    ref_interval *y, *act, *centered;
    int8_t *q;
} moe_judge;

static bool moe_arrays(moe_judge *j) {
    golden_case *c = j->c;
    const armq_desc *d = &j->desc;
    int64_t rows = d->tokens * d->top_k, wide = 2 * d->intermediate * d->experts;
    int64_t x = d->tokens * d->hidden, deep = d->hidden * d->experts;
    armq_weights *w = j->weights;
    recorded_moe *r = &j->r;
    bool bias = d->uses & ARMQ_USES_W13_BIAS;
    return (j->problem.x = array(c, "x", d->in, x)) &&
           (w[0].w = array(c, "w13", ARMQ_DTYPE_S8, wide * d->hidden)) &&
           (w[0].scales = array(c, "w13s", ARMQ_DTYPE_F32, wide)) &&
           (w[1].w = array(c, "w2", ARMQ_DTYPE_S8, deep * d->intermediate)) &&
           (w[1].scales = array(c, "w2s", ARMQ_DTYPE_F32, deep)) &&
           (!bias || ((w[0].bias = array(c, "b13", d->bias_dtype, wide)) &&
                      (w[1].bias = array(c, "b2", d->bias_dtype, deep)))) &&
           (j->problem.topk_ids = array(c, "ids", ARMQ_DTYPE_S32, rows)) &&
           (j->problem.topk_weights = array(c, "tw", ARMQ_DTYPE_F32, rows)) &&
           (r->input.q = array(c, "xq", ARMQ_DTYPE_S8, x)) &&
           (r->input.scales = array(c, "xs", ARMQ_DTYPE_F32, d->tokens)) &&
           (r->act = array(c, "act", d->dialect.intermediate, rows * d->intermediate)) &&
           (r->act_q = array(c, "actq", ARMQ_DTYPE_S8, rows * d->intermediate)) &&
           (r->act_scales = array(c, "acts", ARMQ_DTYPE_F32, rows)) &&
           (r->input.y = array(c, "y", d->out, x)) &&
           (!has_array(c, "y_nofma") || (r->y_nofma = array(c, "y_nofma", d->out, x)));
}

static bool describe_moe(golden_case *c, armq_desc *desc) {
    armq_activation activation;
    const char *why = "dtype or activation is not known";
    *desc = (armq_desc){.size = sizeof *desc, .abi = ARMQ_ABI_VERSION, .max_threads = 1};
    desc->op = ARMQ_OP_MOE_W8A8;
    desc->tokens = param_int(c, "tokens");
    desc->hidden = param_int(c, "hidden");
    desc->intermediate = param_int(c, "intermediate");
    desc->experts = param_int(c, "experts");
    desc->top_k = param_int(c, "top_k");
    desc->scale_dtype = ARMQ_DTYPE_F32;
    desc->format = ARMQ_WEIGHT_S8;
    bool ok = armq_dtype_parse(param_text(c, "dtype"), &desc->in) &&
              armq_activation_parse(param_text(c, "activation"), &activation);
    desc->out = desc->in;
    if (has_array(c, "b13")) {
        desc->uses |= ARMQ_USES_W13_BIAS | ARMQ_USES_W2_BIAS;
        ok = ok && armq_dtype_parse(param_text(c, "bias_dtype"), &desc->bias_dtype);
    }
    if (json_is_true(json_object_get(c->params, "skip_router_weight")))
        desc->uses |= ARMQ_USES_NO_ROUTER_WEIGHT;
    char reason[256] = "";
    ok = ok && armq_dialect_preset(param_text(c, "dialect"), desc->op, desc->in, 0, activation,
                                   &desc->dialect, &why);
    if (ok && armq_desc_check(desc, reason, sizeof reason) == ARMQ_OK)
        return true;
    because(c, FAILED, "params: %s", *reason ? reason : why);
    return false;
}

/* Where the second stage of a token's slot stands among the recorded rows. */
static int64_t recorded_row(const moe_judge *j, int64_t slot) {
    int64_t before = 0;
    const int32_t *ids = j->problem.topk_ids;
    for (int64_t i = 0; i < j->desc.tokens * j->desc.top_k; i++)
        before += ids[i] < ids[slot] || (ids[i] == ids[slot] && i < slot);
    return before;
}

/* The recorded integers and scale follow from the recorded activation, bit for bit, and are among
 * those that the reference derives from x alone. */
static verdict check_second_quantiser(moe_judge *j, int64_t row, const ref_interval *scale) {
    const armq_desc *d = &j->desc;
    golden_case *c = j->c;
    int64_t k = d->intermediate;
    const char *act =
        (const char *)j->r.act + (size_t)(row * k) * armq_dtype_bytes(d->dialect.intermediate);
    const int8_t *wanted = j->r.act_q + row * k;
    float recorded_scale = j->r.act_scales[row];
    ref_row_quant quant = ref_quantize_row(&d->dialect, d->dialect.intermediate, act, k, j->q);
    if (quant.scale != recorded_scale || !ref_accepts(scale, ARMQ_DTYPE_F32, &recorded_scale))
        return because(c, FAILED, "acts[%lld]: recorded %a, of its row %a, interval [%a, %a]",
                       (long long)row, (double)recorded_scale, (double)quant.scale, scale->lo,
                       scale->hi);
    for (int64_t i = 0; i < k; i++)
        if (wanted[i] != j->q[i] || wanted[i] < j->centered[i].lo || wanted[i] > j->centered[i].hi)
            return because(c, FAILED, "actq[%lld][%lld]: recorded %d, of its row %d, of x %g to %g",
                           (long long)row, (long long)i, wanted[i], j->q[i], j->centered[i].lo,
                           j->centered[i].hi);
    return PASSED;
}

/* A row of the intermediate that may overflow has no integers to compare. */
static verdict check_second_stage(moe_judge *j, int64_t token, int64_t slot) {
    const armq_desc *d = &j->desc;
    ref_interval scale;
    int64_t row = recorded_row(j, token * d->top_k + slot);
    bool quantised = ref_moe_second_stage(j->context, token, slot, j->act, j->centered, &scale);
    verdict v =
        check_values(j->c, "act", d->dialect.intermediate, row, d->intermediate, j->act, j->r.act);
    return v == PASSED && quantised ? check_second_quantiser(j, row, &scale) : v;
}

static verdict check_token(moe_judge *j, int64_t token) {
    const armq_desc *d = &j->desc;
    const char *x =
        (const char *)j->problem.x + (size_t)(token * d->hidden) * armq_dtype_bytes(d->in);
    armq_desc rows = *d; /* of the first stage, as check_quantised takes it */
    rows.k = d->hidden;
    if (!ref_quantize_row(&d->dialect, d->in, x, d->hidden, j->q).finite)
        return PASSED; /* excused: x holds NaN or Inf */
    verdict v = check_quantised(j->c, &rows, token, x, &j->r.input, j->q);
    for (int64_t slot = 0; v == PASSED && slot < d->top_k; slot++)
        v = check_second_stage(j, token, slot);
    if (v != PASSED)
        return v;
    ref_row_intervals(j->context, token, NULL, d->hidden, j->y);
    j->c->flips += ref_tie_flips(j->context);
    v = check_outputs(j->c, "y", d, token, j->y, j->r.input.y);
    return v == PASSED && j->r.y_nofma
               ? check_outputs(j->c, "y_nofma", d, token, j->y, j->r.y_nofma)
               : v;
}

static verdict judge_moe_w8a8(golden_case *c) {
    moe_judge j = {.c = c,
                   .weights = {{.size = sizeof(armq_weights)}, {.size = sizeof(armq_weights)}}};
    if (!describe_moe(c, &j.desc))
        return FAILED;
    j.problem = (ref_problem){.desc = &j.desc, .weights = {&j.weights[0], &j.weights[1]}};
    j.problem.claims = ARMQ_CLAIM_NONFINITE_ROW_NAN; /* an intermediate that overflows gives NaN */
    if (!moe_arrays(&j))
        return FAILED;
    size_t most =
        (size_t)(j.desc.hidden > j.desc.intermediate ? j.desc.hidden : j.desc.intermediate) + 1;
    j.context = ref_open(&j.problem);
    j.y = calloc(most, sizeof *j.y);
    j.act = calloc(most, sizeof *j.act);
    j.centered = calloc(most, sizeof *j.centered);
    j.q = calloc(most, 1);
    bool ready = j.context && j.y && j.act && j.centered && j.q;
    verdict v = ready ? PASSED : because(c, FAILED, "reference: can not open");
    for (int64_t token = 0; ready && token < j.desc.tokens && v == PASSED; token++)
        v = check_token(&j, token);
    ref_close(j.context);
    free(j.y);
    free(j.act);
    free(j.centered);
    free(j.q);
    return v;
}

/* --- activation
 * -------------------------------------------------------------------------------- */

static bool describe_activation(golden_case *c, armq_desc *desc) {
    armq_activation activation;
    const char *why = "dtype, activation or count is not valid";
    *desc = (armq_desc){.size = sizeof *desc, .abi = ARMQ_ABI_VERSION, .op = ARMQ_OP_ACTIVATION};
    desc->tokens = 1;
    desc->intermediate = param_int(c, "count");
    if (armq_dtype_parse(param_text(c, "dtype"), &desc->in) && desc->intermediate > 0 &&
        desc->intermediate < INT32_MAX &&
        armq_activation_parse(param_text(c, "activation"), &activation) &&
        armq_dialect_preset("vllm-w8a8", desc->op, desc->in, 0, activation, &desc->dialect, &why)) {
        desc->out = desc->in;
        return true;
    }
    because(c, FAILED, "params: %s", why);
    return false;
}

/* Gate and up are recorded apart: as halves they are one row. */
static verdict judge_activation(golden_case *c) {
    armq_desc desc;
    if (!describe_activation(c, &desc))
        return FAILED;
    int64_t count = desc.intermediate;
    size_t bytes = (size_t)count * armq_dtype_bytes(desc.in);
    desc.dialect.gate_layout = ARMQ_GATE_HALVES;
    const void *g = array(c, "g", desc.in, count), *u = array(c, "u", desc.in, count);
    const void *f = array(c, "f", desc.out, count);
    if (!g || !u || !f)
        return FAILED;
    char *x = malloc(2 * bytes);
    ref_interval *y = malloc((size_t)count * sizeof *y);
    ref_problem problem = {.desc = &desc, .x = x};
    ref_context *context = ref_open(&problem);
    verdict v = FAILED;
    if (!x || !y || !context) {
        because(c, v, "reference: can not open");
    } else {
        memcpy(x, g, bytes);
        memcpy(x + bytes, u, bytes);
        ref_row_intervals(context, 0, NULL, count, y);
        v = check_outputs(c, "f", &desc, 0, y, f);
    }
    ref_close(context);
    free(y);
    free(x);
    return v;
}

/* --- All cases
 * ------------------------------------------------------------------------------------ */

typedef struct {
    armq_op op;
    verdict (*judge)(golden_case *c);
} judge;

static const judge judges[] = {
    {ARMQ_OP_LINEAR_W8A8, judge_linear_w8a8},
    {ARMQ_OP_MOE_W8A8, judge_moe_w8a8},
    {ARMQ_OP_ACTIVATION, judge_activation},
};

static const judge *find_judge(const char *op_text) {
    armq_op op;
    if (!armq_op_parse(op_text, &op))
        return NULL;
    for (size_t i = 0; i < sizeof judges / sizeof judges[0]; i++)
        if (judges[i].op == op)
            return &judges[i];
    return NULL;
}

static bool read_file(golden_case *c, const char *path) {
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        c->size = (size_t)size;
        c->bytes = malloc(c->size + 1);
    }
    bool ok = c->bytes && fread(c->bytes, 1, c->size, file) == c->size;
    if (file)
        fclose(file);
    return ok;
}

static verdict judge_case(golden_case *c, const char *folder) {
    const char *op = json_string_value(json_object_get(c->entry, "op"));
    const char *file = json_string_value(json_object_get(c->entry, "file"));
    char path[4096];
    if (!op || !file || !json_is_object(c->params))
        return because(c, FAILED, "index.json: op, file or params missing");
    const judge *j = find_judge(op);
    if (!j)
        return because(c, SKIPPED, "the reference does not have %s", op);
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    if (length < 0 || (size_t)length >= sizeof path || !read_file(c, path))
        return because(c, FAILED, "can not read %s", file);
    return j->judge(c);
}

static verdict run_case(const json_t *entry, const char *folder) {
    const char *name = json_string_value(json_object_get(entry, "name"));
    golden_case c = {.entry = entry, .params = json_object_get(entry, "params")};
    c.name = name ? name : "(no name)";
    verdict v = judge_case(&c, folder);
    if (v == PASSED)
        printf("ok %s (%lld values, %lld ambiguous, %lld tie flips, largest use of the half-width "
               "%.2f)\n",
               c.name, (long long)c.judged, (long long)c.ambiguous, (long long)c.flips, c.usage);
    else
        printf("%s %s: %s\n", v == FAILED ? "FAIL" : "skip", c.name, c.message);
    free(c.bytes);
    return v;
}

static int run_folder(const char *folder) {
    char path[4096];
    json_error_t error;
    int length = snprintf(path, sizeof path, "%s/index.json", folder);
    if (length < 0 || (size_t)length >= sizeof path) {
        fprintf(stderr, "armq-golden: path too long\n");
        return 2;
    }
    json_t *index = json_load_file(path, 0, &error);
    const json_t *cases = json_object_get(index, "cases");
    if (!json_is_array(cases)) {
        fprintf(stderr, "armq-golden: %s: %s\n", path, index ? "no list of cases" : error.text);
        json_decref(index);
        return 2;
    }
    int64_t counts[VERDICT_COUNT] = {0};
    for (size_t i = 0; i < json_array_size(cases); i++)
        counts[run_case(json_array_get(cases, i), folder)]++;
    json_decref(index);
    printf("golden: %lld passed, %lld failed, %lld skipped\n", (long long)counts[PASSED],
           (long long)counts[FAILED], (long long)counts[SKIPPED]);
    return counts[FAILED] ? 1 : counts[PASSED] ? 0 : 3;
}

int main(int argc, char **argv) {
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        FILE *to = argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr;
        fprintf(to, "usage: armq-golden [DIR]   (default reference/golden)\n"
                    "exit status: 0 all passed, 1 a failure, 2 usage, 3 nothing was judged\n");
        return to == stdout ? 0 : 2;
    }
    return run_folder(argc == 2 ? argv[1] : "reference/golden");
}
