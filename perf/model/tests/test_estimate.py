# SPDX-License-Identifier: Apache-2.0
"""Modelled time from counts: hand-computed."""

import unittest
from collections import Counter

from perf.model.cores import BY_NAME, memory_cycles, runs_on
from perf.model.estimate import Model, critical_path, hottest
from perf.model.mca import Cost
from perf.model.tests.fakes import FakeMca, block, counted

HOT = block(0x100, "hot", "smmla v0.4s, v1.16b, v2.16b", "b.ne #0", function="tile")
WARM = block(0x200, "warm", "ret", function="tile")
RARE = block(0x300, "rare", function="other")
COSTS = {"hot": Cost(2.0, 1.5, {"V": 1.0, "L": 0.5}),
         "warm": Cost(3.0, 3.0, {}), "rare": None}


class Time(unittest.TestCase):
    def test_the_slowest_thread_of_a_region_counts(self):
        self.assertEqual(critical_path({(0, 0): 10}), 10)
        self.assertEqual(critical_path({(0, 0): 10, (1, 0): 5, (1, 1): 8, (2, 0): 1, (2, 1): 0}),
                         10 + 8 + 1)
        self.assertEqual(critical_path({}), 0)

    def test_memory_is_shared_by_the_cores_of_a_socket(self):
        n1 = BY_NAME["N1"]  # 2.5 GHz, 20.9 GB/s a core, 169.6 GB/s a socket
        self.assertAlmostEqual(memory_cycles(n1, 20.9e9, 1), 2.5e9)
        self.assertAlmostEqual(memory_cycles(n1, 20.9e9, 2), 1.25e9)
        self.assertAlmostEqual(memory_cycles(n1, 169.6e9, 64), 2.5e9)

    def test_hottest_blocks_first_until_the_share_is_held(self):
        totals = Counter({HOT: 100, WARM: 45, RARE: 10})  # 300, 90 and 10 instructions
        self.assertEqual(hottest(totals, 0.70), [HOT])
        self.assertEqual(hottest(totals, 0.75), [HOT])
        self.assertEqual(hottest(totals, 0.76), [HOT, WARM])
        self.assertEqual(hottest(totals, 1), [HOT, WARM, RARE])

    def estimate(self, segments, **about):
        return Model(FakeMca(COSTS)).estimate(counted(segments, **about), BY_NAME["N2"])

    def test_cycles_are_costs_times_counts(self):
        e = self.estimate({(0, 0): Counter({HOT: 100, WARM: 50})})
        self.assertEqual(e.compute, 100 * 2.0 + 50 * 3.0)
        self.assertEqual(e.issue, 100 * 1.5 + 50 * 3.0)
        self.assertEqual(e.work, e.compute)
        self.assertEqual(e.covered, 1)
        self.assertEqual([(f.name, f.instructions, f.cycles, f.macs) for f in e.functions],
                         [("tile", 400, 350, 100 * 32)])

    def test_what_is_not_known_is_taken_as_average(self):
        e = self.estimate({(0, 0): Counter({HOT: 100, RARE: 60})})
        self.assertAlmostEqual(e.covered, 300 / 360)
        self.assertAlmostEqual(e.compute, 200 * 360 / 300)
        self.assertAlmostEqual(e.issue, 150 * 360 / 300)

    def test_nothing_known_gives_no_estimate(self):
        self.assertIsNone(self.estimate({(0, 0): Counter({RARE: 60})}))

    def test_threads(self):
        e = self.estimate({(0, 0): Counter({WARM: 1}), (1, 0): Counter({HOT: 10}),
                           (1, 1): Counter({HOT: 8})}, threads=2)
        self.assertEqual(e.compute, 3 + 20)
        self.assertEqual(e.work, 3 + 20 + 16)

    def test_the_larger_of_computation_and_memory(self):
        segments = {(0, 0): Counter({HOT: 100})}
        small = self.estimate(segments, touched={"packed": 64, "workspace": 10**9})
        self.assertEqual((small.bound, small.cycles), ("compute", 200))
        large = self.estimate(segments, touched={"packed": 20900})
        self.assertEqual(large.bound, "memory")
        self.assertAlmostEqual(large.cycles, 20900 * 3.2 / 20.9)
        four = self.estimate(segments, touched={"packed": 20900}, threads=4)
        self.assertAlmostEqual(four.cycles, 20900 * 3.2 / (4 * 20.9))

    def test_share_of_the_binding_pipes(self):
        loop = self.estimate({(0, 0): Counter({HOT: 100})}).loop
        self.assertEqual(loop.binding, "vector pipes")
        self.assertAlmostEqual(loop.vectors, 1.0)
        self.assertAlmostEqual(loop.loads, 0.5)
        self.assertAlmostEqual(loop.share, 1.0 / 1.5)

    def test_tiers_are_modelled_on_cores_that_have_them(self):
        self.assertFalse(runs_on("i8mm", BY_NAME["N1"]))
        self.assertTrue(runs_on("dotprod", BY_NAME["N1"]))
        self.assertTrue(runs_on("somebody's", BY_NAME["N1"]))
        model = Model(FakeMca(COSTS))
        case = counted({(0, 0): Counter({HOT: 1})})
        self.assertIsNone(model.estimate(case, BY_NAME["N1"]))
        self.assertEqual(model.peak(BY_NAME["N2"], "i8mm"), 24 * 32 / 12)
        self.assertIsNone(model.peak(BY_NAME["N2"], "neon"))


if __name__ == "__main__":
    unittest.main()
