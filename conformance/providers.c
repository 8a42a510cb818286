/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/providers.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conformance/fp_control.h"
#include "kernels/api/features.h"
#ifdef ARMQ_HAVE_KERNELS
#include "kernels/kernels.h"
#endif

enum { BUILTIN_MAX = 32 };

const armq_provider *const *providers_builtin(int64_t *count) {
    static const armq_provider *table[BUILTIN_MAX];
    int64_t filled = 0;
#ifdef ARMQ_HAVE_KERNELS
    size_t kernels = 0;
    const armq_provider *const *tiers = armq_builtin_providers(&kernels);
    for (size_t i = 0; i < kernels && filled < BUILTIN_MAX - 2; i++)
        table[filled++] = tiers[i];
#endif
    table[filled++] = &naive_provider;
    table[filled++] = &reference_provider;
    *count = filled;
    return table;
}

void provider_keep_off_stdout(void) {
    if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        close(STDOUT_FILENO); /* there is no stderr either */
}

bool provider_is_path(const char *spec) {
    size_t length = strlen(spec);
    return strchr(spec, '/') || (length > 3 && strcmp(spec + length - 3, ".so") == 0);
}

static const armq_provider *open_builtin(const char *spec, char *error, size_t bytes) {
    int64_t count;
    const armq_provider *const *table = providers_builtin(&count);
    for (int64_t i = 0; i < count; i++)
        if (strcmp(table[i]->name, spec) == 0)
            return table[i];
    int used = snprintf(error, bytes, "there is no provider '%s'; allowed are", spec);
    for (int64_t i = 0; i < count && used > 0 && (size_t)used < bytes; i++)
        used += snprintf(error + used, bytes - (size_t)used, " %s", table[i]->name);
    if (used > 0 && (size_t)used < bytes)
        snprintf(error + used, bytes - (size_t)used, " and the path of a shared library");
    return NULL;
}

static bool name_is_valid(const char *name) {
    return name && *name && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

static bool is_sound(const armq_provider *p, char *error, size_t bytes) {
    if (!p)
        snprintf(error, bytes, "%s returned NULL", ARMQ_PROVIDER_SYMBOL);
    else if (p->abi != ARMQ_ABI_VERSION || p->size < sizeof *p)
        snprintf(error, bytes,
                 "its ABI is version %" PRIu32 " with a struct of %" PRIu32
                 " bytes, needed are version %u and %zu bytes",
                 p->abi, p->size, ARMQ_ABI_VERSION, sizeof *p);
    else if (!name_is_valid(p->name) || strlen(p->name) >= PROVIDER_NAME_MAX)
        snprintf(error, bytes, "its name is '%.80s'; allowed are up to %d of a-z 0-9 _ -",
                 p->name ? p->name : "(NULL)", PROVIDER_NAME_MAX - 1);
    else if (!p->query || !p->pack || !p->run || !p->prepare != !p->release)
        snprintf(error, bytes,
                 "a function is missing: query, pack and run are needed, "
                 "prepare and release both or neither");
    else
        return true;
    return false;
}

/* The symbol as a function; ISO C has no cast from an object pointer to one. */
typedef const armq_provider *(*provider_getter)(void);

static provider_getter getter_of(void *library) {
    void *symbol = dlsym(library, ARMQ_PROVIDER_SYMBOL);
    provider_getter get = NULL;
    memcpy(&get, &symbol, sizeof get);
    return get;
}

static const armq_provider *open_library(const char *path, char *error, size_t bytes) {
    char with_folder[PATH_MAX];
    snprintf(with_folder, sizeof with_folder, "%s%s", strchr(path, '/') ? "" : "./", path);
    void *library = dlopen(with_folder, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(error, bytes, "%s", dlerror());
        return NULL;
    }
    provider_getter get = getter_of(library);
    if (!get) {
        snprintf(error, bytes, "it does not export %s", ARMQ_PROVIDER_SYMBOL);
        return NULL;
    }
    const armq_provider *provider = get();
    return is_sound(provider, error, bytes) ? provider : NULL;
}

const armq_provider *provider_open(const char *spec, bool *fpcr_changed, char *error,
                                   size_t error_bytes) {
    *fpcr_changed = false;
    if (!provider_is_path(spec))
        return open_builtin(spec, error, error_bytes);
    uint64_t before = fp_control_get();
    const armq_provider *provider = open_library(spec, error, error_bytes);
    *fpcr_changed = fp_control_get() != before;
    fp_control_set(before);
    return provider;
}

void provider_features(uint64_t features, char *text, size_t bytes) {
    size_t used = 0;
    text[0] = '\0';
    for (int bit = 0; bit < 64; bit++) {
        uint64_t feature = features & (UINT64_C(1) << bit);
        if (!feature || used >= bytes)
            continue;
        const char *name = armq_feature_name(feature);
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? " " : "",
                                 name ? name : "unknown");
    }
}

bool provider_runs_here(const armq_provider *provider, uint64_t features, char *why,
                        size_t why_bytes) {
    uint64_t missing = provider->required_features & ~features;
    if (!missing)
        return true;
    char names[96];
    provider_features(missing, names, sizeof names);
    snprintf(why, why_bytes, "the CPU lacks %s", names);
    return false;
}
