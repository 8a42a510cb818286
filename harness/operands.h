/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a case: which there are, their shapes, and how they become the arguments of a
 * provider. Where they live in memory is the caller's business (guarded pages, or plain). */
#ifndef ARMQ_HARNESS_OPERANDS_H
#define ARMQ_HARNESS_OPERANDS_H

#include <stdbool.h>

#include "harness/case.h"
#include "reference/reference.h"

typedef enum {
    OPERAND_X = 0,
    OPERAND_W, /* w or w13 */
    OPERAND_W_SCALES,
    OPERAND_W_ZEROS,
    OPERAND_W_BIAS,
    OPERAND_W2,
    OPERAND_W2_SCALES,
    OPERAND_W2_ZEROS,
    OPERAND_W2_BIAS,
    OPERAND_TOPK_IDS,
    OPERAND_TOPK_WEIGHTS,
    OPERAND_PACKED, /* from here: sizes come from query */
    OPERAND_PACKED2,
    OPERAND_WORKSPACE,
    OPERAND_Y, /* from here: outputs */
    OPERAND_Y_SCALES,
    OPERAND_Y_ZEROS,
    OPERAND_COUNT
} operand_id;

typedef struct {
    const char *name;  /* "x", "w", "bias", ... as failures name it */
    bool present;      /* the case has it (it may still be of 0 bytes) */
    armq_dtype dtype;  /* NONE for opaque bytes and for int4 weights */
    int64_t rows, row; /* logical rows x row length in elements; opaque: 1 x bytes */
    int64_t stride;    /* elements from row to row, >= row */
    size_t bytes;      /* (rows-1)*stride + row elements; the buffer ends there */
    size_t align;      /* bytes that the contract promises */
} operand_shape;

/* Shapes of every operand. support may be NULL: then packed and workspace are absent. */
void operand_shapes(const armq_case *c, const armq_support *support,
                    operand_shape shapes[OPERAND_COUNT]);

static inline bool operand_is_output(operand_id id) { return id >= OPERAND_Y; }
static inline bool operand_is_input(operand_id id) { return id < OPERAND_PACKED; }

typedef struct {
    void *at[OPERAND_COUNT]; /* NULL where absent or empty */
} operands;

/* Weights structs and arguments that point into `data`. weights[] must live as long as they are
 * used. */
void operand_weights(const armq_case *c, const operands *data, armq_weights weights[2]);
void operand_args(const armq_case *c, const operands *data, const armq_weights weights[2],
                  uint32_t claims, const armq_threads *threads, armq_args *args);
void operand_problem(const armq_case *c, const operands *data, const armq_weights weights[2],
                     uint32_t claims, ref_problem *problem);

/* Packs every weight of the case (all experts). */
armq_status operand_pack(const armq_provider *provider, const armq_case *c,
                         const armq_weights weights[2], const armq_support *support,
                         const operands *data);

/* The same in several calls: w2 before w13, the last expert, the two before it, three, ... */
armq_status operand_pack_pieces(const armq_provider *provider, const armq_case *c,
                                const armq_weights weights[2], const armq_support *support,
                                const operands *data);

#endif
