/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/guard.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* As f32 or bf16 about -1.6e6: a kernel that uses one is far off. */
static const uint8_t canary = 0xc9;

/* Inaccessible bytes on each side: more than a page, so that an access some rows away is still
 * recognised. */
enum { GUARD_BYTES = 64 * 1024, OPEN_MAX_GUARDS = 512 };
static const size_t odd_boundary = 64;

/* Read by guard_describe in a signal handler, hence a plain table. */
static const guarded *volatile open_guards[OPEN_MAX_GUARDS];

static size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

static size_t page_bytes(void) {
    static size_t page;
    if (!page)
        page = (size_t)sysconf(_SC_PAGESIZE);
    return page;
}

static bool remember(guarded *g) {
    for (g->slot = 0; g->slot < OPEN_MAX_GUARDS; g->slot++)
        if (!open_guards[g->slot]) {
            open_guards[g->slot] = g;
            return true;
        }
    return false;
}

static void forget(const guarded *g) { open_guards[g->slot] = NULL; }

bool guard_open(guarded *g, const char *name, size_t bytes, size_t align, guard_side side) {
    size_t page = page_bytes(), guard = round_up(GUARD_BYTES, page);
    *g = (guarded){.name = name, .bytes = bytes, .align = align ? align : 1};
    /* Room for the odd placement, and for aligning the start beyond a page. */
    size_t slack = 2 * odd_boundary + 2 * g->align;
    if (bytes > SIZE_MAX / 2 || g->align > SIZE_MAX / 8)
        return false;
    g->region_bytes = bytes ? round_up(bytes + slack, page) : 0;
    g->mapping_bytes = g->region_bytes + 2 * guard;
    void *mapping =
        mmap(NULL, g->mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return false;
    g->mapping = mapping;
    g->region = (uint8_t *)mapping + guard;
    if ((bytes && mprotect(g->region, g->region_bytes, PROT_READ | PROT_WRITE) != 0) ||
        !remember(g)) {
        munmap(mapping, g->mapping_bytes);
        g->mapping = NULL;
        return false;
    }
    guard_place(g, side);
    return true;
}

void guard_close(guarded *g) {
    if (!g->mapping)
        return;
    forget(g);
    munmap(g->mapping, g->mapping_bytes);
    g->mapping = g->data = NULL;
}

static uint8_t *place_of(const guarded *g, guard_side side) {
    uintptr_t region = (uintptr_t)g->region, mask = ~(uintptr_t)(g->align - 1);
    switch (side) {
    case GUARD_END:
        return (uint8_t *)((region + g->region_bytes - g->bytes) & mask);
    case GUARD_ODD: {
        size_t offset = g->align >= odd_boundary ? g->align : odd_boundary + g->align;
        return (uint8_t *)(((region + g->align - 1) & mask) + offset);
    }
    default:
        return (uint8_t *)((region + g->align - 1) & mask);
    }
}

void guard_place(guarded *g, guard_side side) {
    g->side = side;
    g->data = g->region;
    if (!g->bytes)
        return;
    uint8_t *data = place_of(g, side), *end = data + g->bytes;
    g->data = data;
    memset(g->region, canary, (size_t)(data - g->region));
    memset(end, canary, (size_t)(g->region + g->region_bytes - end));
}

void guard_hide(guarded *g, bool hidden) {
    if (g->bytes)
        mprotect(g->region, g->region_bytes, hidden ? PROT_NONE : PROT_READ | PROT_WRITE);
}

size_t bytes_first_other(const uint8_t *p, size_t bytes, uint8_t value) {
    if (bytes == 0 || (p[0] == value && memcmp(p, p + 1, bytes - 1) == 0))
        return bytes;
    size_t i = 0;
    while (p[i] == value)
        i++;
    return i;
}

bool guard_intact(const guarded *g, int64_t *offset) {
    if (!g->bytes)
        return true;
    const uint8_t *data = g->data, *end = data + g->bytes;
    size_t before = (size_t)(data - g->region);
    size_t after = (size_t)(g->region + g->region_bytes - end);
    size_t at = bytes_first_other(g->region, before, canary);
    if (at < before) {
        *offset = (int64_t)at - (int64_t)before;
        return false;
    }
    at = bytes_first_other(end, after, canary);
    if (at < after) {
        *offset = (int64_t)(g->bytes + at);
        return false;
    }
    return true;
}

/* --- In words, without the C library's formatted output -------------------------------------- */

typedef struct {
    char *text;
    size_t used, bytes;
} writer;

static void put(writer *w, const char *s) {
    while (*s && w->used + 1 < w->bytes)
        w->text[w->used++] = *s++;
    if (w->bytes)
        w->text[w->used] = '\0';
}

static void put_number(writer *w, uint64_t value) {
    char digits[24];
    size_t i = sizeof digits - 1;
    digits[i] = '\0';
    do {
        digits[--i] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put(w, digits + i);
}

static void put_bytes(writer *w, uint64_t count, const char *where, const char *name) {
    put_number(w, count);
    put(w, count == 1 ? " byte " : " bytes ");
    put(w, where);
    put(w, name);
}

static void describe(const guarded *g, uint64_t address, writer *w) {
    uint64_t start = (uint64_t)(uintptr_t)g->data, end = start + g->bytes;
    if (address < start) {
        put_bytes(w, start - address, "before the start of ", g->name);
    } else if (address >= end) {
        put_bytes(w, address - end + 1, "past the end of ", g->name);
    } else {
        put(w, "byte ");
        put_number(w, address - start);
        put(w, " of ");
        put(w, g->name);
        put(w, ", which this call must not touch,");
    }
    put(w, " (");
    put_number(w, g->bytes);
    put(w, " bytes)");
}

bool guard_describe(uint64_t address, char *text, size_t bytes) {
    writer w = {text, 0, bytes};
    put(&w, "");
    for (int i = 0; i < OPEN_MAX_GUARDS; i++) {
        const guarded *g = open_guards[i];
        uint64_t first = g ? (uint64_t)(uintptr_t)g->mapping : 0;
        if (g && address >= first && address < first + g->mapping_bytes) {
            describe(g, address, &w);
            return true;
        }
    }
    return false;
}
