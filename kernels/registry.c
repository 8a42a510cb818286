/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/registry.h"

#include "kernels/common/ops.h"

#define NEON ARMQ_FEATURE_NEON
#define DOTPROD ARMQ_FEATURE_DOTPROD
#define I8MM ARMQ_FEATURE_I8MM
#define BF16 ARMQ_FEATURE_BF16

/*    tier     needs                  int8 tiles              bf16 tiles */
#define TIERS(ROW)                                                                                 \
    ROW(neon, NEON, &armq_tiles_neon_s8, &armq_tiles_neon_bf16)                                    \
    ROW(dotprod, NEON | DOTPROD, &armq_tiles_dotprod_s8, NULL)                                     \
    ROW(i8mm, NEON | DOTPROD | I8MM, &armq_tiles_i8mm_s8, NULL)                                    \
    ROW(bf16, NEON | BF16, NULL, &armq_tiles_bf16)

#define INDEX(tier, ...) TIER_##tier,
enum { TIERS(INDEX) TIER_COUNT };

static const armq_tier tiers[TIER_COUNT];

/* The C ABI hands a provider no context, so each tier has its own three functions. */
#define PROVIDER(tier, needs, ...)                                                                 \
    static armq_status tier##_query(const armq_desc *desc, armq_support *support) {                \
        return armq_tier_query(&tiers[TIER_##tier], desc, support);                                \
    }                                                                                              \
    static armq_status tier##_pack(const armq_desc *desc, int32_t which, int64_t first,            \
                                   int64_t last, const armq_weights *weights, void *packed) {      \
        return armq_tier_pack(&tiers[TIER_##tier], desc, which, first, last, weights, packed);     \
    }                                                                                              \
    static armq_status tier##_run(const armq_desc *desc, const void *plan,                         \
                                  const armq_args *args) {                                         \
        (void)plan;                                                                                \
        return armq_tier_run(&tiers[TIER_##tier], desc, args);                                     \
    }                                                                                              \
    static const armq_provider tier##_provider = {                                                 \
        .size = sizeof(armq_provider),                                                             \
        .abi = ARMQ_ABI_VERSION,                                                                   \
        .name = #tier,                                                                             \
        .version = "1",                                                                            \
        .required_features = (needs),                                                              \
        .query = tier##_query,                                                                     \
        .pack = tier##_pack,                                                                       \
        .run = tier##_run,                                                                         \
    };
TIERS(PROVIDER)

#define TIER(tier, needs, s8, bf16) {&tier##_provider, s8, bf16},
static const armq_tier tiers[TIER_COUNT] = {TIERS(TIER)};

const armq_tier *armq_tiers(size_t *count) {
    *count = TIER_COUNT;
    return tiers;
}

const armq_provider *const *armq_builtin_providers(size_t *count) {
#define POINTER(tier, ...) &tier##_provider,
    static const armq_provider *const providers[TIER_COUNT] = {TIERS(POINTER)};
    *count = TIER_COUNT;
    return providers;
}
