/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/rotation.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/api/names.h"
#include "perf/counts.h"

static bool reads_after_pack(const workload *w) {
    return (w->support.claims & ARMQ_CLAIM_READS_AFTER_PACK) != 0;
}

int64_t rotation_wanted(const core_list *cores, bool emulated, bool *assumed) {
    int64_t most = 0;
    for (int32_t k = 0; k < cores->kind_count; k++)
        most = cores->kinds[k].llc > most ? cores->kinds[k].llc : most;
    *assumed = most == 0;
    return (emulated ? 2 : 4) * (*assumed ? ROTATION_LLC_ASSUMED : most);
}

/* Operands that runs read as weights. */
static bool rotates(const workload *w, int id) {
    if (w->data.at[id] == NULL)
        return false;
    return id == OPERAND_PACKED || id == OPERAND_PACKED2 ||
           (reads_after_pack(w) && id >= OPERAND_W && id <= OPERAND_W2_BIAS);
}

int64_t rotation_run_bytes(const workload *w) {
    const int64_t used = bench_experts_used(&w->c, w->data.at[OPERAND_TOPK_IDS]);
    int64_t bytes = bench_weight_bytes(&w->c, &w->support, used);
    if (reads_after_pack(w))
        bytes += bench_count(&w->c, used).weight_bytes;
    return bytes;
}

/* Bytes from one expert to the next; of ops without experts, all. */
static size_t expert_bytes(const workload *w, int id) {
    if (!armq_op_is_moe(w->c.desc.op))
        return w->shapes[id].bytes;
    if (id == OPERAND_PACKED || id == OPERAND_PACKED2)
        return w->support.packed_expert_stride[id - OPERAND_PACKED];
    return w->shapes[id].bytes / (size_t)w->c.desc.experts;
}

static void copy_used(const workload *w, int id, char *to) {
    const char *from = w->data.at[id];
    const size_t stride = expert_bytes(w, id);
    const int32_t *ids = w->data.at[OPERAND_TOPK_IDS];
    if (!armq_op_is_moe(w->c.desc.op)) {
        memcpy(to, from, w->shapes[id].bytes);
        return;
    }
    for (int64_t i = 0; i < w->c.desc.tokens * w->c.desc.top_k; i++) {
        if (ids[i] < 0 || ids[i] >= w->c.desc.experts)
            continue;
        const size_t at = (size_t)ids[i] * stride;
        if (at < w->shapes[id].bytes)
            memcpy(to + at, from + at,
                   stride < w->shapes[id].bytes - at ? stride : w->shapes[id].bytes - at);
    }
}

static bool no_memory(const rotation *r, char why[WORKLOAD_WHY]) {
    snprintf(why, WORKLOAD_WHY,
             "cold: no memory for %" PRId64 " copies of the weights, %" PRId64 " bytes each",
             r->count, r->run_bytes);
    return false;
}

static bool add_copy(rotation *r, rotation_copy *copy, char why[WORKLOAD_WHY]) {
    const workload *w = r->w;
    copy->data = w->data;
    for (int id = 0; id < OPERAND_COUNT; id++)
        if (rotates(w, id))
            copy->data.at[id] = NULL;
    for (int id = 0; id < OPERAND_COUNT; id++) {
        if (!rotates(w, id))
            continue;
        const size_t align = w->shapes[id].align > 64 ? w->shapes[id].align : 64;
        if (posix_memalign(&copy->data.at[id], align, w->shapes[id].bytes) != 0) {
            copy->data.at[id] = NULL;
            return no_memory(r, why);
        }
        copy_used(w, id, copy->data.at[id]);
    }
    operand_weights(&w->c, &copy->data, copy->weights);
    operand_args(&w->c, &copy->data, copy->weights, w->support.claims, &w->threads, &copy->args);
    if (w->provider->prepare == NULL)
        return true;
    const armq_status status = w->provider->prepare(&w->c.desc, copy->args.packed, &copy->plan);
    if (status != ARMQ_OK)
        snprintf(why, WORKLOAD_WHY, "prepare returned %s", armq_status_name(status));
    return status == ARMQ_OK;
}

bool rotation_open(rotation *r, const workload *w, int64_t wanted, char why[WORKLOAD_WHY]) {
    *r = (rotation){.w = w, .run_bytes = rotation_run_bytes(w)};
    if (r->run_bytes <= 0) {
        snprintf(why, WORKLOAD_WHY, "cold: %s has no weights that could be cold",
                 armq_op_name(w->c.desc.op));
        return false;
    }
    r->count = wanted / r->run_bytes + 1;
    r->count = r->count < 2 ? 2 : r->count;
    const int64_t spare = (int64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
    if (spare > 0 && rotation_bytes(r) > spare)
        return no_memory(r, why);
    r->copies = calloc((size_t)r->count, sizeof *r->copies);
    if (r->copies == NULL)
        return no_memory(r, why);
    r->copies[0] = (rotation_copy){.data = w->data, .plan = w->plan, .args = w->args};
    for (int64_t i = 1; i < r->count; i++)
        if (!add_copy(r, &r->copies[i], why)) {
            rotation_close(r);
            return false;
        }
    return true;
}

void rotation_close(rotation *r) {
    for (int64_t i = 1; r->copies != NULL && i < r->count; i++) {
        rotation_copy *copy = &r->copies[i];
        if (copy->plan != NULL)
            r->w->provider->release(copy->plan);
        for (int id = 0; id < OPERAND_COUNT; id++)
            if (rotates(r->w, id))
                free(copy->data.at[id]);
    }
    free(r->copies);
    *r = (rotation){.w = NULL};
}
