# SPDX-License-Identifier: Apache-2.0
"""What the page shows, computed from loaded result files; no HTML here."""

import math
import re
import shlex
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from statistics import median

from reports import evidence
from reports.load import HISTOGRAM_BINS, STATUSES, case_fields, number, weight_kind, weights_of

# Shapes of models: sampled, or a mixture of experts with a hidden size of four digits.
MODEL_SHAPE = re.compile(r"\bsample=[1-9]|\bhidden=[0-9]{4}")

# Targets of interval quality.
HALF_TARGET = 2e-5  # median half-width / rms, integer dialects
AMBIGUOUS_TARGET = 0.02  # share of elements with more than one admissible output, bf16
USAGE_TARGET = 0.9  # largest share of the half-width that an output used, f32

FAILURES_SHOWN = 200
BASELINE_PROVIDERS = ("bf16", "neon")


@dataclass
class Verdict:
    word: str  # PASS, FAIL, NOTHING RAN, INCOMPLETE
    reasons: list


def counts_of(run):
    """Results by status, and how many there are."""
    counts = Counter(case["status"] for case in run.cases)
    return {status: counts[status] for status in STATUSES}


def ran(counts):
    return sum(counts.values()) - counts["skipped"]


def ledger_problem(run):
    """None if the run is complete, else why it is not."""
    counts = counts_of(run)
    done = f"{len(run.cases)} of {run.header['planned']} planned results are there"
    if run.ledger is None:
        why = "its last line is cut" if run.cut else "its ledger is missing"
        return f"the run did not end: {why}; {done}"
    ledger = run.ledger
    total = sum(ledger[status] for status in STATUSES)
    if ledger["planned"] != total:
        return f"the ledger does not add up: planned {ledger['planned']}, accounted for {total}"
    if any(ledger[status] != counts[status] for status in STATUSES):
        wrong = ", ".join(f"{status} {ledger[status]} against {counts[status]}"
                          for status in STATUSES if ledger[status] != counts[status])
        return f"the ledger does not match the results in the file: {wrong}"
    if ledger["planned"] != run.header["planned"]:
        return (f"the run planned {run.header['planned']} results, "
                f"its ledger accounts for {ledger['planned']}")
    if run.cut:
        return "the last line is cut"
    return None


def run_verdict(run):
    counts, problem = counts_of(run), ledger_problem(run)
    reasons = []
    bad = counts["failed"] + counts["crashed"]
    if bad:
        reasons.append(f"{counts['failed']} failed, {counts['crashed']} crashed")
    if not ran(counts):
        reasons.append(f"no case ran ({counts['skipped']} skipped)")
    if problem:
        reasons.append(problem)
    if bad:
        return Verdict("FAIL", reasons)
    if not ran(counts):
        return Verdict("NOTHING RAN", reasons)
    if problem:
        return Verdict("INCOMPLETE", reasons)
    return Verdict("PASS", reasons)


def overall_verdict(runs, benches):
    """The worst of the files. A benchmark whose answer was wrong is a failure."""
    order = ("FAIL", "NOTHING RAN", "INCOMPLETE", "PASS")
    reasons, words = [], []
    for run in runs:
        verdict = run_verdict(run)
        words.append(verdict.word)
        reasons += [f"{run.path}: {reason}" for reason in verdict.reasons]
    for bench in benches:
        wrong = sum(row.error is not None for row in bench.rows)
        if wrong:
            words.append("FAIL")
            reasons.append(f"{bench.path}: {wrong} benchmark(s) without a valid answer")
        if not bench.rows:
            words.append("NOTHING RAN")
            reasons.append(f"{bench.path}: no benchmark ran")
    if not runs:
        words.append("NOTHING RAN")
        reasons.append("no conformance results were given")
    return Verdict(min(words, key=order.index), reasons)


def totals(runs):
    counts = Counter()
    for run in runs:
        counts.update(counts_of(run))
    return {status: counts[status] for status in STATUSES}


def provider_names(runs):
    """Providers in the order in which the runs name them, those of results included."""
    names = {}
    for run in runs:
        names.update((provider["name"], None) for provider in run.header["providers"])
        names.update((case["provider"], None) for case in run.cases)
    return list(names)


def dtype_pair(case):
    return f"{case['in']} → {case['out']}"


def pass_table(runs):
    """Rows (op, dialect, weights, dtypes), per provider the results by status; None: no case."""
    cells = defaultdict(Counter)
    for run in runs:
        for case in run.cases:
            weights = weight_kind(case_fields(case["case"]))
            row = case["op"], case["dialect"], weights, dtype_pair(case)
            cells[row, case["provider"]][case["status"]] += 1
    providers = provider_names(runs)
    rows = sorted({row for row, _ in cells})
    return providers, [(row, [cells.get((row, provider)) for provider in providers])
                       for row in rows]


def check_table(runs):
    """Per check: passed, failed, skipped with its reasons, not run. Result files leave out checks
    that were not run; cases that were skipped have none at all."""
    counts, notes, cases = defaultdict(Counter), defaultdict(Counter), 0
    for run in runs:
        for case in run.cases:
            cases += case["status"] != "skipped"
            for name, status in case.get("checks", {}).items():
                counts[name][str(status).replace("_", " ")] += 1
            for name, note in case.get("notes", {}).items():
                if case.get("checks", {}).get(name) == "skipped":
                    notes[name][str(note)] += 1
    for n in counts.values():
        n["not run"] = max(0, cases - n["passed"] - n["failed"] - n["skipped"])
    return [(name, counts[name], notes[name].most_common()) for name in counts]


def checks_by_op(runs):
    """check -> op -> results that it judged, passed or failed; checks in order of execution."""
    judged = defaultdict(Counter)
    for run in runs:
        for case in run.cases:
            for name, status in case.get("checks", {}).items():
                judged[name][case["op"]] += status in ("passed", "failed")
    return judged


def skip_table(runs):
    """(provider, reason, count, machines) of cases that were skipped, most frequent first."""
    counts, machines = Counter(), defaultdict(set)
    for run in runs:
        for case in run.cases:
            if case["status"] == "skipped":
                key = case["provider"], case.get("reason", "") or "no reason given"
                counts[key] += 1
                machines[key].add(str(run.machine.get("cpu", "unknown")))
    return [(provider, reason, count, ", ".join(sorted(machines[provider, reason])))
            for (provider, reason), count in sorted(counts.items(), key=lambda x: (-x[1], x[0]))]


def reproduce(run, case):
    """The shell command that runs one case on one provider again."""
    specs = {p["name"]: p.get("spec") or p["name"] for p in run.header["providers"]}
    words = ["build/armq-conform", "--provider", specs.get(case["provider"], case["provider"]),
             case["case"]]
    command = " ".join(shlex.quote(str(word)) for word in words)
    if run.emulated and run.machine.get("cpu"):
        command = f"ARMQ_CPU={shlex.quote(str(run.machine['cpu']))} {command}"
    return command


@dataclass
class Failure:
    cpu: str
    provider: str
    kernel: str
    case: str
    status: str
    reason: str
    command: str
    details: list  # (check, sentence, place, got, interval)


def element_of(failure):
    """Place, got and wanted of a failure; empty where it has no element, or the sentence says it
    all."""
    operand = failure.get("operand")
    named = operand is not None and f"{operand}[" in str(failure.get("detail", ""))
    if failure.get("row") is None or operand is None or named:
        return "", "", ""
    place = f"{operand}[{failure['row']}][{failure.get('column')}]"
    wanted = f"{element_value(failure.get('lo'))} to {element_value(failure.get('hi'))}"
    return place, element_value(failure.get("got")), wanted


def failures(runs):
    """Every case that failed or crashed."""
    found = []
    for run in runs:
        for case in run.cases:
            if case["status"] not in ("failed", "crashed", "waived"):
                continue
            details = [(str(f.get("check", "")), str(f.get("detail", ""))) + element_of(f)
                       for f in case.get("failures", [])]
            found.append(Failure(str(run.machine.get("cpu", "unknown")), case["provider"],
                                 case.get("kernel", ""), case["case"], case["status"],
                                 case.get("reason", ""), reproduce(run, case), details))
    return found


# --- Interval quality ---------------------------------------------------------------------------


@dataclass
class Quality:
    """Of one op x dialect x output dtype x kind of data, over all providers and cases."""

    key: tuple
    judged: int = 0
    ambiguous: int = 0
    half_median: float = math.nan
    half_max: float = math.nan
    usage_max: float = math.nan
    sqnr_median: float = math.nan
    sqnr_min: float = math.nan
    histogram: list = field(default_factory=lambda: [0] * HISTOGRAM_BINS)

    @property
    def ambiguous_share(self):
        return self.ambiguous / self.judged if self.judged else math.nan

    @property
    def exact(self):
        """Integer outputs are right or wrong; nothing has a width."""
        return self.out not in ("f32", "bf16", "f16")

    @property
    def out(self):
        return self.key[2]

    @property
    def data(self):
        return self.key[3]

    @property
    def targets(self):
        """(what, met) for every target that this row has; met is None where there is no figure.
        Directed data has none: subnormal and flushed outputs, for one, have several admissible
        values by the rules of the dialects. Long rows have more tie flips in a second stage, so
        that shapes of models show how many but have no target."""
        found = []
        if self.data == "directed":
            return found
        if self.key[1] != "bf16" and not self.exact:
            found.append(("half-width", met(self.half_median, HALF_TARGET)))
        if self.out == "bf16" and self.data != "model shape":
            found.append(("ambiguous", met(self.ambiguous_share, AMBIGUOUS_TARGET)))
        if self.out == "f32":
            found.append(("usage", met(self.usage_max, USAGE_TARGET)))
        return found


def met(value, target):
    return None if math.isnan(value) else value <= target


def weighted_median(pairs):
    """Lowest value at which half of the weight is reached; pairs of (value, weight)."""
    pairs = sorted((value, weight) for value, weight in pairs if weight > 0)
    total, seen = sum(weight for _, weight in pairs), 0
    for value, weight in pairs:
        seen += weight
        if 2 * seen >= total:
            return value
    return math.nan


def finite(values):
    return [value for value in values if math.isfinite(value)]


def largest(values):
    values = [value for value in values if not math.isnan(value)]
    return max(values, default=math.nan)


def quality_table(runs):
    groups = defaultdict(list)
    for run in runs:
        for case in run.cases:
            quality = case.get("quality")
            if quality and quality["judged"] > 0:
                data = "default" if case["data"] == "normal" else "directed"
                if data == "default" and MODEL_SHAPE.search(case["case"]):
                    data = "model shape"
                groups[case["op"], case["dialect"], case["out"], data].append(quality)
    return [quality_row(key, group) for key, group in sorted(groups.items())]


def quality_row(key, group):
    def column(name):
        return [number(quality.get(name)) for quality in group]

    row = Quality(key)
    judged = column("judged")
    row.judged = sum(quality["judged"] for quality in group)
    row.ambiguous = sum(quality["ambiguous"] for quality in group)
    row.half_median = weighted_median(
        (half, weight) for half, weight in zip(column("half_median"), judged)
        if not math.isnan(half))
    row.half_max = largest(column("half_max"))
    if row.out == "f32":  # narrower outputs are rounded, which hides what was used
        row.usage_max = largest(column("usage_max"))
    sqnr = finite(column("sqnr_db"))
    row.sqnr_median = median(sqnr) if sqnr else math.nan
    row.sqnr_min = min(sqnr, default=math.nan)
    for quality in group:
        for i, elements in enumerate(quality["histogram"]):
            row.histogram[i] += elements
    return row


# --- Benchmarks ---------------------------------------------------------------------------------

_SHAPE_KEYS = ("tokens", "n", "k", "hidden", "intermediate", "experts", "top_k", "in", "out",
               "threads")


@dataclass
class Speedup:
    provider: str
    dialect: str
    weights: str
    threads: str
    layer: str  # "4096 x 4096", or the dimensions of a MoE
    order: tuple  # of the layer
    tokens: int
    ratio: float
    baseline: str  # provider and kernel
    low: float = None  # 95 % confidence interval of a paired ratio
    high: float = None


def problem_key(fields):
    return tuple(fields.get(key) for key in _SHAPE_KEYS)


def baselines(bench):
    """Timed bf16 rows by op and problem; provider bf16 before the f32 fallback of neon."""
    found = {}
    for provider in reversed(BASELINE_PROVIDERS):
        for row in bench.rows:
            fields = case_fields(row.case)
            timed = row.seconds and not row.error
            if row.provider == provider and timed and fields["op"].endswith("_bf16"):
                found[fields["op"], problem_key(fields), row.memory, row.kind] = row
    return found


def layer_of(fields):
    if "n" in fields:
        names = ("n", "k")
    else:
        names = ("hidden", "intermediate", "experts", "top_k")
    sizes = tuple(int(fields[name]) if fields.get(name, "").isdigit() else 0 for name in names)
    return " × ".join(map(str, sizes)), sizes


def speedups(bench):
    """Over the bf16 row of the same problem: the paired ratio that armq-bench measured, of files
    without one the ratio of median times. Empty unless the file says that its times are
    performance; rows too noisy to judge are left out."""
    if not bench.time_is_performance:
        return []
    base, found = baselines(bench), []
    for row in bench.rows:
        fields = case_fields(row.case)
        op = fields["op"]
        if not row.seconds or row.error or not op.endswith(("_w8a8", "_w4a8")):
            continue
        other = base.get((op[:-4] + "bf16", problem_key(fields), row.memory, row.kind))
        paired = row.counters.get("speed-up")
        if other is None or median(row.seconds) <= 0 or evidence.noise(row):
            continue
        layer, order = layer_of(fields)
        tokens = int(fields["tokens"]) if fields.get("tokens", "").isdigit() else 0
        mode = filter(None, (weights_of(fields), row.memory if row.memory == "cold" else "",
                             row.kind))
        found.append(Speedup(row.provider, fields["dialect"], ", ".join(mode),
                             fields["threads"], layer, order,
                             tokens, paired or median(other.seconds) / median(row.seconds),
                             f"on {other.provider}: {other.label}",
                             row.counters.get("speed-up low") if paired else None,
                             row.counters.get("speed-up high") if paired else None))
    return found


# --- Text ---------------------------------------------------------------------------------------


def figure(value, digits=3):
    """A number for people; a dash where there is none."""
    value = number(value)
    if math.isnan(value):
        return "–"
    return re.sub(r"e([+-])0*(?=\d)", r"e\1", f"{value:.{digits}g}").replace("e+", "e")


def amount(value):
    """A time or a rate: three or four digits, never an exponent."""
    value = number(value)
    if not math.isfinite(value):
        return "–"
    if value == 0 or abs(value) >= 1000:
        return count(round(value))
    return f"{value:.{max(0, 3 - math.floor(math.log10(abs(value))))}f}"


def element_value(value):
    """As many digits as tell two f32 apart; null is how a result file writes NaN."""
    return "NaN" if math.isnan(number(value)) else f"{number(value):.9g}"


def count(value):
    return f"{value:,}".replace(",", "\u202f")
