/* SPDX-License-Identifier: Apache-2.0 */
/* What the parent makes of workers that do not answer. The workers here are processes of this test,
 * which hold the other end of the fd as a worker does. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "conformance/check.h"
#include "conformance/orphan.h"
#include "conformance/worker.h"

static void pause_ms(int64_t ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A worker that does what `behave` does, in task 0, with no limits that matter. */
static worker start(void (*behave)(watch *shared, int fd)) {
    worker w;
    int fds[2];
    assert_true(worker_open(&w));
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
    w.shared->check = check_index("value");
    w.task = 0;
    w.started_ns = w.still_since_ns = now_ns();
    w.patience_ns = INT64_MAX;
    w.starved_before_ns = w.starved_seen_ns = 0;
    w.pid = fork();
    assert_true(w.pid >= 0);
    if (w.pid == 0) {
        setpgid(0, 0);
        close(fds[0]);
        behave(w.shared, fds[1]);
        _exit(0);
    }
    setpgid(w.pid, w.pid);
    close(fds[1]);
    w.fd = fds[0];
    return w;
}

/* The runner's loop for one worker whose fd never becomes readable. */
static bool ends_within(worker *w, int64_t ms) {
    for (int64_t i = 0; i < ms; i += 10) {
        if (worker_check_hang(w) == WORKER_DONE)
            return true;
        pause_ms(10);
    }
    return false;
}

static bool group_is_gone(pid_t group) {
    for (int i = 0; i < 200 && kill(-group, 0) == 0; i++)
        pause_ms(10);
    return kill(-group, 0) != 0;
}

static void wait_for_ever(watch *shared, int fd) {
    (void)shared;
    (void)fd;
    for (;;)
        pause();
}

static void leave_a_child_and_abort(watch *shared, int fd) {
    if (fork() == 0)
        wait_for_ever(shared, fd);
    shared->call_allowed = INT64_MAX;
    shared->call_start = now_ns();
    signal(SIGABRT, SIG_DFL);
    abort();
}

/* The child keeps the fd open, so that its end cannot be read from it. */
static void a_surviving_child_does_not_hide_a_crash(void **state) {
    (void)state;
    worker w = start(leave_a_child_and_abort);
    pid_t group = w.pid;
    assert_true(ends_within(&w, 5000));
    assert_int_equal(w.shared->result.status, CASE_CRASHED);
    assert_string_equal(w.shared->result.reason, "SIGABRT in value");
    assert_int_equal(w.pid, 0);
    assert_true(group_is_gone(group));
    worker_close(&w);
}

/* In set-up, or in a call that nobody announced. */
static void standing_still_is_a_hang(void **state) {
    (void)state;
    worker w = start(wait_for_ever);
    w.shared->check = -1;
    w.patience_ns = INT64_C(300000000);
    pause_ms(200);
    assert_int_equal(worker_check_hang(&w), WORKER_RUNNING); /* sees that the check is another */
    assert_true(ends_within(&w, 5000));
    assert_int_equal(w.shared->result.status, CASE_CRASHED);
    assert_string_equal(w.shared->result.reason,
                        "hang: no call or check has come to an end for 0.3 s in set-up or release");
    assert_int_equal(w.shared->result.checks[check_index("crash")].status, CHECK_FAILED);
    worker_close(&w);
}

/* The reference may take its time: only standing still counts, and a call has its own limit. */
static void going_on_is_no_hang(void **state) {
    (void)state;
    worker w = start(wait_for_ever);
    w.patience_ns = INT64_C(150000000);
    for (int i = 0; i < 45; i++) {
        assert_int_equal(worker_check_hang(&w), WORKER_RUNNING);
        if (i < 20)
            w.shared->steps++;
        else
            w.shared->check = i; /* the next check is progress as well */
        pause_ms(10);
    }
    watch_set_timeout(100);
    watch_call_begin(w.shared, watch_allowance(NULL, 1));
    watch_set_timeout(0);
    pause_ms(300);
    assert_int_equal(worker_check_hang(&w), WORKER_RUNNING);
    w.shared->call_allowed = 1;
    assert_int_equal(worker_check_hang(&w), WORKER_DONE);
    assert_non_null(strstr(w.shared->result.reason, "hang: a call ran for more than"));
    worker_close(&w);
}

/* --- Busy machines ------------------------------------------------------------------------------
 */

enum { RIVALS = 7 };
static const int64_t own_ms = 120; /* of processor time */

static void spin(int64_t ms) {
    struct timespec t;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

static void share_one_processor(void) {
    cpu_set_t one;
    if (sched_getaffinity(0, sizeof one, &one) != 0)
        _exit(1);
    size_t last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &one))
        last--;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        _exit(1);
}

/* A call of own_ms that may take five times that (what a hypervisor takes away is not told), on a
 * processor that it has an eighth of. */
static void spin_in_a_call(watch *shared, int fd) {
    pid_t rivals[RIVALS];
    share_one_processor();
    for (int i = 0; i < RIVALS; i++)
        if ((rivals[i] = fork()) == 0) {
            spin(60000);
            _exit(0);
        }
    watch_call_begin(shared, 5e-3 * (double)own_ms);
    spin(own_ms);
    watch_call_end(shared);
    for (int i = 0; i < RIVALS; i++)
        kill(rivals[i], SIGKILL);
    wait_for_ever(shared, fd);
}

static void a_busy_machine_is_no_hang(void **state) {
    (void)state;
    worker w = start(spin_in_a_call);
    int64_t begin = now_ns();
    while (w.shared->steps < 2) {
        assert_int_equal(worker_check_hang(&w), WORKER_RUNNING);
        pause_ms(10);
    }
    assert_true(now_ns() - begin > 5 * own_ms * 1000000); /* it was a hang by the clock */
    worker_close(&w);
}

static void spin_for_ever(watch *shared, int fd) {
    (void)fd;
    watch_call_begin(shared, 0.4);
    spin(600000);
}

static void spinning_is_a_hang(void **state) {
    (void)state;
    worker w = start(spin_for_ever);
    assert_true(ends_within(&w, 20000));
    assert_non_null(strstr(w.shared->result.reason, "hang: a call ran for more than 0.4 s"));
    worker_close(&w);
}

static void close_and_wait(watch *shared, int fd) {
    close(fd);
    wait_for_ever(shared, fd);
}

static void a_closed_connection_is_a_crash(void **state) {
    (void)state;
    worker w = start(close_and_wait);
    pause_ms(100);
    assert_int_equal(worker_collect(&w), WORKER_DONE);
    assert_int_equal(w.shared->result.status, CASE_CRASHED);
    assert_string_equal(w.shared->result.reason,
                        "the worker's connection to armq was closed in value");
    worker_close(&w);
}

static void write_and_wait(watch *shared, int fd) {
    if (write(fd, "hello", 5) != 5)
        _exit(1);
    wait_for_ever(shared, fd);
}

static void foreign_text_is_no_answer(void **state) {
    (void)state;
    worker w = start(write_and_wait);
    pause_ms(100);
    assert_int_equal(worker_collect(&w), WORKER_DONE);
    assert_int_equal(w.shared->result.status, CASE_CRASHED);
    assert_non_null(strstr(w.shared->result.reason, "something else wrote"));
    worker_close(&w);
}

static armq_case case_of(const char *text) {
    case_list list = {0};
    case_error error;
    if (!case_parse_line(text, NULL, &list, &error))
        fail_msg("%s", error.message);
    armq_case c = list.items[0];
    case_list_free(&list);
    return c;
}

static double allowance(const char *text, int64_t calls) {
    armq_case c = case_of(text);
    return watch_allowance(&c, calls);
}

static void allowance_grows_with_the_work(void **state) {
    (void)state;
    assert_true(watch_allowance(NULL, 1) == 10.0);
    double small = allowance("gemm_s8s8s32 tokens=1 n=1 k=1", 1);
    assert_true(small > 10.0 && small < 10.1);
    /* Ten times 5 GMAC at 0.2 GMAC/s is 250 s, and what the elements take. */
    double large = allowance("gemm_s8s8s32 tokens=5 n=10000 k=100000", 1);
    assert_true(large > 260.0);
    assert_true(allowance("gemm_s8s8s32 tokens=5 n=10000 k=100000", 3) > 3 * (large - 10.0));
    /* Ops without MACs; 29 and 10^12 elements. */
    assert_true(allowance("quantize tokens=2048 k=14336 in=f16", 1) > 100.0);
    assert_true(allowance("linear_w8a8 tokens=1000000000000 n=0 k=0", 1) > 1e6);
    /* Packing touches all experts, whatever the number of tokens. */
    assert_true(allowance("moe_w8a8 tokens=0 hidden=2048 intermediate=768 experts=128 top_k=8", 1) >
                100.0);
    watch_set_timeout(0.5);
    assert_true(allowance("gemm_s8s8s32 tokens=5 n=10000 k=100000", 3) == 0.5);
    watch_set_timeout(0);
}

static void patience_grows_with_the_work(void **state) {
    (void)state;
    armq_case small = case_of("gemm_s8s8s32 tokens=1 n=1 k=1"),
              large = case_of("linear_w8a8 tokens=2048 n=4096 k=4096");
    double little = watch_patience(&small);
    assert_true(little >= 300.0 && little < 301.0);
    assert_true(watch_patience(&large) > 6000.0);
    watch_set_patience(2);
    assert_true(watch_patience(&large) == 2.0);
    watch_set_patience(0);
}

static void calls_are_steps(void **state) {
    (void)state;
    watch w = {0};
    watch_call_begin(&w, 2.5);
    assert_true(w.call_start > 0);
    assert_int_equal(w.call_allowed, INT64_C(2500000000));
    assert_int_equal(w.steps, 1);
    watch_call_end(&w);
    assert_int_equal(w.call_start, 0);
    assert_int_equal(w.steps, 2);
    watch_call_begin(&w, 1e30);
    assert_int_equal(w.call_allowed, INT64_MAX);
}

/* Its parent is gone before it could ask for the signal. */
static void an_orphan_ends(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        const pid_t self = getpid();
        if (fork() == 0) {
            while (getppid() == self)
                pause_ms(1);
            end_with_parent(self);
            (void)!write(ends[1], "x", 1);
        }
        _exit(0);
    }
    close(ends[1]);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_surviving_child_does_not_hide_a_crash),
        cmocka_unit_test(standing_still_is_a_hang),
        cmocka_unit_test(going_on_is_no_hang),
        cmocka_unit_test(a_busy_machine_is_no_hang),
        cmocka_unit_test(spinning_is_a_hang),
        cmocka_unit_test(a_closed_connection_is_a_crash),
        cmocka_unit_test(foreign_text_is_no_answer),
        cmocka_unit_test(allowance_grows_with_the_work),
        cmocka_unit_test(patience_grows_with_the_work),
        cmocka_unit_test(calls_are_steps),
        cmocka_unit_test(an_orphan_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
