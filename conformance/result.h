/* SPDX-License-Identifier: Apache-2.0 */
/* The result of one case on one provider. Plain data without pointers: a worker writes it into
 * memory it shares with the parent, which reads what stands there even when the worker has died. */
#ifndef ARMQ_CONFORMANCE_RESULT_H
#define ARMQ_CONFORMANCE_RESULT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    CASE_PASSED = 0,
    CASE_FAILED = 1,
    CASE_SKIPPED = 2, /* with a reason: tier missing, refused by query */
    CASE_WAIVED = 3,  /* failed, and the profile records a waiver */
    CASE_CRASHED = 4  /* signal or hang */
} case_status;

typedef enum {
    CHECK_NOT_RUN = 0, /* not selected, or an earlier crash ended the case */
    CHECK_PASSED = 1,
    CHECK_FAILED = 2,
    CHECK_SKIPPED = 3 /* does not apply, or not claimed: the note says why */
} check_status;

enum { RESULT_CHECKS_MAX = 24, RESULT_HISTOGRAM = 24 };

/* What went wrong, first or worst place. */
typedef struct {
    char detail[320]; /* a sentence */
    bool unjudged;    /* the harness lacked memory: no fault of the provider */
    bool has_element; /* the fields below hold */
    char operand[24]; /* "y", "scales", ... */
    int64_t row, column;
    double got, lo, mid, hi; /* interval already rounded to the output dtype */
} check_failure;

typedef struct {
    check_status status;
    char note[160];        /* why skipped, or what was measured; "" otherwise */
    char measured[64];     /* by a check that ran: its note in the end */
    check_failure failure; /* if FAILED */
} check_result;

/* Interval quality of the judged elements (reference/README.md). */
typedef struct {
    int64_t elements, judged;
    int64_t ambiguous;            /* more than one admissible output */
    double rms;                   /* of mid */
    double half_median, half_max; /* half-width before rounding / rms */
    double usage_max; /* largest share of the half-width that an output used; f32 outputs only */
    double sqnr_db;   /* against the unquantised op; NaN if not computed */
    int64_t
        histogram[RESULT_HISTOGRAM]; /* half/rms: bin i counts [2^(i-32), 2^(i-31)) , ends open */
} interval_quality;

typedef struct {
    case_status status;
    char reason[256]; /* why skipped or crashed */
    char kernel[64];  /* support.kernel */
    uint32_t claims;
    uint64_t input_hash;
    double seconds;                         /* wall time of the whole case, for progress only */
    check_result checks[RESULT_CHECKS_MAX]; /* by index in the check table */
    interval_quality quality;
} case_result;

const char *case_status_name(case_status status);
const char *check_status_name(check_status status);

#endif
