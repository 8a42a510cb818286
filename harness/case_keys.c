/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/case_keys.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/api/dialects.h"
#include "kernels/api/names.h"

/* --- Integers and tile expressions ------------------------------------------------------------ */

static bool parse_decimal(const char **at, int64_t *value) {
    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    char *end;
    long long parsed = strtoll(*at, &end, 10);
    if (errno == ERANGE)
        return false;
    *at = end;
    *value = parsed;
    return true;
}

/* [N*]tile_m[+N|-N]. False if the text is nothing of the kind. */
static bool parse_tile_expression(const char *text, const int64_t tile_mnk[3], int64_t *value) {
    int64_t factor = 1, addend = 0;
    const char *at = text;
    if (parse_decimal(&at, &factor)) {
        if (*at != '*')
            return false;
        at++;
    }
    if (strncmp(at, "tile_", 5) != 0 || at[5] == '\0')
        return false;
    static const char letters[] = "mnk";
    const char *letter = strchr(letters, at[5]);
    if (!letter)
        return false;
    at += 6;
    if (*at == '+' || *at == '-') {
        bool negative = *at++ == '-';
        if (!parse_decimal(&at, &addend))
            return false;
        addend = negative ? -addend : addend;
    }
    int64_t tile = tile_mnk[letter - letters];
    return *at == '\0' && !__builtin_mul_overflow(factor, tile, value) &&
           !__builtin_add_overflow(*value, addend, value);
}

static bool refuse_integer(const case_key *key, const char *text, key_context *context) {
    snprintf(context->why, context->why_bytes,
             "%s=%s; allowed are integers from %" PRId64 " to %" PRId64 "%s", key->name, text,
             key->min, key->max,
             context->tiles_allowed ? ", and expressions such as 2*tile_m+1" : "");
    return false;
}

static bool parse_integer(const case_key *key, armq_case *c, const char *text,
                          key_context *context) {
    int64_t value;
    const char *at = text;
    bool tile = parse_tile_expression(text, context->tile_mnk, &value);
    if (tile && !context->tiles_allowed) {
        snprintf(context->why, context->why_bytes,
                 "%s=%s: tile sizes are known only when a sweep is run against a provider",
                 key->name, text);
        return false;
    }
    if (!tile && !(parse_decimal(&at, &value) && *at == '\0'))
        return refuse_integer(key, text, context);
    context->tiles_used |= tile;
    context->undefined |= tile && value < key->min;
    if (value < key->min || value > key->max)
        return refuse_integer(key, text, context);
    memcpy((char *)c + key->offset, &value, sizeof value);
    return true;
}

static void print_integer(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    int64_t value;
    memcpy(&value, (const char *)c + key->offset, sizeof value);
    snprintf(text, KEY_VALUE_MAX, "%" PRId64, value);
}

static bool parse_number(const case_key *key, armq_case *c, const char *text,
                         key_context *context) {
    char *end;
    float value = strtof(text, &end);
    if (text[0] < '0' || text[0] > '9' || *end || !(value <= FLT_MAX)) {
        snprintf(context->why, context->why_bytes, "%s=%s; allowed are %s", key->name, text,
                 key->allowed);
        return false;
    }
    memcpy((char *)c + key->offset, &value, sizeof value);
    return true;
}

/* As few digits as give the same number again. */
static void print_number(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    float value;
    memcpy(&value, (const char *)c + key->offset, sizeof value);
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, KEY_VALUE_MAX, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            return;
    }
}

static bool parse_seed(const case_key *key, armq_case *c, const char *text, key_context *context) {
    errno = 0;
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno == ERANGE) {
        snprintf(context->why, context->why_bytes,
                 "%s=%s; allowed are integers from 0 to 18446744073709551615", key->name, text);
        return false;
    }
    c->seed = value;
    return true;
}

static void print_seed(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%" PRIu64, c->seed);
}

/* The field is 32 bits wide; the value goes through the 64-bit parser. */
static bool parse_threads(const case_key *key, armq_case *c, const char *text,
                          key_context *context) {
    armq_case wide;
    case_key shadow = *key;
    shadow.offset = offsetof(armq_case, sample);
    if (!parse_integer(&shadow, &wide, text, context))
        return false;
    c->threads = (int32_t)wide.sample;
    return true;
}

static void print_threads(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%" PRId32, c->threads);
}

/* --- Names ------------------------------------------------------------------------------------ */

static bool refuse_name(const case_key *key, const char *text, key_context *context) {
    snprintf(context->why, context->why_bytes, "%s=%s; allowed are %s", key->name, text,
             key->allowed);
    return false;
}

static bool parse_in(const case_key *key, armq_case *c, const char *text, key_context *context) {
    return armq_dtype_parse(text, &c->desc.in) && c->desc.in != ARMQ_DTYPE_NONE
               ? true
               : refuse_name(key, text, context);
}

static void print_in(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%s", armq_dtype_name(c->desc.in));
}

static void fallback_in(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%s", armq_op_is_gemm(c->desc.op) ? "s8" : "bf16");
}

static bool parse_out(const case_key *key, armq_case *c, const char *text, key_context *context) {
    return armq_dtype_parse(text, &c->desc.out) && c->desc.out != ARMQ_DTYPE_NONE
               ? true
               : refuse_name(key, text, context);
}

static void print_out(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%s", armq_dtype_name(c->desc.out));
}

static void fallback_out(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    const char *name = armq_op_is_gemm(c->desc.op)      ? "s32"
                       : c->desc.op == ARMQ_OP_QUANTIZE ? "s8"
                                                        : armq_dtype_name(c->desc.in);
    snprintf(text, KEY_VALUE_MAX, "%s", name);
}

static bool parse_dialect(const case_key *key, armq_case *c, const char *text,
                          key_context *context) {
    if (!armq_dialect_is_name(text))
        return refuse_name(key, text, context);
    snprintf(c->dialect, sizeof c->dialect, "%s", text);
    return true;
}

static void print_dialect(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%s", c->dialect);
}

static const char *usual_dialect(armq_op op) {
    switch (op) {
    case ARMQ_OP_GEMM_S8S8S32:
    case ARMQ_OP_GEMM_S8S4S32:
        return "exact";
    case ARMQ_OP_LINEAR_BF16:
    case ARMQ_OP_MOE_BF16:
        return "bf16";
    case ARMQ_OP_LINEAR_W4A8:
    case ARMQ_OP_MOE_W4A8:
        return "vllm-w4a8";
    default:
        return "vllm-w8a8";
    }
}

static void fallback_dialect(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%s", usual_dialect(c->desc.op));
}

static bool parse_format(const case_key *key, armq_case *c, const char *text,
                         key_context *context) {
    armq_weight_format *format = &c->desc.format;
    return armq_weight_format_parse(text, format) &&
                   (*format == ARMQ_WEIGHT_S4_LOW || *format == ARMQ_WEIGHT_S4_WORD8)
               ? true
               : refuse_name(key, text, context);
}

static void print_format(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%s", armq_weight_format_name(c->desc.format));
}

static bool parse_activation(const case_key *key, armq_case *c, const char *text,
                             key_context *context) {
    armq_activation *activation = &c->desc.dialect.activation;
    return armq_activation_parse(text, activation) && *activation != ARMQ_ACT_NONE
               ? true
               : refuse_name(key, text, context);
}

static void print_activation(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%s", armq_activation_name(c->desc.dialect.activation));
}

const char *gate_layout_name(armq_gate_layout layout) {
    return layout == ARMQ_GATE_INTERLEAVED ? "interleaved" : "halves";
}

static bool parse_gate(const case_key *key, armq_case *c, const char *text, key_context *context) {
    armq_gate_layout *layout = &c->desc.dialect.gate_layout;
    *layout = strcmp(text, "halves") == 0 ? ARMQ_GATE_HALVES : ARMQ_GATE_INTERLEAVED;
    return strcmp(text, gate_layout_name(*layout)) == 0 ? true : refuse_name(key, text, context);
}

static void print_gate(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%s", gate_layout_name(c->desc.dialect.gate_layout));
}

/* What the dialect has; its own rows come before, so that it is known. A combination that it does
 * not define is refused later. */
static void fallback_preset(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    armq_case preset = {.desc = {.op = c->desc.op}};
    armq_dialect_preset(c->dialect, c->desc.op, c->desc.in, c->desc.group_size,
                        c->desc.dialect.activation, &preset.desc.dialect, NULL);
    key->print(key, &preset, text);
}

static const char *quant_name(armq_quant quant) {
    return quant == ARMQ_QUANT_ASYMMETRIC ? "asymmetric" : "symmetric";
}

static bool parse_quant(const case_key *key, armq_case *c, const char *text, key_context *context) {
    armq_quant *quant = &c->desc.dialect.quant;
    *quant = strcmp(text, "asymmetric") == 0 ? ARMQ_QUANT_ASYMMETRIC : ARMQ_QUANT_SYMMETRIC;
    return strcmp(text, quant_name(*quant)) == 0 ? true : refuse_name(key, text, context);
}

static void print_quant(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%s", quant_name(c->desc.dialect.quant));
}

static bool parse_q_rounding(const case_key *key, armq_case *c, const char *text,
                             key_context *context) {
    bool away = strcmp(text, "away") == 0;
    c->desc.dialect.q_rounding = away ? ARMQ_ROUND_TIES_AWAY : ARMQ_ROUND_TIES_EVEN;
    return away || strcmp(text, "even") == 0 ? true : refuse_name(key, text, context);
}

static void print_q_rounding(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    bool away = c->desc.dialect.q_rounding == ARMQ_ROUND_TIES_AWAY;
    snprintf(text, KEY_VALUE_MAX, "%s", away ? "away" : "even");
}

static bool is_work(armq_dtype dtype) {
    return dtype == ARMQ_DTYPE_F32 || dtype == ARMQ_DTYPE_BF16 || dtype == ARMQ_DTYPE_F16;
}

static bool parse_work(const case_key *key, armq_case *c, const char *text, key_context *context) {
    armq_dtype *work = &c->desc.dialect.work;
    return armq_dtype_parse(text, work) && is_work(*work) ? true : refuse_name(key, text, context);
}

static void print_work(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    armq_dtype work = c->desc.dialect.work;
    snprintf(text, KEY_VALUE_MAX, "%s", armq_dtype_name(is_work(work) ? work : ARMQ_DTYPE_F32));
}

static bool parse_round_first(const case_key *key, armq_case *c, const char *text,
                              key_context *context) {
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return refuse_name(key, text, context);
    c->desc.dialect.linear_round_before_bias = text[0] == '1';
    return true;
}

static void print_round_first(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%d", c->desc.dialect.linear_round_before_bias != 0);
}

static bool parse_caches(const case_key *key, armq_case *c, const char *text,
                         key_context *context) {
    return caches_kind_parse(text, &c->caches) ? true : refuse_name(key, text, context);
}

static void print_caches(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%s", caches_kind_name(c->caches));
}

static bool parse_routing(const case_key *key, armq_case *c, const char *text,
                          key_context *context) {
    return routing_kind_parse(text, &c->routing) ? true : refuse_name(key, text, context);
}

static void print_routing(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%s", routing_kind_name(c->routing));
}

static void fallback_skip_ids(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%d", c->routing == ROUTING_SKIP);
}

static bool parse_data(const case_key *key, armq_case *c, const char *text, key_context *context) {
    return data_kind_parse(text, &c->data) ? true : refuse_name(key, text, context);
}

static void print_data(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%s", data_kind_name(c->data));
}

static bool parse_memory(const case_key *key, armq_case *c, const char *text,
                         key_context *context) {
    c->sparse = strcmp(text, "sparse") == 0;
    return c->sparse || strcmp(text, "plain") == 0 ? true : refuse_name(key, text, context);
}

static void print_memory(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    snprintf(text, KEY_VALUE_MAX, "%s", c->sparse ? "sparse" : "plain");
}

/* --- Flags of the description; key->offset is the flag ------------------------------------------
 */

static void set_use(armq_case *c, uint32_t flag, bool on) {
    c->desc.uses = on ? c->desc.uses | flag : c->desc.uses & ~flag;
}

/* One description has one bias dtype; two biases of a MoE must agree. */
static bool parse_bias(const case_key *key, armq_case *c, const char *text, key_context *context) {
    armq_dtype dtype = ARMQ_DTYPE_F32;
    bool off = strcmp(text, "0") == 0, named = armq_dtype_parse(text, &dtype);
    bool known =
        off || strcmp(text, "1") == 0 || strcmp(text, "in") == 0 ||
        (named && (dtype == ARMQ_DTYPE_F32 || dtype == ARMQ_DTYPE_BF16 || dtype == ARMQ_DTYPE_F16));
    if (!known)
        return refuse_name(key, text, context);
    set_use(c, (uint32_t)key->offset, !off);
    if (off)
        return true;
    dtype = strcmp(text, "in") == 0 ? c->desc.in : dtype;
    if (c->desc.bias_dtype != ARMQ_DTYPE_NONE && c->desc.bias_dtype != dtype) {
        context->undefined = true;
        snprintf(context->why, context->why_bytes,
                 "%s=%s: both biases have one dtype, and the other is %s", key->name, text,
                 armq_dtype_name(c->desc.bias_dtype));
        return false;
    }
    c->desc.bias_dtype = dtype;
    return true;
}

static void print_bias(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    bool on = (c->desc.uses & (uint32_t)key->offset) != 0;
    snprintf(text, KEY_VALUE_MAX, "%s", on ? armq_dtype_name(c->desc.bias_dtype) : "0");
}

static bool parse_flag(const case_key *key, armq_case *c, const char *text, key_context *context) {
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return refuse_name(key, text, context);
    set_use(c, (uint32_t)key->offset, text[0] == '1');
    return true;
}

static void print_flag(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    snprintf(text, KEY_VALUE_MAX, "%d", (c->desc.uses & (uint32_t)key->offset) != 0);
}

static bool parse_router(const case_key *key, armq_case *c, const char *text,
                         key_context *context) {
    bool input = strcmp(text, "input") == 0, none = strcmp(text, "none") == 0;
    if (!input && !none && strcmp(text, "output") != 0)
        return refuse_name(key, text, context);
    set_use(c, ARMQ_USES_WEIGHT_ON_INPUT, input);
    set_use(c, ARMQ_USES_NO_ROUTER_WEIGHT, none);
    return true;
}

static void print_router(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)key;
    const char *name = c->desc.uses & ARMQ_USES_WEIGHT_ON_INPUT    ? "input"
                       : c->desc.uses & ARMQ_USES_NO_ROUTER_WEIGHT ? "none"
                                                                   : "output";
    snprintf(text, KEY_VALUE_MAX, "%s", name);
}

/* --- The table -------------------------------------------------------------------------------- */

static void fallback_fixed(const case_key *key, const armq_case *c, char text[KEY_VALUE_MAX]) {
    (void)c;
    snprintf(text, KEY_VALUE_MAX, "%s", key->fixed);
}

#define OP(name) (1u << ARMQ_OP_##name)
#define GEMM (OP(GEMM_S8S8S32) | OP(GEMM_S8S4S32))
#define LINEAR_INT (OP(LINEAR_W8A8) | OP(LINEAR_W4A8))
#define LINEAR (LINEAR_INT | OP(LINEAR_BF16))
#define MOE_INT (OP(MOE_W8A8) | OP(MOE_W4A8))
#define MOE (MOE_INT | OP(MOE_BF16))
#define INT4 (OP(GEMM_S8S4S32) | OP(LINEAR_W4A8) | OP(MOE_W4A8))
#define QUANTISED (OP(QUANTIZE) | LINEAR_INT | MOE_INT)
#define ALL ((1u << ARMQ_OP_COUNT) - 1u)

#define FIXED(text) .fallback = fallback_fixed, .fixed = (text)
#define INTEGER(field, low, high)                                                                  \
    .parse = parse_integer, .print = print_integer, .offset = offsetof(armq_case, field),          \
    .min = (low), .max = (high), .allowed = "integer"
#define DIMENSION(field) INTEGER(desc.field, 0, INT64_MAX), .always = true
#define FLAG(flag) .parse = parse_flag, .print = print_flag, .offset = (flag), .allowed = "0, 1"
#define BIAS(flag)                                                                                 \
    .parse = parse_bias, .print = print_bias, .offset = (flag),                                    \
    .allowed = "0, 1 (= f32), in (= the input dtype), f32, bf16, f16"
#define NUMBER(field)                                                                              \
    .parse = parse_number, .print = print_number, .offset = offsetof(armq_case, field),            \
    .allowed = "decimal numbers, 0 for none"
#define NAMED(what) .parse = parse_##what, .print = print_##what

const case_key case_keys[KEY_COUNT] = {
    {"tokens", ALL, DIMENSION(tokens), .help = "rows of x (M)"},
    {"n", GEMM | LINEAR, DIMENSION(n), .help = "output channels"},
    {"k", GEMM | LINEAR | OP(QUANTIZE), DIMENSION(k), .help = "row length of x"},
    {"hidden", MOE, DIMENSION(hidden), .help = "row length of x and y"},
    {"intermediate", MOE | OP(ACTIVATION), DIMENSION(intermediate), .help = "gate/up width"},
    {"experts", MOE, DIMENSION(experts), .help = "number of experts"},
    {"top_k", MOE, DIMENSION(top_k), .help = "experts per token"},
    {"in", ALL, NAMED(in), .fallback = fallback_in, .allowed = "f32, bf16, f16; s8 for gemm",
     .help = "dtype of x; default bf16, gemm s8"},
    {"out", ALL, NAMED(out), .fallback = fallback_out,
     .allowed = "f32, bf16, f16; s8 for quantize, s32 for gemm",
     .help = "dtype of y; default that of x, quantize s8, gemm s32"},
    {"dialect", ALL, NAMED(dialect), .fallback = fallback_dialect,
     .allowed = "exact, sglang-w8a8, vllm-w8a8, vllm-w4a8, kleidi-w8a8, bf16",
     .help = "the exact arithmetic; default exact for gemm, bf16 for the baselines, else vllm-*"},
    {"activation", MOE | OP(ACTIVATION), NAMED(activation), FIXED("silu"),
     .allowed = "silu, gelu, gelu_tanh, swigluoai", .help = "between the two products"},
    {"gate", MOE | OP(ACTIVATION), NAMED(gate), .fallback = fallback_preset,
     .allowed = "halves, interleaved",
     .help = "where gate and up stand; default that of the dialect"},
    {"alpha", MOE | OP(ACTIVATION), NUMBER(desc.dialect.alpha), .fallback = fallback_preset,
     .help = "of swigluoai; default 1.702"},
    {"limit", MOE | OP(ACTIVATION), NUMBER(desc.dialect.limit), .fallback = fallback_preset,
     .help = "of swigluoai: where gate and up are clamped; default 7"},
    {"group_size", INT4, INTEGER(desc.group_size, 0, INT64_MAX), FIXED("0"),
     .help = "weights along k that share a scale; 0 = per channel"},
    {"format", INT4, NAMED(format), FIXED("s4_low"), .allowed = "s4_low, s4_word8",
     .help = "how int4 weights are stored"},
    {"zero_points", INT4, FLAG(ARMQ_USES_WEIGHT_ZERO), FIXED("0"), .help = "of int4 weights"},
    {"quant", QUANTISED, NAMED(quant), .fallback = fallback_preset,
     .allowed = "symmetric, asymmetric",
     .help = "how activations are quantised; default that of the dialect"},
    {"q_rounding", QUANTISED, NAMED(q_rounding), .fallback = fallback_preset,
     .allowed = "even, away", .help = "how ties of q are rounded; default that of the dialect"},
    {"work", QUANTISED | OP(ACTIVATION), NAMED(work), .fallback = fallback_preset,
     .allowed = "f32, bf16, f16",
     .help = "the working dtype: x is rounded to it before anything else; default that of the "
             "dialect"},
    {"round_first", LINEAR, NAMED(round_first), .fallback = fallback_preset, .allowed = "0, 1",
     .help = "1: round to the dtype of y also before the bias is added; default that of the "
             "dialect"},
    {"bias", LINEAR, BIAS(ARMQ_USES_BIAS), FIXED("0"), .help = "[n], added to the product"},
    {"w13_bias", MOE, BIAS(ARMQ_USES_W13_BIAS), FIXED("0"), .help = "[experts, 2*intermediate]"},
    {"w2_bias", MOE, BIAS(ARMQ_USES_W2_BIAS), FIXED("0"), .help = "[experts, hidden]"},
    {"router", MOE, NAMED(router), FIXED("output"), .allowed = "output, input, none",
     .help = "what the router weight multiplies"},
    {"routing", MOE, NAMED(routing), FIXED("mixed"),
     .allowed = "mixed, softmax, balanced, one, last, empty, repeat, skip",
     .help = "which experts the tokens go to"},
    {"skip_ids", MOE, FLAG(ARMQ_USES_SKIP_IDS), .fallback = fallback_skip_ids,
     .help = "an expert id of -1 is allowed: the slot belongs to another machine; default 1 for "
             "routing=skip, else 0"},
    {"x_pad", ALL, INTEGER(x_pad, 0, INT64_MAX), FIXED("0"), .help = "elements between rows of x"},
    {"y_pad", ALL, INTEGER(y_pad, 0, INT64_MAX), FIXED("0"), .help = "elements between rows of y"},
    {"memory", ALL, NAMED(memory), FIXED("plain"), .allowed = "plain, sparse",
     .help = "sparse: large tensors are reserved address space, zero (ids: -1) but for a few rows, "
             "channels, experts and slots; only the check overflow is run"},
    {"caches", ALL, NAMED(caches), FIXED("machine"),
     .allowed = "machine, none, small, huge, partly",
     .help = "cache sizes that the provider is told: none = unknown, small = 1 and 16 KiB, so that "
             "small shapes need several blocks, huge = 4 GiB and more, partly = the second level "
             "alone is known"},
    {"threads", ALL, .parse = parse_threads, .print = print_threads, .min = 1, .max = 1024,
     .allowed = "integer", FIXED("1"), .help = "logical threads of the base run"},
    {"data", ALL, NAMED(data), FIXED("normal"),
     .allowed = "normal, ties, extremes, outliers, zero_rows, subnormals, poison, bad_scales",
     .help = "what the operands look like"},
    {"sample", ALL, INTEGER(sample, 0, INT64_MAX), FIXED("0"),
     .help = "output elements judged by the reference, MoE by whole tokens; 0 = all"},
    {"seed", ALL, .parse = parse_seed, .print = print_seed, .allowed = "integer", FIXED("1"),
     .always = true, .help = "of the generator"},
};

bool case_key_is_of(const case_key *key, armq_op op) { return (key->ops >> op) & 1u; }

bool case_has_key(armq_op op, const char *name) {
    for (int i = 0; i < KEY_COUNT; i++)
        if (case_key_is_of(&case_keys[i], op) && strcmp(case_keys[i].name, name) == 0)
            return true;
    return false;
}

void case_key_names(armq_op op, char *text, size_t bytes) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < KEY_COUNT; i++)
        if (case_key_is_of(&case_keys[i], op) && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
                                     case_keys[i].name);
}

static void print_ops(unsigned ops, FILE *out) {
    if (ops == ALL) {
        fputs("all", out);
        return;
    }
    bool first = true;
    for (int op = 0; op < ARMQ_OP_COUNT; op++)
        if ((ops >> op) & 1u) {
            fprintf(out, "%s%s", first ? "" : " ", armq_op_name((armq_op)op));
            first = false;
        }
}

void case_print_keys(FILE *out) {
    for (int i = 0; i < KEY_COUNT; i++) {
        const case_key *key = &case_keys[i];
        fprintf(out, "  %-12s %s\n", key->name, key->help);
        fprintf(out, "  %-12s   values: %s", "", key->allowed);
        if (key->fixed)
            fprintf(out, "; default %s", key->fixed);
        else if (!key->fallback)
            fputs("; required", out);
        fprintf(out, "\n  %-12s   ops: ", "");
        print_ops(key->ops, out);
        fputc('\n', out);
    }
    fputs("  kinds of routing:\n", out);
    for (int i = 0; i < ROUTING_KIND_COUNT; i++)
        fprintf(out, "  %-12s   %s\n", routing_kind_name((routing_kind)i),
                routing_kind_help((routing_kind)i));
    fputs("  kinds of data:\n", out);
    for (int i = 0; i < DATA_KIND_COUNT; i++) {
        unsigned ops = 0;
        for (int op = 0; op < ARMQ_OP_COUNT; op++)
            ops |= data_kind_exists((armq_op)op, (data_kind)i) ? 1u << op : 0;
        fprintf(out, "  %-12s   %s\n  %-12s   ops: ", data_kind_name((data_kind)i),
                data_kind_help((data_kind)i), "");
        print_ops(ops, out);
        fputc('\n', out);
    }
}
