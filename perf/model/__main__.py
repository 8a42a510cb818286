# SPDX-License-Identifier: Apache-2.0
"""Models cases: instructions counted under QEMU, cycles from llvm-mca.

    python3 -B -m perf.model [--suite default|tiles|short] [--provider P[,P] CASE...]

Exit status: 0 modelled, 1 with --strict: a target was not met or could not be judged, 2 usage or
something does not run.
"""

import argparse
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from perf.model import output, suites
from perf.model.cores import BY_NAME, CORES
from perf.model.mca import Mca, McaError, version
from perf.model.modelled import model_all
from perf.model.runner import Runner, RunError
from perf.model.targets import ABSENT, MET, MISSED, TARGETS, judge


# For CASE.
_PROVIDERS = ("i8mm", "dotprod", "neon", "bf16")


@dataclass
class Curve:
    """A series that was modelled: a point for every case that ran."""

    series: object
    rows: list


def judge_all(targets, runner, modelled, refused):
    rows = {row.key: row for row in modelled}

    def find(provider, line):
        answer = []
        for job in runner.expand([provider], [line]):
            key = job.provider, job.case
            if key in refused:
                return refused[key]
            answer.append(rows[key])
        return answer

    return [verdict for target in targets for verdict in judge(target, find)]


def series_of(options):
    return suites.SCALING if options.suite == "default" and not options.cases else ()


def jobs_of(options, runner, targets):
    if options.cases:
        return runner.expand(options.provider, options.cases)
    wanted = [([provider], line) for target in targets for provider, line in target.cases]
    wanted += suites.SUITES[options.suite]
    wanted += [([series.provider], series.line) for series in series_of(options)]
    return [job for providers, line in wanted for job in runner.expand(providers, [line])]


def curves_of(options, runner, modelled):
    rows = {row.key: row for row in modelled}
    curves = []
    for series in series_of(options):
        keys = [(job.provider, job.case) for job in runner.expand([series.provider], [series.line])]
        curves.append(Curve(series, [rows[key] for key in keys if key in rows]))
    return [curve for curve in curves if curve.rows]


def targets_of(options):
    if options.cases:
        return ()
    return {"default": TARGETS, "tiles": tuple(t for t in TARGETS if t.tile)}.get(options.suite, ())


def _at_least(least):
    """For argparse: a whole number, from `least` on."""
    def number(text):
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"'{text}'; wanted a number from {least} on")
        return value
    return number


def _names(text):
    """For argparse: what stands between commas."""
    names = text.split(",")
    if "" in names:
        raise argparse.ArgumentTypeError(f"'{text}' has an empty entry")
    return names


def _json_file(text):
    """For argparse: a file that can be made. Rather now than after minutes of counting."""
    folder = Path(text).parent
    if not text or Path(text).is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise argparse.ArgumentTypeError(f"'{text}' cannot be written; wanted a file in a folder "
                                         "that exists")
    return text


def check_options(parser, options):
    """What argparse cannot see: options that would do nothing."""
    unknown = [core for core in options.core if core not in BY_NAME]
    if unknown:
        parser.error(f"no core '{unknown[0]}'; allowed: {', '.join(BY_NAME)}")
    if options.cases and options.suite:
        parser.error(f"--suite {options.suite} and a CASE; wanted one of them")
    if options.provider and not options.cases:
        parser.error(f"--provider {','.join(options.provider)} without a CASE; the suites name "
                     "their providers themselves")
    options.suite = options.suite or "default"
    options.provider = options.provider or list(_PROVIDERS)
    if options.strict and not targets_of(options):
        strict = [suite for suite in suites.SUITES if targets_of(argparse.Namespace(
            cases=[], suite=suite))]
        parser.error(f"--strict without targets to judge; suites that have some: "
                     f"{', '.join(strict)}")


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="model", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="instead of a suite")
    parser.add_argument("--suite", choices=sorted(suites.SUITES), help="default: default")
    parser.add_argument("--provider", type=_names, metavar="P[,P]",
                        help="for CASE; a name or the path of a library (default: "
                             f"{','.join(_PROVIDERS)})")
    parser.add_argument("--core", type=_names, metavar="C[,C]",
                        default=[core.short for core in CORES], help="shown (default: all)")
    parser.add_argument("--hot", type=_at_least(0), default=0, metavar="N",
                        help="hot functions per case")
    parser.add_argument("--blocks", type=_at_least(0), default=0, metavar="N",
                        help="hot blocks per case, disassembled")
    parser.add_argument("--json", type=_json_file, metavar="FILE",
                        help="results in Google Benchmark's format")
    parser.add_argument("--jobs", type=_at_least(1), default=len(os.sched_getaffinity(0)),
                        metavar="N")
    parser.add_argument("--build", default="build", metavar="DIR")
    parser.add_argument("--strict", action="store_true",
                        help="a target that is not met, or cannot be judged, is a failure")
    options = parser.parse_args(arguments)
    check_options(parser, options)
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
            f"{states.count(ABSENT)} not available")


def tally(verdicts):
    """In the words of other tests. All that the targets need is built and emulated, so one that
    cannot be judged is a fault, not a test to skip."""
    met = sum(v.state == MET for v in verdicts)
    return f"{met} passed, {len(verdicts) - met} failed, 0 skipped"


def show(options, answer, costs):
    in_curves = {row.key for curve in answer.curves for row in curve.rows}
    print(output.NOTE + "\n")
    plain = [row for row in answer.modelled if row.key not in in_curves]
    if plain:
        print(output.case_table(plain, options.core), end="")
    show_details(options, plain, costs)
    for curve in answer.curves:
        print(f"\n{curve.series.title}, on {curve.series.provider}")
        print(output.curve_table(curve, options.core), end="")
    print(output.refusals(answer.refused), end="")
    print(output.uncovered(answer.modelled, options.core), end="")
    for (core, text), why in costs.failed.items():
        print(f"not known to llvm-mca on {core}, taken as average: {'; '.join(text)[:80]}: {why}")
    if answer.verdicts:
        print("\n" + output.target_table(answer.verdicts) + "\n" + summary(answer.verdicts))


def answer_all(options, runner, costs):
    targets = targets_of(options)
    modelled, refused = model_all(runner, costs, jobs_of(options, runner, targets), options.jobs)
    return output.Answer(modelled, refused, judge_all(targets, runner, modelled, refused),
                         curves_of(options, runner, modelled))


def main(arguments=None):
    options = parse_arguments(arguments)
    runner, costs = Runner(options.build), Mca(Path(options.build) / "model" / "mca")
    try:
        version()  # rather now than after minutes of counting
        runner.check()
        answer = answer_all(options, runner, costs)
        if options.json:
            text = json.dumps(output.as_json(answer), indent=1)
            Path(options.json).write_text(text + "\n", encoding="utf-8")
    except (RunError, McaError, OSError) as error:
        print(f"model: {error}", file=sys.stderr)
        return 2
    show(options, answer, costs)
    if not answer.modelled:
        return 2
    if not options.strict:
        return 0
    print(tally(answer.verdicts))
    return int(any(v.state != MET for v in answer.verdicts))


if __name__ == "__main__":
    sys.exit(main())
