/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/check.h"

typedef struct {
    char *provider, *check, *reason;
    regex_t cases;
} waiver;

struct profile {
    waiver *waivers;
    int64_t count;
};

static char *trim(char *text) {
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* The next word; moves *at behind it. */
static char *word(char **at) {
    char *start = *at + strspn(*at, " \t");
    size_t length = strcspn(start, " \t");
    *at = start + length + (start[length] != '\0');
    start[length] = '\0';
    return start;
}

/* NULL, or what is wrong. The line is taken apart in place. */
static const char *parse(char *line, waiver *w, char *message, size_t bytes) {
    char *reason = strstr(line, " #");
    if (!reason)
        return "a waiver needs a reason: waive PROVIDER CHECK REGEX # reason";
    *reason = '\0';
    reason = trim(reason + 2);
    char *at = line;
    if (strcmp(word(&at), "waive") != 0)
        return "a line starts with 'waive' or '#'";
    char *provider = word(&at), *name = word(&at), *pattern = trim(at);
    if (!*pattern || !*reason)
        return "something is missing: waive PROVIDER CHECK REGEX # reason";
    if (strcmp(name, "*") != 0 && check_index(name) < 0) {
        snprintf(message, bytes, "there is no check '%s'; see --list=checks", name);
        return message;
    }
    int code = regcomp(&w->cases, pattern, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        int used = snprintf(message, bytes, "regular expression '%s': ", pattern);
        if (used > 0 && (size_t)used < bytes)
            regerror(code, &w->cases, message + used, bytes - (size_t)used);
        return message;
    }
    w->provider = strdup(provider);
    w->check = strdup(name);
    w->reason = strdup(reason);
    return w->provider && w->check && w->reason ? NULL : "out of memory";
}

static const char *add(profile *p, char *line, char *message, size_t bytes) {
    waiver *grown = realloc(p->waivers, ((size_t)p->count + 1) * sizeof *grown);
    if (!grown)
        return "out of memory";
    p->waivers = grown;
    const char *wrong = parse(line, &grown[p->count], message, bytes);
    p->count += !wrong;
    return wrong;
}

profile *profile_load(const char *path, FILE *err) {
    char *line = NULL, message[256];
    size_t capacity = 0;
    const char *wrong = NULL;
    FILE *file = fopen(path, "re");
    if (!file) {
        fprintf(err, "armq-conform: --profile '%s': %s\n", path, strerror(errno));
        return NULL;
    }
    profile *p = calloc(1, sizeof *p);
    for (int64_t number = 1; p && !wrong && getline(&line, &capacity, file) > 0; number++) {
        char *text = trim(line);
        if (*text && *text != '#')
            wrong = add(p, text, message, sizeof message);
        if (wrong)
            fprintf(err, "%s:%" PRId64 ": %s\n", path, number, wrong);
    }
    free(line);
    fclose(file);
    if (wrong)
        profile_free(p);
    return wrong ? NULL : p;
}

void profile_free(profile *p) {
    for (int64_t i = 0; p && i < p->count; i++) {
        free(p->waivers[i].provider);
        free(p->waivers[i].check);
        free(p->waivers[i].reason);
        regfree(&p->waivers[i].cases);
    }
    if (p)
        free(p->waivers);
    free(p);
}

static bool matches(const char *pattern, const char *name) {
    return strcmp(pattern, "*") == 0 || strcmp(pattern, name) == 0;
}

static const waiver *find(const profile *p, const char *provider, const char *check_name,
                          const char *text) {
    for (int64_t i = 0; i < p->count; i++) {
        const waiver *w = &p->waivers[i];
        if (matches(w->provider, provider) && matches(w->check, check_name) &&
            regexec(&w->cases, text, 0, NULL, 0) == 0)
            return w;
    }
    return NULL;
}

void profile_apply(const profile *p, const char *provider, const char *case_text,
                   case_result *result) {
    const waiver *used = NULL;
    if (result->status != CASE_FAILED && result->status != CASE_CRASHED)
        return;
    for (int i = 0; i < check_count() && i < RESULT_CHECKS_MAX; i++) {
        if (result->checks[i].status != CHECK_FAILED)
            continue;
        used = find(p, provider, check_table[i].name, case_text);
        if (!used)
            return;
    }
    if (!used)
        return;
    result->status = CASE_WAIVED;
    snprintf(result->reason, sizeof result->reason, "%s", used->reason);
}
