/* SPDX-License-Identifier: Apache-2.0 */
/* A broken provider is the naive one with one mistake: it either replaces a step (any function of
 * conformance/naive/naive.h marked weak in a common_*.c), or wraps run. run.sh says which check
 * must catch it. */
#ifndef ARMQ_CONFORMANCE_TESTS_BROKEN_H
#define ARMQ_CONFORMANCE_TESTS_BROKEN_H

#include "conformance/naive/naive.h"
#include "conformance/providers.h"

/* Exports the naive provider under another name, with `run` instead of its own (NULL: its own). */
#define BROKEN_PROVIDER(NAME, RUN)                                                                 \
    const armq_provider *armq_provider_get(void) {                                                 \
        static armq_provider provider;                                                             \
        armq_status (*wrapped)(const armq_desc *, const void *, const armq_args *) = (RUN);        \
        provider = naive_provider;                                                                 \
        provider.name = (NAME);                                                                    \
        if (wrapped)                                                                               \
            provider.run = wrapped;                                                                \
        return &provider;                                                                          \
    }

#endif
