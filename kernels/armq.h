/* SPDX-License-Identifier: Apache-2.0 */
/* The C ABI of armq, version 1: how a provider of quantised matrix kernels is asked what it
 * supports, given its weights, and run.
 *
 * One header, C11 and C++17, no dependency, the same on every platform and for every CPU tier.
 *
 * Life of a kernel:
 *     query(desc, &support)              may it run, what does it need?   reads no data
 *     pack(desc, which, range, ...)      weights into the provider's own layout, once per model
 *     prepare(desc, packed, &plan)       optional; the only call that may allocate
 *     run(desc, plan, &args)             any number of times, also from several threads at once
 *     release(plan)
 *
 * Rules that hold for every provider:
 *   - An optional parameter is honoured or refused with a reason, never ignored.
 *   - Invalid arguments return a status other than ARMQ_OK and leave every output byte as it was.
 *   - run allocates nothing, keeps no global state and takes its threads from the caller (a
 * provider with threads of its own says ARMQ_CLAIM_OWN_THREADS).
 *   - Sizes, offsets and strides are 64-bit; strides and dimensions count elements, *_bytes bytes.
 *   - Tensors are aligned to their element only; workspace and packed weights as `support` asks.
 *   - The caller owns all memory. No pointer is kept after a call, except by a plan, which may keep
 *     `packed` until it is released.
 *
 * Every struct starts with its size as the caller knows it (sizeof), so that fields can be added at
 * the end: fields beyond `size` read as zero. */
#ifndef ARMQ_H
#define ARMQ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ARMQ_ABI_VERSION 1u

typedef enum {
    ARMQ_OK = 0,
    ARMQ_UNSUPPORTED = 1,      /* the description is valid, this provider does not do it */
    ARMQ_INVALID_ARGUMENT = 2, /* the description or an argument contradicts the contract */
    ARMQ_NO_MEMORY = 3,        /* prepare only */
    ARMQ_STATUS_FORCE_32 = 0x7fffffff
} armq_status;

typedef enum {
    ARMQ_OP_QUANTIZE = 0,     /* x [tokens, k] -> y int8 [tokens, k], y_scales, y_zero_points */
    ARMQ_OP_ACTIVATION = 1,   /* x [tokens, 2*intermediate] -> y [tokens, intermediate] */
    ARMQ_OP_GEMM_S8S8S32 = 2, /* x int8 [tokens, k], w int8 [n, k] -> y int32 [tokens, n] */
    ARMQ_OP_GEMM_S8S4S32 = 3, /* x int8 [tokens, k], w int4 [n, k] -> y int32 [tokens, n, k/g] */
    ARMQ_OP_LINEAR_W8A8 = 4,  /* x [tokens, k], w int8 [n, k] -> y [tokens, n] */
    ARMQ_OP_LINEAR_W4A8 = 5,  /* x [tokens, k], w int4 [n, k] -> y [tokens, n] */
    ARMQ_OP_LINEAR_BF16 = 6,  /* x [tokens, k], w bf16 [n, k] -> y [tokens, n]; the baseline */
    ARMQ_OP_MOE_W8A8 = 7,     /* x [tokens, hidden], w13, w2 int8 -> y [tokens, hidden] */
    ARMQ_OP_MOE_W4A8 = 8,     /* the same with int4 weights */
    ARMQ_OP_MOE_BF16 = 9,     /* the same with bf16 weights; the baseline */
    ARMQ_OP_COUNT = 10,
    ARMQ_OP_FORCE_32 = 0x7fffffff
} armq_op;

typedef enum {
    ARMQ_DTYPE_NONE = 0,
    ARMQ_DTYPE_F32 = 1,
    ARMQ_DTYPE_BF16 = 2, /* the upper half of an f32, as a 16-bit pattern */
    ARMQ_DTYPE_F16 = 3,  /* IEEE binary16, as a 16-bit pattern */
    ARMQ_DTYPE_S8 = 4,
    ARMQ_DTYPE_S32 = 5,
    ARMQ_DTYPE_COUNT = 6,
    ARMQ_DTYPE_FORCE_32 = 0x7fffffff
} armq_dtype;

/* How the weights handed to pack are stored. */
typedef enum {
    ARMQ_WEIGHT_NONE = 0,     /* ops without weights */
    ARMQ_WEIGHT_S8 = 1,       /* int8 [N, K] */
    ARMQ_WEIGHT_S4_LOW = 2,   /* signed int4, two to a byte, low nibble = even index along K */
    ARMQ_WEIGHT_S4_WORD8 = 3, /* int4 plus 8, eight to an int32, lowest nibble = lowest index */
    ARMQ_WEIGHT_BF16 = 4,     /* bf16 [N, K] */
    ARMQ_WEIGHT_COUNT = 5,
    ARMQ_WEIGHT_FORCE_32 = 0x7fffffff
} armq_weight_format;

/* --- Dialect: the exact arithmetic an op promises ------------------------------------------------
 * Plain data; named presets stand in kernels/api/dialects.h, formulas in reference/README.md. */

typedef enum {
    ARMQ_QUANT_NONE = 0, /* activations are not quantised (the bf16 baseline) */
    ARMQ_QUANT_SYMMETRIC =
        1, /* per row: amax = max(max|x|, 1e-7); q = round(x * (127/amax)); s = amax/127 */
    ARMQ_QUANT_ASYMMETRIC = 2, /* per row: range with 0, k = 255/(rmax-rmin), zero point; s = 1/k */
    ARMQ_QUANT_FORCE_32 = 0x7fffffff
} armq_quant;

typedef enum {
    ARMQ_ROUND_TIES_EVEN = 0,
    ARMQ_ROUND_TIES_AWAY = 1,
    ARMQ_ROUND_FORCE_32 = 0x7fffffff
} armq_rounding;

typedef enum {
    ARMQ_ACT_NONE = 0,
    ARMQ_ACT_SILU = 1,
    ARMQ_ACT_GELU = 2,      /* erf */
    ARMQ_ACT_GELU_TANH = 3, /* tanh approximation */
    ARMQ_ACT_SWIGLUOAI =
        4, /* (clamp(u, -limit, limit) + 1) * g * sigmoid(alpha*g), g = min(gate, limit) */
    ARMQ_ACT_FORCE_32 = 0x7fffffff
} armq_activation;

typedef enum {
    ARMQ_GATE_HALVES = 0,      /* rows 0..I-1 gate, I..2I-1 up */
    ARMQ_GATE_INTERLEAVED = 1, /* even rows gate, odd rows up */
    ARMQ_GATE_FORCE_32 = 0x7fffffff
} armq_gate_layout;

typedef enum {
    ARMQ_COMBINE_SLOT_ORDER = 0,   /* y*weight + acc in slot order */
    ARMQ_COMBINE_EXPERT_ORDER = 1, /* ascending (expert, slot) */
    ARMQ_COMBINE_FORCE_32 = 0x7fffffff
} armq_combine_order;

/* Where a value is rounded to a dtype, the dtype stands here; ARMQ_DTYPE_F32 means "stays f32". */
typedef struct {
    uint32_t size;
    armq_quant quant;         /* of activations, both stages */
    armq_rounding q_rounding; /* of q; the zero point is always rounded ties to even */
    armq_dtype work;          /* w: x is converted to it before anything else */
    uint32_t
        linear_round_before_bias; /* 1: round to the output dtype, add bias in f32, round again */
    /* MoE only from here */
    armq_activation activation;
    armq_gate_layout gate_layout;
    float alpha, limit;          /* swigluoai; 0 for other activations */
    armq_dtype y13_round;        /* gate/up product with bias */
    armq_dtype activation_round; /* each op of swigluoai; the result of the others */
    armq_dtype intermediate;     /* activation result, before it is quantised again */
    armq_dtype y2_round;         /* down product with bias */
    armq_dtype combine_round;    /* router weight, its product and every addition */
    armq_combine_order combine_order;
} armq_dialect;

/* --- Description of one problem ------------------------------------------------------------------
 */

/* armq_desc.uses: the optional parameters this problem has. The pointer (or stride) of one that is
 * not used is NULL (or 0) and means "dense" for strides. */
enum {
    ARMQ_USES_BIAS = 1u << 0,             /* linear: bias [n] */
    ARMQ_USES_W13_BIAS = 1u << 1,         /* moe: [experts, 2*intermediate] */
    ARMQ_USES_W2_BIAS = 1u << 2,          /* moe: [experts, hidden] */
    ARMQ_USES_WEIGHT_ZERO = 1u << 3,      /* int4 zero points, int8 in [-8, 7], [N] or [N, K/g] */
    ARMQ_USES_SKIP_IDS = 1u << 4,         /* expert id -1: slot belongs to another machine */
    ARMQ_USES_X_STRIDE = 1u << 5,         /* args.x_stride >= row length of x */
    ARMQ_USES_Y_STRIDE = 1u << 6,         /* args.y_stride >= row length of y */
    ARMQ_USES_WEIGHT_ON_INPUT = 1u << 7,  /* router weight multiplies x, not y */
    ARMQ_USES_NO_ROUTER_WEIGHT = 1u << 8, /* router weight is not applied; top_k = 1 only */
    ARMQ_USES_ALL = (1u << 9) - 1u
};

/* armq_desc.features and armq_provider.required_features: CPU features (AArch64 HWCAP/HWCAP2). */
#define ARMQ_FEATURE_NEON (UINT64_C(1) << 0)    /* Advanced SIMD; every AArch64 Linux CPU */
#define ARMQ_FEATURE_DOTPROD (UINT64_C(1) << 1) /* FEAT_DotProd: SDOT */
#define ARMQ_FEATURE_I8MM (UINT64_C(1) << 2)    /* FEAT_I8MM: SMMLA */
#define ARMQ_FEATURE_BF16 (UINT64_C(1) << 3)    /* FEAT_BF16: BFMMLA, BFDOT */
#define ARMQ_FEATURE_FP16 (UINT64_C(1) << 4)    /* FEAT_FP16: half-precision arithmetic */
#define ARMQ_FEATURE_SVE (UINT64_C(1) << 5)

/* Dimensions that an op does not have are 0. */
typedef struct {
    uint32_t size, abi; /* sizeof(armq_desc), ARMQ_ABI_VERSION */
    armq_op op;
    int64_t tokens;               /* rows of x; M. run accepts exactly this many */
    int64_t n, k;                 /* linear, gemm, quantize (k only) */
    int64_t hidden, intermediate; /* moe; activation (intermediate only) */
    int64_t experts, top_k;       /* moe */
    armq_dtype in, out;           /* of x and y */
    armq_dtype bias_dtype;        /* F32 or `in`; NONE without bias */
    armq_dtype scale_dtype;       /* of weight scales: F32 per channel, BF16 per group */
    armq_weight_format format;
    int64_t group_size;  /* along K; 0 = one scale per channel */
    uint32_t uses;       /* ARMQ_USES_* */
    int32_t max_threads; /* most logical threads that run will be given; at least 1 */
    int64_t l1, l2, llc; /* data cache bytes per core, per core, shared; 0 = unknown */
    uint64_t features;   /* ARMQ_FEATURE_*: what the kernel may use */
    armq_dialect dialect;
} armq_desc;

/* armq_support.claims: what a provider promises beyond the interval. What it does not promise is
 * not checked, and the ledger counts it. */
enum {
    ARMQ_CLAIM_THREAD_INVARIANT = 1u << 0, /* same bits for any number of threads */
    ARMQ_CLAIM_BATCH_INVARIANT = 1u << 1,  /* a row's bits do not depend on the other rows */
    ARMQ_CLAIM_NO_ALLOC = 1u << 2,         /* run allocates nothing */
    ARMQ_CLAIM_REENTRANT = 1u << 3,        /* run may be called by several threads at once */
    ARMQ_CLAIM_OWN_THREADS = 1u << 4,      /* ignores args.threads, has a pool of its own */
    ARMQ_CLAIM_READS_AFTER_PACK = 1u << 5, /* reads args.weights in run, after pack */
    ARMQ_CLAIM_NONFINITE_ROW_NAN =
        1u << 6 /* NaN or Inf in a row, or an overflowing range: that row
                   of y is all NaN; quantize: q 0, scale NaN, zero point 0 */
};

/* Answer to query. The caller sets `size`; the provider fills the rest (also when it refuses). */
typedef struct {
    uint32_t size;
    char reason[256];               /* when refused: why, in a sentence a person can act on */
    char kernel[64];                /* name of the kernel that will run, for reports */
    size_t workspace_bytes;         /* for max_threads threads */
    size_t packed_bytes[2];         /* whole packed tensor: [0] w or w13, [1] w2 */
    size_t packed_expert_stride[2]; /* moe: from one expert's packed weights to the next */
    uint32_t workspace_align, packed_align; /* bytes, powers of two */
    int64_t tile_m, tile_n, tile_k; /* of the kernel that will run; edge sweeps derive from them */
    int64_t max_k;                  /* longest K for which no intermediate can wrap */
    uint32_t claims;                /* ARMQ_CLAIM_* */
} armq_support;

/* --- Data ----------------------------------------------------------------------------------------
 */

/* Weights of one linear layer, or of consecutive experts (each pointer then points to the first
 * expert of the range). N, K: n, k for linear and gemm; 2*intermediate, hidden for w13;
 * hidden, intermediate for w2. */
typedef struct {
    uint32_t size;
    const void *w; /* [experts of the range, N, K] in desc.format */
    const void
        *scales; /* [.., N] or [.., N, K/group_size] in desc.scale_dtype; NULL for gemm, bf16 */
    const int8_t *zero_points; /* [.., N] or [.., N, K/group_size]; NULL unless WEIGHT_ZERO */
    const void *bias;          /* [.., N] in desc.bias_dtype; NULL unless used */
} armq_weights;

/* The caller's threads. run calls f(arg, job, thread) once for each job in [0, jobs), in any order,
 * with thread in [0, n) and never the same `thread` at the same time; it returns when all are done.
 */
typedef struct {
    void *ctx;
    int32_t n; /* logical threads, 1 <= n <= desc.max_threads */
    void (*run)(void *ctx, int64_t jobs, void (*f)(void *arg, int64_t job, int32_t thread),
                void *arg);
} armq_threads;

typedef struct {
    uint32_t size;
    const void *x;          /* [tokens, row] in desc.in, rows x_stride apart */
    int64_t x_stride;       /* elements; 0 unless X_STRIDE */
    void *y;                /* [tokens, row] in desc.out, rows y_stride apart; must not overlap x */
    int64_t y_stride;       /* elements; 0 unless Y_STRIDE */
    float *y_scales;        /* quantize: [tokens] */
    int32_t *y_zero_points; /* quantize, asymmetric: [tokens]; else NULL */
    const int32_t *topk_ids;        /* moe: [tokens, top_k], dense */
    const float *topk_weights;      /* moe: [tokens, top_k], dense */
    const void *packed[2];          /* what pack wrote: [0] w or w13, [1] w2 */
    const armq_weights *weights[2]; /* the unpacked weights; NULL unless READS_AFTER_PACK */
    void *workspace;                /* workspace_bytes, content arbitrary before and after */
    const armq_threads *threads;    /* NULL: one thread, the caller's */
} armq_args;

/* --- Provider ------------------------------------------------------------------------------------
 */

typedef struct {
    uint32_t size, abi; /* sizeof(armq_provider), ARMQ_ABI_VERSION */
    const char *name;   /* [a-z0-9_-]+, unique in a run */
    const char *version;
    uint64_t required_features; /* without them query refuses and run is never called */

    /* ARMQ_OK: supported, *support filled. Else support->reason says why. Reads no tensor. */
    armq_status (*query)(const armq_desc *desc, armq_support *support);

    /* Packs weights of `which` (0: w or w13, 1: w2) for experts [first, last) (linear, gemm: 0, 1)
     * to `packed`, where expert `first` starts: packed_expert_stride[which] bytes per expert, or
     * packed_bytes[0] for linear and gemm. Ranges may be packed in any order, w2 before w13. What
     * is packed serves every description that differs in tokens, strides and max_threads alone, and
     * may be copied to another place. NULL in providers of ops without weights only. */
    armq_status (*pack)(const armq_desc *desc, int32_t which, int64_t first, int64_t last,
                        const armq_weights *weights, void *packed);

    /* Optional, both or neither. May allocate. *plan is handed to run and release. */
    armq_status (*prepare)(const armq_desc *desc, const void *const packed[2], void **plan);
    void (*release)(void *plan);

    armq_status (*run)(const armq_desc *desc, const void *plan, const armq_args *args);
} armq_provider;

/* The one symbol a provider library exports. The result lives as long as the library. */
#define ARMQ_PROVIDER_SYMBOL "armq_provider_get"
const armq_provider *armq_provider_get(void);

#ifdef __cplusplus
}
#endif

#endif
