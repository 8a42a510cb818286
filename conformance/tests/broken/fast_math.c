/* SPDX-License-Identifier: Apache-2.0 */
/* What -ffast-math links in: loading the library switches subnormals off for the whole process. */
#include "conformance/fp_control.h"
#include "conformance/tests/broken/common.h"

__attribute__((constructor)) static void flush_subnormals(void) {
#if defined(__aarch64__)
    fp_control_set(fp_control_get() | UINT64_C(1) << 24); /* FZ */
#elif defined(__x86_64__)
    fp_control_set(fp_control_get() | 0x8040u); /* FTZ and DAZ */
#endif
}

BROKEN_PROVIDER("fast-math", NULL)
