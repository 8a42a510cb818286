/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "conformance/check.h"
#include "kernels/api/names.h"

/* The element holds the poison of the base run there and that of this call here. */
static bool never_written(const uint8_t *base, const uint8_t *now, size_t element) {
    for (size_t i = 0; i < element; i++)
        if (base[i] != trial_poison_byte(0) || now[i] != trial_poison_byte(1))
            return false;
    return true;
}

static bool row_is_written(const trial *t, operand_id id, int64_t token, check_failure *failure) {
    const char *name = t->shapes[id].name;
    size_t element = armq_dtype_bytes(t->shapes[id].dtype);
    token_span span = trial_token(t, id, token);
    const uint8_t *base = (const uint8_t *)t->base[id] + (size_t)span.dense * element;
    const uint8_t *now = (const uint8_t *)t->buffers[id].data + (size_t)span.at * element;
    if (memcmp(base, now, (size_t)span.count * element) == 0)
        return true;
    int64_t column = 0;
    while (memcmp(base + (size_t)column * element, now + (size_t)column * element, element) == 0)
        column++;
    bool never =
        never_written(base + (size_t)column * element, now + (size_t)column * element, element);
    trial_same_token(t, token, t, token, "outputs pre-filled differently", failure);
    if (never)
        failure_set(failure, "%s[%" PRId64 "][%" PRId64 "] is never written", name, token, column);
    return false;
}

static bool gaps_are_untouched(const trial *t, operand_id id, check_failure *failure) {
    const operand_shape *s = &t->shapes[id];
    size_t element = armq_dtype_bytes(s->dtype);
    const uint8_t *data = t->buffers[id].data;
    for (int64_t row = 0; row + 1 < s->rows && s->stride > s->row; row++) {
        size_t from = (size_t)(row * s->stride + s->row) * element;
        size_t gap = (size_t)(s->stride - s->row) * element;
        size_t at = bytes_first_other(data + from, gap, trial_poison_byte(1));
        if (at == gap)
            continue;
        failure_set(failure,
                    "%s: wrote between rows, at byte offset %zu: row %" PRId64 ", element %" PRId64
                    " of %" PRId64 " that the row has",
                    s->name, from + at, row, s->row + (int64_t)(at / element), s->row);
        return false;
    }
    return true;
}

/* The base run had its outputs pre-filled with NaNs, this call has other bytes there. */
check_status check_written(trial *t, check_result *out) {
    if (!trial_runs(t, &(call_options){.poison = 1}, "a second call", &out->failure))
        return CHECK_FAILED;
    for (operand_id id = OPERAND_Y; id < OPERAND_COUNT; id++) {
        if (!t->base[id])
            continue;
        if (!gaps_are_untouched(t, id, &out->failure))
            return CHECK_FAILED;
        for (int64_t token = 0; token < t->c.desc.tokens; token++)
            if (!row_is_written(t, id, token, &out->failure))
                return CHECK_FAILED;
    }
    return CHECK_PASSED;
}
