/* SPDX-License-Identifier: Apache-2.0 */
/* Switchable mistakes. The sources of the naive provider say at each place what a plausible wrong
 * kernel would do there; the normal build does not see it. A second build of the same sources, with
 * ARMQ_FAULTS, makes conformance/faults/ a provider that has the one mistake which the environment
 * variable ARMQ_FAULT names. The table of all mistakes is conformance/faults/table.def. */
#ifndef ARMQ_CONFORMANCE_FAULT_H
#define ARMQ_CONFORMANCE_FAULT_H

#ifdef ARMQ_FAULTS

#include "conformance/faults/wrong.h"

#define K(kind, text)
#define F(id, kind, ops, check, where, cases, text) FAULT_##id,
#define E(id, kind, ops, text, why) FAULT_##id,
enum {
    FAULT_none = 0,
    FAULT_before_the_first = 0,
#include "conformance/faults/table.def"
    FAULT_COUNT
};
#undef K
#undef F
#undef E

extern int armq_fault; /* the one that is selected */

#define FAULT_IS(id) (armq_fault == FAULT_##id)

/* The value `wrong` instead of `right`. */
#define FAULT(id, wrong, right) (FAULT_IS(id) ? (wrong) : (right))

/* Statements that only the mistake has. */
#define FAULT_DO(id, ...)                                                                          \
    if (FAULT_IS(id)) {                                                                            \
        __VA_ARGS__;                                                                               \
    }

/* A call that only mistakes make. */
#define FAULT_STEP(call) call

/* The same value with its operations in another order, as correct as the first: what is wrong is
 * that not every row, call or thread takes the same (wrong.h). */
#define FAULT_ORDER(other, usual) (fault_other_order ? (other) : (usual))

/* What several mistakes make of a value: a function of wrong.h that tells them apart. */
#define FAULT_OF(function, value) (function(value))

#else

#define FAULT(id, wrong, right) (right)
#define FAULT_DO(id, ...) (void)0
#define FAULT_STEP(call) (void)0
#define FAULT_OF(function, value) (value)

/* Correct builds in other orders, for soaks of the intervals (soak.mk). */
#ifdef ARMQ_ORDER_REVERSED
#define FAULT_ORDER(other, usual) (other)
#else
#define FAULT_ORDER(other, usual) (usual)
#endif

#endif

/* The same value by a fused multiply-add, where the compiler cannot see that it may. */
#ifdef ARMQ_ORDER_FUSED
#define ORDER_FUSED(fused, usual) (fused)
#else
#define ORDER_FUSED(fused, usual) (usual)
#endif

#endif
