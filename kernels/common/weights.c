/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/weights.h"

#include <string.h>

#include "kernels/api/describe.h"
#include "kernels/api/names.h"
#include "kernels/common/convert.h"
#include "kernels/common/weights_s4.h"

static size_t round_up(size_t value, size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/* Sixteen times the sum of a group, of at most 128 * 8 an element, must not exceed 2^22; with zero
 * points 128 * 15 an element; unpacked without the 16. */
enum {
    MAX_GROUP_TIMES_16 = (1 << 22) / (16 * 128 * 8),
    MAX_GROUP_ZERO_TIMES_16 = (1 << 22) / (16 * 128 * 15),
    MAX_GROUP = (1 << 22) / (128 * 15)
};

static void init_s4(armq_weight_layout *layout, const armq_desc *desc) {
    const bool zero_points = (desc->uses & ARMQ_USES_WEIGHT_ZERO) != 0;
    const int64_t group = desc->group_size;
    layout->s4 = true;
    layout->word8 = desc->format == ARMQ_WEIGHT_S4_WORD8;
    layout->offset = zero_points || group > MAX_GROUP_TIMES_16;
    layout->direct = group <= (zero_points ? MAX_GROUP_ZERO_TIMES_16 : MAX_GROUP_TIMES_16);
    layout->group_size = group;
    layout->group_steps = group / layout->set->k_step;
    layout->groups = group ? layout->k / group : 0;
    layout->eighths = layout->offset && layout->direct && group && layout->scaled;
    layout->group_start = !layout->offset      ? ARMQ_SIXTEENTHS_START
                          : layout->eighths    ? 0x1.8p20f
                          : group <= MAX_GROUP ? 0x1.8p23f
                                               : 0;
    layout->step_bytes /= 2;
}

bool armq_weight_layout_init(armq_weight_layout *layout, const armq_tile_set *set,
                             const armq_desc *desc, int32_t which) {
    const int64_t n = armq_weight_n(desc, which), k = armq_weight_k(desc, which);
    *layout = (armq_weight_layout){
        .set = set,
        .n = n,
        .k = k,
        .k_steps = k / set->k_step + (k % set->k_step != 0),
        .panels = n / ARMQ_TILE_COLUMNS + (n % ARMQ_TILE_COLUMNS != 0),
        .scaled = desc->scale_dtype != ARMQ_DTYPE_NONE,
        .step_bytes = ARMQ_TILE_COLUMNS * (size_t)set->k_step * armq_tile_b_bytes(set->kind),
    };
    if (desc->format == ARMQ_WEIGHT_S4_LOW || desc->format == ARMQ_WEIGHT_S4_WORD8)
        init_s4(layout, desc);
    const size_t group_scales = layout->scaled ? ARMQ_TILE_COLUMNS * sizeof(uint16_t) : 0;
    const size_t groups = (size_t)layout->groups;
    size_t zeros = 0, total;
    if (layout->offset)
        zeros = round_up((layout->group_size ? groups : 1) * ARMQ_TILE_COLUMNS, 16);
    /* Groups take less than the nibbles of 32 elements and more. */
    if (__builtin_mul_overflow((size_t)layout->k_steps, layout->step_bytes,
                               &layout->scales_offset) ||
        __builtin_add_overflow(layout->scales_offset, groups * group_scales,
                               &layout->zeros_offset) ||
        __builtin_add_overflow(layout->zeros_offset, zeros, &layout->channels_offset) ||
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

static void spread_channel(const armq_weight_layout *layout, const char *w, char *out) {
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

/* Channel n of an int8 or bf16 matrix, as column c of its panel. */
static void pack_channel(const armq_weight_layout *layout, const armq_weights *weights, int64_t n,
                         int64_t c, char *panel, armq_channels *channels) {
    const size_t element = armq_tile_b_bytes(layout->set->kind);
    if (layout->k > 0) {
        const char *row = (const char *)weights->w + (size_t)n * (size_t)layout->k * element;
        spread_channel(layout, row, panel + (size_t)c * (size_t)layout->set->k_step * element);
        if (layout->set->kind == ARMQ_TILE_S8)
            channels->sum[c] = sum_s8((const int8_t *)row, layout->k);
    }
    if (weights->scales)
        channels->scale[c] = armq_default_nan(((const float *)weights->scales)[n]);
}

void armq_pack_weights(const armq_weight_layout *layout, const armq_desc *desc,
                       const armq_weights *weights, void *packed) {
    for (int64_t panel = 0; panel < layout->panels; panel++) {
        char *out = (char *)packed + (size_t)panel * layout->panel_bytes;
        const int64_t first = panel * ARMQ_TILE_COLUMNS;
        const int64_t columns =
            layout->n - first < ARMQ_TILE_COLUMNS ? layout->n - first : ARMQ_TILE_COLUMNS;
        if (columns < ARMQ_TILE_COLUMNS || layout->s4)
            memset(out, 0, layout->channels_offset);
        memset(out + layout->channels_offset, 0, layout->panel_bytes - layout->channels_offset);
        armq_channels *channels = (armq_channels *)(void *)(out + layout->channels_offset);
        for (int64_t c = 0; c < columns; c++) {
            const int64_t n = first + c;
            if (layout->s4)
                armq_pack_s4_channel(layout, weights, n, c, out);
            else
                pack_channel(layout, weights, n, c, out, channels);
            if (weights->bias)
                channels->bias[c] =
                    armq_default_nan(armq_float_at(desc->bias_dtype, weights->bias, n));
        }
    }
}

static const void *advance(const void *pointer, int64_t rows, size_t row_bytes) {
    return pointer ? (const char *)pointer + (size_t)rows * row_bytes : NULL;
}

armq_weights armq_next_weights(const armq_weight_layout *layout, const armq_desc *desc,
                               const armq_weights *weights) {
    const size_t per_row = layout->group_size ? (size_t)layout->groups : 1;
    const size_t row_bytes = layout->s4 ? armq_s4_row_bytes(layout)
                                        : (size_t)layout->k * armq_tile_b_bytes(layout->set->kind);
    armq_weights next = *weights;
    next.w = advance(weights->w, layout->n, row_bytes);
    next.scales =
        advance(weights->scales, layout->n, per_row * armq_dtype_bytes(desc->scale_dtype));
    next.zero_points = advance(weights->zero_points, layout->n, per_row);
    next.bias = advance(weights->bias, layout->n, armq_dtype_bytes(desc->bias_dtype));
    return next;
}
