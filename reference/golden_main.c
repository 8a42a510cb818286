/* SPDX-License-Identifier: Apache-2.0 */
/* armq-golden [DIR]: judges the reference by recorded outputs of production kernels, or by vectors.
 * The recorded integers and scales of x must be reproduced bit for bit, the recorded y must lie
 * inside the intervals; of a mixture of experts also every recorded stage in between. Format of
 * DIR: reference/golden/README.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/api/dialects.h"
#include "kernels/api/names.h"
#include "reference/golden_case.h"

/* --- activation
 * -------------------------------------------------------------------------------- */

static bool describe_activation(golden_case *c, armq_desc *desc, armq_op op) {
    armq_activation activation;
    const char *why = "dtype, activation or count is not valid";
    const char *dialect = golden_text(c, "dialect");
    *desc = (armq_desc){.size = sizeof *desc, .abi = ARMQ_ABI_VERSION, .op = op};
    desc->tokens = 1;
    desc->intermediate = golden_int(c, "count");
    if (armq_dtype_parse(golden_text(c, "dtype"), &desc->in) && desc->intermediate > 0 &&
        desc->intermediate < INT32_MAX &&
        armq_activation_parse(golden_text(c, "activation"), &activation) &&
        armq_dialect_preset(*dialect ? dialect : "vllm-w8a8", desc->op, desc->in, 0, activation,
                            &desc->dialect, &why) &&
        golden_dialect_work(c, &desc->dialect, &why)) {
        desc->out = desc->in;
        return true;
    }
    golden_because(c, FAILED, "params: %s", why);
    return false;
}

/* Gate and up are recorded apart: as halves they are one row. */
static verdict judge_activation(golden_case *c, armq_op op) {
    armq_desc desc;
    if (!describe_activation(c, &desc, op))
        return FAILED;
    int64_t count = desc.intermediate;
    size_t bytes = (size_t)count * armq_dtype_bytes(desc.in);
    desc.dialect.gate_layout = ARMQ_GATE_HALVES;
    const void *g = golden_array(c, "g", desc.in, count), *u = golden_array(c, "u", desc.in, count);
    const void *f = golden_array(c, "f", desc.out, count);
    if (!g || !u || !f)
        return FAILED;
    char *x = malloc(2 * bytes);
    ref_interval *y = malloc((size_t)count * sizeof *y);
    ref_problem problem = {.desc = &desc, .x = x};
    ref_context *context = ref_open(&problem);
    verdict v = FAILED;
    if (!x || !y || !context) {
        golden_because(c, v, "reference: can not open");
    } else {
        memcpy(x, g, bytes);
        memcpy(x + bytes, u, bytes);
        ref_row_intervals(context, 0, NULL, count, y);
        v = golden_check_outputs(c, "f", &desc, 0, y, f);
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
    verdict (*judge)(golden_case *c, armq_op op);
} judge;

static const judge judges[] = {
    {ARMQ_OP_LINEAR_W8A8, golden_judge_linear},   {ARMQ_OP_LINEAR_W4A8, golden_judge_linear},
    {ARMQ_OP_MOE_W8A8, golden_judge_moe},         {ARMQ_OP_MOE_W4A8, golden_judge_moe},
    {ARMQ_OP_ACTIVATION, judge_activation},       {ARMQ_OP_QUANTIZE, golden_judge_quantize},
    {ARMQ_OP_GEMM_S8S8S32, golden_judge_outputs}, {ARMQ_OP_GEMM_S8S4S32, golden_judge_outputs},
    {ARMQ_OP_LINEAR_BF16, golden_judge_outputs},  {ARMQ_OP_MOE_BF16, golden_judge_outputs},
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
        return golden_because(c, FAILED, "index.json: op, file or params missing");
    const judge *j = find_judge(op);
    if (!j)
        return golden_because(c, SKIPPED, "the reference does not have %s", op);
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    if (length < 0 || (size_t)length >= sizeof path || !read_file(c, path))
        return golden_because(c, FAILED, "can not read %s", file);
    return j->judge(c, j->op);
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
