"""armq-golden and the reference behind it, judged from outside.

Cases are made here with a NumPy implementation that shares no code with the reference, written in
the format of reference/golden and given to the program, once as they are and once with one value
changed. Needs the program of this machine in build/.
"""
import hashlib
import json
import platform
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / platform.machine() / "armq-golden"
GOLDEN = ROOT / "reference" / "golden"
F32 = np.float32
NAMES = {np.dtype(np.int8): "i8", np.dtype(np.int32): "i32", np.dtype(F32): "f32"}


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
    stored = np.asarray(values, dict(f32=F32, f16=np.float16)[dtype])
    return stored, stored.astype(F32)


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


def write_folder(folder, cases):
    index = {"format": 1, "byte_order": "little", "cases": []}
    for name, params, arrays in cases:
        blob, table = b"", {}
        for key, a in arrays.items():
            a = np.ascontiguousarray(a)
            blob += b"\0" * (-len(blob) % 64)
            dtype = NAMES.get(a.dtype, params["dtype"])
            table[key] = {"dtype": dtype, "shape": list(a.shape), "offset": len(blob),
                          "nbytes": a.nbytes}
            blob += a.tobytes()
        (Path(folder) / f"{name}.bin").write_bytes(blob)
        index["cases"].append({"name": name, "file": f"{name}.bin", "op": "linear_w8a8",
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
        (self.folder / "index.json").write_text('{"cases": [{"name": "a", "op": "moe_bf16",'
                                                ' "file": "a.bin", "params": {}}]}')
        result = run(self.folder)
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertIn("skip a: ", result.stdout)


if __name__ == "__main__":
    unittest.main()
