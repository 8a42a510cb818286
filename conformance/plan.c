/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/plan.h"

#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/check.h"
#include "conformance/content.h"
#include "conformance/probe.h"
#include "harness/machine.h"

/* --- Providers -----------------------------------------------------------------------------------
 */

static const armq_provider *builtin(const char *name) {
    bool changed;
    char error[512];
    return provider_is_path(name) ? NULL : provider_open(name, &changed, error, sizeof error);
}

static void describe_builtin(provider_info *info, const armq_provider *provider) {
    snprintf(info->name, sizeof info->name, "%s", provider->name);
    snprintf(info->version, sizeof info->version, "%s", provider->version ? provider->version : "");
    info->required = provider->required_features;
    info->runs_here =
        provider_runs_here(provider, machine()->features, info->why, sizeof info->why);
}

static bool describe(provider_info *info, double timeout, FILE *err) {
    char error[768];
    bool changed;
    if (!provider_is_path(info->spec)) {
        const armq_provider *provider = provider_open(info->spec, &changed, error, sizeof error);
        if (provider)
            describe_builtin(info, provider);
        else
            fprintf(err, "armq-conform: --provider: %s\n", error);
        return provider != NULL;
    }
    uint64_t content = 0;
    bool has_content = content_hash(info->spec, &content);
    probe *p = probe_open(info, timeout, error, sizeof error);
    if (!p) {
        fprintf(err, "armq-conform: --provider '%s': %s\n", info->spec, error);
        return false;
    }
    info->content = content; /* probe_open has filled the rest anew */
    info->has_content = has_content;
    probe_close(p);
    return true;
}

/* Everything built in but the reference, which would be judged by itself. */
static bool default_providers(text_list *specs) {
    int64_t count;
    const armq_provider *const *table = providers_builtin(&count);
    bool ok = true;
    for (int64_t i = 0; i < count; i++)
        if (table[i] != &reference_provider)
            ok = ok && text_list_add(specs, table[i]->name, strlen(table[i]->name));
    return ok;
}

static bool names_are_unique(const plan *p, FILE *err) {
    for (int64_t i = 0; i < p->provider_count; i++)
        for (int64_t j = 0; j < i; j++)
            if (strcmp(p->providers[i].name, p->providers[j].name) == 0) {
                fprintf(err,
                        "armq-conform: --provider: '%s' and '%s' are both named '%s'; results "
                        "could not be told apart\n",
                        p->providers[j].spec, p->providers[i].spec, p->providers[i].name);
                return false;
            }
    return true;
}

bool plan_providers(plan *p, const options *o, FILE *err) {
    text_list defaults = {0};
    const text_list *specs = &o->providers;
    if (specs->count == 0) {
        if (!default_providers(&defaults))
            return false;
        specs = &defaults;
    }
    p->providers = calloc((size_t)specs->count, sizeof *p->providers);
    bool ok = p->providers != NULL;
    for (int64_t i = 0; ok && i < specs->count; i++) {
        provider_info *info = &p->providers[p->provider_count++];
        if (strlen(specs->items[i]) >= sizeof info->spec) {
            fprintf(err, "armq-conform: --provider: a path is longer than %zu bytes\n",
                    sizeof info->spec - 1);
            ok = false;
            break;
        }
        snprintf(info->spec, sizeof info->spec, "%s", specs->items[i]);
        ok = describe(info, o->timeout, err);
    }
    for (int64_t i = 0; i < defaults.count; i++)
        free(defaults.items[i]);
    free(defaults.items);
    return ok && names_are_unique(p, err);
}

/* --- Cases ---------------------------------------------------------------------------------------
 */

typedef struct {
    const armq_provider *builtin;
    probe *library;
} tile_source;

static bool tiles_of(void *ctx, const armq_case *provisional, int64_t tiles[3]) {
    const tile_source *source = ctx;
    return source->builtin ? provider_tiles(source->builtin, provisional, tiles)
                           : probe_tiles(source->library, provisional, tiles);
}

static bool report(const case_error *error, FILE *err) {
    fprintf(err, "%s:%" PRId64 ":%" PRId64 ": %s\n", error->file, error->line, error->column,
            error->message);
    return false;
}

static bool expand(const options *o, const case_tiles *tiles, case_list *list, FILE *err) {
    case_error error = {0};
    for (int64_t i = 0; i < o->sweeps.count; i++)
        if (!sweep_load(o->sweeps.items[i], tiles, list, &error))
            return report(&error, err);
    for (int64_t i = 0; i < o->lines.count; i++)
        if (!case_parse_line(o->lines.items[i], tiles, list, &error))
            return report(&error, err);
    return true;
}

/* Expanded anew for each provider, since values may be derived from its tiles. */
static bool expand_for(const provider_info *info, const options *o, case_list *list, FILE *err) {
    char error[512];
    provider_info again = *info;
    tile_source source = {builtin(info->spec), NULL};
    if (!source.builtin) {
        source.library = probe_open(&again, o->timeout, error, sizeof error);
        if (!source.library) {
            fprintf(err, "armq-conform: --provider '%s': %s\n", info->spec, error);
            return false;
        }
    }
    case_tiles tiles = {tiles_of, &source};
    bool ok = expand(o, &tiles, list, err);
    if (source.library)
        probe_close(source.library);
    return ok;
}

/* --- The table of tasks --------------------------------------------------------------------------
 */

static uint64_t fnv(uint64_t hash, const char *text) {
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return (hash ^ '\n') * UINT64_C(0x100000001b3);
}

static const uint64_t fnv_start = UINT64_C(0xcbf29ce484222325);

static bool same_text(const armq_case *c, const char *text) {
    char own[CASE_TEXT_MAX];
    return strcmp(case_text(c, own), text) == 0;
}

/* Slot of the task, or the free slot where it belongs. provider -1: any. */
static int64_t slot_of(const plan *p, const char *text, int32_t provider) {
    uint64_t mask = (uint64_t)p->index_size - 1;
    uint64_t at = fnv(fnv_start, text) & mask;
    for (; p->index[at] >= 0; at = (at + 1) & mask) {
        const plan_task *t = &p->tasks[p->index[at]];
        if ((provider < 0 || t->provider == provider) && same_text(&t->c, text))
            break;
    }
    return (int64_t)at;
}

static bool make_index(plan *p, int64_t entries) {
    p->index_size = 64;
    while (p->index_size < 2 * entries)
        p->index_size *= 2;
    free(p->index);
    p->index = malloc((size_t)p->index_size * sizeof *p->index);
    if (p->index)
        memset(p->index, 0xff, (size_t)p->index_size * sizeof *p->index);
    return p->index != NULL;
}

int64_t plan_find(const plan *p, const char *provider, const char *text) {
    for (int64_t i = 0; p->count > 0 && i < p->provider_count; i++)
        if (strcmp(p->providers[i].name, provider) == 0)
            return p->index[slot_of(p, text, (int32_t)i)];
    return -1;
}

/* Adds the cases of one provider; a case that is there already is left out. */
static void add_tasks(plan *p, const case_list *list, int32_t provider, const options *o,
                      const regex_t *filter, int64_t *groups) {
    char text[CASE_TEXT_MAX];
    for (int64_t i = 0; i < list->count; i++) {
        armq_case c = list->items[i];
        if (o->has_seed)
            c.seed = o->seed;
        case_text(&c, text);
        if (filter && regexec(filter, text, 0, NULL, 0) != 0) {
            p->filtered++;
            continue;
        }
        int64_t twin = p->index[slot_of(p, text, -1)];
        int64_t slot = slot_of(p, text, provider);
        if (p->index[slot] >= 0)
            continue;
        p->tasks[p->count] =
            (plan_task){twin >= 0 ? p->tasks[twin].group : (*groups)++, provider, c};
        p->index[slot] = p->count++;
    }
}

static int by_group(const void *a, const void *b) {
    const plan_task *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->provider - y->provider;
}

static bool sort_tasks(plan *p, const options *o) {
    char text[CASE_TEXT_MAX];
    qsort(p->tasks, (size_t)p->count, sizeof *p->tasks, by_group);
    if (!make_index(p, p->count))
        return false;
    p->hash = fnv_start;
    for (int64_t i = 0; i < p->count; i++) {
        case_text(&p->tasks[i].c, text);
        p->index[slot_of(p, text, p->tasks[i].provider)] = i;
        p->hash = fnv(fnv(p->hash, p->providers[p->tasks[i].provider].name), text);
    }
    for (int i = 0; i < check_count(); i++)
        if (o->checks & (UINT64_C(1) << i))
            p->hash = fnv(p->hash, check_table[i].name);
    return true;
}

static bool make_tasks(plan *p, const options *o, const case_list *lists, const regex_t *filter,
                       FILE *err) {
    int64_t most = 0, groups = 0;
    for (int64_t i = 0; i < p->provider_count; i++)
        most += lists[i].count;
    p->tasks = calloc((size_t)most + 1, sizeof *p->tasks);
    bool ok = p->tasks && make_index(p, most);
    for (int64_t i = 0; ok && i < p->provider_count; i++) {
        add_tasks(p, &lists[i], (int32_t)i, o, filter, &groups);
        if (lists[i].dropped > p->dropped) /* as good as the same for each provider */
            p->dropped = lists[i].dropped;
    }
    ok = ok && sort_tasks(p, o);
    if (!ok)
        fprintf(err, "armq-conform: out of memory\n");
    return ok;
}

static bool compile_filter(const char *pattern, regex_t *filter, FILE *err) {
    int code = regcomp(filter, pattern, REG_EXTENDED | REG_NOSUB);
    if (code == 0)
        return true;
    char message[128];
    regerror(code, filter, message, sizeof message);
    fprintf(err, "armq-conform: --filter '%s': %s\n", pattern, message);
    return false;
}

static bool make_cases(plan *p, const options *o, const regex_t *filter, FILE *err) {
    case_list *lists = calloc((size_t)p->provider_count, sizeof *lists);
    bool ok = lists != NULL;
    for (int64_t i = 0; ok && i < p->provider_count; i++)
        ok = expand_for(&p->providers[i], o, &lists[i], err);
    ok = ok && make_tasks(p, o, lists, filter, err);
    for (int64_t i = 0; lists && i < p->provider_count; i++)
        case_list_free(&lists[i]);
    free(lists);
    return ok;
}

bool plan_make(plan *p, const options *o, FILE *err) {
    regex_t filter;
    *p = (plan){0};
    if (o->filter && !compile_filter(o->filter, &filter, err))
        return false;
    bool ok = plan_providers(p, o, err) && make_cases(p, o, o->filter ? &filter : NULL, err);
    if (o->filter)
        regfree(&filter);
    return ok;
}

void plan_free(plan *p) {
    free(p->providers);
    free(p->tasks);
    free(p->index);
    *p = (plan){0};
}
