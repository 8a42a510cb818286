"""The golden vectors are what oracle.py says, byte for byte, and the middle of what the C reference
says.

Needs armq-golden of this machine in build/.
"""
import json
import math
import platform
import re
import subprocess
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

import numpy as np

from reference import golden_vectors, oracle

PROGRAM = Path(__file__).resolve().parents[2] / "build" / platform.machine() / "armq-golden"
FOLDER = golden_vectors.FOLDER


class Vectors(unittest.TestCase):
    def test_come_out_byte_for_byte(self):
        with tempfile.TemporaryDirectory() as folder:
            golden_vectors.write(folder)
            names = sorted(p.name for p in Path(folder).iterdir())
            self.assertEqual(names, sorted(p.name for p in FOLDER.iterdir()
                                           if p.suffix in (".bin", ".json")))
            for name in names:
                self.assertEqual((Path(folder) / name).read_bytes(), (FOLDER / name).read_bytes(),
                                 name)

    def test_are_small(self):
        self.assertLess(sum(p.stat().st_size for p in FOLDER.iterdir()), 400_000)

    def test_hold_every_op_dialect_and_dtype(self):
        cases = json.loads((FOLDER / "index.json").read_text())["cases"]
        had = {(c["op"], c["params"]["dialect"], c["params"]["dtype"]) for c in cases}
        for op, dialects in {"quantize": golden_vectors.W8A8, "linear_w8a8": golden_vectors.W8A8,
                             "moe_w8a8": golden_vectors.W8A8[:4]}.items():
            self.assertLessEqual({(op, *d) for d in dialects}, had)
        for dtype in golden_vectors.FLOATS:
            for op, dialect in (("linear_w4a8", "vllm-w4a8"), ("moe_w4a8", "vllm-w4a8"),
                                ("activation", "vllm-w8a8"), ("activation", "vllm-w4a8"),
                                ("linear_bf16", "bf16"), ("moe_bf16", "bf16")):
                self.assertIn((op, dialect, dtype), had)
        self.assertLessEqual({("gemm_s8s8s32", "exact", "s8"), ("gemm_s8s4s32", "exact", "s8")},
                             had)
        self.assertEqual(len({c["name"] for c in cases}), len(cases))

    def test_are_the_middle_of_the_reference(self):
        """No vector uses anything of a half-width: both computed the same number."""
        result = subprocess.run([PROGRAM, FOLDER], stdout=subprocess.PIPE, text=True, timeout=60,
                                check=False)
        count = len(json.loads((FOLDER / "index.json").read_text())["cases"])
        self.assertIn(f"golden: {count} passed, 0 failed, 0 skipped", result.stdout)
        self.assertEqual(result.returncode, 0)
        used = re.findall(r"largest use of the half-width (\S+)\)", result.stdout)
        self.assertEqual(used, ["0.00"] * count)


class Oracle(unittest.TestCase):
    def test_rounds_as_numpy_does(self):
        rng = np.random.default_rng(1)
        values = np.concatenate([rng.normal(size=400) * np.exp2(rng.integers(-60, 14, 400)),
                                 [0.0, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 2.0**-24, 2.0**-25 * 1.01,
                                  2.0**-140, -(1 + 2.0**-11), 65503.0]])
        for dtype in ("f32", "bf16", "f16"):
            usable = values[np.abs(values) < 6e4]
            # In bf16 by way of f32: only where that is exact.
            usable = usable.astype(np.float32).astype(float) if dtype == "bf16" else usable
            wanted = oracle.to_dtype(usable, dtype)[1]
            got = [float(oracle.nearest(Fraction(v), dtype)) for v in usable]
            np.testing.assert_array_equal(np.array(got, np.float32), wanted)

    def test_functions_agree_with_libm(self):
        for x in (-30.0, -6.5, -1.25, -0.01, 0.0, 0.3, 2.0, 5.5, 11.9, 12.5, 40.0):
            gate = Fraction(x)
            wanted = {"silu": x / (1 + math.exp(-x)),
                      "gelu": x * math.erfc(-x / math.sqrt(2)) / 2,
                      "gelu_tanh": x / (1 + math.exp(-2 * math.sqrt(2 / math.pi)
                                                     * (x + 0.044715 * x ** 3)))
                      if x > -10 else 0}
            for kind, value in wanted.items():
                self.assertAlmostEqual(float(oracle.activation(kind, gate)), value,
                                       delta=1e-14 * abs(x) + 1e-300, msg=f"{kind} {x}")


if __name__ == "__main__":
    unittest.main()
