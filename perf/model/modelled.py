# SPDX-License-Identifier: Apache-2.0
"""Cases with their estimates, next to the bf16 cases that they are compared with."""

from dataclasses import dataclass

from perf.model.cores import BY_NAME, CORES
from perf.model.estimate import Model

# Words of a case that make up its problem, whatever the format of the weights.
_SHAPE = ("tokens", "n", "k", "hidden", "intermediate", "experts", "top_k", "in", "out", "routing",
          "activation", "threads", "caches")


@dataclass
class Modelled:
    """A counted case and its estimates."""

    counted: object
    estimates: dict  # name of the core -> Estimate, or None where the provider does not run
    baseline: object = None  # Modelled: the bf16 op of the same shape

    def on(self, core):
        """core: its name, long or short."""
        return self.estimates[BY_NAME[core].name]

    def speed_up(self, core):
        """Over bf16; None without one."""
        if self.baseline is None or self.baseline.on(core) is None:
            return None
        return self.baseline.on(core).cycles / self.on(core).cycles

    @property
    def key(self):
        return self.provider, self.case

    @property
    def provider(self):
        return self.counted.provider

    @property
    def case(self):
        return self.counted.case

    @property
    def macs(self):
        return self.counted.about["mac"]

    @property
    def threads(self):
        return self.counted.about["threads"]

    @property
    def workspace(self):
        return self.counted.about["workspace"]

    @property
    def instructions(self):
        return self.counted.instructions

    @property
    def touched(self):
        return self.counted.touched


def problem(case):
    """(op without its format, shape) of a case's text."""
    words = case.split()
    keys = dict(word.split("=", 1) for word in words[1:])
    return words[0].rsplit("_", 1)[0], tuple(keys.get(key) for key in _SHAPE)


def add_baselines(modelled):
    """The bf16 op of the same shape: on the tier bf16, or else what neon makes of it."""
    found = {}
    for provider in ("neon", "bf16"):
        found.update({problem(row.case): row for row in modelled
                      if row.provider == provider and "_bf16 " in row.case})
    for row in modelled:
        if "_w8a8 " in row.case or "_w4a8 " in row.case:
            row.baseline = found.get(problem(row.case))


def model_all(runner, costs, jobs, parallel):
    """(list of Modelled, refused)"""
    results = runner.run_all(jobs, parallel)
    model = Model(costs)
    model.measure(results.counted)
    modelled = [Modelled(counted, {core.name: model.estimate(counted, core) for core in CORES})
                for counted in results.counted]
    add_baselines(modelled)
    return modelled, results.refused
