/* SPDX-License-Identifier: Apache-2.0 */
/* The line that counts along on a terminal. Elsewhere nothing is printed. */
#ifndef ARMQ_CONFORMANCE_PROGRESS_H
#define ARMQ_CONFORMANCE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    FILE *out;
    bool visible; /* out is a terminal */
    bool shown;   /* a line stands there */
    double work_total, work_done;
    int64_t total, done, failed;
    int64_t start_ns, last_ns;
} progress;

/* Work is in any unit that grows with time. */
void progress_begin(progress *p, FILE *out, int64_t total, double work_total);
void progress_step(progress *p, double work, bool failed);
/* Redraws, at most ten times a second. */
void progress_show(progress *p);
/* Removes the line, so that something else can be printed. */
void progress_clear(progress *p);

/* "1 h 5 min", "3 min 20 s", "12 s" */
const char *progress_duration(double seconds, char text[32]);

#endif
