/* SPDX-License-Identifier: Apache-2.0 */
/* Templates in C: a function that is inlined with constant arguments, its loops unrolled fully, so
 * that small arrays of vectors become registers. */
#ifndef ARMQ_KERNELS_INLINE_H
#define ARMQ_KERNELS_INLINE_H

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 32")

#endif
