/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* glibc's own names for what is replaced here. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

static _Atomic int64_t count;

static void note(void) { atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); }

void *malloc(size_t bytes) {
    note();
    return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes) {
    note();
    return __libc_calloc(number, bytes);
}

void *realloc(void *old, size_t bytes) {
    note();
    return __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t align, size_t bytes) {
    note();
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **to, size_t align, size_t bytes) {
    if (align < sizeof(void *) || (align & (align - 1)) != 0)
        return EINVAL;
    note();
    void *data = __libc_memalign(align, bytes);
    if (!data)
        return ENOMEM;
    *to = data;
    return 0;
}

bool allocations_are_counted(void) { return true; }
int64_t allocations_count(void) { return atomic_load(&count); }

#else

bool allocations_are_counted(void) { return false; }
int64_t allocations_count(void) { return 0; }

#endif
