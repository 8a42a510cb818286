/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that keep a core's multipliers or load pipes busy and do nothing else. One file per
 * CPU-feature level, so that no instruction stands outside its level's object. AArch64 only. */
#ifndef ARMQ_PERF_PEAKS_LOOPS_H
#define ARMQ_PERF_PEAKS_LOOPS_H

#include <stdint.h>

/* Independent accumulators: six pipes of four cycles, the widest and slowest there are, stay full;
 * with two operands they leave six of the 32 registers. */
enum { PEAK_ACCUMULATORS = 24, PEAK_READ_STEP = 256 };

/* Each round issues PEAK_ACCUMULATORS instructions of 128 bits. */
void peak_loop_fmla(int64_t rounds);   /* neon.c */
void peak_loop_smlal(int64_t rounds);  /* neon.c: int8 multiplies without extensions */
void peak_loop_sdot(int64_t rounds);   /* dotprod.c */
void peak_loop_smmla(int64_t rounds);  /* i8mm.c */
void peak_loop_bfdot(int64_t rounds);  /* bf16.c */
void peak_loop_bfmmla(int64_t rounds); /* bf16.c */

/* Loads `bytes` (a multiple of PEAK_READ_STEP) once: in ascending order, or the four quarters side
 * by side, for some prefetchers fetch more of several streams. neon.c */
void peak_loop_read(const uint8_t *from, int64_t bytes);
void peak_loop_read_quarters(const uint8_t *from, int64_t bytes);

/* The compiler shall know nothing of a register's value, or it would merge equal accumulators. */
#define PEAK_HIDE(value) __asm__ volatile("" : "+w"(value))
#define PEAK_UNROLL _Pragma("GCC unroll 32")

/* The body of a loop: `sum[i]` is the accumulator in `next`, which is its new value. */
#define PEAK_LOOP(type, zero, next)                                                                \
    type sum[PEAK_ACCUMULATORS];                                                                   \
    PEAK_UNROLL for (int i = 0; i < PEAK_ACCUMULATORS; i++) {                                      \
        sum[i] = (zero);                                                                           \
        PEAK_HIDE(sum[i]);                                                                         \
    }                                                                                              \
    for (; rounds > 0; rounds--)                                                                   \
        PEAK_UNROLL for (int i = 0; i < PEAK_ACCUMULATORS; i++) sum[i] = (next);                   \
    PEAK_UNROLL for (int i = 0; i < PEAK_ACCUMULATORS; i++) PEAK_HIDE(sum[i])

#endif
