/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/tests/tiers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/api/features.h"
#include "kernels/api/names.h"

void for_each_tier(armq_op op, void (*f)(const armq_tier *tier)) {
    size_t count;
    const armq_tier *tiers = armq_tiers(&count);
    int ran = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t needs = tiers[i].provider->required_features;
        const void *tiles = armq_op_is_bf16(op) ? tiers[i].bf16 : tiers[i].s8;
        if (tiles && (needs & ~armq_features()) == 0) {
            f(&tiers[i]);
            ran++;
        }
    }
    assert_true(ran > 0);
}

void compare_problem(const armq_tier *tier, const problem *p) {
    const armq_desc *d = &p->desc;
    const void *y = problem_run(tier->provider, p, NULL);
    for (int64_t row = 0; row < d->tokens; row++)
        for (int64_t column = 0; column < p->y_row; column++) {
            uint32_t got = output_bits(p, y, row, column), want = scalar_output(p, row, column);
            if (got != want)
                fail_msg("%s in=%s out=%s m=%d n=%d k=%d group=%d uses=0x%x: [%d, %d] is 0x%x, not "
                         "0x%x",
                         tier->provider->name, armq_dtype_name(d->in), armq_dtype_name(d->out),
                         (int)d->tokens, (int)d->n, (int)d->k, (int)d->group_size, d->uses,
                         (int)row, (int)column, got, want);
        }
}

void compare_with_scalar(const armq_tier *tier, problem_spec spec) {
    spec.features = armq_features();
    const problem p = problem_make(spec);
    compare_problem(tier, &p);
}
