/* SPDX-License-Identifier: Apache-2.0 */
/* Its constructor aborts. */
#include <stdlib.h>

#include "conformance/tests/broken/common.h"

__attribute__((constructor)) static void give_up(void) { abort(); }

BROKEN_PROVIDER("crash-on-load", NULL)
