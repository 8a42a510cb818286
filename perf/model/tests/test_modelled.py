# SPDX-License-Identifier: Apache-2.0
"""Which case is compared with which, and which way round."""

import unittest
from types import SimpleNamespace

from perf.model.cores import CORES
from perf.model.modelled import Modelled, add_baselines

LINEAR = "tokens=1 n=8 k=16"
MOE = "tokens=1 hidden=8 intermediate=16 experts=4 top_k=2"


def row(provider, case, cycles):
    counted = SimpleNamespace(provider=provider, case=f"{case} seed=1")
    estimate = None if cycles is None else SimpleNamespace(cycles=cycles)
    return Modelled(counted, {core.name: estimate for core in CORES})


class Baselines(unittest.TestCase):
    def speed_up(self, first, *others):
        add_baselines([first, *others])
        return first.speed_up("N2")

    def test_cycles_of_bf16_over_those_of_the_case(self):
        for case in (f"linear_w8a8 {LINEAR}", f"linear_w4a8 {LINEAR} group_size=8"):
            self.assertEqual(self.speed_up(row("i8mm", case, 100),
                                           row("bf16", f"linear_bf16 {LINEAR}", 180)), 1.8)

    def test_the_tier_with_bf16_instructions_comes_first(self):
        rows = [row("bf16", f"linear_bf16 {LINEAR}", 180),
                row("neon", f"linear_bf16 {LINEAR}", 900)]
        for others in (rows, rows[::-1]):
            self.assertEqual(self.speed_up(row("i8mm", f"linear_w8a8 {LINEAR}", 100), *others), 1.8)
        self.assertEqual(self.speed_up(row("i8mm", f"linear_w8a8 {LINEAR}", 100), rows[1]), 9)

    def test_another_problem_is_no_baseline(self):
        first = row("i8mm", f"moe_w8a8 {MOE} routing=balanced", 100)
        for other in (f"moe_bf16 {MOE}", f"moe_bf16 {MOE} routing=one",
                      f"moe_bf16 {MOE} routing=balanced threads=2",
                      f"moe_bf16 {MOE.replace('top_k=2', 'top_k=3')} routing=balanced",
                      f"moe_bf16 {MOE} routing=balanced activation=swigluoai"):
            self.assertIsNone(self.speed_up(first, row("bf16", other, 180)), other)
        self.assertEqual(self.speed_up(first, row("bf16", f"moe_bf16 {MOE} routing=balanced", 180)),
                         1.8)

    def test_none_without_a_baseline_on_the_core(self):
        self.assertIsNone(self.speed_up(row("i8mm", f"linear_w8a8 {LINEAR}", 100),
                                        row("bf16", f"linear_bf16 {LINEAR}", None)))
        baseline = row("bf16", f"linear_bf16 {LINEAR}", 180)
        self.assertIsNone(self.speed_up(baseline))


if __name__ == "__main__":
    unittest.main()
