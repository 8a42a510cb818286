/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor generator. Every value follows from (case seed, operand, row, column) alone, so rows
 * can be made in any order and a smaller batch holds the same rows. No libm and no float arithmetic
 * whose result could depend on the compiler: the same bytes on every machine.
 *
 * The default data makes every part of an op matter: neighbouring scales, biases and rows differ by
 * 2x and more, outputs are of order 1 to 30, -128 (int4: -8) occurs in the weights; and it is
 * tie-free: after
 * rounding to the input dtype, and then to the working dtype, every q and zero point keeps 2^-12 or
 * more from a rounding boundary. A third of the weight scales is negative.
 * Scales, biases and rows go through cycles of three sizes, so that an index that is wrong by any
 * power of two meets another size; those of one expert start where its neighbour's do not.
 * int4: both formats hold the same values, zero points go through all of [-8, 7], and the nibbles
 * that pad a row hold garbage.
 *
 * Activation and MoE: gates cover the curved range of silu and gelu (of the op, few are below -3,
 * where both vanish); with swigluoai a quarter of
 * them, and of |up|, is beyond the clamp. Router weights all differ and sum to about 1 per token;
 * those that multiply an input that is quantised (router=input) are powers of two, so that no new
 * ties arise, but in data=extremes, whose rows are +-1 times a number. A weight of data=extremes is
 * 0, another below it; those of skipped slots are NaN. */
#ifndef ARMQ_HARNESS_GENERATE_H
#define ARMQ_HARNESS_GENERATE_H

#include "harness/operands.h"

/* Fills input operand `id` at `data` (shape->rows rows, stride apart; bytes between rows get a
 * pattern that would be noticed if read: NaN in floats). False if the generator has no such data.
 */
bool generate_operand(const armq_case *c, operand_id id, const operand_shape *shape, void *data);

/* One row of x alone; `row` is the logical row. */
void generate_x_row(const armq_case *c, int64_t row, void *data);

/* 64-bit hash (FNV-1a over little-endian 64-bit words, high half folded down after each) of all
 * present input operands in operand order, rows without the gaps between. */
uint64_t generate_hash(const armq_case *c, const operand_shape shapes[OPERAND_COUNT],
                       const operands *data);

/* Counter-based random numbers: a value for (seed, stream, index). */
uint64_t random_u64(uint64_t seed, uint64_t stream, uint64_t index);

#endif
