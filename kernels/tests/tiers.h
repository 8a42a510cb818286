/* SPDX-License-Identifier: Apache-2.0 */
/* The same test on every tier. */
#ifndef ARMQ_KERNELS_TESTS_TIERS_H
#define ARMQ_KERNELS_TESTS_TIERS_H

#include "kernels/registry.h"
#include "kernels/tests/problem.h"

/* Calls f for each tier that this CPU can run and that has the op; fails if none can. */
void for_each_tier(armq_op op, void (*f)(const armq_tier *tier));

/* Runs the problem and compares every output with scalar_output, bit for bit. */
void compare_with_scalar(const armq_tier *tier, problem_spec spec);

/* The same for a problem whose data has been changed. */
void compare_problem(const armq_tier *tier, const problem *p);

#endif
