/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of gates and ups for the activation op, and how large both are in a MoE. */
#include "harness/generate_internal.h"
#include "kernels/api/names.h"
#include "reference/formats.h"

static const float row_levels[3] = {0.8f, 2.0f, 4.5f};

/* A bell's rms is 0.289 of its width. */
static const float bell_width = 3.46f;

static bool clamps(const armq_case *c) { return c->desc.dialect.activation == ARMQ_ACT_SWIGLUOAI; }

/* Values chosen for a limit of 7, and others in proportion. */
static float limit_share(const armq_case *c) { return c->desc.dialect.limit / 7.0f; }

/* Times the levels of rows and channels (1 to 22, their product): a quarter of the gates, and of
 * |up|, beyond the clamp; else two of three within 6, where silu and gelu are curved. */
float generate_gate_share(const armq_case *c) { return clamps(c) ? 2.6f * limit_share(c) : 0.6f; }

static void put_pair(const armq_case *c, int64_t i, double gate, double up, void *data) {
    int64_t width = c->desc.intermediate;
    bool interleaved = c->desc.dialect.gate_layout == ARMQ_GATE_INTERLEAVED;
    armq_store(c->desc.in, data, interleaved ? 2 * i : i, gate);
    armq_store(c->desc.in, data, interleaved ? 2 * i + 1 : width + i, up);
}

/* --- Default ---------------------------------------------------------------------------------- */

/* Far below zero each activation vanishes, and the bound on its error, which 1 + tanh needs there,
 * is larger than what is left: such a gate shows only that nothing comes back, and one in 24 does.
 * The others go where it is curved. */
static float rarely_far_below(uint64_t key, int64_t i, float gate) {
    bool stays = gate > -3.0f || random_at(key, (uint64_t)(3 * i) + (UINT64_C(1) << 40)) % 24 == 0;
    return stays ? gate : 9.0f / gate;
}

void generate_gate_row(const armq_case *c, int64_t row, void *data) {
    uint64_t key = random_row_key(c, OPERAND_X, row);
    float size = row_levels[row % 3] * random_jitter(key, 0) * bell_width;
    float gate_size = size * (clamps(c) ? 6.0f * limit_share(c) : 1.2f);
    float up_size = size * (clamps(c) ? 2.7f * limit_share(c) : 1.0f);
    for (int64_t i = 0; i < c->desc.intermediate; i++) {
        float gate = rarely_far_below(key, i, gate_size * random_bell(key, 2 * i));
        float up = up_size * random_bell(key, 2 * i + 1);
        /* The last is never small: a tail that is skipped must show. */
        if (i + 1 == c->desc.intermediate)
            gate = gate_size * 0.5f, up = up_size * (up < 0 ? -0.5f : 0.5f);
        put_pair(c, i, (double)gate, (double)up, data);
    }
}

/* --- Where exp overflows, underflows, and where the clamp is ------------------------------------
 */

enum { EDGES = 24 };

static void edges(const armq_case *c, float values[EDGES]) {
    static const float fixed[EDGES] = {0.0f,     -0.0f,     13.0f,    -18.0f,    40.1f,  -40.1f,
                                       88.8f,    -88.8f,    90.0f,    -90.0f,    104.0f, -104.0f,
                                       1.0e4f,   -1.0e4f,   0.5f,     -0.5f,     127.5f, -127.5f,
                                       0x1p-20f, -0x1p-20f, 0x1p100f, -0x1p100f, 0,      0};
    for (int i = 0; i < EDGES; i++)
        values[i] = fixed[i];
    if (c->desc.in == ARMQ_DTYPE_F16 || c->desc.dialect.work == ARMQ_DTYPE_F16) {
        values[20] = 61440.0f;
        values[21] = -61440.0f;
    }
    float limit = clamps(c) ? c->desc.dialect.limit : 4.75f;
    values[22] = limit;
    values[23] = -limit;
}

/* In turn: every gate with a moderate up; every up with a moderate gate; both; beside the clamp on
 * either side, step by step; ordinary. */
void generate_extreme_gate_row(const armq_case *c, int64_t row, void *data) {
    uint64_t key = random_row_key(c, OPERAND_X, row);
    float values[EDGES];
    edges(c, values);
    if (row % 5 == 4) {
        generate_gate_row(c, row, data);
        return;
    }
    for (int64_t i = 0; i < c->desc.intermediate; i++) {
        /* Steps of 5 and 7 go through all 24; so do rows of fewer columns, from another start. */
        int64_t at = (5 * i + row / 5 * 3) % EDGES, other = (7 * i + row) % EDGES;
        float moderate = 1.5f + random_bell(key, i);
        float gate = row % 5 == 1 ? moderate : values[at];
        float up = row % 5 == 0 ? moderate : values[row % 5 == 1 ? at : other];
        if (row % 5 == 2 && other >= 20 && other < 22)
            up = moderate; /* 2^200 is not finite */
        if (row % 5 == 3) {
            float step = 1.0f + (float)(i % 9 - 4) * 0x1p-7f;
            gate = values[22 + i / 9 % 2] * step;
            up = values[22 + i / 3 % 2] * step;
        }
        put_pair(c, i, (double)gate, (double)up, data);
    }
}
