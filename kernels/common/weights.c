/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/weights.h"

#include <string.h>

#include "kernels/common/convert.h"

static size_t round_up(size_t value, size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

bool armq_weight_layout_init(armq_weight_layout *layout, const armq_tile_set *set, int64_t n,
                             int64_t k) {
    const size_t step = ARMQ_TILE_COLUMNS * (size_t)set->k_step * armq_tile_b_bytes(set->kind);
    *layout = (armq_weight_layout){
        .set = set,
        .n = n,
        .k = k,
        .k_steps = k / set->k_step + (k % set->k_step != 0),
        .panels = n / ARMQ_TILE_COLUMNS + (n % ARMQ_TILE_COLUMNS != 0),
        .step_bytes = step,
    };
    size_t total;
    if (__builtin_mul_overflow((size_t)layout->k_steps, step, &layout->channels_offset) ||
        __builtin_add_overflow(layout->channels_offset, sizeof(armq_channels) + ARMQ_PACKED_ALIGN,
                               &total))
        return false;
    layout->panel_bytes =
        round_up(layout->channels_offset + sizeof(armq_channels), ARMQ_PACKED_ALIGN);
    return !__builtin_mul_overflow((size_t)layout->panels, layout->panel_bytes, &total) &&
           total <= PTRDIFF_MAX;
}

static int32_t sum_s8(const int8_t *w, int64_t k) {
    int32x4_t sum = vdupq_n_s32(0);
    int64_t i = 0;
    for (; i + 16 <= k; i += 16)
        sum = vpadalq_s16(sum, vpaddlq_s8(vld1q_s8(w + i)));
    int32_t total = vaddvq_s32(sum);
    for (; i < k; i++)
        total += w[i];
    return total;
}

/* Channel's k elements to every k step of its place in the panel; group is a constant of bytes. */
INLINE void spread(const size_t group, const char *w, size_t bytes, size_t step_bytes, char *out) {
    for (size_t i = 0; i < bytes / group; i++)
        memcpy(out + i * step_bytes, w + i * group, group);
    const size_t rest = bytes % group;
    if (rest) {
        char *last = out + bytes / group * step_bytes;
        memset(last, 0, group);
        memcpy(last, w + bytes - rest, rest);
    }
}

static void pack_channel(const armq_weight_layout *layout, const char *w, char *out) {
    const size_t element = armq_tile_b_bytes(layout->set->kind);
    const size_t bytes = (size_t)layout->k * element;
    switch ((size_t)layout->set->k_step * element) {
    case 2:
        spread(2, w, bytes, layout->step_bytes, out);
        break;
    case 4:
        spread(4, w, bytes, layout->step_bytes, out);
        break;
    case 8:
        spread(8, w, bytes, layout->step_bytes, out);
        break;
    default:
        spread(16, w, bytes, layout->step_bytes, out);
    }
}

void armq_pack_weights(const armq_weight_layout *layout, const void *w, const float *scales,
                       const void *bias, armq_dtype bias_dtype, void *packed) {
    const size_t element = armq_tile_b_bytes(layout->set->kind);
    const size_t group = (size_t)layout->set->k_step * element;
    for (int64_t panel = 0; panel < layout->panels; panel++) {
        char *out = (char *)packed + (size_t)panel * layout->panel_bytes;
        const int64_t first = panel * ARMQ_TILE_COLUMNS;
        const int64_t columns =
            layout->n - first < ARMQ_TILE_COLUMNS ? layout->n - first : ARMQ_TILE_COLUMNS;
        if (columns < ARMQ_TILE_COLUMNS)
            memset(out, 0, layout->channels_offset);
        memset(out + layout->channels_offset, 0, layout->panel_bytes - layout->channels_offset);
        armq_channels *channels = (armq_channels *)(void *)(out + layout->channels_offset);
        for (int64_t c = 0; c < columns; c++) {
            const int64_t n = first + c;
            if (layout->k > 0) {
                const char *row = (const char *)w + (size_t)n * (size_t)layout->k * element;
                pack_channel(layout, row, out + (size_t)c * group);
                if (layout->set->kind == ARMQ_TILE_S8)
                    channels->sum[c] = sum_s8((const int8_t *)row, layout->k);
            }
            if (scales)
                channels->scale[c] = armq_default_nan(scales[n]);
            if (bias)
                channels->bias[c] = armq_default_nan(armq_float_at(bias_dtype, bias, n));
        }
    }
}
