/* SPDX-License-Identifier: Apache-2.0 */
/* Every built-in provider on the golden vectors (reference/vectors), which were worked out without
 * any of this code: integers must be those of the file; other outputs must lie in the reference's
 * interval, and be the file's where that has room for one only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "conformance/providers.h"
#include "harness/machine.h"
#include "harness/operands.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "reference/int4.h"

static const char folder[] = "reference/vectors";

typedef struct {
    const json_t *arrays;
    const char *name;
    uint8_t *bytes; /* of the file */
    armq_case c;
    operands data; /* inputs of the file, outputs and scratch of the run */
    bool owned[OPERAND_COUNT];
    const void *wanted[OPERAND_COUNT]; /* outputs of the file */
} vector;

static void *room(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    assert_non_null(p);
    memset(p, 0xa5, (bytes + 127) / 64 * 64);
    return p;
}

static uint8_t *read_file(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rbe");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    assert_true(size > 0);
    rewind(file);
    uint8_t *bytes = room((size_t)size);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), (size_t)size);
    fclose(file);
    return bytes;
}

/* NULL: the case has no such array. */
static void *array(const vector *v, const char *name) {
    const json_t *entry = json_object_get(v->arrays, name);
    return entry ? v->bytes + json_integer_value(json_object_get(entry, "offset")) : NULL;
}

/* --- Inputs -------------------------------------------------------------------------------------
 */

static const struct {
    operand_id id;
    const char *names[2];
} inputs_named[] = {
    {OPERAND_X, {"x", NULL}},
    {OPERAND_W, {"w", "w13"}},
    {OPERAND_W_SCALES, {"ws", "w13s"}},
    {OPERAND_W_ZEROS, {"wz", "w13z"}},
    {OPERAND_W_BIAS, {"bias", "b13"}},
    {OPERAND_W2, {"w2", NULL}},
    {OPERAND_W2_SCALES, {"w2s", NULL}},
    {OPERAND_W2_ZEROS, {"w2z", NULL}},
    {OPERAND_W2_BIAS, {"b2", NULL}},
    {OPERAND_TOPK_IDS, {"ids", NULL}},
    {OPERAND_TOPK_WEIGHTS, {"tw", NULL}},
};

static void own(vector *v, operand_id id, size_t bytes) {
    v->data.at[id] = room(bytes);
    v->owned[id] = true;
}

/* The file has a weight to a byte. */
static void pack_int4(vector *v, int32_t which) {
    const armq_desc *d = &v->c.desc;
    operand_id id = which == 0 ? OPERAND_W : OPERAND_W2;
    int64_t k = armq_weight_k(d, which), rows = armq_weight_n(d, which);
    const int8_t *values = v->data.at[id];
    rows *= armq_op_is_moe(d->op) ? d->experts : 1;
    own(v, id, (size_t)(rows * ref_int4_row_bytes(d->format, k)));
    ref_int4_pack(d->format, values, rows, k, v->data.at[id]);
}

/* Gates, then ups. */
static void join_gates(vector *v) {
    size_t bytes = (size_t)v->c.desc.intermediate * armq_dtype_bytes(v->c.desc.in);
    own(v, OPERAND_X, 2 * bytes);
    memcpy(v->data.at[OPERAND_X], array(v, "g"), bytes);
    memcpy((uint8_t *)v->data.at[OPERAND_X] + bytes, array(v, "u"), bytes);
}

static void take_inputs(vector *v) {
    const armq_desc *d = &v->c.desc;
    operand_shape shapes[OPERAND_COUNT];
    operand_shapes(&v->c, NULL, shapes);
    for (size_t i = 0; i < sizeof inputs_named / sizeof inputs_named[0]; i++)
        for (int n = 0; n < 2 && inputs_named[i].names[n]; n++)
            if (shapes[inputs_named[i].id].present && !v->data.at[inputs_named[i].id])
                v->data.at[inputs_named[i].id] = array(v, inputs_named[i].names[n]);
    if (d->op == ARMQ_OP_ACTIVATION)
        join_gates(v);
    bool int4 = d->format == ARMQ_WEIGHT_S4_LOW || d->format == ARMQ_WEIGHT_S4_WORD8;
    for (int32_t which = 0; int4 && which < (armq_op_is_moe(d->op) ? 2 : 1); which++)
        pack_int4(v, which);
    bool quantize = d->op == ARMQ_OP_QUANTIZE;
    v->wanted[OPERAND_Y] = array(v, quantize ? "xq" : d->op == ARMQ_OP_ACTIVATION ? "f" : "y");
    v->wanted[OPERAND_Y_SCALES] = quantize ? array(v, "xs") : NULL;
    v->wanted[OPERAND_Y_ZEROS] = quantize ? array(v, "xzp") : NULL;
    assert_non_null(v->wanted[OPERAND_Y]);
}

/* --- A run --------------------------------------------------------------------------------------
 */

static void judge(const vector *v, const char *provider, const armq_weights weights[2],
                  uint32_t claims, const operand_shape shapes[OPERAND_COUNT]) {
    const armq_desc *d = &v->c.desc;
    ref_problem problem;
    for (int id = OPERAND_Y; id < OPERAND_COUNT; id++)
        if (shapes[id].present && (shapes[id].dtype == ARMQ_DTYPE_S8 ||
                                   shapes[id].dtype == ARMQ_DTYPE_S32 || id != OPERAND_Y))
            if (memcmp(v->data.at[id], v->wanted[id], shapes[id].bytes) != 0)
                fail_msg("%s on %s: %s differs", provider, v->name, shapes[id].name);
    if (d->out == ARMQ_DTYPE_S8 || d->out == ARMQ_DTYPE_S32)
        return;
    operand_problem(&v->c, &v->data, weights, claims, &problem);
    ref_context *context = ref_open(&problem);
    ref_interval *wanted = room((size_t)armq_y_row(d) * sizeof *wanted);
    size_t bytes = armq_dtype_bytes(d->out);
    assert_non_null(context);
    for (int64_t i = 0; i < d->tokens * armq_y_row(d); i++) {
        int64_t row = i / armq_y_row(d), n = i % armq_y_row(d);
        const uint8_t *got = (const uint8_t *)v->data.at[OPERAND_Y] + (size_t)i * bytes;
        const uint8_t *file = (const uint8_t *)v->wanted[OPERAND_Y] + (size_t)i * bytes;
        if (n == 0)
            ref_row_intervals(context, row, NULL, armq_y_row(d), wanted);
        if (!ref_accepts(&wanted[n], d->out, got) || !ref_accepts(&wanted[n], d->out, file))
            fail_msg("%s on %s: y[%d][%d]", provider, v->name, (int)row, (int)n);
    }
    ref_close(context);
    free(wanted);
}

/* True if the provider takes it. */
static bool run_provider(vector *v, const armq_provider *provider) {
    armq_support support = {.size = sizeof support};
    operand_shape shapes[OPERAND_COUNT];
    armq_weights weights[2];
    armq_args args;
    void *plan = NULL;
    if (provider->query(&v->c.desc, &support) != ARMQ_OK)
        return false;
    operand_shapes(&v->c, &support, shapes);
    for (int id = OPERAND_PACKED; id < OPERAND_COUNT; id++)
        if (shapes[id].present)
            own(v, (operand_id)id, shapes[id].bytes);
    operand_weights(&v->c, &v->data, weights);
    assert_int_equal(operand_pack(provider, &v->c, weights, &support, &v->data), ARMQ_OK);
    operand_args(&v->c, &v->data, weights, support.claims, NULL, &args);
    if (provider->prepare)
        assert_int_equal(provider->prepare(&v->c.desc, args.packed, &plan), ARMQ_OK);
    assert_int_equal(provider->run(&v->c.desc, plan, &args), ARMQ_OK);
    if (provider->release)
        provider->release(plan);
    judge(v, provider->name, weights, support.claims, shapes);
    for (int id = OPERAND_PACKED; id < OPERAND_COUNT; id++) {
        free(v->data.at[id]);
        v->data.at[id] = NULL;
        v->owned[id] = false;
    }
    return true;
}

static void case_of(vector *v, const json_t *entry, bool words) {
    char line[CASE_TEXT_MAX];
    const char *text = json_string_value(json_object_get(entry, "case"));
    case_list list = {0};
    case_error error;
    snprintf(line, sizeof line, "%s%s", text, words ? " format=s4_word8" : "");
    if (!case_parse_line(line, NULL, &list, &error))
        fail_msg("%s: %s", line, error.message);
    v->c = list.items[0];
    case_list_free(&list);
    const machine_info *m = machine();
    case_bind(&v->c, m->features, m->l1, m->l2, m->llc, 1);
}

/* Providers that took it. */
static int64_t run_case(const json_t *entry, bool words) {
    vector v = {.arrays = json_object_get(entry, "arrays"),
                .name = json_string_value(json_object_get(entry, "name"))};
    int64_t count, took = 0;
    char why[256];
    const armq_provider *const *table = providers_builtin(&count);
    v.bytes = read_file(json_string_value(json_object_get(entry, "file")));
    case_of(&v, entry, words);
    take_inputs(&v);
    for (int64_t i = 0; i < count; i++)
        if (provider_runs_here(table[i], machine()->features, why, sizeof why))
            took += run_provider(&v, table[i]);
    for (int id = 0; id < OPERAND_COUNT; id++)
        if (v.owned[id])
            free(v.data.at[id]);
    free(v.bytes);
    return took;
}

static void providers_give_the_vectors(void **state) {
    (void)state;
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, "%s/index.json", folder);
    json_t *index = json_load_file(path, 0, &error);
    const json_t *cases = json_object_get(index, "cases"), *entry;
    size_t i;
    assert_true(json_array_size(cases) > 100);
    json_array_foreach(cases, i, entry) {
        bool int4 = strstr(json_string_value(json_object_get(entry, "op")), "4") != NULL;
        for (int words = 0; words <= int4; words++) /* naive, reference and, on Arm, a tier */
            assert_true(run_case(entry, words) >=
                        (machine()->features & ARMQ_FEATURE_NEON ? 3 : 2));
    }
    json_decref(index);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(providers_give_the_vectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
