# SPDX-License-Identifier: Apache-2.0
"""Result files of the model (make model): loading, and what the page shows of them."""

import json
import math
from dataclasses import dataclass

from reports import modelled_plots
from reports.load import LoadError, load_bench, number

TARGET_STATES = ("met", "NOT MET", "not available")


@dataclass
class ModelledRow:
    """One case on one core."""

    provider: str
    core: str
    case: str
    label: str
    bound: str  # "compute" or "memory"
    hot: list  # (function, instructions, cycles), hottest first
    counters: dict

    def value(self, name):
        return self.counters.get(name, math.nan)

    @property
    def intensity(self):
        """MAC per byte that has to come from memory."""
        touched = self.value("bytes touched")
        return self.value("MAC") / touched if touched else math.nan

    @property
    def hot_text(self):
        whole = sum(cycles for _, _, cycles in self.hot)
        return ", ".join(f"{name} {100 * cycles / whole:.0f} %"
                         for name, _, cycles in self.hot[:3] if whole)


@dataclass
class ModelledRun:
    path: str
    context: dict
    rows: list
    targets: list  # dicts, see _TARGET_KEYS
    curves: list
    cores: dict  # name -> ghz, core_gbs, limits
    absent: list  # provider, case, reason


_TARGET_KEYS = {"what": str, "core": str, "at_least": bool, "goal": (int, float), "unit": str,
                "value": (int, float, type(None)), "state": str, "reason": str}
_CURVE_KEYS = {"title": str, "axis": str, "provider": str, "points": list}
_POINT_KEYS = {"at": int, "case": str, "workspace": int, "cycles/MAC": dict,
               "compute cycles/MAC": dict}
_CORE_KEYS = {"ghz": (int, float), "core_gbs": (int, float), "source": str, "limits": dict}
_ABSENT_KEYS = {"provider": str, "case": str, "reason": str}


def _check(where, record, keys):
    if not isinstance(record, dict):
        raise LoadError(f"{where}: {json.dumps(record)[:60]} is no object")
    for key, kind in keys.items():
        if not isinstance(record.get(key, ...), kind):
            raise LoadError(f"{where}: '{key}' is missing or of the wrong type")


def _list(path, data, name, keys):
    found = data.get(name)
    if not isinstance(found, list):
        raise LoadError(f"{path}: no list '{name}': not the output of the model")
    for i, record in enumerate(found):
        _check(f"{path}: {name}[{i}]", record, keys)
    return found


def _check_positive(where, name, value):
    """Of what is divided by, or stands on a logarithmic scale."""
    if not 0 < number(value) < math.inf or isinstance(value, str):
        raise LoadError(f"{where}: '{name}' is {json.dumps(value)[:60]}, wanted a number above 0")


def _check_core(where, core):
    _check(where, core, _CORE_KEYS)
    for name in ("ghz", "core_gbs"):
        _check_positive(where, name, core[name])
    for name, limit in core["limits"].items():
        _check_positive(f"{where}: limits", name, limit)


def _check_point(where, point):
    _check(where, point, _POINT_KEYS)
    _check_positive(where, "at", point["at"])
    if point["workspace"] < 0:
        raise LoadError(f"{where}: 'workspace' is {point['workspace']}, wanted a number from 0 on")
    for key in ("cycles/MAC", "compute cycles/MAC"):
        for name, value in point[key].items():
            _check_positive(f"{where}: {key}", name, value)


def _hot(where, row):
    """(function, instructions, cycles), hottest first."""
    found = row.get("hot", [])
    if not isinstance(found, list):
        raise LoadError(f"{where}: 'hot' is {json.dumps(found)[:60]}, wanted a list")
    for hot in found:
        if not isinstance(hot, list) or len(hot) != 3 or not isinstance(hot[0], str) or \
                not all(math.isfinite(number(value)) for value in hot[1:]):
            raise LoadError(f"{where}: 'hot' has {json.dumps(hot)[:60]}, wanted [function, "
                            "instructions, cycles]")
    return [(name, number(instructions), number(cycles)) for name, instructions, cycles in found]


def _row(where, row):
    provider, at, core = row.provider.rpartition("@")
    if not at:
        raise LoadError(f"{where}: benchmark '{row.provider}' is not named PROVIDER@CORE")
    return provider, core


def load_modelled(path):
    """Reads the JSON of the model: Google Benchmark's format and more."""
    bench = load_bench(path)
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    if "armq_modelled" not in bench.context or bench.time_is_performance:
        raise LoadError(f"{path}: the context does not say armq_modelled: not the output of the "
                        "model")
    extra = {row.get("run_name"): row for row in data["benchmarks"]}
    rows = []
    for row in bench.rows:
        provider, core = _row(path, row)
        more = extra.get(f"{row.provider}/{row.case}")
        if more is None:
            raise LoadError(f"{path}: benchmark '{row.provider}/{row.title}' is timed, not "
                            "modelled")
        where = f"{path}: benchmark '{row.provider}/{row.case}'"
        for name in ("instructions", "modelled cycles"):
            _check_positive(where, name, row.counters.get(name))
        rows.append(ModelledRow(provider, core, row.case, row.label, str(more.get("bound", "")),
                                _hot(where, more), row.counters))
    targets = _list(path, data, "targets", _TARGET_KEYS)
    for target in targets:
        if target["state"] not in TARGET_STATES:
            raise LoadError(f"{path}: a target is '{target['state']}'; allowed: "
                            f"{', '.join(TARGET_STATES)}")
    curves = _list(path, data, "curves", _CURVE_KEYS)
    for curve in curves:
        for point in curve["points"]:
            _check_point(f"{path}: curve '{curve['title']}'", point)
    cores = data.get("cores")
    if not isinstance(cores, dict):
        raise LoadError(f"{path}: no 'cores': not the output of the model")
    for name, core in cores.items():
        _check_core(f"{path}: core {name}", core)
    return ModelledRun(path, bench.context, rows, targets, curves, cores,
                       _list(path, data, "not_available", _ABSENT_KEYS))


def table_rows(run):
    """Rows that are no points of a curve, those of a case together."""
    in_curves = {(curve["provider"], point["case"])
                 for curve in run.curves for point in curve["points"]}
    return [row for row in run.rows if (row.provider, row.case) not in in_curves]


def absences(run):
    """(provider, reason, number of cases)"""
    found = {}
    for row in run.absent:
        found.setdefault((row["provider"], row["reason"]), []).append(row["case"])
    return [(provider, reason, len(cases)) for (provider, reason), cases in found.items()]


def views(runs):
    """What the template needs of each file."""
    return [{
        "run": run,
        "rows": table_rows(run),
        "states": {state: sum(t["state"] == state for t in run.targets)
                   for state in TARGET_STATES},
        "absent": absences(run),
        "roofline": modelled_plots.roofline(run, f"roofline{i}"),
        "curves": modelled_plots.curves(run, f"curves{i}"),
        "context": sorted((key.removeprefix("armq_").replace("_", " "), str(value))
                          for key, value in run.context.items() if key.startswith("armq_")),
    } for i, run in enumerate(runs)]
