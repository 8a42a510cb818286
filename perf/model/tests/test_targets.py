# SPDX-License-Identifier: Apache-2.0
"""Targets are seen to be met, missed and not available."""

import unittest
from collections import Counter
from types import SimpleNamespace

from perf.model.estimate import Function, Loop
from perf.model.targets import (ABSENT, MET, MISSED, TARGETS, Target, growth,
                                instructions_per_mac, issue_rate, judge, loop_share, rate,
                                rate_share, speed_up, tile_share, weight_bytes, workspace_growth)


def row(macs=6400, cycles=100.0, peak=64, tile_cycles=100.0, tile_macs=6400, instructions=640,
        packed=1000, loop=None, covered=1.0,
        threads=1, workspace=1, issue=100.0):
    """A Modelled with the same estimate on every core."""
    estimate = SimpleNamespace(cycles=cycles, peak=peak, loop=loop, covered=covered, issue=issue,
                               functions=[Function("tile", 1, tile_cycles, tile_macs)])
    return SimpleNamespace(provider="i8mm", threads=threads, workspace=workspace, macs=macs,
                           instructions=instructions, touched={"packed": packed},
                           on=lambda core: estimate)


class Values(unittest.TestCase):
    def test_tile(self):
        self.assertAlmostEqual(tile_share([row(tile_cycles=105)], "N2"), 100 / 1.05)
        # Padding is no work, and what another function multiplied is not the tile's.
        self.assertAlmostEqual(tile_share([row(tile_macs=9999)], "N2"), 100)
        self.assertAlmostEqual(tile_share([row(tile_macs=3200, tile_cycles=50)], "N2"), 100)
        self.assertAlmostEqual(tile_share([row(), row(tile_cycles=200)], "N2"), 50)

    def test_rates(self):
        self.assertEqual(rate([row(cycles=100), row(cycles=128)], "N2"), 50)
        self.assertEqual(issue_rate([row(issue=50), row(issue=80)], "N2"), 80)
        self.assertEqual(speed_up([row(cycles=50), row(cycles=100)], "N2"), 2)
        self.assertEqual(rate_share([row(cycles=125), row(cycles=100)], "N2"), 80)
        self.assertEqual(weight_bytes([row(packed=2000), row(packed=1000)], "N2"), 2)
        self.assertEqual(instructions_per_mac([row(), row(instructions=1280)], "N2"), 0.2)

    def test_growth(self):
        # 100 / 6400, 120 / 6400 and 40 * 4 / 6400 cycles per MAC and core
        rows = [row(), row(cycles=120), row(cycles=40, threads=4)]
        self.assertAlmostEqual(growth(rows, "N2"), 1.6)
        self.assertEqual(growth([row(), row(cycles=200, macs=12800)], "N2"), 1)
        self.assertEqual(workspace_growth([row(workspace=8), row(workspace=6)], "N2"), 8 / 6)

    def test_loop(self):
        loop = Loop("tile", (), 12.0, 10.0, 8.0, 9.5)
        self.assertAlmostEqual(loop_share([row(loop=loop)], "N2"), 95)


class Verdicts(unittest.TestCase):
    def judge(self, goal, at_least=True, answer=None):
        target = Target("what", ("N2", "V2"), at_least, goal, "MAC/cycle", (("i8mm", "a case"),),
                        rate)
        return judge(target, lambda provider, line: answer or [row()])

    def states(self, *arguments, **keywords):
        return [verdict.state for verdict in self.judge(*arguments, **keywords)]

    def test_met_and_missed(self):
        self.assertEqual(self.states(63.9), [MET, MET])
        self.assertEqual(self.states(64), [MET, MET])
        self.assertEqual(self.states(64.1), [MISSED, MISSED])
        self.assertEqual(self.states(64.1, at_least=False), [MET, MET])
        self.assertEqual(self.states(64, at_least=False), [MET, MET])
        self.assertEqual(self.states(63.9, at_least=False), [MISSED, MISSED])

    def test_what_a_provider_refuses_is_never_met(self):
        for goal in (0, 1e9):
            verdicts = self.judge(goal, answer="it does not do that")
            self.assertEqual([v.state for v in verdicts], [ABSENT, ABSENT])
            self.assertEqual(verdicts[0].reason, "i8mm: it does not do that")
            self.assertIsNone(verdicts[0].value)

    def test_what_llvm_mca_does_not_know_is_not_judged(self):
        for goal in (0, 1e9):
            verdicts = self.judge(goal, answer=[row(), row(covered=0.98)])
            self.assertEqual([v.state for v in verdicts], [ABSENT, ABSENT])
            self.assertIn("llvm-mca knows 98.0 % of the instructions", verdicts[0].reason)
        self.assertEqual(self.states(64, answer=[row(covered=0.99)]), [MET, MET])
        nothing = row()
        nothing.on = lambda core: None
        verdicts = self.judge(0, answer=[nothing])
        self.assertEqual([v.state for v in verdicts], [ABSENT, ABSENT])
        self.assertIn("no model of its instructions", verdicts[0].reason)

    def test_a_value_that_is_no_number_is_not_met(self):
        self.assertEqual(self.states(1, answer=[row(macs=float("nan"))]), [MISSED, MISSED])
        self.assertEqual(self.states(1, at_least=False, answer=[row(macs=float("nan"))]),
                         [MISSED, MISSED])

    def test_every_target_can_be_missed(self):
        """Each target of the table, on rows that are ten times too slow, or just bad."""
        bad = Loop("tile", (), 12.0, 10.0, 1.0, 1.0)
        slow = row(cycles=1e5, tile_cycles=1e5, instructions=10**6, loop=bad, workspace=10,
                   issue=1e5)
        for target in TARGETS:
            rows = {case: [slow] for case in target.cases}
            found = judge(target, lambda provider, line, rows=rows: rows[provider, line])
            if target.value is rate_share:  # the second may not be as slow
                rows[target.cases[1]] = [row()]
                found = judge(target, lambda provider, line, rows=rows: rows[provider, line])
            if target.value in (growth, workspace_growth):  # all the same is flat
                rows[target.cases[0]] = [row(), slow]
                found = judge(target, lambda provider, line, rows=rows: rows[provider, line])
            with self.subTest(target.what):
                self.assertEqual(Counter(v.state for v in found), {MISSED: len(target.cores)})


if __name__ == "__main__":
    unittest.main()
