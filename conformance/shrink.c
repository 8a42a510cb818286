/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/shrink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Values of the best case -------------------------------------------------------------------
 */

static bool is_number(const case_key *key) { return key->max > 0; }

static bool is_dimension(const case_key *key) { return !key->fallback && is_number(key); }

/* What a case is about rather than how large it is. */
static bool stays(const case_key *key) {
    return strcmp(key->name, "in") == 0 || strcmp(key->name, "dialect") == 0;
}

static int64_t value_of(const armq_case *c, const case_key *key) {
    char text[KEY_VALUE_MAX];
    key->print(key, c, text);
    return strtoll(text, NULL, 10);
}

/* Values are multiples of it: groups divide what weights are summed along. */
static int64_t unit_of(const shrink *s, const case_key *key) {
    enum { LEAST_GROUP = 32 };
    int64_t value = value_of(&s->best, key), unit = 1;
    if (strcmp(key->name, "group_size") == 0)
        unit = LEAST_GROUP;
    if (strcmp(key->name, "k") == 0 || strcmp(key->name, "hidden") == 0 ||
        strcmp(key->name, "intermediate") == 0)
        unit = s->best.desc.group_size;
    return unit > 0 && value % unit == 0 ? unit : 1;
}

/* Empty problems have failures of their own, which do not explain those of others. */
static int64_t least_of(const shrink *s, const case_key *key) {
    int64_t unit = unit_of(s, key);
    return unit > key->min ? unit : key->min;
}

static bool is_default(const shrink *s, const case_key *key) {
    char value[KEY_VALUE_MAX], fallback[KEY_VALUE_MAX];
    key->print(key, &s->best, value);
    key->fallback(key, &s->best, fallback);
    return strcmp(value, fallback) == 0;
}

/* --- Candidates ---------------------------------------------------------------------------------
 */

static uint64_t hash_of(const char *text) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static bool has_passed(const shrink *s, const char *text) {
    uint64_t hash = hash_of(text);
    for (int64_t i = 0; i < s->passed_count; i++)
        if (s->passed[i] == hash)
            return true;
    return false;
}

static bool groups_divide(const armq_case *c) {
    const char *name;
    int64_t size;
    return case_groups_divide(c, &name, &size);
}

/* The best case with another value of a key; NULL: with its default. False if that is no case. */
static bool with_value(const armq_case *c, const case_key *key, const char *value, armq_case *out) {
    char text[CASE_TEXT_MAX], name[KEY_VALUE_MAX], changed[CASE_TEXT_MAX + KEY_VALUE_MAX];
    case_text(c, text);
    snprintf(name, sizeof name, " %s=", key->name);
    const char *at = strstr(text, name);
    if (!at)
        return false;
    size_t before = (size_t)(at - text), length = 1 + strcspn(at + 1, " ");
    snprintf(changed, sizeof changed, "%.*s%s%s%s", (int)before, text, value ? name : "",
             value ? value : "", at + length);
    case_list list = {0};
    case_error error;
    bool ok = case_parse_line(changed, NULL, &list, &error) && list.count == 1 &&
              (groups_divide(&list.items[0]) || !groups_divide(c));
    if (ok)
        *out = list.items[0];
    case_list_free(&list);
    return ok;
}

static bool with_number(const shrink *s, const armq_case *c, const case_key *key, int64_t value,
                        armq_case *out) {
    char text[KEY_VALUE_MAX];
    if (value == value_of(&s->best, key) || value < key->min)
        return false;
    snprintf(text, sizeof text, "%" PRId64, value);
    return with_value(c, key, text, out);
}

/* Large problems come down fast this way. */
static bool halve_all(const shrink *s, armq_case *out) {
    bool halved = false;
    *out = s->best;
    for (int i = 0; i < KEY_COUNT; i++) {
        const case_key *key = &case_keys[i];
        if (!case_key_is_of(key, s->best.desc.op) || !is_dimension(key))
            continue;
        int64_t unit = unit_of(s, key), half = value_of(&s->best, key) / unit / 2 * unit;
        armq_case smaller;
        if (half >= least_of(s, key) && with_number(s, out, key, half, &smaller)) {
            *out = smaller;
            halved = true;
        }
    }
    return halved;
}

/* --- The search ---------------------------------------------------------------------------------
 */

void shrink_begin(shrink *s, const armq_case *c) {
    *s = (shrink){.best = *c, .key = -1, .way = SHRINK_START};
}

static bool middle(const shrink *s, const case_key *key, armq_case *out) {
    int64_t unit = unit_of(s, key), low = s->low / unit, high = value_of(&s->best, key) / unit;
    return high - low > 1 && with_number(s, &s->best, key, (low + (high - low) / 2) * unit, out);
}

/* Sets s->way to what comes next for this key and fills the candidate; false if nothing does. */
static bool next_of_key(shrink *s, armq_case *out) {
    if (s->key < 0)
        return halve_all(s, out);
    const case_key *key = &case_keys[s->key];
    if (!case_key_is_of(key, s->best.desc.op) || stays(key))
        return false;
    if (s->way == SHRINK_START) {
        s->way = SHRINK_DROP;
        if (key->fallback && !is_default(s, key) && with_value(&s->best, key, NULL, out))
            return true;
    }
    if (!is_number(key) || (key->fallback && is_default(s, key)))
        return false;
    if (s->way == SHRINK_DROP) {
        s->way = SHRINK_LEAST;
        s->low = least_of(s, key);
        if (s->low < value_of(&s->best, key) && with_number(s, &s->best, key, s->low, out))
            return true;
    }
    s->way = SHRINK_BISECT;
    return middle(s, key, out);
}

static bool next_key(shrink *s) {
    s->way = SHRINK_START;
    if (++s->key < KEY_COUNT)
        return true;
    s->key = -1;
    bool again = s->changed;
    s->changed = false;
    return again;
}

static void note(shrink *s, bool fails) {
    const case_key *key = s->key >= 0 ? &case_keys[s->key] : NULL;
    if (fails) {
        s->best = s->tried;
        s->changed = true;
    } else if (!key) {
        next_key(s);
    } else if (s->way == SHRINK_BISECT) {
        s->low = value_of(&s->tried, key);
    }
}

const armq_case *shrink_propose(shrink *s) {
    char text[CASE_TEXT_MAX];
    for (;;) {
        if (!next_of_key(s, &s->tried)) {
            if (!next_key(s))
                return NULL;
            continue;
        }
        if (has_passed(s, case_text(&s->tried, text))) {
            note(s, false);
            continue;
        }
        s->exhausted = s->runs == SHRINK_RUNS_MAX;
        if (s->exhausted)
            return NULL;
        s->runs++;
        return &s->tried;
    }
}

void shrink_answer(shrink *s, bool fails) {
    char text[CASE_TEXT_MAX];
    if (!fails)
        s->passed[s->passed_count++] = hash_of(case_text(&s->tried, text));
    note(s, fails);
}
