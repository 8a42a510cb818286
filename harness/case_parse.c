/* SPDX-License-Identifier: Apache-2.0 */
/* One line of the case language -> cases. */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case.h"
#include "harness/case_keys.h"
#include "kernels/api/names.h"

enum { VALUES_MAX = 128, PRODUCT_MAX = 100000, PROVISIONAL_TILE = 64 };

/* A stretch of the line. */
typedef struct {
    const char *text;
    size_t length;
} span;

/* What a line says: per key its values, not yet interpreted. */
typedef struct {
    const char *line;
    armq_op op;
    bool is_list; /* some key has several values */
    span keys[KEY_COUNT];
    span values[KEY_COUNT][VALUES_MAX];
    int32_t counts[KEY_COUNT]; /* 0: the key is not given */
    case_error *error;
} parsed_line;

__attribute__((format(printf, 3, 4))) static bool fail(parsed_line *p, const char *at,
                                                       const char *format, ...) {
    va_list args;
    va_start(args, format);
    *p->error = (case_error){.file = "command line", .line = 1, .column = at - p->line + 1};
    vsnprintf(p->error->message, sizeof p->error->message, format, args);
    va_end(args);
    return false;
}

/* At most what a message can show. */
static int shown(span s) { return s.length > 60 ? 60 : (int)s.length; }

static span next_word(const char **at) {
    while (isspace((unsigned char)**at))
        ++*at;
    span word = {*at, 0};
    while (**at && !isspace((unsigned char)**at))
        ++*at;
    word.length = (size_t)(*at - word.text);
    return word;
}

static bool parse_op(parsed_line *p, span word) {
    char name[KEY_VALUE_MAX];
    if (word.length < sizeof name) {
        snprintf(name, sizeof name, "%.*s", (int)word.length, word.text);
        if (armq_op_parse(name, &p->op))
            return true;
    }
    char allowed[256] = "";
    size_t used = 0;
    for (int op = 0; op < ARMQ_OP_COUNT; op++)
        used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s", op ? ", " : "",
                                 armq_op_name((armq_op)op));
    if (word.length == 0)
        return fail(p, word.text, "no case; a case starts with an op: %s", allowed);
    return fail(p, word.text, "unknown op '%.*s'; allowed are %s", shown(word), word.text, allowed);
}

static int find_key(armq_op op, const char *name, size_t length) {
    for (int i = 0; i < KEY_COUNT; i++)
        if (case_key_is_of(&case_keys[i], op) && strlen(case_keys[i].name) == length &&
            memcmp(case_keys[i].name, name, length) == 0)
            return i;
    return -1;
}

static bool split_values(parsed_line *p, int index, const char *at, const char *end) {
    for (const char *comma; at <= end; at = comma + 1) {
        comma = memchr(at, ',', (size_t)(end - at));
        comma = comma ? comma : end;
        span value = {at, (size_t)(comma - at)};
        if (value.length == 0)
            return fail(p, at, "%s has an empty value", case_keys[index].name);
        if (value.length >= KEY_VALUE_MAX)
            return fail(p, at, "value '%.*s...' is too long", shown(value), value.text);
        if (p->counts[index] == VALUES_MAX)
            return fail(p, at, "%s has more than %d values", case_keys[index].name, VALUES_MAX);
        p->values[index][p->counts[index]++] = value;
    }
    p->is_list |= p->counts[index] > 1;
    return true;
}

static bool parse_word(parsed_line *p, span word) {
    const char *equals = memchr(word.text, '=', word.length);
    if (!equals)
        return fail(p, word.text, "'%.*s' is not of the form key=value", shown(word), word.text);
    int index = find_key(p->op, word.text, (size_t)(equals - word.text));
    if (index < 0) {
        char names[320];
        case_key_names(p->op, names, sizeof names);
        span name = {word.text, (size_t)(equals - word.text)};
        return fail(p, word.text, "%s has no key '%.*s'; allowed are %s", armq_op_name(p->op),
                    shown(name), name.text, names);
    }
    if (p->counts[index] > 0)
        return fail(p, word.text, "%s is given twice", case_keys[index].name);
    p->keys[index] = word;
    return split_values(p, index, equals + 1, word.text + word.length);
}

static bool check_required(parsed_line *p) {
    for (int i = 0; i < KEY_COUNT; i++)
        if (case_key_is_of(&case_keys[i], p->op) && !case_keys[i].fallback && p->counts[i] == 0)
            return fail(p, p->line + strlen(p->line), "%s needs %s=..., %s", armq_op_name(p->op),
                        case_keys[i].name, case_keys[i].help);
    return true;
}

static bool read_line(parsed_line *p) {
    const char *at = p->line;
    if (!parse_op(p, next_word(&at)))
        return false;
    for (span word = next_word(&at); word.length > 0; word = next_word(&at))
        if (!parse_word(p, word))
            return false;
    return check_required(p);
}

/* --- From values to cases --------------------------------------------------------------------- */

typedef enum { BUILD_OK, BUILD_DROP, BUILD_ERROR } build_result;

/* A case that does not resolve is refused with a sentence that starts with the key at fault, as in
 * "dialect=..." or "group_size = 48 ...": the value it was given, or the start of the line. */
static const char *place_of_fault(const parsed_line *p, const int32_t choice[KEY_COUNT],
                                  const char *why) {
    int index = find_key(p->op, why, strcspn(why, " ="));
    return index >= 0 && p->counts[index] > 0 ? p->values[index][choice[index]].text : p->line;
}

/* Combination `choice` of the product, with tiles in place of tile expressions. A value that cannot
 * be read is an error of the line; *at then points to it. */
static build_result build_case(const parsed_line *p, const int32_t choice[KEY_COUNT],
                               key_context *context, armq_case *c, const char **at) {
    *c = (armq_case){.desc = {.op = p->op}};
    context->tiles_used = false;
    *at = p->line;
    for (int i = 0; i < KEY_COUNT; i++) {
        const case_key *key = &case_keys[i];
        if (!case_key_is_of(key, p->op))
            continue;
        char text[KEY_VALUE_MAX];
        if (p->counts[i] > 0) {
            span value = p->values[i][choice[i]];
            *at = value.text;
            snprintf(text, sizeof text, "%.*s", (int)value.length, value.text);
        } else {
            key->fallback(key, c, text);
        }
        context->undefined = false;
        if (!key->parse(key, c, text, context))
            return context->undefined ? BUILD_DROP : BUILD_ERROR;
    }
    if (case_resolve(c, context->why, context->why_bytes))
        return BUILD_OK;
    *at = place_of_fault(p, choice, context->why);
    return BUILD_DROP;
}

/* As build_case, but asks for real tile sizes when the values name them. */
static build_result build_with_tiles(const parsed_line *p, const int32_t choice[KEY_COUNT],
                                     const case_tiles *tiles, key_context *context, armq_case *c,
                                     const char **at) {
    for (int i = 0; i < 3; i++)
        context->tile_mnk[i] = PROVISIONAL_TILE;
    context->tiles_allowed = tiles != NULL;
    build_result result = build_case(p, choice, context, c, at);
    if (result != BUILD_OK || !context->tiles_used || !tiles)
        return result;
    if (!tiles->tiles(tiles->ctx, c, context->tile_mnk)) {
        snprintf(context->why, context->why_bytes, "the provider refuses the case");
        return BUILD_DROP;
    }
    return build_case(p, choice, context, c, at);
}

static bool next_choice(const parsed_line *p, int32_t choice[KEY_COUNT]) {
    for (int i = KEY_COUNT - 1; i >= 0; i--) {
        if (p->counts[i] > 1 && ++choice[i] < p->counts[i])
            return true;
        choice[i] = 0;
    }
    return false;
}

static bool check_product(parsed_line *p) {
    int64_t product = 1;
    for (int i = 0; i < KEY_COUNT; i++)
        if (p->counts[i] > 0 && (product *= p->counts[i]) > PRODUCT_MAX)
            return fail(p, p->line, "the line stands for more than %d cases", PRODUCT_MAX);
    return true;
}

static bool expand(parsed_line *p, const case_tiles *tiles, case_list *list) {
    int32_t choice[KEY_COUNT] = {0};
    char why[256] = "", first_why[256] = "";
    key_context context = {.why = why, .why_bytes = sizeof why};
    int64_t kept = 0, dropped = 0;
    bool tiled = false;
    do {
        armq_case c;
        const char *at;
        build_result result = build_with_tiles(p, choice, tiles, &context, &c, &at);
        tiled |= context.tiles_used;
        if (result == BUILD_ERROR || (result == BUILD_DROP && !p->is_list && !context.tiles_used))
            return fail(p, at, "%s", why);
        if (result == BUILD_DROP && dropped++ == 0)
            memcpy(first_why, why, sizeof first_why);
        if (result == BUILD_OK && !case_list_append(list, &c))
            return fail(p, p->line, "out of memory after %" PRId64 " cases", list->count);
        kept += result == BUILD_OK;
    } while (next_choice(p, choice));
    /* What a provider refuses may be everything; what the language refuses should not be. */
    if (kept == 0 && !tiled)
        return fail(p, p->line, "none of the %" PRId64 " combinations is defined; the first: %s",
                    dropped, first_why);
    list->dropped += dropped;
    return true;
}

bool case_parse_line(const char *text, const case_tiles *tiles, case_list *list,
                     case_error *error) {
    parsed_line *p = calloc(1, sizeof *p);
    if (!p) {
        *error = (case_error){.file = "command line", .line = 1, .column = 1};
        snprintf(error->message, sizeof error->message, "out of memory");
        return false;
    }
    p->line = text;
    p->error = error;
    int64_t count = list->count;
    bool ok = read_line(p) && check_product(p) && expand(p, tiles, list);
    if (!ok)
        list->count = count;
    free(p);
    return ok;
}
