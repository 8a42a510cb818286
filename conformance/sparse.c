/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/sparse.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const size_t sparse_limit = (size_t)1 << 30;

/* A region is paged in pieces of this size. Larger than the pages of any machine. */
static const size_t piece = (size_t)1 << 20;

/* Ids are copies of one piece: few mappings, as the kernel has a limit of 65530. */
static const size_t ids_piece = (size_t)64 << 20;

static const size_t guard_bytes = (size_t)64 << 10;

/* Most recently touched pieces stay accessible, so that code that goes back and forth between a few
 * places does not fault each time. */
enum { RECENT = 128, REGIONS_MAX = 16 };

typedef struct {
    sparse *regions[REGIONS_MAX]; /* open ones of SPARSE_WRITTEN */
    uint8_t *recent[RECENT];      /* ring of accessible pieces */
    size_t count, next;
    size_t kept; /* bytes that left the ring and are not zero */
    bool paging;
    sigjmp_buf leave;
    const char *overrun; /* region that was written when the limit was reached */
    struct sigaction before;
} pager;

static pager the_pager; /* a signal handler has no argument of its own */

static size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

/* --- Pager ------------------------------------------------------------------------------------ */

static bool is_zero(const uint8_t *p, size_t bytes) {
    uint64_t word, any = 0;
    for (size_t i = 0; i < bytes && any == 0; i += 4096)
        for (size_t j = 0; j < 4096; j += 8) {
            memcpy(&word, p + i + j, 8);
            any |= word;
        }
    return any == 0;
}

static bool forget_content(uint8_t *at, size_t bytes, int protection) {
    return mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                0) != MAP_FAILED;
}

/* What is not zero stays, and stays accessible. */
static void retire(uint8_t *at) {
    if (!is_zero(at, piece))
        the_pager.kept += piece;
    else
        forget_content(at, piece, PROT_NONE);
}

static const sparse *region_of(const uint8_t *address) {
    for (int i = 0; i < REGIONS_MAX; i++) {
        const sparse *s = the_pager.regions[i];
        if (s && address >= s->region && address < s->region + s->region_bytes)
            return s;
    }
    return NULL;
}

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)context;
    uint8_t *address = info->si_addr;
    const sparse *s = region_of(address);
    if (!s) { /* not ours: happens again, and is then for whoever was there before */
        sigaction(number, &the_pager.before, NULL);
        return;
    }
    uint8_t *at = s->region + (size_t)(address - s->region) / piece * piece;
    if (the_pager.count == RECENT)
        retire(the_pager.recent[the_pager.next]);
    else
        the_pager.count++;
    the_pager.recent[the_pager.next] = at;
    the_pager.next = (the_pager.next + 1) % RECENT;
    bool ok = mprotect(at, piece, PROT_READ | PROT_WRITE) == 0;
    if (!ok || the_pager.kept > sparse_limit) {
        the_pager.overrun = s->name;
        siglongjmp(the_pager.leave, 1);
    }
}

static bool start_paging(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    the_pager.count = the_pager.next = the_pager.kept = 0;
    the_pager.overrun = NULL;
    return sigaction(SIGSEGV, &action, &the_pager.before) == 0;
}

bool sparse_call(void (*f)(void *arg), void *arg, const char **name) {
    if (!start_paging())
        return false;
    if (sigsetjmp(the_pager.leave, 1) == 0)
        f(arg);
    sigaction(SIGSEGV, &the_pager.before, NULL);
    for (size_t i = 0; i < the_pager.count; i++)
        retire(the_pager.recent[i]);
    the_pager.count = 0;
    *name = the_pager.overrun;
    return !the_pager.overrun;
}

/* --- Regions ---------------------------------------------------------------------------------- */

static bool remember(sparse *s) {
    for (int i = 0; i < REGIONS_MAX && s->kind == SPARSE_WRITTEN; i++)
        if (!the_pager.regions[i]) {
            the_pager.regions[i] = s;
            return true;
        }
    return s->kind != SPARSE_WRITTEN;
}

static void forget(const sparse *s) {
    for (int i = 0; i < REGIONS_MAX; i++)
        if (the_pager.regions[i] == s)
            the_pager.regions[i] = NULL;
}

static bool map_ids(sparse *s) {
    s->shared = memfd_create("armq-ids", MFD_CLOEXEC);
    if (s->shared < 0 || ftruncate(s->shared, (off_t)ids_piece) != 0)
        return false;
    for (size_t at = 0; at < s->region_bytes; at += ids_piece) {
        size_t bytes = s->region_bytes - at < ids_piece ? s->region_bytes - at : ids_piece;
        void *got = mmap(s->region + at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                         s->shared, 0);
        if (got == MAP_FAILED)
            return false;
    }
    memset(s->region, 0xff, s->region_bytes < ids_piece ? s->region_bytes : ids_piece);
    return mprotect(s->region, s->region_bytes, PROT_READ) == 0;
}

static bool make_accessible(sparse *s) {
    switch (s->kind) {
    case SPARSE_IDS:
        return map_ids(s);
    case SPARSE_ZEROS:
        return mprotect(s->region, s->region_bytes, PROT_READ | PROT_WRITE) == 0;
    default:
        return true; /* when it is touched */
    }
}

bool sparse_open(sparse *s, const char *name, sparse_kind kind, size_t bytes, size_t below,
                 size_t align) {
    *s = (sparse){.name = name, .kind = kind, .bytes = bytes, .shared = -1};
    align = align ? align : 1;
    s->region_bytes = round_up(below + bytes + align, piece);
    s->mapping_bytes = s->region_bytes + 2 * guard_bytes;
    void *mapping =
        mmap(NULL, s->mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return false;
    s->mapping = mapping;
    s->region = s->mapping + guard_bytes;
    uintptr_t data = (uintptr_t)s->region + s->region_bytes - bytes;
    s->data = s->region + (data / align * align - (uintptr_t)s->region);
    madvise(s->region, s->region_bytes, MADV_NOHUGEPAGE); /* or a byte costs 2 MiB */
    if (remember(s) && make_accessible(s))
        return true;
    sparse_close(s);
    return false;
}

void sparse_close(sparse *s) {
    if (!s->mapping)
        return;
    forget(s);
    munmap(s->mapping, s->mapping_bytes);
    if (s->shared >= 0)
        close(s->shared);
    s->mapping = s->data = NULL;
    s->shared = -1;
}

/* Memory of their own for pages of a shared piece, with the same content. */
static bool own_pages(uint8_t *at, size_t bytes) {
    uint8_t *copy = malloc(bytes);
    if (!copy)
        return false;
    memcpy(copy, at, bytes);
    bool ok = forget_content(at, bytes, PROT_READ | PROT_WRITE);
    if (ok)
        memcpy(at, copy, bytes);
    free(copy);
    return ok;
}

bool sparse_expose(sparse *s, size_t at, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t offset = (size_t)(s->data - s->region) + at, first = offset / page * page;
    size_t size = round_up(offset + bytes, page) - first;
    if (s->kind == SPARSE_ZEROS || bytes == 0)
        return true;
    if (s->kind == SPARSE_WRITTEN) {
        first = offset / piece * piece;
        return mprotect(s->region + first, round_up(offset + bytes, piece) - first,
                        PROT_READ | PROT_WRITE) == 0;
    }
    return own_pages(s->region + first, size);
}

bool sparse_settle(sparse *s) {
    return mprotect(s->region, s->region_bytes, PROT_READ | PROT_WRITE) == 0;
}
