/* SPDX-License-Identifier: Apache-2.0 */
/* Interleaving with a clock that the test turns, and what is called noisy. */
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/cores.h"
#include "perf/noise.h"
#include "perf/rounds.h"

static double clock_now;
static char order[256]; /* of runs */

static double fake_clock(void) { return clock_now; }

typedef struct {
    char name;
    double seconds, growth; /* of a run; how much longer each next one takes */
    int64_t runs, fails_at;
} fake;

static armq_status run_fake(void *arg) {
    fake *f = arg;
    const size_t used = strlen(order);
    if (used + 1 < sizeof order)
        order[used] = f->name;
    clock_now += f->seconds;
    f->seconds += f->growth;
    return ++f->runs == f->fails_at ? ARMQ_NO_MEMORY : ARMQ_OK;
}

static void start(void) {
    clock_now = 0;
    memset(order, 0, sizeof order);
}

/* Each side once, then again to see how long it takes; then per repetition a run that is not timed
 * and one that is; the order turns with every round. */
static void turns(void **state) {
    (void)state;
    start();
    fake a = {.name = 'a', .seconds = 3}, b = {.name = 'b', .seconds = 2};
    double of_a[3], of_b[3];
    rounds_side sides[2] = {{run_fake, &a, of_a, 0}, {run_fake, &b, of_b, 0}};
    const rounds_setup setup = {.rounds = 3, .seconds = 1, .now = fake_clock};
    assert_int_equal(rounds_time(sides, 2, &setup), ARMQ_OK);
    assert_string_equal(order, "aabb"
                               "aabb"
                               "bbaa"
                               "aabb");
    for (int i = 0; i < 3; i++)
        assert_true(of_a[i] == 3 && of_b[i] == 2);
}

/* A run of 1 s, repetitions of 10 s: at least ten runs together. The time is that of one. */
static void short_runs_are_timed_together(void **state) {
    (void)state;
    start();
    fake a = {.name = 'a', .seconds = 1};
    double of_a[2];
    rounds_side side = {run_fake, &a, of_a, 0};
    const rounds_setup setup = {.rounds = 2, .seconds = 10, .now = fake_clock};
    assert_int_equal(rounds_time(&side, 1, &setup), ARMQ_OK);
    assert_true(side.runs >= 10 && side.runs <= 14);
    assert_true(of_a[0] == 1 && of_a[1] == 1);
}

static void first_failure_ends_it(void **state) {
    (void)state;
    start();
    fake a = {.name = 'a', .seconds = 3, .fails_at = 5};
    double of_a[9];
    rounds_side side = {run_fake, &a, of_a, 0};
    const rounds_setup setup = {.rounds = 9, .seconds = 1, .now = fake_clock};
    assert_int_equal(rounds_time(&side, 1, &setup), ARMQ_NO_MEMORY);
    assert_string_equal(order, "aaaaa");
}

static void verdicts(void **state) {
    (void)state;
    char why[NOISE_WHY];
    noise_seen seen = {.spread = 0.049, .repetitions = 9, .preemptions = 1000};
    assert_true(noise_quiet(&seen, why));
    assert_string_equal(why, "");
    seen.spread = 0.051;
    assert_false(noise_quiet(&seen, why));
    assert_string_equal(why, "noisy: repetitions spread by 5.1 % (quartiles), limit 5 %");
    seen.migrations = 2;
    assert_false(noise_quiet(&seen, why));
    assert_string_equal(why, "noisy: migrated 2 times");
    const noise_seen single = {.spread = NAN, .repetitions = 1};
    assert_false(noise_quiet(&single, why));
    assert_string_equal(why, "noise unknown: 1 repetitions");
}

static void load(void **state) {
    (void)state;
    char why[NOISE_WHY];
    assert_true(noise_load_quiet(0.5, 3, 4, why));
    assert_true(noise_load_quiet(1.0, 3, 4, why));
    assert_true(noise_load_quiet(0.4, 4, 4, why)); /* all of them, on an idle machine */
    assert_false(noise_load_quiet(0.6, 4, 4, why));
    assert_false(noise_load_quiet(1.6, 3, 4, why));
    assert_string_equal(why, "noisy: load 1.60 and 3 threads on 4 processors");
}

static void quota(void **state) {
    (void)state;
    char why[NOISE_WHY];
    assert_true(noise_quota_quiet(0, why));
    assert_true(noise_quota_quiet(1000, why));
    assert_true(noise_quota_quiet(3500, why));
    assert_string_equal(why, "");
    assert_false(noise_quota_quiet(500, why));
    assert_string_equal(why, "noisy: the CPU quota is 0.5 processors, so threads are stopped");
}

/* A thread that is moved while it is watched. */
static void migrations(void **state) {
    (void)state;
    core_list list;
    assert_true(core_list_read(&list));
    if (list.count < 2) {
        core_list_free(&list);
        skip();
    }
    cpu_set_t before;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    noise_watch watch;
    noise_seen seen = {.migrations = 0};
    assert_true(core_bind_self(list.cpus, 1));
    noise_watch_start(&watch, list.cpus[0]);
    noise_watch_look(&watch);
    noise_watch_stop(&watch, &seen);
    assert_int_equal(seen.migrations, 0);
    assert_true(core_bind_self(list.cpus + 1, 1));
    noise_watch_look(&watch);
    noise_watch_look(&watch);
    noise_watch_stop(&watch, &seen);
    assert_int_equal(seen.migrations, 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    core_list_free(&list);
}

int main(void) {
    const struct CMUnitTest noise[] = {
        cmocka_unit_test(turns),
        cmocka_unit_test(short_runs_are_timed_together),
        cmocka_unit_test(first_failure_ends_it),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(load),
        cmocka_unit_test(quota),
        cmocka_unit_test(migrations),
    };
    return cmocka_run_group_tests(noise, NULL, NULL);
}
