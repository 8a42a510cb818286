/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/footprint.h"
#include "conformance/sparse.h"

static const size_t gib = (size_t)1 << 30, mib = (size_t)1 << 20;

/* MiB of this process in memory. */
static long resident(void) {
    char line[128];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    fclose(file);
    return kib / 1024;
}

typedef struct {
    uint8_t *data;
    size_t bytes;
    uint8_t value;
} stretch;

static void fill(void *arg) {
    const stretch *s = arg;
    memset(s->data, s->value, s->bytes);
}

/* Zeros all over, with one other byte a quarter of the way. */
static void fill_but_one(void *arg) {
    const stretch *s = arg;
    memset(s->data, 0, s->bytes / 4);
    s->data[s->bytes / 4] = 7;
    memset(s->data + s->bytes / 4 + 1, 0, s->bytes - s->bytes / 4 - 1);
}

static void written_zeros_take_no_memory(void **state) {
    (void)state;
    sparse s;
    const char *name = "?";
    assert_true(sparse_open(&s, "packed", SPARSE_WRITTEN, 2 * gib + 5, 2 * gib, 64));
    assert_int_equal((uintptr_t)s.data % 64, 0);
    assert_true(s.data - s.region >= (ptrdiff_t)(2 * gib));
    stretch all = {s.data, s.bytes, 0};
    long before = resident();
    assert_true(sparse_call(fill_but_one, &all, &name));
    assert_null(name);
    assert_true(resident() < before + 200);
    assert_true(sparse_settle(&s));
    assert_int_equal(s.data[s.bytes / 4], 7);
    assert_int_equal(s.data[s.bytes / 4 - 1], 0);
    assert_int_equal(s.data[s.bytes - 1], 0);
    assert_int_equal(s.data[-1], 0);
    sparse_close(&s);
}

static void too_much_content_ends_the_call(void **state) {
    (void)state;
    sparse s;
    const char *name = NULL;
    assert_true(sparse_open(&s, "workspace", SPARSE_WRITTEN, 2 * gib, 0, 1));
    stretch all = {s.data, s.bytes, 1};
    assert_false(sparse_call(fill, &all, &name));
    assert_string_equal(name, "workspace");
    sparse_close(&s);
    /* And what comes after it starts afresh. */
    assert_true(sparse_open(&s, "workspace", SPARSE_WRITTEN, 100 * mib, 0, 1));
    all = (stretch){s.data, s.bytes, 1};
    assert_true(sparse_call(fill, &all, &name));
    assert_int_equal(s.data[50 * mib], 1);
    sparse_close(&s);
}

static void ids_are_minus_one_until_exposed(void **state) {
    (void)state;
    sparse s;
    assert_true(sparse_open(&s, "topk_ids", SPARSE_IDS, gib, 0, 4));
    int32_t *ids = (int32_t *)(void *)s.data;
    size_t count = gib / 4, place = count / 2 + 3;
    assert_int_equal(ids[0], -1);
    assert_int_equal(ids[count - 1], -1);
    assert_true(sparse_expose(&s, place * 4, 4));
    ids[place] = 5;
    assert_true(sparse_expose(&s, place * 4 + 4, 4)); /* the same page */
    ids[place + 1] = 6;
    assert_int_equal(ids[place], 5);
    assert_int_equal(ids[place - 1], -1);
    /* No other place shares the page. */
    for (size_t i = 0; i < count; i += 4096 / 4)
        assert_int_equal(ids[i + (place + count) % 1024],
                         i + (place + count) % 1024 == place ? 5 : -1);
    sparse_close(&s);
}

/* MiB that this process takes. */
static long taken(void) {
    footprint f;
    assert_true(footprint_get(&f));
    assert_true(f.pages > 0 && f.tables > 0);
    return (long)(footprint_bytes(&f) / (int64_t)mib);
}

static void ids_count_once_however_often_they_are_mapped(void **state) {
    (void)state;
    sparse s;
    assert_true(sparse_open(&s, "topk_ids", SPARSE_IDS, gib, 0, 4));
    long before = resident(), took = taken();
    for (size_t at = 0; at < s.bytes; at += 4096)
        assert_int_equal(s.data[at], 0xff);
    assert_true(resident() > before + 900);
    assert_true(taken() < took + 100);
    sparse_close(&s);
}

static void memory_of_its_own_counts(void **state) {
    (void)state;
    sparse s;
    assert_true(sparse_open(&s, "x", SPARSE_ZEROS, gib, 0, 1));
    long before = taken();
    memset(s.data, 1, 300 * mib);
    assert_in_range(taken() - before, 299, 400);
    sparse_close(&s);
}

static void zeros_can_be_written_anywhere(void **state) {
    (void)state;
    sparse s;
    assert_true(sparse_open(&s, "x", SPARSE_ZEROS, 8 * gib, 8 * gib, 2));
    long before = resident();
    for (size_t at = 0; at < s.bytes; at += gib)
        s.data[at] = 1;
    s.data[s.bytes - 1] = 2;
    assert_int_equal(s.data[gib / 2], 0);
    assert_int_equal(*(s.data - 8 * (ptrdiff_t)gib), 0);
    assert_true(resident() < before + 200);
    sparse_close(&s);
    assert_null(s.mapping);
    sparse_close(&s); /* twice is once */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_zeros_take_no_memory),
        cmocka_unit_test(too_much_content_ends_the_call),
        cmocka_unit_test(ids_are_minus_one_until_exposed),
        cmocka_unit_test(ids_count_once_however_often_they_are_mapped),
        cmocka_unit_test(memory_of_its_own_counts),
        cmocka_unit_test(zeros_can_be_written_anywhere),
    };
    return cmocka_run_group_tests_name("sparse", tests, NULL, NULL);
}
