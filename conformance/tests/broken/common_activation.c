/* SPDX-License-Identifier: Apache-2.0 */
/* Replaceable, as in common_naive.c. */
#pragma weak naive_activate

#include "conformance/naive/activation.c"
