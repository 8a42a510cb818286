/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of armq-conform. */
#ifndef ARMQ_CONFORMANCE_OPTIONS_H
#define ARMQ_CONFORMANCE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses of the program. */
enum { EXIT_ALL_PASSED = 0, EXIT_FAILURES = 1, EXIT_USAGE = 2, EXIT_NOTHING_RAN = 3 };

typedef enum {
    LIST_NOTHING = 0,
    LIST_CASES,
    LIST_PROVIDERS,
    LIST_CHECKS,
    LIST_KEYS,
    LIST_SWEEPS
} list_what;

/* Texts in order, owned. */
typedef struct {
    char **items;
    int64_t count;
} text_list;

typedef struct {
    text_list sweeps, lines, providers, required; /* lines: cases given as arguments */
    uint64_t checks;                              /* bit i: check_table[i] is selected */
    bool checks_given;
    const char *filter; /* NULL: none. Pointers below are into argv. */
    bool has_seed;
    uint64_t seed;
    int32_t jobs;         /* 0: as many as the machine has cores */
    int64_t max_failures; /* 0: any number */
    double timeout;       /* seconds per call; 0: by the amount of work */
    list_what list;
    const char *json, *junit, *resume, *profile;
    bool force, shrink;
} options;

typedef enum { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_ERROR } options_result;

/* Parses. DONE: --help or --version was printed to out. ERROR: a message with the offending value
 * is in err. Free with options_free in every case. */
options_result options_parse(options *o, int argc, char **argv, FILE *out, FILE *err);
void options_free(options *o);

bool text_list_add(text_list *list, const char *text, size_t length); /* false: no memory */
bool text_list_has(const text_list *list, const char *text);

#endif
