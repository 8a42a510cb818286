/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/tests/tensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "harness/generate.h"
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

double at(const tensors *t, operand_id id, int64_t row, int64_t column) {
    return armq_load(t->shapes[id].dtype, t->data.at[id], row * t->shapes[id].stride + column);
}
