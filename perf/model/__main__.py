# SPDX-License-Identifier: Apache-2.0
"""Models cases: instructions counted under QEMU, cycles from llvm-mca.

    python3 -B -m perf.model [--suite default|tiles|short] [--provider P[,P] CASE...]

Exit status: 0 modelled, 1 with --strict: a target was missed, 2 usage or something does not run.
"""

import argparse
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from perf.model import output, suites
from perf.model.cores import BY_NAME, CORES
from perf.model.estimate import Model
from perf.model.mca import Mca, McaError
from perf.model.runner import Runner, RunError
from perf.model.targets import MET, MISSED, TARGETS, judge

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


def judge_all(targets, runner, modelled, refused):
    rows = {(row.provider, row.case): row for row in modelled}

    def find(provider, line):
        answer = []
        for job in runner.expand([provider], [line]):
            key = job.provider, job.case
            if key in refused:
                return refused[key]
            answer.append(rows[key])
        return answer

    return [verdict for target in targets for verdict in judge(target, find)]


def jobs_of(options, runner, targets):
    if options.cases:
        return runner.expand(options.provider, options.cases)
    jobs = [job for target in targets for provider, line in target.cases
            for job in runner.expand([provider], [line])]
    for providers, line in suites.SUITES[options.suite]:
        jobs += runner.expand(providers, [line])
    return jobs


def targets_of(options):
    if options.cases:
        return ()
    return {"default": TARGETS, "tiles": tuple(t for t in TARGETS if t.tile)}.get(options.suite, ())


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="model", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="instead of a suite")
    parser.add_argument("--suite", choices=sorted(suites.SUITES), default="default")
    parser.add_argument("--provider", type=lambda text: text.split(","), metavar="P[,P]",
                        default=["i8mm", "dotprod", "neon", "bf16"],
                        help="for CASE; a name or the path of a library")
    parser.add_argument("--core", type=lambda text: text.split(","), metavar="C[,C]",
                        default=[core.short for core in CORES], help="shown (default: all)")
    parser.add_argument("--hot", type=int, default=0, metavar="N", help="hot functions per case")
    parser.add_argument("--blocks", type=int, default=0, metavar="N",
                        help="hot blocks per case, disassembled")
    parser.add_argument("--json", metavar="FILE", help="results in Google Benchmark's format")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N")
    parser.add_argument("--build", default="build", metavar="DIR")
    parser.add_argument("--strict", action="store_true", help="a missed target is a failure")
    options = parser.parse_args(arguments)
    unknown = [core for core in options.core if core not in BY_NAME]
    if unknown:
        parser.error(f"no core '{unknown[0]}'; allowed: {', '.join(BY_NAME)}")
    return options


def show_details(options, modelled, costs):
    for row in modelled:
        for core in options.core if options.hot or options.blocks else ():
            if row.on(core) is None:
                continue
            print(f"\n{row.provider} {row.case} on {core}")
            if options.hot:
                print(output.hot_functions(row, core, options.hot), end="")
            if options.blocks:
                print(output.hot_blocks(row, core, options.blocks, costs), end="")


def summary(verdicts):
    states = [v.state for v in verdicts]
    return (f"targets: {states.count(MET)} met, {states.count(MISSED)} not met, "
            f"{len(states) - states.count(MET) - states.count(MISSED)} not available")


def show(options, modelled, refused, verdicts, costs):
    print(output.NOTE + "\n")
    if modelled:
        print(output.case_table(modelled, options.core), end="")
    show_details(options, modelled, costs)
    for (provider, case), reason in sorted(refused.items()):
        print(f"not available: {provider} {case}: {reason}")
    for (core, text), why in costs.failed.items():
        print(f"not known to llvm-mca on {core}, taken as average: {'; '.join(text)[:80]}: {why}")
    if verdicts:
        print("\n" + output.target_table(verdicts) + "\n" + summary(verdicts))


def main(arguments=None):
    options = parse_arguments(arguments)
    runner, costs = Runner(options.build), Mca(Path(options.build) / "model" / "mca")
    targets = targets_of(options)
    try:
        modelled, refused = model_all(runner, costs, jobs_of(options, runner, targets),
                                      options.jobs)
        verdicts = judge_all(targets, runner, modelled, refused)
        if options.json:
            text = json.dumps(output.as_json(modelled, refused, verdicts), indent=1)
            Path(options.json).write_text(text + "\n", encoding="utf-8")
    except (RunError, McaError, OSError) as error:
        print(f"model: {error}", file=sys.stderr)
        return 2
    show(options, modelled, refused, verdicts, costs)
    if not modelled:
        return 2
    return int(options.strict and any(v.state == MISSED for v in verdicts))


if __name__ == "__main__":
    sys.exit(main())
