/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles: the innermost multiply of every tier, and the panels it reads.
 *
 * Panel: `rows` rows of a matrix cut into k steps of `k_step` elements; for each k step, the k_step
 * consecutive elements of row 0, then those of row 1, and so on. The last step is padded with
 * zeros. A and B have the same form; for B a row is an output channel, and a panel has
 * ARMQ_TILE_COLUMNS of them. A tile multiplies one A panel with one or more consecutive B panels.
 *
 * int4 panel: sixteen bytes for each 32 of the int8 B panel; byte i holds its byte i in the low and
 * its byte i + 16 in the high nibble, so that two instructions make two whole vectors of one. Tiles
 * read two's complement nibbles as 16 times their value: a shift or a mask does both the splitting
 * and the sign. */
#ifndef ARMQ_KERNELS_TILE_H
#define ARMQ_KERNELS_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/common/stages.h"

enum {
    ARMQ_TILE_COLUMNS = 8,    /* of a B panel, on every tier */
    ARMQ_TILE_MAX_ROWS = 8,   /* of an A panel */
    ARMQ_TILE_MAX_PANELS = 4, /* B panels that one call multiplies */
    ARMQ_TILES_MAX = 9        /* entries of a tile set */
};

/* What is multiplied. The order of summation of a float output is fixed by the kind alone, so that
 * a row's bits do not depend on the height of its tile. */
typedef enum {
    ARMQ_TILE_S8 = 0,   /* A, B int8; accumulators int32 */
    ARMQ_TILE_BF16 = 1, /* A, B bf16; accumulators f32, products added in pairs, rounded to odd */
    ARMQ_TILE_F32 = 2   /* A f32, B bf16; accumulators f32, one FMA after the other */
} armq_tile_kind;

/* acc[p][r][c] = (accumulate ? acc[p][r][c] : 0) + sum over k of A[r][k] * B[p][c][k], for the
 * tile's panels, rows and ARMQ_TILE_COLUMNS columns; 4-byte accumulators, dense.
 * k_steps >= 0. B panels stand b_stride bytes apart. Reads the panels exactly, no byte more. */
typedef void armq_tile_fn(int64_t k_steps, const void *a, const void *b, size_t b_stride, void *acc,
                          bool accumulate);

/* Groups along K with a scale for each and every column. */
typedef struct {
    int64_t count, steps; /* groups; k steps of each, a whole number of 32 elements */
    const void *scales; /* of the first group: for int8 panels f32 in the order that the set wants,
                           for int4 panels bf16 [count, ARMQ_TILE_COLUMNS] */
    float start; /* integer sums start at its bits and are read as f32: 1.5 * 2^(23-f), so that an
                    integer sum up to 2^22 counts in units of 2^-f and no conversion is needed. 0:
                    sums may be larger and are converted */
    const int8_t *zeros;     /* int4 panels: 16 times the columns' zero points [count,
                                ARMQ_TILE_COLUMNS]; NULL: none */
    const int16_t *row_sums; /* with zeros: of A's rows over each group [count, rows, 2], each twice
                              */
} armq_groups;

/* armq_groups.start of sums that are 16 times too large. */
#define ARMQ_SIXTEENTHS_START 0x1.8p19f

/* acc[p][r][c] = (accumulate ? acc[p][r][c] : 0) + sum over groups g of f32(sum of A*B over g, less
 * zeros[p][g][c] * row_sums[g][r]) * scale[p][g][c]: f32, one fused multiply-add per group,
 * ascending. B panels, scales and zeros of panels stand b_stride bytes apart. */
typedef void armq_group_tile_fn(const armq_groups *groups, const void *a, const void *b,
                                size_t b_stride, void *acc, bool accumulate);

/* The functions for int4 weights exist in sets of int8; run_groups, which reads one int8 panel and
 * its scales, where panels = 1. */
typedef struct {
    int32_t rows;   /* of the A panel that count */
    int32_t copies; /* times each of them stands in the A panel, one after the other */
    int32_t panels; /* B panels */
    armq_tile_fn *run;
    armq_tile_fn *run_s4; /* int4 panels */
    armq_group_tile_fn *run_groups, *run_groups_s4;
} armq_tile;

typedef struct {
    const char *name; /* for armq_support.kernel */
    armq_tile_kind kind;
    int32_t k_step;
    bool scale_pairs; /* scales of int8 panels: each pair twice, s0 s1 s0 s1 s2 s3 s2 s3 ... */
    /* In the instructions of the tier; NULL: those that every tier has. */
    armq_pack_row_fn *pack_row;
    armq_epilogue_fn *const *to_bf16; /* [ARMQ_BIAS_MODES] of f32 results */
    armq_tile
        tiles[ARMQ_TILES_MAX]; /* tallest first, equal heights widest first; run NULL ends it */
} armq_tile_set;

/* The shortest tile with at least `rows` rows (the tallest if there is none), and of these the
 * widest that takes at most `panels` panels. rows, panels >= 1. */
const armq_tile *armq_tile_for(const armq_tile_set *set, int64_t rows, int64_t panels);

/* Bytes of one element of A or B. */
size_t armq_tile_a_bytes(armq_tile_kind kind);
static inline size_t armq_tile_b_bytes(armq_tile_kind kind) { return kind == ARMQ_TILE_S8 ? 1 : 2; }

/* One set per tier and element kind. */
extern const armq_tile_set armq_tiles_neon_s8;
extern const armq_tile_set armq_tiles_neon_bf16;
extern const armq_tile_set armq_tiles_dotprod_s8;
extern const armq_tile_set armq_tiles_i8mm_s8;
extern const armq_tile_set armq_tiles_bf16;

#endif
