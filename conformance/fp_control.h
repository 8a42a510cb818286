/* SPDX-License-Identifier: Apache-2.0 */
/* The floating-point control register (FPCR, MXCSR): rounding mode, flush to zero, traps. A library
 * built with -ffast-math changes it for the whole process when it is loaded. */
#ifndef ARMQ_CONFORMANCE_FP_CONTROL_H
#define ARMQ_CONFORMANCE_FP_CONTROL_H

#include <stdint.h>

#if defined(__aarch64__)
static inline uint64_t fp_control_get(void) {
    uint64_t value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
}

static inline void fp_control_set(uint64_t value) {
    __asm__ volatile("msr fpcr, %0" : : "r"(value));
}
#elif defined(__x86_64__)
static inline uint64_t fp_control_get(void) {
    return __builtin_ia32_stmxcsr() & ~0x3fu; /* without the sticky exception flags */
}

static inline void fp_control_set(uint64_t value) { __builtin_ia32_ldmxcsr((uint32_t)value); }
#else
static inline uint64_t fp_control_get(void) { return 0; }
static inline void fp_control_set(uint64_t value) { (void)value; }
#endif

#endif
