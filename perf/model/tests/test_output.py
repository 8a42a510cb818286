# SPDX-License-Identifier: Apache-2.0
"""Figures that are printed and written: hand-computed."""

import unittest
from collections import Counter
from types import SimpleNamespace
from unittest import mock

from perf.model import output
from perf.model.cores import CORES
from perf.model.estimate import Model
from perf.model.mca import Cost
from perf.model.modelled import Modelled
from perf.model.suites import Series
from perf.model.tests.fakes import FakeMca, block, counted

HOT = block(0x100, "hot", "smmla v0.4s, v1.16b, v2.16b", "b.ne #0", function="tile")
WARM = block(0x200, "warm", "ret", function="pack")
MCA = FakeMca({"hot": Cost(2.0, 1.5, {"V": 1.0, "L": 0.5}), "warm": Cost(4.0, 3.0, {})})
CASE = "linear_w8a8 tokens=1 n=8 k=16{} seed=1"


def modelled(segments, **about):
    """512 MAC, unless told otherwise; the issue limit is 64 MAC a cycle."""
    case = counted(segments, **{"mac": 512, "case": CASE.format(""), **about})
    model = Model(MCA)
    return Modelled(case, {core.name: model.estimate(case, core) for core in CORES})


ONE = modelled({(0, 0): Counter({HOT: 10, WARM: 5})})  # 10 * 2 + 5 * 4 = 40 cycles
TWO = modelled({(0, 0): Counter({WARM: 1}), (1, 0): Counter({HOT: 8}), (1, 1): Counter({HOT: 2})},
               threads=2, case=CASE.format(" threads=2"))  # 4 + 8 * 2 = 20 cycles
SERIES = Series("a curve", "threads", "i8mm", "")


class Figures(unittest.TestCase):
    def test_share_of_the_limit_is_of_all_threads(self):
        self.assertAlmostEqual(output.share_of_limit(ONE, ONE.on("N2")), 100 * 512 / 40 / 64)
        self.assertAlmostEqual(output.share_of_limit(TWO, TWO.on("N2")), 100 * 512 / 20 / 64 / 2)

    def test_counters(self):
        found = output._counters(ONE, ONE.on("N2"))
        self.assertEqual(found["MAC/byte"], 512 / 256)
        self.assertEqual(found["instructions"], 10 * 3 + 5 * 2)
        self.assertEqual(found["instructions/MAC"], 40 / 512)
        self.assertEqual(found["modelled cycles"], 40)
        self.assertEqual(found["modelled issue cycles"], 10 * 1.5 + 5 * 3)
        self.assertEqual(found["modelled MAC/cycle"], 512 / 40)
        self.assertEqual(found["bytes touched"], 64 + 128)
        self.assertEqual(found["packed bytes touched"], 128)
        self.assertEqual(found["issue limit MAC/cycle"], 64)

    def test_curves_are_per_core(self):
        curve = SimpleNamespace(series=SERIES, rows=[ONE, TWO])
        points = output._curve_json(curve)["points"]
        self.assertEqual([(point["at"], point["workspace"]) for point in points],
                         [(1, 64), (2, 64)])
        for key in ("cycles/MAC", "compute cycles/MAC"):
            self.assertEqual([point[key]["neoverse-n2"] for point in points],
                             [40 / 512, 2 * 20 / 512])
        table = [line.split() for line in output.curve_table(curve, ["N2"]).splitlines()]
        self.assertEqual(table[1:], [["1", "64", "0.07812", "0.07812"],
                                     ["2", "64", "0.07812", "0.07812"]])

    def test_no_file_looks_like_a_measurement(self):
        with mock.patch.object(output.mca, "version", lambda: "19"), \
                mock.patch.object(output.runner, "emulator_version", lambda: "7"):
            data = output.as_json(output.Answer([ONE], {}, [], []))
        context = data["context"]
        self.assertEqual((context["armq_emulated"], context["time_is_performance"]),
                         ("true", "false"))
        self.assertIn("Modelled, not measured", context["armq_modelled"])
        for row in data["benchmarks"]:
            self.assertTrue(row["label"].startswith("modelled on "))


if __name__ == "__main__":
    unittest.main()
