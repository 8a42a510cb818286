/* SPDX-License-Identifier: Apache-2.0 */
/* Replaceable, as in common_naive.c. */
#pragma weak naive_group_scale

#include "conformance/naive/int4.c"
