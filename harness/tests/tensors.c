/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/tests/tensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "harness/generate.h"
#include "kernels/api/describe.h"
#include "reference/formats.h"

armq_case parse(const char *text) {
    case_list list = {0};
    case_error error;
    if (!case_parse_line(text, NULL, &list, &error))
        fail_msg("%s: %s", text, error.message);
    assert_int_equal(list.count, 1);
    armq_case c = list.items[0];
    case_list_free(&list);
    return c;
}

tensors *make(const char *text) {
    tensors *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->c = parse(text);
    operand_shapes(&t->c, NULL, t->shapes);
    for (int id = 0; operand_is_input((operand_id)id); id++) {
        if (!t->shapes[id].present || t->shapes[id].bytes == 0)
            continue;
        t->data.at[id] = malloc(t->shapes[id].bytes);
        assert_non_null(t->data.at[id]);
        assert_true(generate_operand(&t->c, (operand_id)id, &t->shapes[id], t->data.at[id]));
    }
    return t;
}

void drop(tensors *t) {
    for (int id = 0; id < OPERAND_COUNT; id++)
        free(t->data.at[id]);
    free(t);
}

/* Written from armq.h: two's complement with the even index low; or plus 8 in int32 words. */
static double nibble(const tensors *t, operand_id id, int64_t row, int64_t column) {
    const uint8_t *bytes = (const uint8_t *)t->data.at[id] + row * t->shapes[id].stride;
    if (t->c.desc.format == ARMQ_WEIGHT_S4_WORD8) {
        const uint8_t *word = bytes + column / 8 * 4;
        uint32_t bits = (uint32_t)word[0] | (uint32_t)word[1] << 8 | (uint32_t)word[2] << 16 |
                        (uint32_t)word[3] << 24;
        return (double)(bits >> (column % 8 * 4) & 15) - 8;
    }
    int value = column % 2 ? bytes[column / 2] / 16 : bytes[column / 2] % 16;
    return value > 7 ? value - 16 : value;
}

double at(const tensors *t, operand_id id, int64_t row, int64_t column) {
    if (t->shapes[id].dtype == ARMQ_DTYPE_NONE)
        return nibble(t, id, row, column);
    return armq_load(t->shapes[id].dtype, t->data.at[id], row * t->shapes[id].stride + column);
}

double real_weight(const tensors *t, operand_id id, int64_t expert, int64_t n, int64_t k) {
    const armq_desc *d = &t->c.desc;
    int32_t which = id == OPERAND_W2;
    operand_id scales = (operand_id)(id + 1), zeros = (operand_id)(id + 2);
    int64_t groups = d->group_size ? armq_weight_k(d, which) / d->group_size : 1;
    int64_t index = n * groups + (d->group_size ? k / d->group_size : 0);
    double w = at(t, id, expert * armq_weight_n(d, which) + n, k);
    w -= t->shapes[zeros].present ? at(t, zeros, expert, index) : 0;
    return t->shapes[scales].present ? w * at(t, scales, expert, index) : w;
}
