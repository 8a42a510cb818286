/* SPDX-License-Identifier: Apache-2.0 */
/* What a run will do: the providers, and every case on each of them. */
#ifndef ARMQ_CONFORMANCE_PLAN_H
#define ARMQ_CONFORMANCE_PLAN_H

#include "conformance/options.h"
#include "conformance/providers.h"
#include "harness/case.h"

typedef struct {
    char spec[4096]; /* as --provider has it: a built-in name or a path */
    char name[PROVIDER_NAME_MAX];
    char version[64];
    uint64_t required; /* ARMQ_FEATURE_* */
    uint64_t content;  /* content_hash of a library, as it was when it was first loaded */
    bool has_content;  /* false: built in, or it cannot be read */
    bool runs_here;
    char why[256];     /* why not, if !runs_here or broken */
    bool broken;       /* a library that died while it was loaded: all of its cases crashed */
    bool fpcr_changed; /* loading it changed the floating-point control register */
} provider_info;

typedef struct {
    int64_t group; /* tasks with the same case text, consecutive; workers take them together */
    int32_t provider;
    armq_case c;
} plan_task;

typedef struct {
    provider_info *providers;
    int64_t provider_count;
    plan_task *tasks; /* by case, then by provider */
    int64_t count;
    int64_t *index; /* hash table of tasks, for plan_find */
    int64_t index_size;
    int64_t dropped;  /* combinations that no dialect defines */
    int64_t filtered; /* removed by --filter */
    uint64_t hash;    /* of all (provider, case) and of the selected checks */
} plan;

/* False with a message in err: no such provider, an error in a sweep, in a case or in the filter.
 */
bool plan_make(plan *p, const options *o, FILE *err);
/* The providers alone. */
bool plan_providers(plan *p, const options *o, FILE *err);
void plan_free(plan *p);

/* Index of the task; -1 if there is none. */
int64_t plan_find(const plan *p, const char *provider, const char *text);

#endif
