/* SPDX-License-Identifier: Apache-2.0 */
/* Replaceable, as in common_naive.c. */
#pragma weak naive_slot_runs
#pragma weak naive_router_weight
#pragma weak naive_expert
#pragma weak naive_down
#pragma weak naive_combine

#include "conformance/naive/moe.c"
