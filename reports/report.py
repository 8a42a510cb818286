# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page from the result files of armq-conform, armq-bench and the model.

    python3 -m reports.report --conform FILE.jsonl [...] [--bench FILE.json ...]
        [--modelled FILE.json ...] --out report.html

Exit status: 0 the page was written, whatever it says; 2 a file cannot be used, nothing is written.
"""

import argparse
import os
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

import jinja2

from reports import evidence, faults, model, modelled, plots
from reports.load import LoadError, load_bench, load_conform

TEMPLATES = Path(__file__).parent / "templates"


def machine_rows(run):
    """What identifies the machine of a run, by name."""
    machine = run.machine

    def size(key):
        value = machine.get(key)
        if not isinstance(value, (int, float)) or value <= 0:
            return None
        return f"{value / 2**20:g} MiB" if value >= 2**20 else f"{value / 2**10:g} KiB"

    midr = machine.get("midr")
    features = machine.get("features") or []
    rows = {
        "CPU": machine.get("cpu"),
        "architecture": machine.get("arch"),
        "features": " ".join(map(str, features)) if isinstance(features, list) else features,
        "MIDR": hex(midr) if isinstance(midr, int) and midr else midr,
        "caches L1d, L2, last level": ", ".join(filter(None, map(size, ("l1", "l2", "llc")))),
        "usable processors": machine.get("cores"),
        "page size": size("page"),
        "compiler": machine.get("compiler"),
        "kernel": machine.get("kernel"),
        "armq": run.header["armq"],
        "started": run.header["started"],
        "command": " ".join(map(str, run.header["command"])),
    }
    return {name: str(value) for name, value in rows.items() if value}


def bench_table(bench):
    """A dict per benchmark; times and rates only where they are performance."""
    rows = []
    for row in bench.rows:
        line = {"provider": row.provider, "case": row.title, "label": row.label, "error": row.error,
                "mac": row.counters.get("MAC"), "bytes": row.counters.get("bytes"),
                "intensity": row.counters.get("MAC/byte"),
                "weight_bytes": row.counters.get("weight bytes/token")}
        if bench.time_is_performance and row.seconds and not row.error:
            seconds = median(row.seconds)
            line["microseconds"] = seconds * 1e6
            line["repetitions"] = len(row.seconds)
            for key, unit in (("mac", 1e9), ("bytes", 1e9)):
                if line[key] and seconds > 0:
                    line[f"{key}_rate"] = line[key] / seconds / unit
        rows.append(line)
    return rows


def bench_views(benches):
    views = []
    for i, bench in enumerate(benches):
        speedups = model.speedups(bench)
        views.append({
            "run": bench,
            "rows": bench_table(bench),
            "speedups": speedups,
            "heat_map": plots.speedup_heat_map(speedups, f"speedup{i}"),
            "labels": sorted({s.baseline for s in speedups}),
            "paired": any(s.low is not None for s in speedups),
            "evidence": evidence.view(bench),
            "context": sorted((key.removeprefix("armq_").replace("_", " "), str(value))
                              for key, value in bench.context.items()
                              if key.startswith("armq_") and key != "armq_emulated"
                              and not key.endswith("_peaks")),
        })
    return views


def render(runs, benches, written, modelled_runs=(), matrix=None):
    """The page as text."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True,
                                     undefined=jinja2.StrictUndefined, trim_blocks=True,
                                     lstrip_blocks=True)
    environment.filters.update(figure=model.figure, amount=model.amount, count=model.count)
    providers, passes = model.pass_table(runs)
    quality = model.quality_table(runs)
    failures = model.failures(runs)
    views = [{"run": run, "verdict": model.run_verdict(run), "counts": model.counts_of(run),
              "machine": machine_rows(run),
              "providers": {p["name"]: p for p in run.header["providers"]}} for run in runs]
    return environment.get_template("report.html.j2").render(
        verdict=model.overall_verdict(runs, benches),
        totals=model.totals(runs),
        runs=views, machine_names=list(dict.fromkeys(name for v in views for name in v["machine"])),
        emulated=[run.machine.get("cpu", "unknown") for run in runs if run.emulated],
        providers=providers, passes=passes,
        failures=failures[:model.FAILURES_SHOWN],
        more_failures=len(failures[model.FAILURES_SHOWN:]),
        checks=model.check_table(runs), skips=model.skip_table(runs),
        quality=quality, histograms=plots.half_width_histograms(quality),
        targets={"half": model.HALF_TARGET, "ambiguous": model.AMBIGUOUS_TARGET,
                 "usage": model.USAGE_TARGET},
        benches=bench_views(benches), modelled=modelled.views(modelled_runs),
        faults=faults.view(matrix),
        written=written).lstrip()


def write(path, text):
    """All of the file or nothing: an existing one stays as it is until the new one is complete."""
    path = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="report", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--conform", nargs="+", action="extend", default=[], metavar="FILE.jsonl",
                        help="results of armq-conform --json")
    parser.add_argument("--bench", nargs="+", action="extend", default=[], metavar="FILE.json",
                        help="results of armq-bench --benchmark_out")
    parser.add_argument("--modelled", nargs="+", action="extend", default=[], metavar="FILE.json",
                        help="results of make model")
    parser.add_argument("--faults", metavar="FILE.json", help="the matrix of make faults")
    parser.add_argument("--out", required=True, metavar="FILE.html")
    options = parser.parse_args(arguments)
    if not (options.conform or options.bench or options.modelled or options.faults):
        parser.error("give --conform, --bench, --modelled or --faults")
    if not options.out:
        parser.error("--out '': wanted the name of a file")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    try:
        runs = [load_conform(path) for path in options.conform]
        benches = [load_bench(path) for path in options.bench]
        for bench in benches:
            evidence.peaks_of(bench)
        modelled_runs = [modelled.load_modelled(path) for path in options.modelled]
        matrix = faults.load_faults(options.faults) if options.faults else None
    except LoadError as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    for run in runs:
        if run.cut:
            print(f"report: {run.path}: the last line is cut and was left out", file=sys.stderr)
    now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    text = render(runs, benches, now, modelled_runs, matrix)
    try:
        write(options.out, text)
    except OSError as error:
        print(f"report: {options.out}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"report: {model.overall_verdict(runs, benches).word}, written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
