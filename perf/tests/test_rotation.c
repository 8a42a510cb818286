/* SPDX-License-Identifier: Apache-2.0 */
/* Cold weights: every run of a turn reads other bytes, all of them right, and enough of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/providers.h"
#include "perf/counts.h"
#include "perf/rotation.h"

enum { SEEN_MAX = 64 };

static struct { const void *packed[2], *w; } seen[SEEN_MAX];
static int64_t runs, prepared, released;

/* naive, and a note of where each run was sent to read. */
static armq_provider watched;

static armq_status run_watched(const armq_desc *desc, const void *plan, const armq_args *args) {
    assert_true(runs < SEEN_MAX);
    assert_ptr_equal(plan, args->packed[0]); /* each copy is prepared for itself */
    seen[runs].packed[0] = args->packed[0];
    seen[runs].packed[1] = args->packed[1];
    seen[runs].w = args->weights[0] != NULL ? args->weights[0]->w : NULL;
    runs++;
    return naive_provider.run(desc, NULL, args);
}

static armq_status prepare_watched(const armq_desc *desc, const void *const packed[2],
                                   void **plan) {
    (void)desc;
    *plan = (void *)(uintptr_t)packed[0];
    prepared++;
    return ARMQ_OK;
}

static void release_watched(void *plan) {
    assert_non_null(plan);
    released++;
}

static armq_status query_after_pack(const armq_desc *desc, armq_support *support) {
    const armq_status status = naive_provider.query(desc, support);
    support->claims |= ARMQ_CLAIM_READS_AFTER_PACK;
    return status;
}

static workload open(const char *text) {
    case_list list = {.count = 0};
    case_error error;
    if (!case_parse_line(text, NULL, &list, &error))
        fail_msg("%s: %s", text, error.message);
    armq_case c = list.items[0];
    case_list_free(&list);
    case_bind(&c, 0, 0, 0, 0, c.threads);
    watched.run = run_watched;
    watched.prepare = prepare_watched;
    watched.release = release_watched;
    runs = prepared = released = 0;
    workload w;
    char why[WORKLOAD_WHY];
    if (!workload_open(&w, &c, &watched, why))
        fail_msg("%s: %s", text, why);
    return w;
}

static bool apart(const void *a, const void *b, size_t bytes) {
    const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x + bytes <= y || y + bytes <= x;
}

/* Runs two turns. In one turn no two runs share a byte; the second repeats the first; each run
 * gives the right answer, from a copy that is full. */
static void check_turns(workload *w, rotation *r) {
    char why[WORKLOAD_WHY];
    for (int64_t i = 0; i < 2 * r->count; i++) {
        workload_poison(w);
        assert_int_equal(rotation_run(r), ARMQ_OK);
        if (!workload_judge(w, why))
            fail_msg("copy %lld: %s", (long long)(i % r->count), why);
    }
    for (int64_t i = 0; i < r->count; i++) {
        assert_ptr_equal(seen[i].packed[0], seen[i + r->count].packed[0]);
        for (int64_t j = 0; j < i; j++) {
            assert_true(
                apart(seen[i].packed[0], seen[j].packed[0], w->shapes[OPERAND_PACKED].bytes));
            if (seen[i].packed[1] != NULL)
                assert_true(
                    apart(seen[i].packed[1], seen[j].packed[1], w->shapes[OPERAND_PACKED2].bytes));
            if (seen[i].w != NULL)
                assert_true(apart(seen[i].w, seen[j].w, w->shapes[OPERAND_W].bytes));
        }
    }
}

/* More than twice the last-level cache; of several kinds of cores the largest. */
static void wanted_bytes(void **state) {
    (void)state;
    core_kind kinds[] = {{.llc = 3 << 20}, {.llc = 8 << 20}, {.llc = 0}};
    core_list cores = {.kinds = kinds, .kind_count = 3};
    bool assumed;
    assert_int_equal(rotation_wanted(&cores, false, &assumed), 32 << 20);
    assert_int_equal(rotation_wanted(&cores, true, &assumed), 16 << 20);
    assert_false(assumed);
    kinds[0].llc = kinds[1].llc = 0;
    assert_int_equal(rotation_wanted(&cores, false, &assumed), 256 << 20);
    assert_true(assumed);
}

static void linear(void **state) {
    (void)state;
    watched = naive_provider;
    workload w = open("linear_w8a8 tokens=2 n=40 k=70 dialect=vllm-w8a8 bias=f32");
    rotation r;
    char why[WORKLOAD_WHY];
    const int64_t each = (int64_t)w.support.packed_bytes[0];
    assert_true(each >= 40 * 70);
    assert_int_equal(rotation_run_bytes(&w), each);
    assert_true(rotation_open(&r, &w, 5 * each, why));
    assert_int_equal(r.count, 6); /* more than five, not five */
    assert_true(rotation_bytes(&r) > 5 * each);
    assert_int_equal(prepared, 6);
    check_turns(&w, &r);
    rotation_close(&r);
    assert_int_equal(released, 5);
    workload_close(&w);
    assert_int_equal(released, 6);
}

/* Only experts in use count and are copied: one token, two of eight experts. */
static void moe(void **state) {
    (void)state;
    watched = naive_provider;
    workload w = open("moe_w8a8 tokens=1 hidden=32 intermediate=16 experts=8 top_k=2 "
                      "dialect=vllm-w8a8");
    const size_t each = w.support.packed_expert_stride[0] + w.support.packed_expert_stride[1];
    const int64_t used = bench_experts_used(&w.c, w.data.at[OPERAND_TOPK_IDS]);
    assert_in_range(used, 1, 2);
    assert_int_equal(rotation_run_bytes(&w), (int64_t)each * used);
    rotation r;
    char why[WORKLOAD_WHY];
    assert_true(rotation_open(&r, &w, 3 * (int64_t)each, why));
    assert_true(rotation_bytes(&r) > 3 * (int64_t)each);
    check_turns(&w, &r);
    rotation_close(&r);
    workload_close(&w);
}

/* What is read after packing rotates too, and counts: weights 40*70, scales 40*4. */
static void read_after_pack(void **state) {
    (void)state;
    watched = naive_provider;
    watched.query = query_after_pack;
    workload w = open("linear_w8a8 tokens=2 n=40 k=70 dialect=vllm-w8a8");
    assert_int_equal(rotation_run_bytes(&w), (int64_t)w.support.packed_bytes[0] + 40 * 70 + 40 * 4);
    rotation r;
    char why[WORKLOAD_WHY];
    assert_true(rotation_open(&r, &w, 3 * rotation_run_bytes(&w), why));
    assert_int_equal(r.count, 4);
    check_turns(&w, &r);
    for (int64_t i = 0; i < runs; i++)
        assert_non_null(seen[i].w);
    rotation_close(&r);
    workload_close(&w);
}

static void refusals(void **state) {
    (void)state;
    watched = naive_provider;
    rotation r;
    char why[WORKLOAD_WHY];
    workload w = open("linear_w8a8 tokens=2 n=40 k=70 dialect=vllm-w8a8");
    assert_false(rotation_open(&r, &w, INT64_C(1) << 50, why));
    assert_non_null(strstr(why, "no memory for"));
    workload_close(&w);
    w = open("quantize tokens=2 k=70 dialect=vllm-w8a8");
    assert_false(rotation_open(&r, &w, 1000, why));
    assert_non_null(strstr(why, "quantize has no weights"));
    workload_close(&w);
}

int main(void) {
    const struct CMUnitTest rotations[] = {
        cmocka_unit_test(wanted_bytes),    cmocka_unit_test(linear),   cmocka_unit_test(moe),
        cmocka_unit_test(read_after_pack), cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(rotations, NULL, NULL);
}
