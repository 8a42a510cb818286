# SPDX-License-Identifier: Apache-2.0
"""What supports the times of armq-bench: measured peaks and the share of them that a case reaches,
confidence intervals, warm or cold weights, noise, times that cannot be."""

import json
import re
from dataclasses import dataclass
from statistics import median

from reports.load import LoadError, number

_RATE = re.compile(r"(?P<name>.+) (?P<unit>MAC|bytes)/s")


@dataclass
class Peaks:
    """Of one number of threads on one kind of cores."""

    kind: int
    threads: int
    rates: dict  # name: in 1e9 a second


@dataclass
class Row:
    provider: str
    case: str
    memory: str
    cold_bytes: float  # distinct bytes of weights in turns; None if warm
    percent: float  # of the binding peak; None if none applies
    bound: str  # what binds
    ratio: float  # over bf16; None without
    low: float
    high: float
    spread: float  # % between the quartiles of repetitions
    migrations: float
    verdict: str  # "quiet", "not measured", or what is wrong
    word: str  # class of the verdict: passed, failed, none


def noise(row):
    """Why the row is too noisy to judge; empty if it is not. armq-bench says so in the label."""
    found = re.search(r"noisy: [^;]*|noise unknown: [^;]*", row.label)
    return found.group() if found else ""


def is_invalid(row):
    return row.error is not None and row.error.startswith("invalid: ")


def peaks_of(bench):
    """The measured peaks. Empty for files without, and for emulated ones: those are no peaks."""
    text = bench.context.get("armq_peaks")
    if text is None or not bench.time_is_performance:
        return []
    try:
        found = json.loads(text)
        return [Peaks(int(one["kind"]), int(one["threads"]), _rates(one)) for one in found]
    except (TypeError, KeyError, ValueError) as error:
        raise LoadError(f"{bench.path}: 'armq_peaks' cannot be read: {error!r}") from None


def _rates(one):
    matches = ((_RATE.fullmatch(key), value) for key, value in one.items())
    return {f"{m['name']}, {'GMAC/s' if m['unit'] == 'MAC' else 'GB/s'}": number(value) / 1e9
            for m, value in matches if m}


def _percent(row):
    """The counter is that of the first repetition; the time shown is the median."""
    percent = row.counters.get("% of peak")
    if percent is None or not row.seconds or median(row.seconds) <= 0:
        return None
    return percent * row.seconds[0] / median(row.seconds)


def _verdict(row):
    if is_invalid(row):
        return row.error, "failed"
    if row.error is not None:
        return "no time", "failed"
    if noise(row):
        return "too noisy to judge: " + noise(row), "failed"
    return ("quiet", "passed") if "spread %" in row.counters else ("not measured", "none")


def _row(row):
    verdict, word = _verdict(row)
    judged = word != "failed"
    looked = "spread %" in row.counters  # counts of zero are left out of the file
    bound = re.search(r"bound by ([^;(]*[^;( ])", row.label)
    counter = row.counters.get
    return Row(row.provider, row.title, row.memory, counter("cold bytes"),
               _percent(row) if judged else None, bound.group(1) if bound else "",
               *(counter(key) if judged else None
                 for key in ("speed-up", "speed-up low", "speed-up high")),
               counter("spread %"), counter("migrations", 0) if looked else None, verdict, word)


def view(bench):
    """What the page shows of a file; None if it holds no evidence. Emulated files have no rows:
    their times are not performance, whatever was measured to try the plumbing."""
    if not bench.time_is_performance:
        return {"emulated": True} if "armq_emulated_peaks" in bench.context else None
    peaks = peaks_of(bench)
    rows = [_row(row) for row in bench.rows]
    if not peaks and all(row.word == "none" and row.percent is None for row in rows):
        return None
    names = list(dict.fromkeys(name for one in peaks for name in one.rates))
    return {"emulated": False, "peaks": peaks, "names": names, "rows": rows,
            "invalid": sum(is_invalid(row) for row in bench.rows),
            "noisy": sum(row.error is None and bool(noise(row)) for row in bench.rows)}
