# SPDX-License-Identifier: Apache-2.0
"""Proves that armq-conform catches every mistake of table.def: make faults [ARGS=--sharp].

Each fault is selected in libarmq-faults.so and judged on the cases of its ops. It is caught if the
check that the table names fails in each of its ops; other checks may fail besides. Without a fault
the library must pass everything. --sharp is that alone; without it the sweep `ci` must catch every
fault, too, and the library must pass it. --all-checks shows what else fails, which takes longer.

The last line is "faults: N caught, N missed". Exit status: 0 none missed, 1 some, 2 usage.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from conformance.faults import table  # noqa: E402  (found from the root of the tree)

FOLDER = Path("conformance/faults")
TIMEOUT = 1  # second of one call before it counts as hanging; a call takes milliseconds
OVERALL = 600
CLEAN = table.Fault("", "", tuple(table.OPS.values()), "", "any", "", "no mistake")


class RunError(Exception):
    """A run that says nothing."""


# --- One run --------------------------------------------------------------------------------------

def machine(where):
    """Folder of the library and the program, and the CPU to emulate (None: this machine)."""
    host = platform.machine().replace("arm64", "aarch64")
    if where == "any":
        return host, f"{host}/armq-conform", None
    cpu = {"aarch64": None if host == "aarch64" else "max", "cortex_a72": "cortex-a72"}[where]
    return "aarch64", "armq-conform", cpu


def sweep_of(fault):
    return FOLDER / ("offsets.sweep" if fault.check == "overflow" else "sharp.sweep")


def command(fault, sweep, where, out, only_own, first=False):
    build = Path(os.environ.get("BUILD", "build"))
    folder, program, cpu = machine(where)
    pattern = f"^({'|'.join(fault.ops)}) .*({fault.cases})" if fault.cases else \
        f"^({'|'.join(fault.ops)}) "
    line = [str(build / program), "--provider", str(build / folder / "libarmq-faults.so"),
            "--sweep", str(sweep), "--filter", pattern, "--jobs", "1", "--json", str(out),
            "--force", "--no-shrink"]
    if fault.check == "crash":
        line += ["--timeout", str(TIMEOUT)]
    if first:
        line += ["--max-failures", "1"]
    if only_own and fault.check in table.CHECKS[:-1]:
        # What is wrong with odd addresses is noticed only where there are some.
        line += ["--check", fault.check.replace("memory", "align,memory")]
    environment = dict(os.environ, ARMQ_FAULT=fault.id)
    if cpu:
        environment["ARMQ_CPU"] = cpu
    return line, environment


def run(fault, sweep, where, out, only_own=False, first=False):
    """Records of one run: the header, and the cases. only_own: the fault's own check alone.
    first: up to the first failure; the rest is skipped."""
    line, environment = command(fault, sweep, where, out, only_own, first)
    done = subprocess.run(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          timeout=OVERALL, check=False)
    if done.returncode not in (0, 1):
        raise RunError(f"{fault.id or 'no fault'}: {' '.join(line)}: exit status "
                       f"{done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    with open(out, encoding="utf-8") as file:
        records = [json.loads(text) for text in file]
    cases = [record for record in records if record["type"] == "case"]
    if len(cases) != records[0]["planned"] or not cases:
        raise RunError(f"{fault.id or 'no fault'}: {len(cases)} of {records[0]['planned']} cases "
                       "have a result")
    return records[0], cases


# --- What it says ---------------------------------------------------------------------------------

def failing(case):
    return [name for name, status in case["checks"].items() if status == "failed"]


def count(cases):
    """Failed cases per op and check, and all cases per op."""
    caught, total = defaultdict(Counter), Counter()
    for case in cases:
        total[case["op"]] += 1
        caught[case["op"]].update(failing(case))
        if case["status"] not in ("passed", "skipped") and not failing(case):
            caught[case["op"]]["crash"] += 1
    return caught, total


def missed_ops(fault, header, caught):
    """Ops in which the check that the table names did not fail."""
    if fault.check == "load":
        noticed = any(p["fpcr_changed_by_load"] for p in header["providers"])
        return [] if noticed else list(fault.ops)
    return [op for op in fault.ops if not caught[op][fault.check]]


def judge(fault, sweep, where, out, only_own):
    """What a fault came to, as matrix.json has it."""
    header, cases = run(fault, sweep, where, out, only_own)
    caught, total = count(cases)
    missed = [] if fault.why else missed_ops(fault, header, caught)
    found = fault.why and any(caught.values())
    if fault.why:
        verdict = "not equivalent" if found else "equivalent"
    else:
        verdict = "missed" if missed else "caught"
    return {"verdict": verdict, "missed": missed,
            "caught": {op: dict(checks) for op, checks in caught.items() if checks},
            "cases": dict(total)}


def judge_by_ci(fault, folder):
    """The same by the sweep `ci`, where the first failure in each op is enough. If it is another
    check's (a fault that reads outside a buffer fails `memory` whatever was selected), all cases
    of the op are judged."""
    out = folder / f"{fault.id}-ci.jsonl"
    found = {"verdict": "caught", "missed": [], "caught": {}, "cases": {}}
    for op in fault.ops:
        part = table.Fault(**{**vars(fault), "ops": (op,)})
        for first in (True, False):
            header, cases = run(part, "ci", fault.where, out, only_own=True, first=first)
            caught, total = count(cases)
            missed = missed_ops(part, header, caught)
            if not missed or not any(caught.values()):
                break
        found["missed"] += missed
        found["caught"].update({o: dict(checks) for o, checks in caught.items() if checks})
        found["cases"].update(total)
    found["verdict"] = "missed" if found["missed"] else "caught"
    return found


def clean(sweep, where, out):
    """The library without a fault: how many cases passed, and the first that did not."""
    _, cases = run(CLEAN, sweep, where, out)
    failed = [case for case in cases if case["status"] != "passed"]
    return {"sweep": Path(sweep).stem, "where": where, "cases": len(cases),
            "passed": len(cases) - len(failed), "failed": [case["case"] for case in failed][:20]}


# --- All of them ----------------------------------------------------------------------------------

def plan_clean(options):
    """Runs without a fault; none where only some faults are asked for."""
    if options.fault:
        return []
    plan = [(FOLDER / "sharp.sweep", "any"), (FOLDER / "offsets.sweep", "any")]
    if not options.sharp:
        plan.append(("ci", "any"))
        if platform.machine() not in ("aarch64", "arm64"):
            plan.append((FOLDER / "sharp.sweep", "aarch64"))
    return plan


def in_ci(fault):
    """Faults for which the sweep `ci` must have a case, on the machine that it is run on here."""
    return not fault.why and fault.where == "any" and fault.check != "overflow"


def run_all(faults, options, folder):
    """clean results, {fault: judgement}, {fault: judgement by ci}."""
    folder.mkdir(parents=True, exist_ok=True)
    # One more than there are cores: the program waits for its workers now and then.
    with ThreadPoolExecutor(os.cpu_count() + 1) as pool:
        cleans = [pool.submit(clean, sweep, where, folder / f"clean-{i}.jsonl")
                  for i, (sweep, where) in enumerate(plan_clean(options))]
        slow_first = sorted(faults, key=lambda f: (f.check != "crash", f.check != "overflow"))
        one = not options.all_checks
        own = {f.id: pool.submit(judge, f, sweep_of(f), f.where, folder / f"{f.id}.jsonl", one)
               for f in slow_first}
        in_all = [table.Fault(**{**vars(f), "cases": ""}) for f in faults
                  if not options.sharp and in_ci(f)]
        by_ci = {f.id: pool.submit(judge_by_ci, f, folder) for f in in_all}
        return ([future.result() for future in cleans],
                {name: future.result() for name, future in own.items()},
                {name: future.result() for name, future in by_ci.items()})


def total_of(judgement):
    """Failed cases per check over all ops, most first."""
    total = Counter()
    for checks in judgement["caught"].values():
        total.update(checks)
    return total


def line_of(fault, judgement, by_ci):
    checks = ", ".join(f"{name} {n}" for name, n in total_of(judgement).most_common())
    words = {"caught": "caught", "missed": "MISSED", "equivalent": "equivalent",
             "not equivalent": "CAUGHT, though argued to be equivalent"}
    text = f"  {fault.id:28} {words[judgement['verdict']]:10} {fault.check:10} by {checks or '-'}"
    if judgement["missed"]:
        text += f"; not by {fault.check} in {' '.join(judgement['missed'])}"
    if by_ci and by_ci["missed"]:
        text += f"; ci MISSES it in {' '.join(by_ci['missed'])}"
    return text


def is_good(judgement, by_ci):
    return judgement["verdict"] in ("caught", "equivalent") and not (by_ci and by_ci["missed"])


def report(kinds, faults, results, seconds):
    """Prints the matrix; returns how many were caught and missed, equivalent ones apart."""
    cleans, own, by_ci = results
    for kind, text in kinds.items():
        print(f"{kind}: {text}")
        for fault in faults:
            if fault.kind == kind:
                print(line_of(fault, own[fault.id], by_ci.get(fault.id)))
    for result in cleans:
        good = result["passed"] == result["cases"]
        print(f"no fault, {result['sweep']} ({result['where']}): {result['passed']} of "
              f"{result['cases']} cases passed{'' if good else ' - FAILED: '}"
              f"{'; '.join(result['failed'])}")
    good = [f for f in faults if is_good(own[f.id], by_ci.get(f.id))]
    equivalent = sum(bool(f.why) for f in faults)
    caught = sum(not f.why for f in good)
    missed = len(faults) - len(good) + sum(r["passed"] != r["cases"] for r in cleans)
    print(f"{len(faults)} faults of {len(kinds)} kinds, {equivalent} of them equivalent; "
          f"{seconds:.0f} s")
    return caught, missed


def matrix(kinds, faults, results, counts, sharp):
    """What matrix.json holds."""
    cleans, own, by_ci = results
    return {"schema": 1, "sharp": sharp, "caught": counts[0], "missed": counts[1], "kinds": kinds,
            "clean": cleans,
            "faults": [{**vars(f), **own[f.id], "ci": by_ci.get(f.id)} for f in faults]}


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="faults", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sharp", action="store_true", help="without the sweep ci")
    parser.add_argument("--all-checks", action="store_true",
                        help="run every check, not only that which must fail")
    parser.add_argument("--table", default=FOLDER / "table.def", metavar="FILE",
                        help="another table (default: %(default)s)")
    parser.add_argument("fault", nargs="*", help="only these (default: all of table.def)")
    options = parser.parse_args(arguments)
    start = time.monotonic()
    folder = Path(os.environ.get("BUILD", "build")) / "faults"
    try:
        kinds, faults = table.load(options.table)
        unknown = sorted(set(options.fault) - {f.id for f in faults})
        if unknown:
            raise table.TableError(f"there is no fault '{unknown[0]}' in table.def")
        faults = [f for f in faults if not options.fault or f.id in options.fault]
        kinds = {k: text for k, text in kinds.items() if any(f.kind == k for f in faults)}
        results = run_all(faults, options, folder)
    except (table.TableError, RunError, OSError, subprocess.TimeoutExpired) as error:
        print(f"faults: {error}", file=sys.stderr)
        return 2
    counts = report(kinds, faults, results, time.monotonic() - start)
    if not options.fault:
        (folder / "matrix.json").write_text(
            json.dumps(matrix(kinds, faults, results, counts, options.sharp), indent=1) + "\n",
            encoding="utf-8")
    print(f"faults: {counts[0]} caught, {counts[1]} missed")
    return 0 if counts[1] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
