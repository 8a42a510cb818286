"""A second reference: the numeric specification (README.md) in Python.

It shares no code with the C. Quantisation is f32 arithmetic step by step, as the dialects
prescribe; all else is exact (integers and fractions; exp and erf to 50 digits) but for the
roundings that a dialect declares. So every value is the middle of the interval that the C reference
must give.
"""
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

F32 = np.float32

# --- Number formats ------------------------------------------------------------------------------

# Significant bits, exponent of the smallest normal number.
FORMATS = {"f32": (24, -126), "bf16": (8, -126), "f16": (11, -14)}


def bf16_bits(values):
    """f32 to bf16, nearest, ties to even; finite values."""
    bits = np.asarray(values, F32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def bf16_value(bits):
    return (np.asarray(bits).astype(np.uint32) << 16).view(F32)


def to_dtype(values, dtype):
    """(array as stored, its values in f32)"""
    if dtype == "bf16":
        bits = bf16_bits(values)
        return bits, bf16_value(bits)
    stored = np.asarray(values, {"f32": F32, "f16": np.float16}[dtype])
    return stored, stored.astype(F32)


def nearest(value, dtype):
    """RN of a Fraction: ties to even, gradual underflow; finite results only."""
    if value == 0:
        return Fraction(0)
    bits, smallest = FORMATS[dtype]
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    step = Fraction(2) ** (max(exponent, smallest) - bits + 1)
    return round(value / step) * step


def fractions(values):
    """An array of the same shape that holds the exact values."""
    values = np.asarray(values)
    flat = [Fraction(float(v)) for v in values.ravel()]
    return np.array(flat + [None], object)[:-1].reshape(values.shape)


def stored(values, dtype):
    """Fractions as an array of a dtype, each rounded to it (once, so from any precision)."""
    shape = np.shape(values)
    rounded = [float(nearest(v, dtype)) for v in np.ravel(np.asarray(values, object))]
    return to_dtype(np.array(rounded, F32).reshape(shape), dtype)[0]


# --- Quantisation of activations -----------------------------------------------------------------

def round_away(v):
    whole = np.trunc(v)
    return whole + np.where(np.abs(v - whole) >= 0.5, np.sign(v), 0).astype(F32)


def quantize(x, asymmetric, away):
    """q, scale, zero point of each row of x (f32)."""
    rounding = round_away if away else np.rint
    if not asymmetric:
        amax = np.maximum(np.abs(x).max(axis=1), F32(1e-7))
        factor = (F32(127) / amax)[:, None]
        return rounding(x * factor).astype(np.int8), amax / F32(127), np.zeros(len(x), np.int32)
    low, high = np.minimum(x.min(axis=1), 0), np.maximum(x.max(axis=1), 0)
    span = high - low
    factor = np.where(span == 0, F32(1), F32(255) / np.where(span == 0, F32(1), span)).astype(F32)
    left, right = low * factor, high * factor
    error = (F32(-128) + left) + (F32(127) + right)
    zero = np.rint(np.clip(np.where(error > 0, F32(-128) - left, F32(127) - right), -128, 127))
    q = np.clip(rounding(x * factor[:, None]) + zero[:, None], -128, 127)
    return q.astype(np.int8), F32(1) / factor, zero.astype(np.int32)


# --- Dialects ------------------------------------------------------------------------------------

class Dialect:
    """What one row of the table of dialects says for one dtype and group size; work: another
    working dtype than its own, from which nothing else follows."""

    def __init__(self, name, dtype, group=0, work=None):
        int4 = name == "vllm-w4a8"
        self.name, self.group = name, group
        self.quantised = name != "bf16"
        self.asymmetric = int4 or name == "kleidi-w8a8"
        self.work = ("bf16" if name == "bf16" or (int4 and dtype == "bf16" and not group)
                     else "f32")
        self.away = name == "sglang-w8a8" or (
            self.work == "f32" if int4 else name == "kleidi-w8a8" and dtype == "f32")
        self.round_first = name == "sglang-w8a8"
        self.step = self.work if int4 else None  # dtype that each step of a moe is rounded to
        self.intermediate = {"sglang-w8a8": "f32", "vllm-w8a8": dtype, "bf16": "bf16"}.get(
            name, self.work)
        self.by_expert = int4 or name == "sglang-w8a8"
        self.work = work or self.work

    def rounded(self, value):
        """A step of a moe: rounded to w, unless that is f32, where nothing is declared."""
        return nearest(value, "bf16") if self.step == "bf16" else value

    def quantize(self, x):
        return quantize(np.asarray(x, F32), self.asymmetric, self.away)


# --- Products ------------------------------------------------------------------------------------

def group_sums(q, w, zeros, group):
    """int64 [N, groups]: sums of q * (w - zero) and of (w - zero) for one row q."""
    n, k = w.shape
    size = group or k
    parts = w.astype(np.int64).reshape(n, k // size, size)
    if zeros is not None:
        parts = parts - zeros.astype(np.int64).reshape(n, k // size, 1)
    return (parts * q.astype(np.int64).reshape(1, k // size, size)).sum(2), parts.sum(2)


def product(q, zero, scale, w, scales, zeros, group):
    """Fractions [N]: one quantised row times the weights, without bias; scales: their values."""
    sums, rowsums = group_sums(q, w, zeros, group)
    whole = sums - int(zero) * rowsums
    scales = fractions(scales).reshape(whole.shape)
    return [sum(int(a) * s for a, s in zip(row, factors)) * Fraction(float(scale))
            for row, factors in zip(whole, scales)]


def product_bf16(x, w):
    """Fractions [N] of a row of bf16 values and weights, both as values."""
    x, w = fractions(x), fractions(w)
    return [sum(a * b for a, b in zip(x, row)) for row in w]


def with_bias(values, bias):
    return list(values) if bias is None else [v + b for v, b in zip(values, fractions(bias))]


def linear_output(values, bias, dialect, dtype):
    """Fractions [N] as they go into the last rounding."""
    if dialect.round_first and bias is not None:
        values = [nearest(v, dtype) for v in values]
    return with_bias(values, bias)


# --- Activations ---------------------------------------------------------------------------------

DIGITS = 50


def _decimal(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


def _erf(x):
    """Maclaurin's series; its terms grow to exp(x^2), which takes as many digits more. From 12 on
    it is 1 to 60 digits."""
    if abs(x) > 12:
        return Decimal(1).copy_sign(x)
    with localcontext() as context:
        context.prec = 2 * DIGITS + int(x * x / 2)
        term = total = x
        n = 0
        while abs(term) > Decimal(10) ** -(DIGITS + 20):
            n += 1
            term = -term * x * x / n
            total += term / (2 * n + 1)
        return total * 2 / _pi().sqrt()


def _pi():
    """Machin's formula, in the digits of the caller."""
    def arctan_inverse(n):
        total = term = Decimal(1) / n
        k = 1
        while abs(term) > Decimal(10) ** -(DIGITS + 40):
            term /= -n * n
            k += 2
            total += term / k
        return total
    return 4 * (4 * arctan_inverse(5) - arctan_inverse(239))


def sigmoid(value):
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction(1 / (1 + (-_decimal(value)).exp()))


def activation(kind, gate):
    """Fraction f(gate), to which up is a factor."""
    if kind == "silu":
        return gate * sigmoid(gate)
    with localcontext() as context:
        context.prec = 2 * DIGITS
        x = _decimal(gate)
        if kind == "gelu":
            return Fraction(x * (1 + _erf(x / Decimal(2).sqrt())) / 2)
        y = (2 / _pi()).sqrt() * (x + Decimal("0.044715") * x ** 3)
        return Fraction(x * (1 - 1 / (1 + (2 * y).exp())))


def gated(kind, gate, up, dialect):
    """activation(gate) * up with the roundings of the dialect."""
    r = dialect.rounded
    if kind != "swigluoai":
        return r(activation(kind, gate) * up)
    gate, up = r(min(gate, Fraction(7))), r(max(min(up, Fraction(7)), Fraction(-7)))
    s = r(sigmoid(r(Fraction(float(F32(1.702))) * gate)))
    return r(r(up + 1) * r(gate * s))


# --- Mixture of experts --------------------------------------------------------------------------

def moe_slot(row, arrays, values, expert, kind, dialect):
    """All stages of one row of x (f32) with one expert: {array name: row}. y13 and y2 are lists of
    fractions, the others are as stored. values: {name: weights, scales and biases as numbers}."""
    r, out = dialect.rounded, {}

    def times(x, name, bias, stage):
        if not dialect.quantised:
            y = product_bf16(to_dtype(x, "bf16")[1], values[name][expert])
        else:
            q, scale, zero = (v[0] for v in dialect.quantize(np.asarray(x, F32)[None, :]))
            out.update(zip(stage, (q, scale, zero)))
            zeros = arrays[name + "z"][expert] if name + "z" in arrays else None
            y = product(q, zero, scale, arrays[name][expert], values[name + "s"][expert], zeros,
                        dialect.group)
        return [r(v) for v in with_bias(y, values[bias][expert] if bias in values else None)]

    y13 = times(row, "w13", "b13", ("xq", "xs", "xzp"))
    half = len(y13) // 2
    pairs = dialect.name == "vllm-w8a8" and kind == "swigluoai"
    gate, up = (y13[::2], y13[1::2]) if pairs else (y13[:half], y13[half:])
    act = stored([gated(kind, g, u, dialect) for g, u in zip(gate, up)], dialect.intermediate)
    as_values = bf16_value(act) if dialect.intermediate == "bf16" else act.astype(F32)
    y2 = times(as_values, "w2", "b2", ("actq", "acts", "actzp"))
    out.update(y13=y13, act=act, y2=y2)
    return out


def moe_rows(x, arrays, values, kind, dialect, on_input=False, no_weight=False):
    """(stages in ascending (expert, token, slot), y as fractions [tokens, hidden])."""
    ids, top_k = arrays["ids"], arrays["ids"].shape[1]
    weights = np.vectorize(dialect.rounded, otypes=[object])(fractions(arrays["tw"]))
    stages = {}
    for token, slot in np.ndindex(*ids.shape):
        row = np.asarray(x[token], F32)
        if on_input:
            product_in_f32 = row * np.array(float(weights[token, slot]), F32)
            row = to_dtype(product_in_f32, dialect.work)[1]
        stages[token, slot] = moe_slot(row, arrays, values, ids[token, slot], kind, dialect)
    y = []
    for token in range(len(ids)):
        order = sorted(range(top_k), key=lambda s, t=token: (ids[t, s] if dialect.by_expert else 0,
                                                             s))
        total = [Fraction(0)] * x.shape[1]
        for slot in order:
            weight = Fraction(1) if on_input or no_weight else weights[token, slot]
            total = [dialect.rounded(a + dialect.rounded(b * weight))
                     for a, b in zip(total, stages[token, slot]["y2"])]
        y.append(total)
    order = sorted(stages, key=lambda at: (ids[at], *at))
    return [stages[at] for at in order], y


# --- Files ---------------------------------------------------------------------------------------

NAMES = {np.dtype(np.int8): "i8", np.dtype(np.int32): "i32", np.dtype(F32): "f32",
         np.dtype(np.float16): "f16", np.dtype(np.uint16): "bf16"}


def pack_arrays(arrays, start=0, known=None):
    """(bytes to append, table for index.json) for a file that has `start` bytes. known: offsets of
    what is in it already, which is not stored twice."""
    blob, table = b"", {}
    known = {} if known is None else known
    for key, a in arrays.items():
        data = np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<")).tobytes()
        if data not in known:
            blob += b"\0" * (-(start + len(blob)) % 64)
            known[data] = start + len(blob)
            blob += data
        table[key] = {"dtype": NAMES[a.dtype], "shape": list(a.shape), "offset": known[data],
                      "nbytes": len(data)}
    return blob, table
