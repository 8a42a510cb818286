/* SPDX-License-Identifier: Apache-2.0 */
/* Runs hand-written loops between marks, for the plugin's own test; prints its memory map. Words on
 * the command line: "unfinished" ends it while counting is on, "busy" lets a second thread run the
 * same loop all the time. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "perf/model/marks.h"

MARK_FUNCTION(mark_begin, MARK_BEGIN)
MARK_FUNCTION(mark_end, MARK_END)
MARK_FUNCTION(mark_region, MARK_REGION)
MARK_FUNCTION(mark_thread, MARK_THREAD)
MARK_FUNCTION(mark_serial, MARK_SERIAL)

/* 1 + 4n + 1 instructions for n >= 1. */
void counted_loop(uint64_t n, const uint64_t *from);
/* 1 + 6n + 1 instructions; the loop lies across the end of a page. */
void cut_loop(uint64_t n);
/* 4 instructions: stores to bytes 0..7 and 128..135, a load of bytes 60..67. */
void touch_lines(char *buffer);

__asm__(".text\n"
        ".type counted_loop, %function\n"
        ".type cut_loop, %function\n"
        ".type touch_lines, %function\n"
        "counted_loop:\n"
        "    mov x2, xzr\n"
        "1:  ldr x3, [x1]\n"
        "    add x2, x2, x3\n"
        "    subs x0, x0, #1\n"
        "    b.ne 1b\n"
        "    ret\n"
        ".balign 4096\n"
        ".skip 4096 - 16\n"
        "cut_loop:\n"
        "    mov x2, xzr\n"
        "2:  add x2, x2, #1\n"
        "    add x3, x2, #2\n"
        "    add x4, x3, #3\n" /* the page ends here */
        "    add x5, x4, #4\n"
        "    subs x0, x0, #1\n"
        "    b.ne 2b\n"
        "    ret\n"
        "touch_lines:\n"
        "    str xzr, [x0]\n"
        "    ldur x1, [x0, #60]\n"
        "    str xzr, [x0, #128]\n"
        "    ret\n");

static _Alignas(64) char buffer[4096];
static const uint64_t seven = 7;
static atomic_bool stop;

static void *busy(void *arg) {
    while (!atomic_load(&stop))
        counted_loop(1000, &seven);
    return arg;
}

static void run(void) {
    counted_loop(1000, &seven);
    touch_lines(buffer);
    mark_region();
    counted_loop(10, &seven);
    mark_thread();
    counted_loop(20, &seven);
    mark_serial();
    cut_loop(500);
}

static int print_map(void) {
    FILE *in = fopen("/proc/self/maps", "re");
    char line[1024];
    printf("buffer %p\n", (void *)buffer);
    while (in != NULL && fgets(line, sizeof line, in) != NULL)
        fputs(line, stdout);
    return in == NULL || fclose(in) != 0;
}

int main(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "";
    const bool threaded = strcmp(word, "busy") == 0, unfinished = strcmp(word, "unfinished") == 0;
    pthread_t other;
    if (threaded && pthread_create(&other, NULL, busy, NULL) != 0)
        return 1;
    counted_loop(5, &seven); /* before the marks: not counted */
    mark_begin();
    run();
    if (unfinished)
        return 0;
    mark_end();
    counted_loop(5, &seven);
    touch_lines(buffer + 1024);
    atomic_store(&stop, true);
    if (threaded)
        pthread_join(other, NULL);
    return print_map();
}
