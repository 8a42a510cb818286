/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/guard.h"
#include "conformance/watch.h"

/* Reads one byte in a child; returns its signal (0: none), with the handler's words in *w. */
static int signal_of_reading(const volatile uint8_t *at, watch *w) {
    memset(w, 0, sizeof *w);
    pid_t child = fork();
    if (child == 0) {
        watch_install(w);
        (void)*at;
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return w->signal;
}

static watch *shared_watch(void) {
    watch *w = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(w != MAP_FAILED);
    return w;
}

static void expect_fault(const uint8_t *at, const char *words, watch *w) {
    assert_int_not_equal(signal_of_reading(at, w), 0);
    assert_int_equal(w->fault_address, (uintptr_t)at);
    assert_string_equal(w->fault, words);
}

static const size_t sizes[] = {1, 3, 64, 4095, 4096, 4097, 70000};

static void faults_at_the_first_byte_past_the_end(void **state) {
    (void)state;
    watch *w = shared_watch();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        guarded g;
        char words[96];
        assert_true(guard_open(&g, "x", sizes[i], 1, GUARD_END));
        const uint8_t *end = (uint8_t *)g.data + sizes[i];
        snprintf(words, sizeof words, "1 byte past the end of x (%zu bytes)", sizes[i]);
        assert_int_equal(signal_of_reading(end - 1, w), 0);
        expect_fault(end, words, w);
        snprintf(words, sizeof words, "17 bytes past the end of x (%zu bytes)", sizes[i]);
        expect_fault(end + 16, words, w);
        guard_close(&g);
    }
    munmap(w, sizeof *w);
}

static void faults_at_the_last_byte_before_the_start(void **state) {
    (void)state;
    watch *w = shared_watch();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        guarded g;
        char words[96];
        assert_true(guard_open(&g, "bias", sizes[i], 4, GUARD_START));
        const uint8_t *start = g.data;
        snprintf(words, sizeof words, "1 byte before the start of bias (%zu bytes)", sizes[i]);
        assert_int_equal(signal_of_reading(start, w), 0);
        expect_fault(start - 1, words, w);
        guard_close(&g);
    }
    munmap(w, sizeof *w);
}

static void an_empty_buffer_faults_at_once(void **state) {
    (void)state;
    watch *w = shared_watch();
    guarded g;
    int64_t offset;
    assert_true(guard_open(&g, "y", 0, 4, GUARD_END));
    assert_non_null(g.data);
    expect_fault(g.data, "1 byte past the end of y (0 bytes)", w);
    assert_true(guard_intact(&g, &offset));
    guard_close(&g);
    munmap(w, sizeof *w);
}

static void hidden_content_faults_and_is_kept(void **state) {
    (void)state;
    watch *w = shared_watch();
    guarded g;
    assert_true(guard_open(&g, "w", 100, 1, GUARD_END));
    memset(g.data, 42, 100);
    guard_hide(&g, true);
    expect_fault((uint8_t *)g.data + 7, "byte 7 of w, which this call must not touch, (100 bytes)",
                 w);
    guard_hide(&g, false);
    assert_int_equal(((uint8_t *)g.data)[99], 42);
    guard_close(&g);
    munmap(w, sizeof *w);
}

static void closed_and_foreign_addresses_are_not_described(void **state) {
    (void)state;
    guarded g;
    char text[64];
    int local = 0;
    assert_true(guard_open(&g, "x", 8, 1, GUARD_END));
    uint64_t address = (uint64_t)(uintptr_t)g.data;
    assert_true(guard_describe(address + 8, text, sizeof text));
    assert_false(guard_describe((uint64_t)(uintptr_t)&local, text, sizeof text));
    guard_close(&g);
    assert_false(guard_describe(address + 8, text, sizeof text));
}

static void alignment_is_kept_on_every_side(void **state) {
    (void)state;
    static const size_t aligns[] = {1, 2, 4, 64, 256, 65536};
    for (size_t i = 0; i < sizeof aligns / sizeof aligns[0]; i++)
        for (guard_side side = GUARD_END; side <= GUARD_ODD; side++) {
            guarded g;
            assert_true(guard_open(&g, "x", 1000, aligns[i], side));
            uintptr_t at = (uintptr_t)g.data;
            assert_int_equal(at % aligns[i], 0);
            if (side == GUARD_ODD && aligns[i] < 64)
                assert_int_equal(at % 64, aligns[i]);
            assert_true(at >= (uintptr_t)g.region);
            assert_true(at + 1000 <= (uintptr_t)g.region + g.region_bytes);
            memset(g.data, 0, 1000);
            guard_close(&g);
        }
}

/* Writes one byte at an offset from the buffer and expects it to be found. */
static void expect_damage(guarded *g, guard_side side, int64_t at) {
    int64_t offset = 12345;
    guard_place(g, side);
    memset(g->data, 0, g->bytes);
    assert_true(guard_intact(g, &offset));
    ((uint8_t *)g->data)[at] ^= 1;
    assert_false(guard_intact(g, &offset));
    assert_int_equal(offset, at);
}

static void a_changed_canary_is_found(void **state) {
    (void)state;
    guarded g;
    assert_true(guard_open(&g, "workspace", 100, 64, GUARD_END));
    expect_damage(&g, GUARD_END, 100); /* bytes that the alignment leaves over */
    expect_damage(&g, GUARD_END, -1);
    expect_damage(&g, GUARD_START, 100);
    expect_damage(&g, GUARD_START, 130);
    expect_damage(&g, GUARD_ODD, -1);
    expect_damage(&g, GUARD_ODD, 100);
    guard_close(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_at_the_first_byte_past_the_end),
        cmocka_unit_test(faults_at_the_last_byte_before_the_start),
        cmocka_unit_test(an_empty_buffer_faults_at_once),
        cmocka_unit_test(hidden_content_faults_and_is_kept),
        cmocka_unit_test(closed_and_foreign_addresses_are_not_described),
        cmocka_unit_test(alignment_is_kept_on_every_side),
        cmocka_unit_test(a_changed_canary_is_found),
    };
    return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
