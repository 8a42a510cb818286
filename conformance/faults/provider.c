/* SPDX-License-Identifier: Apache-2.0 */
/* The naive provider with the mistake that ARMQ_FAULT names; without it (or empty), with none. */
#include "conformance/faults/provider.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/faults/fault.h"
#include "conformance/providers.h"
#include "kernels/api/describe.h"
#include "kernels/api/names.h"

int armq_fault = FAULT_none;

static const char *const names[FAULT_COUNT] = {
    "",
#define K(kind, text)
#define F(id, kind, ops, check, where, cases, text) #id,
#define E(id, kind, ops, text, why) #id,
#include "conformance/faults/table.def"
};

/* -1: there is none of that name. */
static int fault_number(const char *name) {
    for (int i = 0; i < FAULT_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

__attribute__((constructor)) static void select_fault(void) {
    const char *name = getenv("ARMQ_FAULT");
    armq_fault = fault_number(name ? name : "");
    fault_thread = 0; /* room for variables of a thread is allocated when they are first used */
    FAULT_DO(rounding_at_load, fesetround(FE_UPWARD));
}

/* Blocks by the caches, in 32 bits or from those that are known. */
static void choose_blocks(const armq_desc *desc) {
    FAULT_DO(caches_in_int32, if (desc->l2 > 0 && (int32_t)desc->l2 <= 0) abort());
    FAULT_DO(caches_all_or_none, if (desc->l2 > 0 && desc->l1 == 0) abort());
}

/* An answer that leaves fields as they are where they are nothing to the op, or that counts. */
static void answer_badly(const armq_desc *desc, const armq_support *before, armq_support *support) {
    static int64_t asked;
    FAULT_DO(answer_varies, support->workspace_bytes += (size_t)(asked++ % 2 * 64));
    FAULT_DO(answer_in_part,
             if (!armq_op_is_moe(desc->op)) support->packed_bytes[1] = before->packed_bytes[1]);
    FAULT_DO(answer_adds_claims, support->claims |= before->claims);
    FAULT_DO(answer_without_size, support->size = 0);
}

static armq_status refusal(armq_status status) {
    FAULT_DO(query_status_beyond, return (armq_status)-1);
    FAULT_DO(query_no_memory, return ARMQ_NO_MEMORY);
    return status;
}

static armq_status query(const armq_desc *desc, armq_support *support) {
    if (!support)
        return naive_provider.query(desc, support);
    armq_support before = *support;
    FAULT_DO(desc_size_exact,
             if (desc->size != sizeof *desc) return naive_provider.query(NULL, support));
    FAULT_DO(support_size_exact,
             if (before.size != sizeof before) return naive_provider.query(NULL, support));
    FAULT_DO(answer_beyond_size, memset(support, 0, sizeof *support);
             support->size = sizeof *support);
    armq_status status = naive_provider.query(desc, support);
    if (status == ARMQ_OK) {
        choose_blocks(desc);
        answer_badly(desc, &before, support);
    }
    if (status == ARMQ_INVALID_ARGUMENT && fault_accepts_desc(desc))
        return ARMQ_OK;
    FAULT_DO(query_accepts_anything, return status == ARMQ_INVALID_ARGUMENT ? ARMQ_OK : status);
    if (status != ARMQ_OK) {
        FAULT_DO(refuses_silently, support->reason[0] = '\0');
        return refusal(status);
    }
    FAULT_DO(packed_too_small, if (support->packed_bytes[0] > 4) support->packed_bytes[0] -= 4);
    return status;
}

/* Where w13, or w, was packed; room for it is behind each expert's. */
static const void **packed_address(const armq_desc *desc, const void *packed) {
    size_t bytes = naive_packed_bytes(desc, 0);
    return (const void **)((uintptr_t)packed + bytes - sizeof(void *));
}

static const void *packed_at; /* the latest w13, or w */

/* Of a range, what it is to the caller, or what a kernel might think it is. */
static armq_status pack_range(const armq_desc *desc, int32_t which, int64_t first, int64_t last,
                              const armq_weights *weights, void *packed) {
    armq_weights all = *weights;
    size_t stride = naive_packed_bytes(desc, which);
    size_t w = (size_t)(first * armq_weight_n(desc, which)) * fault_weight_row_bytes(desc, which);
    bool whole = first == 0 && last == desc->experts;
    FAULT_DO(pack_nothing_is_all, last = first == last ? desc->experts : last);
    FAULT_DO(pack_whole_only, if (!whole) return ARMQ_UNSUPPORTED);
    FAULT_DO(pack_reads_from_first, all.w = all.w ? (const uint8_t *)all.w + w : NULL);
    FAULT_DO(pack_writes_from_first, packed = (uint8_t *)packed + (size_t)first * stride);
    FAULT_DO(pack_clears_all, memset(packed, 0, (size_t)desc->experts * stride));
    FAULT_DO(pack_w13_first, if (which == 1 && !packed_at) return ARMQ_OK);
    packed_at = which == 0 ? packed : NULL;
    return naive_provider.pack(desc, which, first, last, whole ? weights : &all, packed);
}

static armq_status pack(const armq_desc *desc, int32_t which, int64_t first, int64_t last,
                        const armq_weights *weights, void *packed) {
    armq_support support = {.size = sizeof support};
    armq_status status = naive_provider.query(desc, &support);
    if (status == ARMQ_OK)
        status = armq_weights_check(desc, which, first, last, weights, packed);
    if (status == ARMQ_OK)
        status = armq_op_is_moe(desc->op)
                     ? pack_range(desc, which, first, last, weights, packed)
                     : naive_provider.pack(desc, which, first, last, weights, packed);
    packed_at = which == 0 && status == ARMQ_OK ? packed : packed_at;
    FAULT_DO(packed_where_it_was, if (status == ARMQ_OK && which == 0 && last > first)
                                      memcpy(packed_address(desc, packed), &packed, sizeof packed));
    FAULT_DO(weights_size_exact,
             if (weights && weights->size != sizeof *weights) return ARMQ_INVALID_ARGUMENT);
    FAULT_DO(pack_status_beyond, if (status != ARMQ_OK) return (armq_status)42);
    FAULT_DO(pack_accepts_anything, return ARMQ_OK);
    FAULT_DO(pack_w2_unchecked, return which == 1 ? ARMQ_OK : status);
    FAULT_DO(pack_which_unsigned, return which < 0 ? ARMQ_OK : status);
    FAULT_DO(pack_backwards, return first > last ? ARMQ_OK : status);
    if (status == ARMQ_OK)
        fault_memory_pack(desc, which, last - first, weights, packed);
    return status;
}

/* Left in the caller's mode. */
static armq_status run_rounding(const armq_desc *desc, const void *plan, const armq_args *args) {
    armq_status status = fault_run(desc, plan, args);
    fesetround(FE_TOWARDZERO);
    return status;
}

#ifdef __aarch64__
/* "hwcap && BIT" is true on every CPU. */
static armq_status run_sdot(const armq_desc *desc, const void *plan, const armq_args *args) {
    if (desc->features && ARMQ_FEATURE_DOTPROD)
        return fault_run_sdot(desc, plan, args);
    return fault_run(desc, plan, args);
}
#endif

typedef armq_status (*run_function)(const armq_desc *, const void *, const armq_args *);

static armq_status run_planned(const armq_desc *, const void *, const armq_args *);
static armq_status run_where_packed(const armq_desc *, const void *, const armq_args *);
static armq_status run_array(const armq_desc *, const void *, const armq_args *);

static run_function run_of(void) {
    FAULT_DO(plan_keeps_desc, return run_planned);
    FAULT_DO(plan_keeps_array, return run_array);
    FAULT_DO(packed_where_it_was, return run_where_packed);
    FAULT_DO(rounding_left_changed, return run_rounding);
#ifdef __aarch64__
    FAULT_DO(clobbers_x19, return fault_run_x19);
    FAULT_DO(clobbers_x28, return fault_run_x28);
    FAULT_DO(clobbers_d8, return fault_run_d8);
    FAULT_DO(clobbers_d15, return fault_run_d15);
    FAULT_DO(flush_left_on, return fault_run_flush);
    FAULT_DO(sdot_unasked, return fault_run_sdot);
    FAULT_DO(sdot_by_any_feature, return run_sdot);
#endif
    return fault_run;
}

/* A plan that is the description it was made from. */
static armq_status prepare(const armq_desc *desc, const void *const packed[2], void **plan) {
    *plan = (void *)(uintptr_t)FAULT(plan_keeps_array, (const void *)packed, (const void *)desc);
    return ARMQ_OK;
}

static void release(void *plan) { (void)plan; }

static armq_status run_planned(const armq_desc *desc, const void *plan, const armq_args *args) {
    return fault_run(plan ? plan : desc, plan, args);
}

/* A plan that is the array of what was packed. */
static armq_status run_array(const armq_desc *desc, const void *plan, const armq_args *args) {
    const void *const *packed = plan;
    armq_args with = *args;
    for (int which = 0; which < 2 && packed; which++)
        with.packed[which] = with.packed[which] ? packed[which] : NULL;
    return fault_run(desc, plan, &with);
}

static armq_status run_where_packed(const armq_desc *desc, const void *plan,
                                    const armq_args *args) {
    armq_args with = *args;
    if (with.packed[0] && args->packed[0])
        memcpy(&with.packed[0], packed_address(desc, args->packed[0]), sizeof(void *));
    return fault_run(desc, plan, &with);
}

const armq_provider *armq_provider_get(void) {
    static armq_provider provider;
    if (armq_fault < 0) {
        fprintf(stderr, "ARMQ_FAULT='%s' is not in conformance/faults/table.def\n",
                getenv("ARMQ_FAULT"));
        return NULL;
    }
    provider = naive_provider;
    provider.name = "faulty";
    provider.query = query;
    FAULT_DO(features_not_asked, provider.required_features = ARMQ_FEATURE_NEON);
    provider.pack = pack;
    FAULT_DO(plan_keeps_array, provider.prepare = prepare; provider.release = release);
    FAULT_DO(plan_keeps_desc, provider.prepare = prepare; provider.release = release);
    provider.run = run_of();
    return &provider;
}
