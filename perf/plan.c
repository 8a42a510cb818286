/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/plan.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance/providers.h"
#include "harness/machine.h"
#include "kernels/api/names.h"

__attribute__((format(printf, 2, 3))) static bool fail(char message[PLAN_MESSAGE],
                                                       const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(message, PLAN_MESSAGE, format, args);
    va_end(args);
    return false;
}

/* --- Sweeps -------------------------------------------------------------------------------------
 */

/* The program is <root>/build/<arch>/armq-bench or <prefix>/libexec/armq/armq-bench. */
static bool find_above_program(char path[PATH_MAX]) {
    static const char *const below[] = {"perf/cases", "share/armq/cases"};
    char directory[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", directory, sizeof directory - 1);
    directory[length > 0 ? length : 0] = '\0';
    for (char *slash; (slash = strrchr(directory, '/')) != NULL;) {
        *slash = '\0';
        for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
            const int n = snprintf(path, PATH_MAX, "%s/%s", directory, below[i]);
            if (n < PATH_MAX && access(path, R_OK | X_OK) == 0)
                return true;
        }
    }
    return false;
}

const char *bench_case_directory(void) {
    static char found[PATH_MAX];
    const char *given = getenv("ARMQ_CASES");
    if (given != NULL && *given != '\0')
        return given;
    if (found[0] == '\0' && !find_above_program(found))
        snprintf(found, sizeof found, "perf/cases");
    return found;
}

static bool load_sweep(const char *name, const case_tiles *tiles, case_list *list,
                       case_error *error) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s.sweep", bench_case_directory(), name);
    const bool named = strchr(name, '/') == NULL;
    if (named && access(path, R_OK) == 0)
        return sweep_load(path, tiles, list, error);
    const bool ok = sweep_load(name, tiles, list, error);
    const size_t used = strlen(error->message);
    if (!ok && named && strcmp(error->file, name) == 0)
        snprintf(error->message + used, sizeof error->message - used, "; nor is it in %.120s",
                 bench_case_directory());
    return ok;
}

/* --- One provider -------------------------------------------------------------------------------
 */

static void bind(armq_case *c) {
    const machine_info *m = machine();
    case_bind(c, m->features, m->l1, m->l2, m->llc, c->threads);
}

static bool tiles_of(void *ctx, const armq_case *provisional, int64_t tile_mnk[3]) {
    const armq_provider *provider = ctx;
    armq_case c = *provisional;
    armq_support support = {.size = sizeof support};
    bind(&c);
    if (provider->query(&c.desc, &support) != ARMQ_OK)
        return false;
    tile_mnk[0] = support.tile_m;
    tile_mnk[1] = support.tile_n;
    tile_mnk[2] = support.tile_k;
    return true;
}

static bool expand(const armq_provider *provider, const bench_options *options, case_list *list,
                   char message[PLAN_MESSAGE]) {
    const case_tiles tiles = {tiles_of, (void *)(uintptr_t)provider};
    case_error error = {.line = 0};
    for (int64_t i = 0; i < options->sweep_count; i++) {
        const int64_t before = list->count + list->dropped;
        if (!load_sweep(options->sweeps[i], &tiles, list, &error))
            goto bad;
        if (list->count + list->dropped == before)
            return fail(message, "sweep '%s' has no case; wanted at least one line with an op",
                        options->sweeps[i]);
    }
    for (int64_t i = 0; i < options->line_count; i++)
        if (!case_parse_line(options->lines[i], &tiles, list, &error))
            goto bad;
    return true;
bad:
    return fail(message, "%s:%" PRId64 ":%" PRId64 ": %s", error.file, error.line, error.column,
                error.message);
}

static bool add_refusal(bench_plan *plan, const char *provider, const char *reason,
                        const armq_case *c) {
    for (int64_t i = 0; i < plan->refusal_count; i++) {
        bench_refusal *r = &plan->refusals[i];
        if (strcmp(r->provider, provider) == 0 && strcmp(r->reason, reason) == 0) {
            r->count++;
            return true;
        }
    }
    bench_refusal *grown =
        realloc(plan->refusals, (size_t)(plan->refusal_count + 1) * sizeof *grown);
    if (grown == NULL)
        return false;
    plan->refusals = grown;
    bench_refusal *r = &grown[plan->refusal_count++];
    *r = (bench_refusal){.provider = provider, .count = 1};
    snprintf(r->reason, sizeof r->reason, "%s", reason);
    case_text(c, r->first);
    return true;
}

static bool add_entry(bench_plan *plan, const bench_entry *entry) {
    if (bench_plan_find(plan, entry->name) != NULL)
        return true; /* the same case in two sweeps is timed once */
    if (plan->count == plan->capacity) {
        const int64_t capacity = plan->capacity > 0 ? 2 * plan->capacity : 64;
        bench_entry *grown = realloc(plan->entries, (size_t)capacity * sizeof *grown);
        if (grown == NULL)
            return false;
        plan->entries = grown;
        plan->capacity = capacity;
    }
    plan->entries[plan->count++] = *entry;
    return true;
}

/* How a case is to be timed. */
typedef struct {
    const core_list *cores;
    int32_t kind, threads; /* threads 0: as the case says */
    bool cold;
} variant;

static bool has_weights(const armq_case *c) {
    const armq_op op = c->desc.op;
    return armq_op_is_linear(op) || armq_op_is_gemm(op) || armq_op_is_moe(op);
}

bool bench_is_decode(const armq_case *c) {
    return has_weights(c) && c->desc.tokens <= BENCH_DECODE_TOKENS;
}

int32_t bench_threads_most(const core_list *cores, int32_t kind) {
    const int32_t count = cores->kinds[kind].count;
    return count < machine()->cores ? count : machine()->cores;
}

static void name_entry(bench_entry *entry, const core_list *cores) {
    char text[CASE_TEXT_MAX], kind[24] = "";
    if (cores->kind_count > 1)
        snprintf(kind, sizeof kind, "/kind%" PRId32, entry->kind);
    snprintf(entry->name, sizeof entry->name, "%s/%s%s%s", entry->provider->name,
             case_text(&entry->c, text), entry->cold ? "/cold" : "", kind);
}

/* One case as it stands: an entry, or a refusal. False: out of memory. */
static bool add_case(bench_plan *plan, const armq_provider *provider, const armq_case *c,
                     const variant *v, int64_t order) {
    const machine_info *m = machine();
    const int32_t most = bench_threads_most(v->cores, v->kind);
    bench_entry entry = {.provider = provider,
                         .c = *c,
                         .cold = v->cold,
                         .kind = v->kind,
                         .order = order,
                         .median = NAN};
    if (v->threads != 0)
        entry.c.threads = v->threads == OPTIONS_ALL ? most : v->threads;
    armq_support support = {.size = sizeof support};
    char why[sizeof support.reason] = "";
    bind(&entry.c);
    if (!provider_runs_here(provider, m->features, why, sizeof why))
        return add_refusal(plan, provider->name, why, c);
    if (entry.c.threads > most) {
        snprintf(
            why, sizeof why,
            "%d threads on %d usable cores of kind %d (CPU quota respected) would not run at once",
            entry.c.threads, most, v->kind);
        return add_refusal(plan, provider->name, why, c);
    }
    if (v->cold && !has_weights(c))
        return add_refusal(plan, provider->name, "there are no weights that could be cold", c);
    if (provider->query(&entry.c.desc, &support) != ARMQ_OK)
        return add_refusal(plan, provider->name, support.reason, c);
    name_entry(&entry, v->cores);
    snprintf(entry.kernel, sizeof entry.kernel, "%s", support.kernel);
    return add_entry(plan, &entry);
}

/* One case in the modes that are asked for. */
static bool add_modes(bench_plan *plan, const armq_provider *provider, const bench_options *options,
                      const armq_case *c, variant *v, int64_t order) {
    const bool chosen = options->warm || options->cold, decode = bench_is_decode(c);
    const bool modes[2] = {chosen ? options->warm : !decode, chosen ? options->cold : decode};
    for (int cold = 0; cold < 2; cold++) {
        v->cold = cold == 1;
        if (modes[cold] && !add_case(plan, provider, c, v, order))
            return false;
    }
    return true;
}

static bool add_variants(bench_plan *plan, const armq_provider *provider,
                         const bench_options *options, const core_list *cores, const armq_case *c,
                         int64_t order) {
    const bool every = options->kind == OPTIONS_ALL;
    variant v = {.cores = cores};
    for (v.kind = every ? 0 : options->kind; v.kind < cores->kind_count; v.kind++) {
        for (int64_t t = 0; t < options->thread_count || t == 0; t++) {
            v.threads = options->thread_count > 0 ? options->threads[t] : 0;
            if (!add_modes(plan, provider, options, c, &v, order))
                return false;
        }
        if (!every)
            break;
    }
    return true;
}

static bool add_provider(bench_plan *plan, const armq_provider *provider,
                         const bench_options *options, const core_list *cores,
                         char message[PLAN_MESSAGE]) {
    case_list list = {.count = 0};
    bool ok = expand(provider, options, &list, message);
    for (int64_t i = 0; ok && i < list.count; i++)
        ok = add_variants(plan, provider, options, cores, &list.items[i], i) ||
             fail(message, "no memory for the plan");
    plan->dropped += list.dropped;
    case_list_free(&list);
    return ok;
}

/* --- All providers ------------------------------------------------------------------------------
 */

static bool add_named(bench_plan *plan, const bench_options *options, const core_list *cores,
                      char message[PLAN_MESSAGE]) {
    for (int64_t i = 0; i < options->provider_count; i++) {
        const char *spec = options->providers[i];
        char error[512];
        bool fpcr_changed = false;
        const armq_provider *provider = provider_open(spec, &fpcr_changed, error, sizeof error);
        if (provider == NULL)
            return fail(message, "--provider %s: %s", spec, error);
        if (fpcr_changed)
            fprintf(stderr,
                    "armq-bench: %s changed the floating-point control register when it was "
                    "loaded; it was set back\n",
                    spec);
        if (!add_provider(plan, provider, options, cores, message))
            return false;
    }
    return true;
}

/* The built-in kernels; reference and naive are there to judge, and are timed when asked for. */
static bool add_kernels(bench_plan *plan, const bench_options *options, const core_list *cores,
                        char message[PLAN_MESSAGE]) {
    int64_t count;
    const armq_provider *const *builtin = providers_builtin(&count);
    for (int64_t i = 0; i < count; i++) {
        if (builtin[i] == &reference_provider || builtin[i] == &naive_provider)
            continue;
        if (!add_provider(plan, builtin[i], options, cores, message))
            return false;
    }
    return true;
}

/* Case by case, then in the order of the providers: what is compared is timed close together. */
static int by_order(const void *a, const void *b) {
    const bench_entry *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return 0;
}

/* Stable, which qsort need not be. */
static void sort_entries(bench_plan *plan) {
    for (int64_t i = 0; i < plan->count; i++)
        plan->entries[i].order = plan->entries[i].order * plan->count + i;
    qsort(plan->entries, (size_t)plan->count, sizeof *plan->entries, by_order);
}

bool bench_plan_build(bench_plan *plan, const bench_options *options, const core_list *cores,
                      char message[PLAN_MESSAGE]) {
    *plan = (bench_plan){.count = 0};
    if (options->kind >= cores->kind_count)
        return fail(message, "--cores %d: this machine has %d kinds of usable cores, from 0",
                    options->kind, cores->kind_count);
    const bool ok = options->provider_count > 0 ? add_named(plan, options, cores, message)
                                                : add_kernels(plan, options, cores, message);
    if (ok && plan->count > 0)
        sort_entries(plan);
    return ok;
}

void bench_plan_free(bench_plan *plan) {
    for (int64_t i = 0; i < plan->count; i++)
        free(plan->entries[i].seconds);
    free(plan->entries);
    free(plan->refusals);
    *plan = (bench_plan){.count = 0};
}

void bench_plan_print_refusals(const bench_plan *plan, FILE *out) {
    for (int64_t i = 0; i < plan->refusal_count; i++) {
        const bench_refusal *r = &plan->refusals[i];
        fprintf(out, "armq-bench: skipped %" PRId64 " case%s on %s: %s (%s%s)\n", r->count,
                r->count == 1 ? "" : "s", r->provider, r->reason,
                r->count == 1 ? "" : "first: ", r->first);
    }
    if (plan->dropped > 0)
        fprintf(out, "armq-bench: dropped %" PRId64 " combinations that no dialect defines\n",
                plan->dropped);
}

/* --- Entries ------------------------------------------------------------------------------------
 */

bool bench_entry_add(bench_entry *entry, double seconds) {
    const int64_t n = entry->repetitions + 1;
    double *grown = realloc(entry->seconds, (size_t)n * sizeof *grown);
    if (grown == NULL)
        return false;
    entry->seconds = grown;
    grown[n - 1] = seconds;
    entry->repetitions = n;
    entry->median = stats_quantile(grown, n, 0.5);
    return true;
}

bench_entry *bench_plan_find(const bench_plan *plan, const char *name) {
    for (int64_t i = 0; i < plan->count; i++)
        if (strcmp(plan->entries[i].name, name) == 0)
            return &plan->entries[i];
    return NULL;
}
