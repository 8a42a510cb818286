/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARMQ_CONFORMANCE_VERSION_H
#define ARMQ_CONFORMANCE_VERSION_H

#define ARMQ_VERSION "0.1.0"

/* Version of the result files; see conformance/RESULTS.md. */
#define RESULTS_SCHEMA 1

#endif
