/* SPDX-License-Identifier: Apache-2.0 */
/* The naive provider with replaceable steps: a definition in a broken provider wins over a weak
 * one. */
#pragma weak naive_dot_s8
#pragma weak naive_dequantized
#pragma weak naive_add_bias

#include "conformance/naive/linear.c"
#include "conformance/naive/naive.c"
