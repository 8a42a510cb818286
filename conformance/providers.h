/* SPDX-License-Identifier: Apache-2.0 */
/* Where providers come from: built in (reference, naive, the kernel tiers) or a shared library. */
#ifndef ARMQ_CONFORMANCE_PROVIDERS_H
#define ARMQ_CONFORMANCE_PROVIDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/armq.h"

enum { PROVIDER_NAME_MAX = 64 };

extern const armq_provider reference_provider; /* conformance/reference_provider.c */
extern const armq_provider naive_provider;     /* conformance/naive/naive.c */

/* All built-in providers of this build, whether or not the CPU can run them. */
const armq_provider *const *providers_builtin(int64_t *count);

/* spec: a built-in name, or the path of a shared library (it contains a '/' or ends in ".so"). A
 * library's constructors run here, so call it in a worker. FPCR (MXCSR) is compared around the load
 * and restored; if the library changed it, *fpcr_changed is set. NULL with `error` filled if there
 * is none, it does not load, or its ABI does not match. */
const armq_provider *provider_open(const char *spec, bool *fpcr_changed, char *error,
                                   size_t error_bytes);

/* To be called in a process that runs a library's code: what it prints goes to stderr, for stdout
 * holds results. */
void provider_keep_off_stdout(void);

/* True if spec means a shared library. */
bool provider_is_path(const char *spec);

/* Names of feature bits, separated by spaces. */
void provider_features(uint64_t features, char *text, size_t bytes);

/* OK if the CPU has what the provider requires; else writes the missing features to `why`. */
bool provider_runs_here(const armq_provider *provider, uint64_t features, char *why,
                        size_t why_bytes);

#endif
