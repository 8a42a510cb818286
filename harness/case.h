/* SPDX-License-Identifier: Apache-2.0 */
/* A case: one op with every parameter fixed. Its text form is its name and reproduces it:
 *     linear_w8a8 tokens=7 n=64 k=512 dialect=sglang-w8a8 bias=f32 seed=1
 * In a sweep any value may be a comma list; the line stands for the cartesian product. */
#ifndef ARMQ_HARNESS_CASE_H
#define ARMQ_HARNESS_CASE_H

#include <stdbool.h>
#include <stdio.h>

#include "kernels/armq.h"

/* What the activations (and for some kinds the weights) look like; harness/generate.h has the
 * details. */
typedef enum {
    DATA_NORMAL = 0, /* tie-free, everything distinct: the default */
    DATA_TIES = 1, /* half-integers with amax 127 (symmetric) or a range of 255 (asymmetric): exact
                      formulas; numbers that lie beside a tie; ties of the rounding to bf16 */
    DATA_EXTREMES = 2,  /* edges of the integer contract: all -128/127, alternating signs; the
                           largest rows; router weights of 0 and below */
    DATA_OUTLIERS = 3,  /* a few channels tens of times larger, as real LLM activations have them */
    DATA_ZERO_ROWS = 4, /* rows of zeros, minus zeros and rows below 2^-120 between ordinary rows */
    DATA_SUBNORMALS = 5, /* rows of subnormal and tiny values between ordinary rows */
    DATA_POISON = 6,     /* NaN or Inf in some rows */
    DATA_BAD_SCALES = 7, /* weight scales of 0, -0, NaN, Inf and below the normal numbers */
    DATA_KIND_COUNT = 8
} data_kind;

const char *data_kind_name(data_kind data);
const char *data_kind_help(data_kind data); /* one line */
bool data_kind_parse(const char *text, data_kind *data);
/* Whether the generator has this kind of data for the op; ops never lack `normal`. */
bool data_kind_exists(armq_op op, data_kind data);

/* Which experts the tokens of a MoE go to. Ids and weights of a token depend on its number, not on
 * the number of tokens. */
typedef enum {
    ROUTING_MIXED = 0,    /* as softmax, but every fourth token has an expert twice: the default */
    ROUTING_SOFTMAX = 1,  /* top_k different experts per token, some busier than others */
    ROUTING_BALANCED = 2, /* experts in turn: numbers of tokens differ by one at most */
    ROUTING_ONE = 3,      /* every slot goes to the same, middle expert */
    ROUTING_LAST = 4,     /* every slot goes to the last expert */
    ROUTING_EMPTY = 5,    /* only every third expert is used */
    ROUTING_REPEAT = 6,   /* every token has its experts twice, side by side or apart */
    ROUTING_SKIP = 7,     /* a third of the slots is -1, every seventh token wholly */
    ROUTING_KIND_COUNT = 8
} routing_kind;

const char *routing_kind_name(routing_kind routing);
const char *routing_kind_help(routing_kind routing); /* one line */
bool routing_kind_parse(const char *text, routing_kind *routing);

/* The cache sizes that a provider is told, by which it chooses its blocks. */
typedef enum {
    CACHES_MACHINE = 0, /* those of the machine; fixed under emulation: the default */
    CACHES_NONE = 1,    /* all 0, unknown */
    CACHES_SMALL = 2,   /* so small that little shapes need several blocks along K and along rows */
    CACHES_HUGE = 3,    /* beyond 32 bits */
    CACHES_PARTLY = 4,  /* the second level alone is known */
    CACHES_KIND_COUNT = 5
} caches_kind;

const char *caches_kind_name(caches_kind caches);
bool caches_kind_parse(const char *text, caches_kind *caches);

enum { CASE_DIALECT_MAX = 24, CASE_TEXT_MAX = 512 };

typedef struct {
    armq_desc desc; /* complete but for max_threads, caches and features: case_bind fills those */
    char dialect[CASE_DIALECT_MAX];
    data_kind data;
    routing_kind routing; /* MoE */
    caches_kind caches;
    uint64_t seed;
    int64_t x_pad, y_pad; /* elements between the rows of x and y: stride = row length + pad */
    bool sparse;          /* tensors that are too large for memory are zero but for some rows */
    int64_t sample;       /* output elements judged by the reference, at least; 0 = all */
    int32_t threads;      /* logical threads of the base run */
} armq_case;

/* The canonical text: op first, then dimensions and seed always, every other key when it is not at
 * its default, in table order. Parses back to the same case. Returns text. */
const char *case_text(const armq_case *c, char text[CASE_TEXT_MAX]);

/* Fills what depends on the machine. features: armq_features(); caches in bytes, 0 = unknown; they
 * give way to the case's own (caches=none, small, huge, partly). */
void case_bind(armq_case *c, uint64_t features, int64_t l1, int64_t l2, int64_t llc,
               int32_t max_threads);

/* Whether the group size divides every dimension that int4 weights are summed along. Where it does
 * not, the case stands, and query must refuse it with the group size and the dimension (*name,
 * *size) in its reason. */
bool case_groups_divide(const armq_case *c, const char **name, int64_t *size);

/* Multiply-accumulates of one run of the case: tokens*n*k; gated MoE
 * tokens*top_k*3*hidden*intermediate, slots that are skipped (id -1) included, so that it follows
 * from the text alone; 0 for quantize and activation. Saturates at INT64_MAX. */
int64_t case_macs(const armq_case *c);

/* Rows of y of which the reference judges at least one element. MoE: whole tokens, as many as hold
 * `sample` elements, because one element of a token costs almost as much as all of them; other ops:
 * every row, `sample` being divided among them. */
int64_t case_sampled_rows(const armq_case *c);

typedef struct {
    armq_case *items;
    int64_t count, capacity;
    int64_t dropped; /* combinations that the dialect does not define, dropped from cartesian
                        products */
} case_list;

void case_list_free(case_list *list);
bool case_list_append(case_list *list, const armq_case *c); /* false: out of memory */

typedef struct {
    char file[256];       /* "command line" for arguments */
    int64_t line, column; /* from 1 */
    char message[384];    /* what was wrong, with the value, and what is allowed */
} case_error;

/* Tile sizes of the provider that a sweep is expanded for: values such as
 * `tokens=tile_m-1,2*tile_m+1` are resolved with them (tile_m, tile_n, tile_k, optionally N* before
 * and +N or -N behind). `provisional` is the case with 64 in their place. False: the provider
 * refuses; the case is dropped and counted, as are cases whose values come out below 0. */
typedef struct {
    bool (*tiles)(void *ctx, const armq_case *provisional, int64_t tile_mnk[3]);
    void *ctx;
} case_tiles;

/* Parses one line and appends its cases. A single case (no comma list) that is not defined (by its
 * dialect, by its kind of data, by the op) is an error; in a product it is counted in
 * list->dropped, and a product that is dropped whole is an error again. A key given twice is an
 * error. False with *error filled; the list is then unchanged. tiles may be NULL: then tile_m and
 * its like are errors. */
bool case_parse_line(const char *text, const case_tiles *tiles, case_list *list, case_error *error);

/* Reads a sweep: a name ("ci" -> <sweep dir>/ci.sweep) or the path of a regular file (it has a
 * slash or ends in .sweep). Lines: cases, `include NAME`, `# comment` (also behind a case), blank;
 * a trailing backslash continues a line. An included name is looked for beside the including file
 * first. Include cycles, NUL bytes and lines of more than 64 KiB are errors. A case that stands in
 * the sweep twice is kept once. */
bool sweep_load(const char *name_or_path, const case_tiles *tiles, case_list *list,
                case_error *error);

/* Where named sweeps are looked up: $ARMQ_SWEEPS, or conformance/sweeps or share/armq/sweeps in a
 * directory above the program. */
const char *sweep_directory(void);

/* Prints the key table (name, ops, allowed values, default, meaning) for --help. */
void case_print_keys(FILE *out);

/* Completes and validates a case whose keys are set: flags and formats that follow from them,
 * dialect, armq_desc_check (but for a group size that does not divide: case_groups_divide), sizes
 * that can be addressed. Used by parse and by derived cases. Gate layout, alpha, limit, how
 * activations are quantised, the rounding of q and of a linear layer before its bias keep the
 * values that c->desc.dialect has where the op has a key for them; everything else in it comes from
 * the preset. False with a sentence in why. */
bool case_resolve(armq_case *c, char *why, size_t why_bytes);

#endif
