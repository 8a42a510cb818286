/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/bound.h"

#include <math.h>

#include "kernels/api/names.h"

static void longer(bench_bound *bound, double amount, double rate, const char *by) {
    if (amount <= 0 || rate <= 0 || amount / rate <= bound->seconds)
        return;
    bound->seconds = amount / rate;
    bound->by = by;
}

static void multiplying(bench_bound *bound, const armq_case *c, const bench_counts *counts,
                        const bound_setup *setup) {
    const bool integer = !armq_op_is_bf16(c->desc.op);
    int best = -1;
    for (int id = 0; id < PEAK_COUNT; id++) {
        if (peak_kinds[id].integer != integer || !(setup->features & peak_kinds[id].feature))
            continue;
        if (best < 0 || setup->peaks->mac[id] > setup->peaks->mac[best])
            best = id;
    }
    if (best >= 0)
        longer(bound, (double)counts->macs, setup->peaks->mac[best], peak_kinds[best].name);
}

/* The fastest level that may serve a good part of `bytes` when they are read again and again. With
 * random replacement a cache still serves 2 % of four times its size, and 20 % of twice. */
static read_level warm_level(const bound_setup *setup, int64_t bytes) {
    const int64_t n = setup->peaks->threads;
    if (setup->l1 == 0 || bytes < 4 * setup->l1 * n)
        return READ_L1;
    if (setup->l2 == 0 || bytes < 4 * setup->l2 * n)
        return READ_L2;
    return setup->llc == 0 || bytes < 4 * setup->llc ? READ_LLC : READ_MEMORY;
}

bench_bound bound_of(const armq_case *c, const bench_counts *counts, const bound_setup *setup) {
    bench_bound bound = {.seconds = 0, .by = ""};
    if (!setup->any_extension)
        multiplying(&bound, c, counts, setup);
    const read_level level = setup->cold ? READ_MEMORY : warm_level(setup, counts->read_bytes);
    longer(&bound, (double)(setup->cold ? counts->weight_bytes : counts->read_bytes),
           setup->peaks->bytes[level], read_level_names[level]);
    return bound;
}

double bound_percent(const bench_bound *bound, double seconds) {
    return bound->seconds > 0 && seconds > 0 ? 100 * bound->seconds / seconds : NAN;
}

bool bound_invalid(const bench_bound *bound, double seconds) {
    return bound_percent(bound, seconds) > BOUND_INVALID_PERCENT;
}
