/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the case language: one table row each. Internal to the harness. */
#ifndef ARMQ_HARNESS_CASE_KEYS_H
#define ARMQ_HARNESS_CASE_KEYS_H

#include <stddef.h>

#include "harness/case.h"

enum { KEY_VALUE_MAX = 64, KEY_COUNT = 35 };

/* What a value is parsed against. */
typedef struct {
    int64_t tile_mnk[3]; /* values of tile_m, tile_n, tile_k */
    bool tiles_allowed;
    bool tiles_used; /* set when a value named one */
    bool undefined;  /* set when a value is well formed, yet no case: below the key's minimum for
                        these tiles, or at odds with another key */
    char *why;       /* the reason of a failure */
    size_t why_bytes;
} key_context;

typedef struct case_key case_key;
struct case_key {
    const char *name;
    unsigned ops; /* set of 1 << armq_op */
    bool always;  /* printed even when at its default */
    bool (*parse)(const case_key *key, armq_case *c, const char *text, key_context *context);
    void (*print)(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]);
    /* The text that a missing key stands for; NULL: the key must be given. Keys of earlier rows are
     * already set in *c. */
    void (*fallback)(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]);
    size_t offset;       /* numbers: where they are stored; flags and biases: the flag */
    int64_t min, max;    /* integers: their range */
    const char *fixed;   /* the default if it is always the same */
    const char *allowed; /* for messages and help */
    const char *help;
};

/* In the order in which values are applied and printed. */
extern const case_key case_keys[KEY_COUNT];

bool case_key_is_of(const case_key *key, armq_op op);
bool case_has_key(armq_op op, const char *name);

const char *gate_layout_name(armq_gate_layout layout);

/* Comma-separated names of the keys of an op. */
void case_key_names(armq_op op, char *text, size_t bytes);

#endif
