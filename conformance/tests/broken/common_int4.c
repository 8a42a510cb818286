/* SPDX-License-Identifier: Apache-2.0 */
/* Replaceable, as in common_naive.c. */
#pragma weak naive_unpack_low
#pragma weak naive_unpack_word8
#pragma weak naive_weight_zero
#pragma weak naive_group_scale
#pragma weak naive_row_sum
#pragma weak naive_dequantized_groups

#include "conformance/naive/int4.c"
