# SPDX-License-Identifier: Apache-2.0
"""Mutates the kernels: small edits, one at a time, each of which conformance should see.

    python3 -B -m conformance.mutants [--sample N --seed S] [--file TEXT] [--rule RULE] ...

Exit status: 0 every mutant killed or argued, 1 a survivor or too few that build, 2 usage or
something else does not run.
"""

import argparse
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

from conformance.mutants import equivalent, report
from conformance.mutants.build import Builder, BuildError
from conformance.mutants.judge import Judge
from conformance.mutants.mutant import mutants_of, sweeps_of
from conformance.mutants.results import Fingerprint, Results
from conformance.mutants.rules import RULES

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def parse(arguments):
    parser = argparse.ArgumentParser(prog="make mutants ARGS=...", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, metavar="N", help="only N of them, by chance")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the sample")
    parser.add_argument("--file", action="append", metavar="TEXT",
                        help="only files whose path contains this; repeatable")
    parser.add_argument("--rule", action="append", choices=RULES, help="only this; repeatable")
    parser.add_argument("--id", action="append", metavar="TEXT",
                        help="only mutants whose id begins with this; repeatable")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--list", action="store_true", help="print them and stop")
    parser.add_argument("--list-rules", action="store_true", help="print the rules and stop")
    parser.add_argument("--sweep", action="append", metavar="NAME",
                        help="judge by this sweep instead of the files' own; repeatable")
    parser.add_argument("--again", choices=("all", "survivors"),
                        help="all: use no earlier results; survivors: keep what was killed, "
                             "whatever has changed since")
    parser.add_argument("--known", action="store_true",
                        help="run nothing: the summary of all that have a result, however old")
    parser.add_argument("--argued", action="store_true",
                        help="run those argued equivalent instead: one that is killed is an error")
    parser.add_argument("--equivalent", type=Path, default=HERE / "equivalent.txt")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="mutants and results; default: mutants in the build directory")
    options = parser.parse_args(arguments)
    options.out = options.out or options.build / "mutants"
    return options


def choose(mutants, options):
    chosen = [m for m in mutants
              if (not options.file or any(text in m.file for text in options.file))
              and (not options.rule or m.rule in options.rule)
              and (not options.id or any(m.id.startswith(text) for text in options.id))]
    if options.sample is not None and options.sample < len(chosen):
        kept = random.Random(options.seed).sample(range(len(chosen)), options.sample)
        chosen = [chosen[i] for i in sorted(kept)]
    return chosen


def judge_one(mutant, builder, judge, slot):
    """The record of one mutant."""
    built = builder.mutant(mutant.file, mutant.text, slot)
    record = mutant.record()
    if isinstance(built, str):
        return {**record, "state": built}
    verdict = judge.judge(mutant.file, built)
    return {**record, "state": "killed" if verdict.check else "survived", "check": verdict.check,
            "tier": verdict.tier, "case": verdict.case, "detail": verdict.detail[:300]}


def run(chosen, builder, judge, results, options):
    """Those without a result, in parallel; each thread has a directory of its own."""
    clean = builder.work / "clean.so"
    builder.link({}, clean)
    todo = [m for m in chosen if not results.known(m)]
    for tier, sweep in sorted({pair for m in todo for pair in judge.plan(m.file)}):
        judge.baseline(clean, tier, sweep)
    slots = Queue()
    for slot in range(options.jobs):
        slots.put(slot)

    def one(mutant):
        slot = slots.get()
        try:
            record = judge_one(mutant, builder, judge, slot)
        finally:
            slots.put(slot)
        results.add(mutant, record)
        print(report.line(record), flush=True)

    # The slow originals are compiled once, before threads ask for them at the same time.
    for name in sorted({n for m in todo for n in builder.readers[m.file]}):
        builder.original(name)
    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(one, todo):
            pass


def main(arguments):
    options = parse(arguments)
    if options.list_rules:
        for name, (_, what) in RULES.items():
            print(f"{name:12} {what}")
        return 0
    builder = Builder(ROOT, options.build, options.out)
    mutants = [m for name in builder.files() for m in mutants_of(builder.root, name)]
    entries = equivalent.read(options.equivalent.read_text())
    argued = equivalent.argue(entries, mutants)
    chosen = choose([m for m in mutants if m.id in argued or not options.argued], options)
    if options.list:
        for mutant in chosen:
            print(f"{mutant.id}  {'argued  ' if mutant.id in argued else ''}{mutant.brief()}")
        return 0
    sweeps = [Path(s) if "/" in s else s for s in options.sweep or ()]
    judge = Judge(options.build / "armq-conform", lambda name: sweeps_of(name, sweeps))
    results = Results(builder.work / "results.jsonl", "none" if options.known else options.again,
                      Fingerprint(builder, options.build, judge))
    if options.known:
        chosen = [m for m in chosen if results.known(m)]
    else:
        run([m for m in chosen if options.argued or m.id not in argued], builder, judge, results,
            options)
    if not chosen:
        print("mutants: there are none", file=sys.stderr)
        return 2
    records = [{"state": "equivalent", **(results.known(m) or {}), **m.record()} for m in chosen]
    return report.finish(records, argued, builder.work / "mutants.json")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (BuildError, RuntimeError, OSError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        sys.exit(2)
    except equivalent.EquivalentError as error:
        print(f"mutants: equivalent.txt: {error}", file=sys.stderr)
        sys.exit(2)
