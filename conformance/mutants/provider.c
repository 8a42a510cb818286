/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in kernels as a shared library: which tier it is, ARMQ_MUTANT_TIER says. */
#include <stdlib.h>
#include <string.h>

#include "kernels/armq.h"
#include "kernels/kernels.h"

const armq_provider *armq_provider_get(void) {
    const char *wanted = getenv("ARMQ_MUTANT_TIER");
    size_t count;
    const armq_provider *const *all = armq_builtin_providers(&count);
    for (size_t i = 0; wanted && i < count; i++)
        if (strcmp(all[i]->name, wanted) == 0)
            return all[i];
    return NULL;
}
