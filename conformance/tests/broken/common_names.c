/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/api/names.c"
