/* SPDX-License-Identifier: Apache-2.0 */
/* A child process that loads a provider library and answers questions about it, so that the parent
 * never runs the library's code: a constructor that crashes, hangs or starts threads harms nobody.
 */
#ifndef ARMQ_CONFORMANCE_PROBE_H
#define ARMQ_CONFORMANCE_PROBE_H

#include "conformance/plan.h"

typedef struct probe probe;

/* Fills *info for info->spec. NULL with `error` filled: the library cannot be loaded or is no
 * provider. A library that dies while loading gives a probe and info->broken. */
probe *probe_open(provider_info *info, double timeout, char *error, size_t error_bytes);
void probe_close(probe *p);

/* Tile sizes that the provider gives for a case. False: it refuses the case. A query that dies
 * gives tiles of 16: the case is planned, and crashes where crashes are judged. */
bool probe_tiles(probe *p, const armq_case *c, int64_t tiles[3]);

/* The same for a provider that can be called in this process. */
bool provider_tiles(const armq_provider *provider, const armq_case *c, int64_t tiles[3]);

#endif
