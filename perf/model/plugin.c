/* SPDX-License-Identifier: Apache-2.0 */
/* A QEMU plugin that counts how often each translated block is executed between marks (marks.h),
 * per virtual CPU and per segment (the serial part, or a logical thread of a parallel region), and
 * which cache lines are touched. The file it writes, in text:
 *
 *   armq-counts 1
 *   block ADDRESS WORD...               every block that was executed, and its instructions, hex
 *   segment VCPU REGION THREAD          region 0: serial, else from 1; threads from 0
 *   count ADDRESS INSTRUCTIONS TIMES    of the segment above
 *   page ADDRESS READ WRITTEN           of 4 KiB: which of its 64 lines of 64 bytes, hex masks
 *   end                                 or "error TEXT": then nothing may be used
 *
 * Arguments: out=FILE, lines=0|1 (default 1: watch memory, which costs time).
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/model/marks.h"
#include "perf/model/plugin_api.h"

int qemu_plugin_version = PLUGIN_API_VERSION;

enum { VCPUS = 16, BUCKETS = 1 << 14, LINE_BITS = 6, PAGE_BITS = 12 };

typedef struct block {
    struct block *same_bucket, *next; /* next: in order of translation */
    uint64_t address;
    size_t instructions;
    uint32_t *words;
    uint64_t times[VCPUS]; /* since the segment began */
    bool executed;
} block;

/* One line of output of a segment. */
typedef struct {
    const block *block;
    uint64_t times;
} count;

typedef struct segment {
    struct segment *next;
    unsigned vcpu;
    int64_t region, thread;
    count *counts;
    size_t count;
} segment;

typedef struct {
    uint64_t address;  /* of the page; 0: slot is free */
    uint64_t lines[2]; /* read, written */
} page;

static struct {
    pthread_mutex_t lock; /* guards all but block.times and vcpus[].on */
    const char *out;
    bool watch_memory;
    block *buckets[BUCKETS];
    block *first, *last;
    segment *first_segment, *last_segment;
    page *pages;
    size_t page_slots, page_count;
    const char *error; /* the first; NULL: none */
    struct {
        bool on;
        int64_t regions, region, thread;
    } vcpus[VCPUS];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .watch_memory = true};

static void fail(const char *why) {
    if (state.error == NULL)
        state.error = why;
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static bool same_block(const block *b, uint64_t address, const uint32_t *words, size_t n) {
    return b->address == address && b->instructions == n &&
           memcmp(b->words, words, n * sizeof *words) == 0;
}

/* The block with these instructions at this address, a new one if need be; words are taken over.
 * QEMU translates a block again when its cache was flushed. */
static block *find_block(uint64_t address, uint32_t *words, size_t n) {
    block **bucket = &state.buckets[(address >> 2) % BUCKETS];
    for (block *b = *bucket; b != NULL; b = b->same_bucket)
        if (same_block(b, address, words, n)) {
            free(words);
            return b;
        }
    block *b = calloc(1, sizeof *b);
    if (b == NULL) {
        free(words);
        return NULL;
    }
    b->address = address;
    b->instructions = n;
    b->words = words;
    b->same_bucket = *bucket;
    *bucket = b;
    if (state.last != NULL)
        state.last->next = b;
    else
        state.first = b;
    state.last = b;
    return b;
}

static void on_block(unsigned vcpu, void *userdata) {
    block *b = userdata;
    if (vcpu < VCPUS && state.vcpus[vcpu].on)
        b->times[vcpu]++;
}

/* --- Segments --------------------------------------------------------------------------------- */

static size_t executed_blocks(unsigned vcpu) {
    size_t n = 0;
    for (const block *b = state.first; b != NULL; b = b->next)
        n += b->times[vcpu] > 0;
    return n;
}

/* Moves what was counted since the segment began into a record of it. */
static void close_segment(unsigned vcpu) {
    const size_t n = executed_blocks(vcpu);
    segment *s = calloc(1, sizeof *s);
    count *counts = calloc(n > 0 ? n : 1, sizeof *counts);
    if (s == NULL || counts == NULL) {
        free(s);
        free(counts);
        fail("no memory for a segment");
        return;
    }
    *s = (segment){.vcpu = vcpu,
                   .region = state.vcpus[vcpu].region,
                   .thread = state.vcpus[vcpu].thread,
                   .counts = counts};
    for (block *b = state.first; b != NULL; b = b->next) {
        if (b->times[vcpu] == 0)
            continue;
        counts[s->count++] = (count){.block = b, .times = b->times[vcpu]};
        b->times[vcpu] = 0;
        b->executed = true;
    }
    if (state.last_segment != NULL)
        state.last_segment->next = s;
    else
        state.first_segment = s;
    state.last_segment = s;
}

static void begin(unsigned vcpu) {
    if (state.vcpus[vcpu].on)
        fail("counting began twice");
    state.vcpus[vcpu].region = state.vcpus[vcpu].thread = 0;
    state.vcpus[vcpu].on = true;
}

static void next_segment(unsigned vcpu, uint32_t payload) {
    if (!state.vcpus[vcpu].on) {
        fail("a segment outside of what is counted");
        return;
    }
    const bool parallel = state.vcpus[vcpu].region > 0;
    close_segment(vcpu);
    switch (payload) {
    case MARK_REGION:
        if (parallel)
            fail("a parallel region inside another");
        state.vcpus[vcpu].region = ++state.vcpus[vcpu].regions;
        state.vcpus[vcpu].thread = 0;
        break;
    case MARK_THREAD:
        if (!parallel)
            fail("a thread outside of a parallel region");
        state.vcpus[vcpu].thread++;
        break;
    default:
        if (payload == MARK_SERIAL && !parallel)
            fail("the end of a parallel region that did not begin");
        state.vcpus[vcpu].region = state.vcpus[vcpu].thread = 0;
    }
    if (payload == MARK_END)
        state.vcpus[vcpu].on = false;
}

static void on_mark(unsigned vcpu, void *userdata) {
    const uint32_t payload = (uint32_t)(uintptr_t)userdata;
    pthread_mutex_lock(&state.lock);
    if (vcpu >= VCPUS)
        fail("a mark on a virtual CPU beyond the sixteenth");
    else if (payload == MARK_BEGIN)
        begin(vcpu);
    else
        next_segment(vcpu, payload);
    pthread_mutex_unlock(&state.lock);
}

/* --- Memory ----------------------------------------------------------------------------------- */

static page *page_slot(page *pages, size_t slots, uint64_t address) {
    size_t at = (size_t)((address >> PAGE_BITS) * UINT64_C(0x9e3779b97f4a7c15) >> 20) % slots;
    while (pages[at].address != 0 && pages[at].address != address)
        at = (at + 1) % slots;
    return &pages[at];
}

static bool grow_pages(void) {
    const size_t slots = state.page_slots > 0 ? 2 * state.page_slots : 4096;
    page *grown = calloc(slots, sizeof *grown);
    if (grown == NULL)
        return false;
    for (size_t i = 0; i < state.page_slots; i++)
        if (state.pages[i].address != 0)
            *page_slot(grown, slots, state.pages[i].address) = state.pages[i];
    free(state.pages);
    state.pages = grown;
    state.page_slots = slots;
    return true;
}

static void touch(uint64_t line, bool store) {
    const uint64_t address = line >> (PAGE_BITS - LINE_BITS) << PAGE_BITS;
    if (2 * state.page_count >= state.page_slots && !grow_pages()) {
        fail("no memory for pages");
        return;
    }
    page *p = page_slot(state.pages, state.page_slots, address);
    if (p->address == 0) {
        p->address = address;
        state.page_count++;
    }
    p->lines[store] |= UINT64_C(1) << (line & ((1 << (PAGE_BITS - LINE_BITS)) - 1));
}

static void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata) {
    (void)userdata;
    if (vcpu >= VCPUS || !state.vcpus[vcpu].on)
        return;
    const uint64_t end = vaddr + (UINT64_C(1) << qemu_plugin_mem_size_shift(info));
    const bool store = qemu_plugin_mem_is_store(info);
    pthread_mutex_lock(&state.lock);
    for (uint64_t line = vaddr >> LINE_BITS; line <= (end - 1) >> LINE_BITS; line++)
        touch(line, store);
    pthread_mutex_unlock(&state.lock);
}

/* --- Translation ------------------------------------------------------------------------------ */

static uint32_t instruction_word(const struct qemu_plugin_insn *insn) {
    uint32_t word = 0;
    memcpy(&word, qemu_plugin_insn_data(insn), sizeof word);
    return word;
}

/* The mark's payload, or 0. */
static uint32_t mark_of(uint32_t word) {
    for (uint32_t payload = MARK_FIRST; payload <= MARK_LAST; payload++)
        if (word == mark_encoding(payload))
            return payload;
    return 0;
}

static void watch_block(struct qemu_plugin_tb *tb, block *b) {
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, b);
    for (size_t i = 0; state.watch_memory && i < b->instructions; i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), on_access,
                                         QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
}

/* A block with a mark changes what is counted and is itself not counted. */
static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    const size_t n = qemu_plugin_tb_n_insns(tb);
    uint32_t *words = malloc((n > 0 ? n : 1) * sizeof *words);
    bool marked = false;
    for (size_t i = 0; words != NULL && i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        words[i] = instruction_word(insn);
        const uint32_t payload = mark_of(words[i]);
        if (payload == 0)
            continue;
        marked = true;
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, QEMU_PLUGIN_CB_NO_REGS,
                                               (void *)(uintptr_t)payload);
    }
    if (marked) {
        free(words);
        return;
    }
    pthread_mutex_lock(&state.lock);
    block *b = words != NULL ? find_block(qemu_plugin_tb_vaddr(tb), words, n) : NULL;
    if (b == NULL)
        fail("no memory for a block");
    else
        watch_block(tb, b);
    pthread_mutex_unlock(&state.lock);
}

/* --- Output ----------------------------------------------------------------------------------- */

static void write_blocks(FILE *out) {
    for (const block *b = state.first; b != NULL; b = b->next) {
        if (!b->executed)
            continue;
        fprintf(out, "block %" PRIx64, b->address);
        for (size_t i = 0; i < b->instructions; i++)
            fprintf(out, " %08" PRIx32, b->words[i]);
        fputc('\n', out);
    }
}

static void write_segments(FILE *out) {
    for (const segment *s = state.first_segment; s != NULL; s = s->next) {
        fprintf(out, "segment %u %" PRId64 " %" PRId64 "\n", s->vcpu, s->region, s->thread);
        for (size_t i = 0; i < s->count; i++)
            fprintf(out, "count %" PRIx64 " %zu %" PRIu64 "\n", s->counts[i].block->address,
                    s->counts[i].block->instructions, s->counts[i].times);
    }
}

static int by_address(const void *a, const void *b) {
    const page *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* In order of their addresses; the table of slots is used up. */
static void write_pages(FILE *out) {
    qsort(state.pages, state.page_slots, sizeof *state.pages, by_address);
    for (size_t i = 0; i < state.page_slots; i++)
        if (state.pages[i].address != 0)
            fprintf(out, "page %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", state.pages[i].address,
                    state.pages[i].lines[0], state.pages[i].lines[1]);
}

static void write_all(qemu_plugin_id_t id, void *userdata) {
    (void)id;
    (void)userdata;
    pthread_mutex_lock(&state.lock);
    for (unsigned vcpu = 0; vcpu < VCPUS; vcpu++)
        if (state.vcpus[vcpu].on)
            fail("the program ended while it was counted");
    FILE *out = fopen(state.out, "w");
    if (out == NULL) {
        fprintf(stderr, "armq-count: %s cannot be written\n", state.out);
    } else {
        fputs("armq-counts 1\n", out);
        write_blocks(out);
        write_segments(out);
        if (state.page_slots > 0)
            write_pages(out);
        if (state.error != NULL)
            fprintf(out, "error %s\n", state.error);
        else
            fputs("end\n", out);
        if (fclose(out) != 0)
            fprintf(stderr, "armq-count: %s is not complete\n", state.out);
    }
    pthread_mutex_unlock(&state.lock);
}

static bool take_argument(const char *argument) {
    if (strncmp(argument, "out=", 4) == 0 && argument[4] != '\0') {
        state.out = strdup(argument + 4);
        return state.out != NULL;
    }
    /* QEMU 7 gives arguments as they are; flags may come as on and off. */
    const bool on = strcmp(argument, "lines=1") == 0 || strcmp(argument, "lines=on") == 0;
    const bool off = strcmp(argument, "lines=0") == 0 || strcmp(argument, "lines=off") == 0;
    state.watch_memory = on;
    return on || off;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
    if (strcmp(info->target_name, "aarch64") != 0 || info->system_emulation) {
        fprintf(stderr, "armq-count: counts programs for aarch64, not %s%s\n", info->target_name,
                info->system_emulation ? " systems" : "");
        return 1;
    }
    for (int i = 0; i < argc; i++)
        if (!take_argument(argv[i])) {
            fprintf(stderr, "armq-count: argument '%s'; allowed: out=FILE, lines=0, lines=1\n",
                    argv[i]);
            return 1;
        }
    if (state.out == NULL) {
        fputs("armq-count: out=FILE is missing\n", stderr);
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, write_all, NULL);
    return 0;
}
