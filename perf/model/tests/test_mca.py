# SPDX-License-Identifier: Apache-2.0
"""Costs of blocks whose cycles are known."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from perf.model import mca
from perf.model.cores import CORES, MACS, MULTIPLY, peak_text, runs_on
from perf.model.mca import Cost, Mca, McaError, source_of

# MAC per cycle that the vector pipes allow: Arm's software optimisation guides.
LIMITS = {"neoverse-n1": {"sdot": 32},
          "neoverse-n2": {"smmla": 64, "sdot": 32, "bfmmla": 32},
          "neoverse-v1": {"smmla": 128, "sdot": 64, "bfmmla": 64},
          "neoverse-v2": {"smmla": 128, "sdot": 64, "bfmmla": 64}}


class Costs(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.cache = Path(directory.name) / "mca"
        self.mca = Mca(self.cache)

    def cost(self, core, *text):
        self.mca.measure(core, [text])
        return self.mca.cost(core, text)

    def test_limits_of_the_multiply_instructions(self):
        for core in CORES:
            found = {}
            for provider, name in MULTIPLY.items():
                if runs_on(provider, core):
                    text = peak_text(name)
                    found[name] = MACS[name] * len(text) / self.cost(core.name, *text).issue
            self.assertEqual(found, LIMITS[core.name])

    def test_throughput_and_dependence(self):
        # Two vector pipes; a chain waits for each result, 2 cycles for an addition.
        apart = [f"add v{i}.4s, v{i}.4s, v31.4s" for i in range(8)]
        chain = ["add v0.4s, v0.4s, v31.4s"] * 8
        self.assertEqual(self.cost("neoverse-n2", *apart).cycles, 4)
        self.assertEqual(self.cost("neoverse-n2", *chain).cycles, 16)
        self.assertEqual(self.cost("neoverse-n2", *chain).issue, 4)

    def test_the_start_of_the_pipeline_is_left_out(self):
        # One load: a few cycles of latency once, a third of a cycle for each further one.
        self.assertAlmostEqual(self.cost("neoverse-n2", "ldr q0, [x0]").cycles, 1 / 3, places=2)

    def test_calls_are_jumps(self):
        self.assertEqual(source_of(("bl #0", "blr x3", "blx", "sub x0, x0, x1")),
                         ["b #0", "br x3", "blx", "sub x0, x0, x1"])
        for core in CORES:
            self.assertLess(self.cost(core.name, "add x0, x0, x1", "bl #0").cycles, 3)
            self.assertLess(self.cost(core.name, "add x0, x0, x1", "blr x3").cycles, 3)

    def test_pipes(self):
        cost = self.cost("neoverse-n2", "ldr q0, [x0]", "ldr q1, [x0]", "ldr q2, [x0]",
                         "smmla v3.4s, v4.16b, v5.16b")
        self.assertAlmostEqual(cost.pipes["L"], 1, places=5)
        self.assertAlmostEqual(cost.pipes["V"], 0.5, places=5)
        self.assertEqual(mca.by_kind({"N2UnitV0": 3, "N2UnitV1": 1, "N2UnitL01.\0": 1,
                                      "N2UnitL01.\1": 2, "N2UnitL2": 6}), {"V": 2, "L": 3})

    def test_issue_adds_up_what_shares_pipes(self):
        # Shifts go to one of the two vector pipes, multiplications to both: 4 + 12 on two pipes.
        text = [f"shl v{i}.16b, v30.16b, #4" for i in range(4)]
        text += [f"sdot v{i}.4s, v30.16b, v31.16b" for i in range(4, 16)]
        self.assertAlmostEqual(self.cost("neoverse-n2", *text).issue, 8, places=5)

    def test_unknown_instructions_have_no_cost_and_spoil_no_others(self):
        strange, plain = ("whatever x0",), ("add x0, x0, x1",)
        self.mca.measure("neoverse-n1", [strange, plain])
        self.assertIsNone(self.mca.cost("neoverse-n1", strange))
        self.assertEqual(self.mca.cost("neoverse-n1", plain).cycles, 1)
        self.assertIn(("neoverse-n1", strange), self.mca.failed)

    def test_results_are_kept(self):
        before = self.cost("neoverse-v2", "add x0, x0, x1")
        again = Mca(self.cache)
        with mock.patch.object(Mca, "_run", side_effect=AssertionError("asked again")):
            again.measure("neoverse-v2", [("add x0, x0, x1",)])
        self.assertEqual(again.cost("neoverse-v2", ("add x0, x0, x1",)), before)
        self.assertIsInstance(before, Cost)

    def test_a_damaged_cache_is_not_believed(self):
        before = self.cost("neoverse-v2", "add x0, x0, x1")
        for path in self.cache.iterdir():
            path.write_text('{"cut": [1', encoding="ascii")
        again = Mca(self.cache)
        again.measure("neoverse-v2", [("add x0, x0, x1",)])
        self.assertEqual(again.cost("neoverse-v2", ("add x0, x0, x1",)), before)

    def test_without_llvm_mca_the_package_is_named(self):
        mca.version.cache_clear()
        self.addCleanup(mca.version.cache_clear)
        with mock.patch.object(mca, "MCA", "no-such-program"), \
                self.assertRaisesRegex(McaError, "llvm-19"):
            mca.version()


if __name__ == "__main__":
    unittest.main()
