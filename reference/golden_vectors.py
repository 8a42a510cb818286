"""Writes reference/vectors: small problems of every op, dialect, dtype and scheme with their
answers, worked out by oracle.py. The same bytes each time, everywhere: the data come from integers,
nothing from libm.

    python3 -m reference.golden_vectors [DIR]
"""
import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from reference import oracle
from reference.oracle import F32, Dialect

FOLDER = Path(__file__).resolve().parent / "vectors"
FLOATS = "f32", "bf16", "f16"


class Random:
    """SplitMix64: whole numbers, and from them all other data."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    def integers(self, low, high, shape, dtype):
        """From low to high, both included."""
        count = int(np.prod(shape))
        return np.array([low + self.next() % (high - low + 1) for _ in range(count)],
                        dtype).reshape(shape)

    def real(self, low, high, shape):
        steps = self.integers(0, (1 << 30) - 1, shape, np.int64)
        return low + (high - low) * (steps / float(1 << 30))

    def bell(self, shape):
        return sum(self.real(-1, 1, shape) for _ in range(4))


# --- Data ----------------------------------------------------------------------------------------

def activations(rng, tokens, k, dtype):
    """Rows of different sizes; row 1 has one sign, row 2 is zero, row 3 holds one large element."""
    x = rng.bell((tokens, k)) * (2.0 ** (np.arange(tokens) * 2 % 5))[:, None]
    x[1::5] = np.abs(x[1::5]) + 0.25
    x[2::5] = 0
    if tokens > 3 and k > 1:
        x[3, k // 2] = -90.5
    return oracle.to_dtype(x, dtype)


def scales(rng, shape, group, size):
    """Neighbours differ by 2x and more. (as stored, values)"""
    values = rng.real(0.5, 1, shape) * size * 4.0 ** (np.arange(shape[-1]) % 3)
    return oracle.to_dtype(values, "bf16" if group else "f32")


def edge(w, low, high):
    """Both ends of the range in the last row."""
    w[..., -1, ::2], w[..., -1, 1::2] = low, high
    return w


def weights(rng, shape, group, zero, size, low=-128, high=127):
    """w, scales as stored, values of the scales, zero points or None; shape [.., N, K]."""
    rows = shape[:-1] + ((shape[-1] // group,) if group else ())
    as_stored, values = scales(rng, rows, group, size)
    zeros = rng.integers(-8, 7, rows, np.int8) if zero else None
    return edge(rng.integers(low, high, shape, np.int8), low, high), as_stored, values, zeros


def biases(rng, shape, dtype):
    return oracle.to_dtype(rng.bell(shape) * 3, dtype)


def case_line(op, keys):
    return " ".join([op] + [f"{key}={value}" for key, value in keys.items()])


# --- Ops: each gives (name, op, keys of the case, parameters, arrays) -----------------------------

def with_work(name, keys, work):
    """A case whose working dtype is not its dialect's."""
    return (name + f"_work_{work}", {**keys, "work": work}) if work else (name, keys)


def quantize_case(rng, dialect, dtype, work=None):
    tokens, k = 5, 19
    d = Dialect(dialect, dtype, work=work)
    x, values = activations(rng, tokens, k, dtype)
    values = oracle.to_dtype(values, d.work)[1]
    q, scale, zero = d.quantize(values)
    arrays = {"x": x, "xq": q, "xs": scale}
    if d.asymmetric:
        arrays["xzp"] = zero
    keys = {"tokens": tokens, "k": k, "in": dtype, "dialect": dialect}
    name, keys = with_work(f"quantize_{dialect}_{dtype}", keys, work)
    return name, "quantize", keys, {}, arrays


def gemm_case(rng, group, zero, int4):
    tokens, n, k = 3, 5, 96 if group else 37
    low, high = (-8, 7) if int4 else (-128, 127)
    x = edge(rng.integers(-128, 127, (tokens, k), np.int8), -128, 127)
    w, _, _, zeros = weights(rng, (n, k), group, zero, 1, low, high)
    arrays = {"x": x, "w": w}
    if zero:
        arrays["wz"] = zeros
    y = np.stack([oracle.group_sums(row, w, zeros, group)[0] for row in x])
    arrays["y"] = (y if group else y[:, :, 0]).astype(np.int32)
    op = "gemm_s8s4s32" if int4 else "gemm_s8s8s32"
    keys = {"tokens": tokens, "n": n, "k": k}
    if int4:
        keys.update(group_size=group, zero_points=int(zero))
    return f"{op}_g{group}" + "_zero" * zero, op, keys, {}, arrays


def linear_case(rng, dialect, dtype, bias, group=0, zero=False, work=None):
    tokens, n, k = 5, 7, 96 if group else 43
    int4, d = dialect == "vllm-w4a8", Dialect(dialect, dtype, group, work)
    low, high = (-8, 7) if int4 else (-128, 127)
    x, values = activations(rng, tokens, k, dtype)
    values = oracle.to_dtype(values, d.work)[1]
    w, as_stored, numbers, zeros = weights(rng, (n, k), group, zero, 0.02 if int4 else 0.002,
                                           low, high)
    b, added = biases(rng, n, bias) if bias else (None, None)
    q, scale, zp = d.quantize(values)
    y = [oracle.linear_output(oracle.product(q[i], zp[i], scale[i], w, numbers, zeros, group),
                              added, d, dtype) for i in range(tokens)]
    arrays = {"x": x, "w": w, "ws": as_stored, "wz": zeros, "bias": b, "xq": q, "xs": scale,
              "xzp": zp if d.asymmetric else None, "y": oracle.stored(y, dtype)}
    arrays = {key: a for key, a in arrays.items() if a is not None}
    op = "linear_w4a8" if int4 else "linear_w8a8"
    keys = {"tokens": tokens, "n": n, "k": k, "in": dtype, "dialect": dialect, "bias": bias or 0}
    if int4:
        keys.update(group_size=group, zero_points=int(zero))
    name = f"{op}_{dialect}_{dtype}" + f"_g{group}" * int4 + "_zero" * zero
    name, keys = with_work(name + (f"_bias_{bias}" if bias else ""), keys, work)
    return name, op, keys, {}, arrays


def linear_bf16_case(rng, dtype, bias):
    tokens, n, k = 4, 6, 37
    x, values = activations(rng, tokens, k, dtype)
    w, numbers = oracle.to_dtype(rng.bell((n, k)), "bf16")
    b, added = biases(rng, n, bias) if bias else (None, None)
    values = oracle.to_dtype(values, "bf16")[1]
    y = [oracle.with_bias(oracle.product_bf16(row, numbers), added) for row in values]
    arrays = {"x": x, "w": w, "y": oracle.stored(y, dtype)}
    if bias:
        arrays["bias"] = b
    keys = {"tokens": tokens, "n": n, "k": k, "in": dtype, "bias": bias or 0}
    return (f"linear_bf16_{dtype}" + (f"_bias_{bias}" if bias else ""), "linear_bf16", keys,
            {"dialect": "bf16"}, arrays)


def activation_case(rng, dialect, dtype, kind, work=None):
    """Gates and ups beyond the clamp of swigluoai among them."""
    count, d = 24, Dialect(dialect, dtype, work=work)
    (g, gates), (u, ups) = (oracle.to_dtype(rng.bell(count) * size, dtype) for size in (4, 5))
    if work:
        gates, ups = (oracle.to_dtype(v, work)[1] for v in (gates, ups))
    f = [oracle.gated(kind, a, b, d)
         for a, b in zip(oracle.fractions(gates), oracle.fractions(ups))]
    keys = {"tokens": 1, "intermediate": count, "in": dtype, "dialect": dialect,
            "activation": kind, "gate": "halves"}
    name, keys = with_work(f"activation_{dialect}_{dtype}_{kind}", keys, work)
    return (name, "activation", keys, {"count": count},
            {"g": g, "u": u, "f": oracle.stored(f, dtype)})


def moe_weights(rng, dialect, dims, group, zero):
    """(arrays, their numbers) of both products; the same for every dtype."""
    experts, inter, hidden = dims
    arrays, numbers = {}, {}
    for name, shape, size in (("w13", (experts, 2 * inter, hidden), 1.0),
                              ("w2", (experts, hidden, inter), 0.7)):
        if dialect == "bf16":
            arrays[name], numbers[name] = oracle.to_dtype(rng.bell(shape) * 0.3 * size, "bf16")
            continue
        int4 = dialect == "vllm-w4a8"
        low, high = (-8, 7) if int4 else (-128, 127)
        w, arrays[name + "s"], numbers[name + "s"], zeros = weights(
            rng, shape, group, zero, size * (0.015 if int4 else 0.001), low, high)
        arrays[name] = w
        if zero:
            arrays[name + "z"] = zeros
    return arrays, numbers


def moe_case(rng, dialect, dtype, kind, bias=None, group=0, zero=False, router="output",
             work=None):
    tokens, top_k = 4, 1 if router == "none" else 2
    hidden, inter, experts = (64, 32, 2) if group else (20, 14, 3)
    d = Dialect(dialect, dtype, group, work)
    x, values = activations(rng, tokens, hidden, dtype)
    values = oracle.to_dtype(values, d.work)[1]
    arrays, numbers = moe_weights(Random(group), dialect, (experts, inter, hidden), group, zero)
    if bias:
        for name, n in (("b13", 2 * inter), ("b2", hidden)):
            arrays[name], numbers[name] = biases(rng, (experts, n), bias)
    ids = rng.integers(0, experts - 1, (tokens, top_k), np.int32)
    ids[0] = experts - 1  # one token has its expert twice
    arrays.update(x=x, ids=ids, tw=rng.real(0.1, 1, (tokens, top_k)).astype(F32))
    stages, y = oracle.moe_rows(values, arrays, numbers, kind, d, router == "input",
                                router == "none")
    if dialect != "bf16":
        add_stages(arrays, stages, d, values)
    arrays["y"] = oracle.stored(y, dtype)
    op = {"bf16": "moe_bf16", "vllm-w4a8": "moe_w4a8"}.get(dialect, "moe_w8a8")
    keys = {"tokens": tokens, "hidden": hidden, "intermediate": inter, "experts": experts,
            "top_k": top_k, "in": dtype, "dialect": dialect, "activation": kind,
            "w13_bias": bias or 0, "w2_bias": bias or 0, "router": router}
    if op == "moe_w4a8":
        keys.update(group_size=group, zero_points=int(zero))
    params = {"skip_router_weight": router == "none", "weight_on_input": router == "input"}
    name = f"{op}_{dialect}_{dtype}_{kind}" + f"_g{group}" * (op == "moe_w4a8") + "_zero" * zero
    name += (f"_bias_{bias}" if bias else "") + (f"_{router}" if router != "output" else "")
    name, keys = with_work(name, keys, work)
    return name, op, keys, params, arrays


def add_stages(arrays, stages, dialect, values):
    """What armq-golden wants to see of the way: integers, act; of int4 the products, too."""
    names = ["actq", "acts"] + ["actzp"] * dialect.asymmetric
    if dialect.step:
        names += ["xq", "xs", "xzp"]
        for name in ("y13", "y2"):
            arrays[name] = oracle.stored([s[name] for s in stages], dialect.step)
    else:
        arrays["xq"], arrays["xs"], _ = dialect.quantize(values)
    for name in names:
        arrays[name] = np.stack([s[name] for s in stages])
    arrays["act"] = np.stack([s["act"] for s in stages])


# --- All of them ---------------------------------------------------------------------------------

W8A8 = [("sglang-w8a8", "bf16")] + [(d, t) for d in ("vllm-w8a8", "kleidi-w8a8") for t in FLOATS]
SCHEMES = (0, False), (0, True), (32, False), (32, True), (96, False)
KINDS = "silu", "gelu", "gelu_tanh", "swigluoai"


def linear_cases(rng):
    for dialect, dtype in W8A8 + [("vllm-w4a8", t) for t in FLOATS]:
        yield quantize_case(rng, dialect, dtype)
    yield gemm_case(rng, 0, False, False)
    for group, zero in SCHEMES:
        yield gemm_case(rng, group, zero, True)
    for dialect, dtype in W8A8:
        for bias in (None, "f32") if dtype == "f32" else (None, "f32", dtype):
            yield linear_case(rng, dialect, dtype, bias)
    for dtype in FLOATS:
        for number, (group, zero) in enumerate(SCHEMES):
            yield linear_case(rng, "vllm-w4a8", dtype, (None, "f32", dtype)[number % 3], group,
                              zero)
        for bias in (None, "f32"):
            yield linear_bf16_case(rng, dtype, bias)


def moe_cases(rng):
    for dtype in FLOATS:
        for kind in KINDS:
            yield activation_case(rng, "vllm-w8a8", dtype, kind)
        for kind in ("silu", "swigluoai"):
            yield activation_case(rng, "vllm-w4a8", dtype, kind)
    yield moe_case(rng, "sglang-w8a8", "bf16", "silu")
    yield moe_case(rng, "sglang-w8a8", "bf16", "silu", bias="f32")
    for dtype in FLOATS:
        for kind in KINDS:
            yield moe_case(rng, "vllm-w8a8", dtype, kind,
                           bias=dtype if kind in ("gelu", "swigluoai") else None)
        yield moe_case(rng, "vllm-w8a8", dtype, "silu", router="none")
        for number, (group, zero) in enumerate(SCHEMES[:4]):
            yield moe_case(rng, "vllm-w4a8", dtype, ("silu", "swigluoai")[number % 2],
                           "f32" if number in (1, 2) else None, group, zero,
                           "input" if number == 3 else "output")
        yield moe_case(rng, "vllm-w4a8", dtype, "swigluoai", "f32", 32)
        for kind in ("silu", "swigluoai"):
            yield moe_case(rng, "bf16", dtype, kind, "f32" if kind == "silu" else None)


def work_cases(rng):
    """Working dtypes of their own: coarser than x, finer, and one that is neither."""
    yield quantize_case(rng, "vllm-w8a8", "f32", "bf16")
    yield quantize_case(rng, "kleidi-w8a8", "f32", "f16")
    yield quantize_case(rng, "vllm-w4a8", "bf16", "f16")
    yield linear_case(rng, "vllm-w8a8", "f32", "f32", work="f16")
    yield linear_case(rng, "kleidi-w8a8", "f16", None, work="bf16")
    yield linear_case(rng, "vllm-w4a8", "f32", "f32", 32, True, "bf16")
    yield linear_case(rng, "vllm-w4a8", "bf16", None, work="f32")
    yield activation_case(rng, "vllm-w8a8", "f32", "silu", "bf16")
    yield activation_case(rng, "vllm-w4a8", "f16", "swigluoai", "bf16")
    yield moe_case(rng, "vllm-w8a8", "f32", "silu", work="f16")
    yield moe_case(rng, "vllm-w8a8", "f16", "gelu", "f16", work="bf16")
    yield moe_case(rng, "vllm-w4a8", "f32", "swigluoai", None, 32, router="input", work="bf16")
    yield moe_case(rng, "vllm-w4a8", "bf16", "silu", "f32", 0, True, work="f16")


def cases():
    rng = Random(20)
    yield from linear_cases(rng)
    yield from moe_cases(rng)
    yield from work_cases(rng)


def write(folder):
    """One file per op, and the index; a case to a line of it."""
    files, entries, known = {}, [], {}
    for name, op, keys, params, arrays in cases():
        params = {"dialect": keys.get("dialect", "exact"), "dtype": keys.get("in", "s8"), **keys,
                  **params}
        bias = keys.get("bias") or keys.get("w13_bias")
        if bias:
            params["bias_dtype"] = bias
        blob = files.setdefault(op, bytearray())
        more, table = oracle.pack_arrays(arrays, len(blob), known.setdefault(op, {}))
        blob += more
        entries.append({"name": name, "file": f"{op}.bin", "op": op, "source": "oracle",
                        "case": case_line(op, keys), "params": params, "arrays": table})
    for entry in entries:
        entry["sha256"] = hashlib.sha256(files[entry["op"]]).hexdigest()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for op, blob in files.items():
        (folder / f"{op}.bin").write_bytes(blob)
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    (folder / "index.json").write_text(
        '{"format":1,"byte_order":"little","sources":{"oracle":"reference/golden_vectors.py"},\n'
        f'"cases":[\n{lines}\n]}}\n')
    return entries


if __name__ == "__main__":
    print(len(write(sys.argv[1] if len(sys.argv) > 1 else FOLDER)), "cases")
