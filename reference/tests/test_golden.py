"""armq-golden and the reference behind it, judged from outside.

Cases are made here with a NumPy implementation that shares no code with the reference, written in
the format of reference/golden and given to the program, once as they are and once with one value
changed. Needs the program of this machine in build/.
"""
import hashlib
import json
import math
import platform
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

from reference.oracle import F32, bf16_bits, bf16_value, pack_arrays, quantize, to_dtype

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / platform.machine() / "armq-golden"
GOLDEN = ROOT / "reference" / "golden"


def linear(arrays, dialect, dtype, values, bias):
    """Adds xq, xs, xzp and y to the arrays."""
    asymmetric = dialect == "kleidi-w8a8"
    away = dialect == "sglang-w8a8" or (asymmetric and dtype == "f32")
    q, scale, zero = quantize(values, asymmetric, away)
    w = arrays["w"].astype(np.int64)
    total = (q.astype(np.int64) - zero[:, None]) @ w.T
    y = total.astype(F32) * (scale[:, None] * arrays["ws"][None, :])
    if bias:
        if dialect == "sglang-w8a8":
            y = bf16_value(bf16_bits(y))
        y = y + arrays["bias"][None, :]
    arrays.update(xq=q, xs=scale.astype(F32), y=to_dtype(y, dtype)[0])
    if asymmetric:
        arrays["xzp"] = zero


def make_case(dialect, dtype, m, n, k, bias, rng):
    rows = rng.normal(size=(m, k)) * np.exp2(np.arange(m) % 5)[:, None]
    if m > 2:
        rows[2] = 0
    x, values = to_dtype(rows, dtype)
    arrays = {"x": x, "w": rng.integers(-128, 128, (n, k), dtype=np.int8),
              "ws": rng.uniform(0.001, 0.02, n).astype(F32)}
    if bias:
        arrays["bias"] = rng.normal(size=n).astype(F32) * F32(3)
    linear(arrays, dialect, dtype, values, bias)
    params = {"dialect": dialect, "tokens": m, "n": n, "k": k, "dtype": dtype, "bias": bias}
    name = f"numpy_{dialect}_{dtype}_m{m}_n{n}_k{k}" + ("_bias" if bias else "")
    return name, params, arrays


# --- Activations and mixture of experts ---------------------------------------------------------

ERF = np.vectorize(math.erf, otypes=[float])


def round_to(values, dtype):
    return to_dtype(values, dtype)[1]


def gated(kind, gate, up):
    """activation(gate) * up, computed in double and rounded to f32 once."""
    g, u = gate.astype(float), up.astype(float)
    if kind == "swigluoai":
        g, u = np.minimum(g, 7), np.clip(u, -7, 7) + 1
        return (g / (1 + np.exp(-float(F32(1.702)) * g)) * u).astype(F32)
    f = {"silu": lambda: g / (1 + np.exp(-g)),
         "gelu": lambda: g * (1 + ERF(g / math.sqrt(2))) / 2,
         "gelu_tanh": lambda: g * (1 + np.tanh(math.sqrt(2 / math.pi)
                                               * (g + 0.044715 * g ** 3))) / 2}[kind]()
    return (f * u).astype(F32)


def product(q, scale, w, ws, bias):
    y = (q.astype(np.int64) @ w.astype(np.int64).T).astype(F32) * (scale * ws)
    return y if bias is None else y + bias


def second_stages(arrays, params, biases):
    """Fills act, actq and acts; {(token, slot): product with w2 in f32}."""
    vllm, dtype = params["dialect"] == "vllm-w8a8", params["dtype"]
    pairs = vllm and params["activation"] == "swigluoai"
    ids, rows, y2 = arrays["ids"], [], {}
    order = sorted((ids[t, s], t, s) for t, s in np.ndindex(*ids.shape))
    for e, t, s in order:
        y13 = product(arrays["xq"][t], arrays["xs"][t], arrays["w13"][e], arrays["w13s"][e],
                      biases and biases[0][e])
        half = len(y13) // 2
        gate, up = (y13[::2], y13[1::2]) if pairs else (y13[:half], y13[half:])
        stored, act = to_dtype(gated(params["activation"], gate, up), dtype if vllm else "f32")
        q, scale, _ = quantize(act[None, :], False, not vllm)
        y2[t, s] = product(q[0], scale[0], arrays["w2"][e], arrays["w2s"][e],
                           biases and biases[1][e])
        rows.append((stored, q[0], scale[0]))
    arrays["act"], arrays["actq"] = (np.stack([r[i] for r in rows]) for i in (0, 1))
    arrays["acts"] = np.array([r[2] for r in rows], F32)
    return y2


def make_moe(dialect, dtype, activation, bias, rng, skip_weight=False):
    t, h, inter, e, k = 5, 24, 17, 4, 1 if skip_weight else 3
    x, values = to_dtype(rng.normal(size=(t, h)) * np.exp2(np.arange(t) % 3)[:, None], dtype)
    arrays = {"x": x, "w13": rng.integers(-128, 128, (e, 2 * inter, h), dtype=np.int8),
              "w13s": rng.uniform(0.002, 0.01, (e, 2 * inter)).astype(F32),
              "w2": rng.integers(-128, 128, (e, h, inter), dtype=np.int8),
              "w2s": rng.uniform(0.001, 0.02, (e, h)).astype(F32),
              "ids": rng.integers(0, e, (t, k)).astype(np.int32),
              "tw": rng.uniform(0.1, 1, (t, k)).astype(F32)}
    biases = None
    if bias:
        pair = [to_dtype(rng.normal(size=(e, n)), dtype) for n in (2 * inter, h)]
        arrays["b13"], arrays["b2"] = pair[0][0], pair[1][0]
        biases = pair[0][1], pair[1][1]
    arrays["xq"], arrays["xs"], _ = quantize(values, False, dialect == "sglang-w8a8")
    params = {"dialect": dialect, "tokens": t, "hidden": h, "intermediate": inter, "experts": e,
              "top_k": k, "dtype": dtype, "activation": activation, "bias": bias,
              "bias_dtype": dtype if bias else None, "skip_router_weight": skip_weight}
    y2 = second_stages(arrays, params, biases)
    y = np.zeros((t, h), F32)
    slots = sorted(y2, key=lambda ts: (arrays["ids"][ts], ts[1]) if dialect == "sglang-w8a8"
                   else ts[1])
    for token, slot in slots:
        weight = F32(1) if skip_weight else arrays["tw"][token, slot]
        y[token] = y2[token, slot] * weight + y[token]
    arrays["y"] = to_dtype(y, dtype)[0]
    if dialect == "vllm-w8a8":
        arrays["y_nofma"] = arrays["y"].copy()
    name = f"numpy_moe_{dialect}_{dtype}_{activation}" + ("_bias" if bias else "")
    return name + ("_skip" if skip_weight else ""), params, arrays


def make_activation(kind, rng):
    g, u = (rng.normal(size=200) * 6).astype(F32), (rng.normal(size=200) * 5).astype(F32)
    return (f"numpy_activation_{kind}", {"activation": kind, "dtype": "f32", "count": 200},
            {"g": g, "u": u, "f": gated(kind, g, u)})


# --- int4 weights -------------------------------------------------------------------------------

def int4_tensors(shape, group, zero, size, rng):
    """Weights -8..7, scales, their values in f32, zero points or None; shape [.., K]."""
    rows = shape[:-1] + ((shape[-1] // group,) if group else ())
    scales = rng.uniform(0.3, 1, rows) * size * np.exp2(np.arange(rows[-1]) % 3)
    stored, values = to_dtype(scales, "bf16" if group else "f32")
    z = rng.integers(-8, 8, rows, dtype=np.int8) if zero else None
    return rng.integers(-8, 8, shape, dtype=np.int8), stored, values, z


def int4_product(q, zp, s_x, w, scales, z, group, bias):
    """One row of q with w [N, K], all in f32, groups ascending."""
    n, k = w.shape
    g = group or k
    parts = w.astype(np.int64).reshape(n, k // g, g)
    if z is not None:
        parts = parts - z.astype(np.int64).reshape(n, k // g, 1)
    sums, rowsums = (parts * q.astype(np.int64).reshape(1, k // g, g)).sum(2), parts.sum(2)
    if group:
        left, right = np.zeros(n, F32), np.zeros(n, F32)
        for i in range(k // g):
            left = left + sums[:, i].astype(F32) * scales[:, i]
            right = right + rowsums[:, i].astype(F32) * scales[:, i]
        y = (left - F32(zp) * right) * s_x
    else:
        y = (sums - zp * rowsums)[:, 0].astype(F32) * (s_x * scales)
    return y if bias is None else y + bias


def works_in(dtype, group):
    return "bf16" if dtype == "bf16" and not group else "f32"


def make_int4(dtype, m, n, k, group, zero, bias, rng):
    x, values = to_dtype(rng.normal(size=(m, k)) * np.exp2(np.arange(m) % 5)[:, None] + 0.3, dtype)
    w, stored, scales, z = int4_tensors((n, k), group, zero, 0.05, rng)
    arrays = {"x": x, "w": w, "ws": stored}
    if zero:
        arrays["wz"] = z
    if bias:
        arrays["bias"] = rng.normal(size=n).astype(F32) * F32(3)
    q, s, zp = quantize(values, True, works_in(dtype, group) == "f32")
    y = np.stack([int4_product(q[i], zp[i], s[i], w, scales, z, group, arrays.get("bias"))
                  for i in range(m)])
    arrays.update(xq=q, xs=s, xzp=zp, y=to_dtype(y, dtype)[0])
    params = {"dialect": "vllm-w4a8", "tokens": m, "n": n, "k": k, "dtype": dtype, "bias": bias,
              "group_size": group}
    name = f"numpy_int4_{dtype}_m{m}_n{n}_k{k}_g{group}" + "_zero" * zero + "_bias" * bias
    return name, params, arrays


def int4_activation(kind, y13, w):
    """silu in f32, rounded once; swigluoai rounded to w after every step."""
    half = len(y13) // 2
    g, u = y13[:half], y13[half:]
    if kind == "silu":
        return round_to(gated(kind, g, u), w)
    g, u = np.minimum(g, F32(7)), np.clip(u, F32(-7), F32(7))
    t = round_to(F32(1.702) * g, w).astype(float)
    g = round_to(g * round_to(1 / (1 + np.exp(-t)), w), w)
    return round_to(round_to(u + F32(1), w) * g, w)


def int4_slot(row, arrays, scales, e, kind, group, w):
    """All stages of one row with one expert: {array name: row}, y2 in f32."""
    def stage(v, name, bias):
        q, s, zp = quantize(v[None, :], True, w == "f32")
        z = arrays[name + "z"][e] if name + "z" in arrays else None
        y = int4_product(q[0], zp[0], s[0], arrays[name][e], scales[name][e], z, group,
                         arrays[bias][e] if bias in arrays else None)
        return q[0], s[0], zp[0], round_to(y, w)
    first = stage(row, "w13", "b13")
    act = int4_activation(kind, first[3], w)
    second = stage(act, "w2", "b2")
    names = "xq", "xs", "xzp", "y13", "actq", "acts", "actzp", "y2"
    return dict(zip(names, first + second), act=act)


def make_int4_moe(dtype, kind, group, zero, bias, rng, on_input=False):
    t, h, inter, e, k = 4, 64, 96, 3, 2
    w = works_in(dtype, group)
    x, values = to_dtype(rng.normal(size=(t, h)) * np.exp2(np.arange(t) % 3)[:, None], dtype)
    arrays, scales = {"x": x}, {}
    for name, shape, size in (("w13", (e, 2 * inter, h), 0.03), ("w2", (e, h, inter), 0.02)):
        arrays[name], arrays[name + "s"], scales[name], z = int4_tensors(shape, group, zero, size,
                                                                         rng)
        if zero:
            arrays[name + "z"] = z
        if bias:
            arrays["b13" if name == "w13" else "b2"] = rng.normal(size=shape[:2]).astype(F32)
    arrays["ids"] = rng.integers(0, e, (t, k)).astype(np.int32)
    arrays["tw"] = rng.uniform(0.1, 1, (t, k)).astype(F32)
    weights, y = round_to(arrays["tw"], w), np.zeros((t, h), F32)
    order = sorted((arrays["ids"][at], *at) for at in np.ndindex(t, k))
    rows = []
    for expert, token, slot in order:
        weight, row = weights[token, slot], round_to(values[token], w)
        if on_input:
            row, weight = round_to(row * weight, w), F32(1)
        rows.append(int4_slot(row, arrays, scales, expert, kind, group, w))
        y[token] = round_to(y[token] + round_to(rows[-1]["y2"] * weight, w), w)
    for key in rows[0]:
        rounded = key in ("act", "y13", "y2")
        values = np.stack([r[key] for r in rows])
        arrays[key] = to_dtype(values, w)[0] if rounded else values
    arrays["y"] = to_dtype(y, dtype)[0]
    params = {"dialect": "vllm-w4a8", "tokens": t, "hidden": h, "intermediate": inter,
              "experts": e, "top_k": k, "dtype": dtype, "activation": kind, "bias": bias,
              "group_size": group, "weight_on_input": on_input}
    name = f"numpy_moe_int4_{dtype}_{kind}_g{group}" + "_zero" * zero + "_bias" * bias
    return name + "_input" * on_input, params, arrays


KINDS = ("silu", "gelu", "gelu_tanh", "swigluoai")


def write_folder(folder, cases):
    index = {"format": 1, "byte_order": "little", "cases": []}
    for name, params, arrays in cases:
        blob, table = pack_arrays(arrays)
        (Path(folder) / f"{name}.bin").write_bytes(blob)
        op = ("activation" if "_activation_" in name
              else ("moe_" if "_moe_" in name else "linear_")
              + ("w4a8" if "_int4_" in name else "w8a8"))
        index["cases"].append({"name": name, "file": f"{name}.bin", "op": op,
                               "sha256": hashlib.sha256(blob).hexdigest(), "params": params,
                               "arrays": table})
    (Path(folder) / "index.json").write_text(json.dumps(index))


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60, check=False)


def change(key, array):
    """The array with a small but wrong value in it."""
    if key == "y":
        if array.dtype == F32:
            array.view(np.uint32)[0, 3] += 16
        else:  # two steps: one could be a tie of the last rounding
            array.view(np.uint16)[0, 3] += 2
    elif key == "xs":
        array[0] = np.nextafter(array[0], F32(9))
    elif key == "w":
        array[3] = -array[3] - 1
    elif array.dtype == F32:
        array[0] *= F32(1.5)
    else:
        array.flat[0] += 1
    return array


DIALECTS = [("sglang-w8a8", "bf16"), ("vllm-w8a8", "f32"), ("vllm-w8a8", "bf16"),
            ("vllm-w8a8", "f16"), ("kleidi-w8a8", "f32"), ("kleidi-w8a8", "bf16"),
            ("kleidi-w8a8", "f16")]


class Golden(unittest.TestCase):
    def setUp(self):
        self.assertTrue(PROGRAM.exists(), f"{PROGRAM} is not built")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def judge(self, cases):
        write_folder(self.folder, cases)
        return run(self.folder)

    def test_numpy_agrees(self):
        rng = np.random.default_rng(1)
        cases = [make_case(dialect, dtype, m, n, k, bias, rng)
                 for dialect, dtype in DIALECTS for bias in (False, True)
                 for m, n, k in ((1, 1, 1), (3, 5, 7), (4, 16, 33), (6, 20, 256))]
        result = self.judge(cases)
        self.assertIn(f"golden: {len(cases)} passed, 0 failed, 0 skipped", result.stdout)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_every_change_is_seen(self):
        for dialect, dtype in DIALECTS:
            for key in ("xq", "xs", "xzp", "y", "bias", "ws", "w"):
                name, params, arrays = make_case(dialect, dtype, 3, 5, 64, True,
                                                 np.random.default_rng(2))
                if key not in arrays:
                    continue
                arrays[key] = change(key, arrays[key].copy())
                result = self.judge([(name, params, arrays)])
                self.assertEqual(result.returncode, 1, f"{dialect} {dtype} {key}: {result.stdout}")
                self.assertIn(f"FAIL {name}: ", result.stdout)

    def test_numpy_moe_agrees(self):
        rng = np.random.default_rng(5)
        cases = [make_moe("vllm-w8a8", dtype, kind, bias, rng) for dtype in ("f32", "bf16", "f16")
                 for kind in KINDS for bias in (False, True)]
        cases.append(make_moe("sglang-w8a8", "bf16", "silu", False, rng))
        cases.append(make_moe("vllm-w8a8", "f32", "silu", True, rng, skip_weight=True))
        cases += [make_activation(kind, rng) for kind in KINDS]
        result = self.judge(cases)
        self.assertIn(f"golden: {len(cases)} passed, 0 failed, 0 skipped", result.stdout)

    def test_every_change_of_a_moe_is_seen(self):
        rng = np.random.default_rng(6)
        for dialect, dtype in (("sglang-w8a8", "bf16"), ("vllm-w8a8", "f32"), ("vllm-w8a8", "f16")):
            bias = dialect == "vllm-w8a8"
            name, params, right = make_moe(dialect, dtype, "silu", bias, rng)
            self.assertEqual(self.judge([(name, params, right)]).returncode, 0)
            for key in right:
                arrays = {k: a.copy() for k, a in right.items()}
                if key == "acts":
                    arrays[key] *= F32(1 + 1e-5)
                elif key in ("actq", "xq"):
                    arrays[key][1, 2] += 1 if arrays[key][1, 2] < 0 else -1
                elif key == "ids":
                    arrays[key][:] = (arrays[key] + 1) % 4
                elif arrays[key].dtype in (np.int8, F32):
                    arrays[key][1] = arrays[key][1] * 0.75
                else:  # two steps of a 16-bit float
                    arrays[key].view(np.uint16)[1] += 2
                result = self.judge([(name, params, arrays)])
                self.assertEqual(result.returncode, 1, f"{name} {key}: {result.stdout}")
            for key in ("intermediate", "experts", "top_k"):
                result = self.judge([(name, dict(params, **{key: params[key] + 1}), right)])
                self.assertEqual(result.returncode, 1, key)

    def test_every_change_of_an_activation_is_seen(self):
        for kind in KINDS:
            for key in "guf":
                name, params, arrays = make_activation(kind, np.random.default_rng(7))
                at = np.argmax(np.abs(arrays["f"]) * (arrays["g"] < 6) * (np.abs(arrays["u"]) < 6))
                arrays[key][at] *= F32(1 + 1e-4)
                result = self.judge([(name, params, arrays)])
                self.assertEqual(result.returncode, 1, f"{kind} {key}: {result.stdout}")

    def test_numpy_int4_agrees(self):
        rng = np.random.default_rng(8)
        cases = [make_int4(dtype, m, n, k, group, zero, bias, rng)
                 for dtype in ("f32", "bf16", "f16") for zero in (False, True)
                 for bias in (False, True)
                 for m, n, k, group in ((1, 1, 1, 0), (4, 5, 33, 0), (3, 9, 64, 32),
                                        (2, 6, 192, 96), (2, 4, 1024, 32), (2, 3, 64, 64))]
        cases += [make_int4_moe(dtype, kind, group, zero, not zero, rng, on_input)
                  for dtype in ("f32", "bf16", "f16") for kind in ("silu", "swigluoai")
                  for group in (0, 32) for zero in (False, True) for on_input in (False, True)]
        result = self.judge(cases)
        self.assertIn(f"golden: {len(cases)} passed, 0 failed, 0 skipped", result.stdout)

    def test_every_change_of_int4_is_seen(self):
        rng = np.random.default_rng(9)
        for dtype in ("f32", "bf16"):
            for group in (0, 32):
                for name, params, right in (
                        make_int4(dtype, 3, 5, 64, group, True, True, rng),
                        make_int4_moe(dtype, "silu", group, True, True, rng)):
                    self.assertEqual(self.judge([(name, params, right)]).returncode, 0, name)
                    for key in right:
                        self.see_change(name, params, right, key)

    def see_change(self, name, params, right, key):
        """The case with one row of array `key` changed fails."""
        arrays = {k: a.copy() for k, a in right.items()}
        a = arrays[key]
        if key == "ids":
            a[:] = (a + 1) % 3
        elif a.dtype == np.int8:  # int4 and q alike stay in range
            a[1] = np.where(a[1] < 0, a[1] + 1, a[1] - 1)
        elif a.dtype == np.int32:
            a[1] += 1
        elif a.dtype == F32:
            a[1] *= F32(1 + (2e-4 if params["dtype"] == "f32" else 2e-2))
        else:  # two steps of a 16-bit float
            a.view(np.uint16)[1] += 2
        result = self.judge([(name, params, arrays)])
        self.assertEqual(result.returncode, 1, f"{name} {key}: {result.stdout}")
        self.assertIn(f"FAIL {name}: ", result.stdout)

    def test_outputs_that_are_all_wrong(self):
        for dialect, dtype in DIALECTS:
            for value in (0.0, np.nan, np.inf):
                case = make_case(dialect, dtype, 3, 5, 64, True, np.random.default_rng(3))
                y = case[2]["y"]
                nan_or_inf = {"bf16": 0x7FC0 if value != value else 0x7F80}
                case[2]["y"] = np.full_like(y, nan_or_inf[dtype] if dtype == "bf16" and value != 0
                                            else value)
                result = self.judge([case])
                self.assertEqual(result.returncode, 1, f"{dialect} {dtype} {value}")
                self.assertIn("y[0][0]", result.stdout)

    def test_own_data_changed(self):
        shutil.copytree(GOLDEN, self.folder / "g")
        folder = self.folder / "g"
        index = json.loads((folder / "index.json").read_text())
        self.assertEqual(run(folder).returncode, 0)
        case = index["cases"][0]
        blob = bytearray((folder / case["file"]).read_bytes())
        blob[case["arrays"]["xq"]["offset"]] ^= 1
        (folder / case["file"]).write_bytes(bytes(blob))
        result = run(folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"FAIL {case['name']}: xq[0][0]", result.stdout)
        self.assertIn(f"{len(index['cases']) - 1} passed, 1 failed", result.stdout)

    def test_damaged_folders(self):
        self.assertEqual(run(self.folder / "nowhere").returncode, 2)
        self.assertEqual(run("--nonsense").returncode, 2)
        self.assertEqual(run("a", "b").returncode, 2)
        name, params, arrays = make_case("vllm-w8a8", "f32", 2, 3, 8, False,
                                         np.random.default_rng(4))
        write_folder(self.folder, [(name, params, arrays)])
        blob = (self.folder / f"{name}.bin").read_bytes()
        (self.folder / f"{name}.bin").write_bytes(blob[:100])
        self.assertIn("outside the file", run(self.folder).stdout)
        write_folder(self.folder, [(name, dict(params, n=4), arrays)])
        self.assertIn("expected", run(self.folder).stdout)
        write_folder(self.folder, [(name, dict(params, dialect="bf16"), arrays)])
        self.assertEqual(run(self.folder).returncode, 1)

    def test_nothing_judged_is_not_success(self):
        (self.folder / "index.json").write_text('{"cases": [{"name": "a", "op": "moe_w2a8",'
                                                ' "file": "a.bin", "params": {}}]}')
        result = run(self.folder)
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertIn("skip a: ", result.stdout)


if __name__ == "__main__":
    unittest.main()
