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
    FAULT_DO(rounding_at_load, fesetround(FE_UPWARD));
}

static armq_status query(const armq_desc *desc, armq_support *support) {
    armq_status status = naive_provider.query(desc, support);
    FAULT_DO(query_accepts_anything, return status == ARMQ_INVALID_ARGUMENT ? ARMQ_OK : status);
    if (status != ARMQ_OK) {
        FAULT_DO(refuses_silently, if (support) support->reason[0] = '\0');
        return status;
    }
    FAULT_DO(packed_too_small, if (support->packed_bytes[0] > 4) support->packed_bytes[0] -= 4);
    return status;
}

static armq_status pack(const armq_desc *desc, int32_t which, int64_t first, int64_t last,
                        const armq_weights *weights, void *packed) {
    armq_status status = naive_provider.pack(desc, which, first, last, weights, packed);
    FAULT_DO(pack_accepts_anything, return ARMQ_OK);
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

static run_function run_of(void) {
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
    provider.pack = pack;
    provider.run = run_of();
    return &provider;
}
