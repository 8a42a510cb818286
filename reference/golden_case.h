/* SPDX-License-Identifier: Apache-2.0 */
/* Inside armq-golden: one recorded case, its arrays, and the checks that every judge makes.
 * Format of the data: reference/golden/README.md. */
#ifndef ARMQ_REFERENCE_GOLDEN_CASE_H
#define ARMQ_REFERENCE_GOLDEN_CASE_H

#include <jansson.h>

#include "reference/reference.h"

typedef enum { PASSED, FAILED, SKIPPED, VERDICT_COUNT } verdict;

/* One case of the index with the bytes of its file. */
typedef struct {
    const json_t *entry, *params;
    const char *name;
    char *bytes;
    size_t size;
    char message[320]; /* why it failed or was skipped */
    int64_t judged;    /* elements of y */
    int64_t ambiguous; /* of those, with more than one admissible value */
    int64_t flips;     /* integers of the second stage with more than one possible value */
    double usage;      /* largest share of a half-width that was needed */
} golden_case;

/* Sets the message and returns v. */
__attribute__((format(printf, 3, 4))) verdict golden_because(golden_case *c, verdict v,
                                                             const char *format, ...);

/* Parameters and arrays of the case; 0, "" and false if missing. */
int64_t golden_int(const golden_case *c, const char *key);
const char *golden_text(const golden_case *c, const char *key);
bool golden_has(const golden_case *c, const char *array);

/* The array, which must have this dtype and number of elements. On failure NULL and a message. */
const void *golden_array(golden_case *c, const char *name, armq_dtype dtype, int64_t count);

/* Weights of `rows` rows of k values, recorded one to a byte, in desc->format: S8 as they are, int4
 * packed into *buffer, which the caller frees. On failure NULL and a message. */
const void *golden_weights(golden_case *c, const char *name, const armq_desc *desc, int64_t rows,
                           int64_t k, void **buffer);

/* Dialect, dtype, group size, bias and weights of desc from the parameters; op is set. The format
 * is the first one of the op. False with a message. */
bool golden_describe(golden_case *c, armq_desc *desc, armq_activation activation,
                     const char *bias_array);

/* The working dtype of the parameters, if they name one; else the dialect keeps its own. False with
 * *why. */
bool golden_dialect_work(const golden_case *c, armq_dialect *dialect, const char **why);

/* KleidiAI rounds q of 16-bit inputs ties to even, in places away from zero. The dialect widens
 * them first and goes on as for f32, ties away; two cases hold ties. golden_describe sets ties to
 * even. */
bool golden_ties_are_excused(const golden_case *c);

/* Formats that the weights of an op may have. */
int golden_formats(armq_op op, armq_weight_format formats[2]);

/* The recorded quantisation of rows of k; zero_points NULL if symmetric. */
typedef struct {
    const int8_t *q;
    const float *scales;
    const int32_t *zero_points;
} golden_integers;

/* Row `row` of what was recorded is x quantised, bit for bit, unless it is excused. q: scratch. */
verdict golden_check_integers(golden_case *c, const armq_desc *desc, int64_t row, const void *x,
                              int64_t k, const golden_integers *r, int8_t *q);

/* Row `row` of a recorded array against its intervals. */
verdict golden_check_values(golden_case *c, const char *name, armq_dtype dtype, int64_t row,
                            int64_t count, const ref_interval *intervals, const void *values);

/* The same for an output, with its share of the half-width. */
verdict golden_check_outputs(golden_case *c, const char *name, const armq_desc *desc, int64_t row,
                             const ref_interval *intervals, const void *y);

verdict golden_judge_quantize(golden_case *c, armq_op op);
verdict golden_judge_outputs(golden_case *c, armq_op op);
verdict golden_judge_linear(golden_case *c, armq_op op);
verdict golden_judge_moe(golden_case *c, armq_op op);

#endif
