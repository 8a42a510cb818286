/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/api/features.h"

#include <stddef.h>
#include <sys/auxv.h>

/* Bit numbers of the AArch64 Linux ABI (arch/arm64 uapi asm/hwcap.h), spelled out because the
 * header exists on AArch64 only and the mapping is tested everywhere. */
enum { HWCAP_BIT_ASIMD = 1, HWCAP_BIT_ASIMDHP = 10, HWCAP_BIT_ASIMDDP = 20, HWCAP_BIT_SVE = 22 };
enum { HWCAP2_BIT_I8MM = 13, HWCAP2_BIT_BF16 = 14 };

static const struct {
    uint64_t feature;
    int word, bit;
    const char *name;
} feature_table[] = {
    {ARMQ_FEATURE_NEON, 0, HWCAP_BIT_ASIMD, "neon"},
    {ARMQ_FEATURE_DOTPROD, 0, HWCAP_BIT_ASIMDDP, "dotprod"},
    {ARMQ_FEATURE_I8MM, 1, HWCAP2_BIT_I8MM, "i8mm"},
    {ARMQ_FEATURE_BF16, 1, HWCAP2_BIT_BF16, "bf16"},
    {ARMQ_FEATURE_FP16, 0, HWCAP_BIT_ASIMDHP, "fp16"},
    {ARMQ_FEATURE_SVE, 0, HWCAP_BIT_SVE, "sve"},
};

enum { FEATURE_COUNT = sizeof feature_table / sizeof feature_table[0] };

uint64_t armq_features_from_hwcap(unsigned long hwcap, unsigned long hwcap2) {
    uint64_t features = 0;
    for (int i = 0; i < FEATURE_COUNT; i++) {
        unsigned long word = feature_table[i].word == 0 ? hwcap : hwcap2;
        if ((word >> feature_table[i].bit) & 1u)
            features |= feature_table[i].feature;
    }
    return features;
}

uint64_t armq_features(void) {
#ifdef __aarch64__
    return armq_features_from_hwcap(getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#else
    return 0;
#endif
}

const char *armq_feature_name(uint64_t feature) {
    for (int i = 0; i < FEATURE_COUNT; i++)
        if (feature_table[i].feature == feature)
            return feature_table[i].name;
    return NULL;
}
