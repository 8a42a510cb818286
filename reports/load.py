# SPDX-License-Identifier: Apache-2.0
"""Reads result files. What they hold is checked here, so that the rest can rely on it."""

import json
import math
import re
from dataclasses import dataclass, field

STATUSES = ("passed", "failed", "skipped", "waived", "crashed")
CHECK_STATUSES = ("passed", "failed", "skipped", "not run")
SCHEMA = 1
HISTOGRAM_BINS = 24

# Keys without which a record means nothing, and their types.
_RUN_KEYS = {"armq": str, "started": str, "command": list, "machine": dict, "providers": list,
             "planned": int}
_CASE_KEYS = {"case": str, "provider": str, "op": str, "dialect": str, "in": str, "out": str,
              "status": str}
_OPTIONAL_CASE_KEYS = {"data": str, "reason": str, "kernel": str, "checks": dict, "notes": dict,
                       "failures": list, "quality": dict, "claims": list, "input_hash": str}


class LoadError(Exception):
    """A result file that cannot be used; the text names the file and the line."""


@dataclass
class ConformRun:
    """One file of armq-conform: its run record, the last result of every case, its ledger."""

    path: str
    header: dict
    cases: list = field(default_factory=list)
    ledger: dict = None
    cut: bool = False  # the last line is incomplete: the run was killed while writing

    @property
    def machine(self):
        return self.header["machine"]

    @property
    def emulated(self):
        return bool(self.machine.get("emulated"))


@dataclass
class BenchRow:
    """One benchmark of armq-bench, repetitions joined."""

    provider: str
    case: str
    label: str
    error: str  # None, or why there is no time
    seconds: list  # per run, one for each repetition
    counters: dict
    memory: str = "warm"  # or "cold": weights from memory
    kind: str = ""  # of cores, on machines with several

    @property
    def title(self):
        """The case and how it was timed."""
        return " ".join(filter(None, (self.case, self.memory if self.memory == "cold" else "",
                                      self.kind)))


@dataclass
class BenchRun:
    """One file of armq-bench."""

    path: str
    context: dict
    rows: list

    @property
    def time_is_performance(self):
        """Only if the file says so in both words: never by default."""
        return (self.context.get("armq_emulated") == "false"
                and self.context.get("time_is_performance") == "true")


def number(value):
    """A number as float; result files write non-finite ones as null or as text."""
    if isinstance(value, bool):
        return math.nan
    if isinstance(value, (int, float)):
        return float(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def case_fields(text):
    """The keys of a case's text. Keys at their default are not in it: those that are compared
    here are filled in as the case language defines them."""
    words = text.split()
    fields = dict(word.split("=", 1) for word in words[1:] if "=" in word)
    fields["op"] = words[0] if words else ""
    gemm = fields["op"].startswith("gemm_")
    fields.setdefault("in", "s8" if gemm else "bf16")
    fields.setdefault("out", "s32" if gemm else fields["in"])
    if fields["op"].endswith("_bf16"):
        fields.setdefault("dialect", "bf16")
    elif gemm:
        fields.setdefault("dialect", "exact")
    else:
        fields.setdefault("dialect", "vllm-w4a8" if "w4a8" in fields["op"] else "vllm-w8a8")
    fields.setdefault("threads", "1")
    fields.setdefault("group_size", "0")
    fields.setdefault("zero_points", "0")
    return fields


def weights_of(fields):
    """What the weights of a case are, in a few words; nothing for ops without weights."""
    op = fields["op"]
    if op.endswith(("_w8a8", "s8s8s32")):
        return "int8"
    if op.endswith("_bf16"):
        return "bf16"
    if not op.endswith(("_w4a8", "s8s4s32")):
        return ""
    grouped = fields["group_size"] != "0"
    size = f"groups of {fields['group_size']}" if grouped else "per channel"
    return f"int4 {size}" + (", zero points" if fields["zero_points"] != "0" else "")


def weight_kind(fields):
    """The same without the group size: int4 per channel, per group, or asymmetric."""
    weights = weights_of(fields)
    if weights.endswith("zero points"):
        return "int4 asymmetric"
    return "int4 per group" if weights.startswith("int4 groups") else weights


def _read(path):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise LoadError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise LoadError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    if not text.strip():
        raise LoadError(f"{path}: the file is empty")
    return text


def _check_keys(where, record, keys, optional=False):
    for key, kind in keys.items():
        if key not in record:
            if optional:
                continue
            raise LoadError(f"{where}: a record of type '{record['type']}' without '{key}'")
        value = record[key]
        if optional and value is None:
            continue
        if not isinstance(value, kind) or isinstance(value, bool):
            raise LoadError(f"{where}: '{key}' is {json.dumps(value)[:60]}, wanted "
                            f"{kind.__name__}")


def _check_words(where, what, value, allowed):
    if value not in allowed:
        raise LoadError(f"{where}: {what} '{value}'; allowed: {', '.join(allowed)}")


def _check_run(where, record):
    schema = record.get("schema")
    if schema != SCHEMA:
        raise LoadError(f"{where}: schema {json.dumps(schema)}; this report reads {SCHEMA}")
    _check_keys(where, record, _RUN_KEYS)
    for provider in record["providers"]:
        if not isinstance(provider, dict) or not isinstance(provider.get("name"), str):
            raise LoadError(f"{where}: a provider without a name")
        if not isinstance(provider.get("required", []), list):
            raise LoadError(f"{where}: what provider '{provider['name']}' requires is no list")
    if not isinstance(record["machine"].get("cpu", ""), str):
        raise LoadError(f"{where}: the machine's 'cpu' is no text")


def _check_case(where, record):
    _check_keys(where, record, _CASE_KEYS)
    _check_keys(where, record, _OPTIONAL_CASE_KEYS, optional=True)
    _check_words(where, "status", record["status"], STATUSES)
    for key in _OPTIONAL_CASE_KEYS:
        if record.get(key) is None:
            record.pop(key, None)
    for name, status in record.get("checks", {}).items():
        _check_words(where, f"check {name} is", str(status).replace("_", " "), CHECK_STATUSES)
    for failure in record.get("failures", []):
        if not isinstance(failure, dict):
            raise LoadError(f"{where}: a failure that is not an object")
    if "quality" in record:
        _check_quality(where, record["quality"])


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_quality(where, quality):
    for key in ("judged", "ambiguous"):
        if not _is_count(quality.get(key)):
            raise LoadError(f"{where}: the quality's '{key}' is no count")
    bins = quality.get("histogram")
    if not isinstance(bins, list) or len(bins) != HISTOGRAM_BINS or not all(map(_is_count, bins)):
        raise LoadError(f"{where}: a histogram without {HISTOGRAM_BINS} counts")


def _check_ledger(where, record):
    for key in ("planned",) + STATUSES:
        if not _is_count(record.get(key)):
            raise LoadError(f"{where}: the ledger's '{key}' is no count")


def _records(path, text):
    """(where, record) per line. The last line may be cut; then record is None."""
    lines = text.split("\n")
    last = max(i for i, line in enumerate(lines) if line.strip())
    for i, line in enumerate(lines):
        if not line.strip():
            continue
        where = f"{path}:{i + 1}"
        try:
            record = json.loads(line)
        except ValueError as error:
            if i == last and i > 0:
                yield where, None
                return
            raise LoadError(f"{where}: not JSON: {error}") from None
        if not isinstance(record, dict) or not isinstance(record.get("type"), str):
            raise LoadError(f"{where}: not a record of armq-conform (an object with a type)")
        yield where, record


def load_conform(path):
    """Reads JSON Lines of armq-conform. A run that was resumed may give a case twice: the later
    result stands."""
    run, cases = None, {}
    for where, record in _records(path, _read(path)):
        if record is None:
            run.cut = True
            continue
        kind = record["type"]
        if kind == "run":
            _check_run(where, record)
            if run is None:
                run = ConformRun(path, record)
            run.header, run.ledger = record, None
            continue
        if run is None:
            raise LoadError(f"{where}: the first record must be of type 'run', this is '{kind}'")
        if kind == "case":
            _check_case(where, record)
            cases[record["case"], record["provider"]] = record
        elif kind == "ledger":
            _check_ledger(where, record)
            run.ledger = record
        else:
            raise LoadError(f"{where}: unknown record type '{kind}'; allowed: run, case, ledger")
    run.cases = list(cases.values())
    return run


_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
# What Google Benchmark itself writes into a row; everything else that is a number is a counter.
_ROW_KEYS = {"family_index", "per_family_instance_index", "repetitions", "repetition_index",
             "threads", "iterations", "real_time", "cpu_time"}


_MODES = re.compile(r"(.*?)(?:/(cold))?(?:/(kind\d+))?", re.DOTALL)


def _bench_row(where, row):
    if not isinstance(row, dict) or not isinstance(row.get("run_name"), str):
        raise LoadError(f"{where}: a benchmark without 'run_name'")
    name = row["run_name"].removesuffix("/real_time")
    provider, slash, case = name.partition("/")
    case, memory, kind = _MODES.fullmatch(case).groups()
    if not slash or not case.strip():
        raise LoadError(f"{where}: benchmark '{name}' is not named PROVIDER/CASE")
    counters = {key: number(value) for key, value in row.items()
                if key not in _ROW_KEYS and math.isfinite(number(value))}
    error = row.get("error_message", "no reason given") if row.get("error_occurred") else None
    return BenchRow(provider, case, str(row.get("label", "")), error, [], counters,
                    "cold" if memory else "warm", kind or "")


def _row_seconds(where, row):
    unit, time = row.get("time_unit"), number(row.get("real_time"))
    if unit not in tuple(_SECONDS) or not 0 <= time < math.inf:
        raise LoadError(f"{where}: benchmark '{row['run_name']}' has no usable real_time")
    return time * _SECONDS[unit]


def load_bench(path):
    """Reads the JSON of armq-bench (Google Benchmark's format with armq's context). With
    aggregates only, the median stands for the repetitions."""
    text = _read(path)
    try:
        data = json.loads(text)
    except ValueError as error:
        raise LoadError(f"{path}: not JSON: {error}") from None
    context = data.get("context") if isinstance(data, dict) else None
    if not isinstance(context, dict) or not isinstance(data.get("benchmarks"), list):
        raise LoadError(f"{path}: no 'context' and 'benchmarks': not the output of armq-bench")
    if context.get("armq_emulated") not in ("true", "false"):
        raise LoadError(f"{path}: the context does not say armq_emulated true or false: "
                        "not the output of armq-bench")
    rows, medians = {}, {}
    for i, row in enumerate(data["benchmarks"]):
        where = f"{path}: benchmarks[{i}]"
        parsed = _bench_row(where, row)
        key = parsed.provider, parsed.title
        aggregate = row.get("run_type") == "aggregate"
        if aggregate and row.get("aggregate_name") != "median":
            continue
        kept = rows.setdefault(key, parsed)
        if parsed.error is not None:
            kept.error = parsed.error
        elif aggregate:
            medians[key] = _row_seconds(where, row)
        else:
            kept.seconds.append(_row_seconds(where, row))
    for key, seconds in medians.items():
        rows[key].seconds = rows[key].seconds or [seconds]
    return BenchRun(path, context, list(rows.values()))
