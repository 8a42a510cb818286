# SPDX-License-Identifier: Apache-2.0
"""What the model prints: tables as text, and JSON in Google Benchmark's format."""

from dataclasses import dataclass

from perf.model import mca, runner
from perf.model.cores import BY_NAME, CORES, MULTIPLY
from perf.model.estimate import ENOUGH
from perf.model.targets import ABSENT

NOTE = ("Modelled, not measured: instructions counted under QEMU, cycles from llvm-mca with every "
        "load a first-level hit.")


@dataclass
class Answer:
    """All that one run of the model found."""

    modelled: list  # of Modelled
    refused: dict  # (provider, case) -> reason
    verdicts: list
    curves: list


def _number(value, digits=3):
    """Three significant digits, without an exponent; small ones with as many decimals as goals."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:.0f}"
    if 0 < abs(value) < 0.1:
        digits += 1
    return f"{value:.{max(0, digits - len(str(int(abs(value)))))}f}"


def columns(rows, left=1):
    """Rows of text under each other; the first `left` columns start, the others end together."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) if i < left else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def per_mac(value, macs):
    return value / macs if macs else None


def share_of_limit(row, e):
    """MAC/cycle of all threads in % of what their cores could issue; None without a limit."""
    return 100 * row.macs / e.cycles / e.peak / row.threads if e.peak and row.macs else None


def short_text(case):
    """Without the seed that every case has."""
    return case.removesuffix(" seed=1")


def case_table(modelled, cores):
    """A line per case and core."""
    rows = [("provider", "case", "core", "instr", "instr/MAC", "cycles", "MAC/cycle", "% limit",
             "bound", "over bf16", "hot functions, % of cycles")]
    for row in modelled:
        for name in cores:
            e = row.on(name)
            if e is None:
                continue
            share = share_of_limit(row, e)
            hot = ", ".join(f"{f.name} {100 * f.cycles / e.work:.0f}" for f in e.functions[:3])
            rows.append((row.provider, short_text(row.case), e.core.short, str(row.instructions),
                         _number(per_mac(row.instructions, row.macs), 4), f"{e.cycles:.0f}",
                         _number(row.macs / e.cycles if row.macs else None), _number(share),
                         e.bound, _number(row.speed_up(name)), hot))
    return _left_last(rows)


def _left_last(rows):
    text = columns([row[:-1] for row in rows], left=3)
    return "".join(f"{line}  {row[-1]}\n" for line, row in zip(_padded(text), rows))


def _padded(text):
    lines = text.splitlines()
    width = max(map(len, lines))
    return [line.ljust(width) for line in lines]


def target_table(verdicts):
    rows = [("target", "core", "wanted", "value", "unit", "verdict")]
    for v in verdicts:
        sign = ">=" if v.target.at_least else "<="
        state = v.state if v.state != ABSENT else f"{v.state}: {v.reason}"
        rows.append((v.target.what, v.core, f"{sign} {v.target.goal:g}", _number(v.value, 4),
                     v.target.unit, state))
    return _left_last(rows)


def refusals(refused):
    """A line per provider and reason."""
    cases = {}
    for (provider, case), reason in sorted(refused.items()):
        cases.setdefault((provider, reason), []).append(short_text(case))
    return "".join(f"not available: {len(found)} case{'s' * (len(found) > 1)} on {provider}: "
                   f"{reason} ({'first: ' * (len(found) > 1)}{found[0]})\n"
                   for (provider, reason), found in cases.items())


def uncovered(modelled, cores):
    """A line per case of which llvm-mca knows too little."""
    return "".join(f"guessed: {row.provider} {short_text(row.case)} on {e.core.short}: llvm-mca "
                   f"knows {100 * e.covered:.1f} % of the instructions, wanted {100 * ENOUGH:g} %\n"
                   for row in modelled for e in map(row.on, cores)
                   if e is not None and e.covered < ENOUGH)


def curve_points(curve):
    """(number on the axis, row)"""
    for row in curve.rows:
        words = dict(word.split("=", 1) for word in row.case.split()[1:])
        yield int(words.get(curve.series.axis, 1)), row


def curve_table(curve, cores):
    """Cycles per MAC of one core times the cores at work: flat where it scales."""
    shown = [core for core in cores if curve.rows[0].on(core) is not None]
    rows = [(curve.series.axis, "workspace bytes",
             *(f"{BY_NAME[core].short} cycles/MAC{part}" for core in shown
               for part in ("", " compute")))]
    for at, row in curve_points(curve):
        cells = [(e.cycles, e.compute) for e in map(row.on, shown)]
        rows.append((str(at), str(row.workspace),
                     *(_number(value * row.threads / row.macs, 5) for pair in cells
                       for value in pair)))
    return columns(rows, left=0)


def hot_functions(row, core, count):
    """Where a case spends its cycles."""
    e = row.on(core)
    rows = [("function", "instr", "% instr", "cycles", "% cycles", "instr/MAC")]
    for f in e.functions[:count]:
        rows.append((f.name, str(f.instructions), f"{100 * f.instructions / row.instructions:.1f}",
                     f"{f.cycles:.0f}", f"{100 * f.cycles / e.work:.1f}",
                     _number(per_mac(f.instructions, row.macs), 4)))
    return columns(rows)


def hot_blocks(row, core, count, costs):
    """The hottest blocks, their cost and their instructions."""
    totals = row.counted.totals()
    order = sorted(totals, key=lambda b: (-len(b.text) * totals[b], b.address))[:count]
    lines = []
    for block in order:
        cost = costs.cost(BY_NAME[core].name, block.text)
        said = f"{cost.cycles:.2f} cycles, {cost.issue:.2f} by issue" if cost else "not modelled"
        lines.append(f"{block.function}, {len(block.text)} instructions x {totals[block]}: {said}")
        lines += [f"    {text}" for text in block.text]
    return "\n".join(lines) + "\n"


# --- JSON ---------------------------------------------------------------------------------------


def _context(modelled):
    machine = modelled[0].counted.about["machine"] if modelled else {}
    context = {
        "armq_emulated": "true",
        "time_is_performance": "false",
        "armq_modelled": NOTE,
        "armq_llvm_mca": mca.version(),
        "armq_qemu": runner.emulator_version(),
        "armq_cpu": runner.CPU,
        "armq_compiler": str(machine.get("compiler", "unknown")),
        "armq_caches": " ".join(str(machine.get(key, 0)) for key in ("l1", "l2", "llc")),
    }
    for core in CORES:
        context[f"armq_{core.name}"] = (f"{core.ghz} GHz, {core.core_gbs} GB/s a core, "
                                        f"{core.socket_gbs} GB/s a socket ({core.source})")
    return context


def _counters(row, e):
    counters = {
        "MAC": row.macs,
        "bytes": row.counted.about["bytes"],
        "instructions": row.instructions,
        "modelled cycles": e.cycles,
        "modelled compute cycles": e.compute,
        "modelled memory cycles": e.memory,
        "modelled issue cycles": e.issue,
        "bytes touched": row.counted.memory_bytes,
        "packed bytes touched": row.touched.get("packed", 0) + row.touched.get("packed_w2", 0),
        "workspace bytes": row.counted.about["workspace"],
        "logical threads": row.threads,
        "covered": e.covered,
    }
    if row.macs:
        counters |= {"MAC/byte": row.macs / row.counted.about["bytes"],
                     "instructions/MAC": row.instructions / row.macs,
                     "modelled MAC/cycle": row.macs / e.cycles}
        if e.peak:
            counters["modelled % of issue limit"] = share_of_limit(row, e)
            counters["issue limit MAC/cycle"] = e.peak
    if row.speed_up(e.core.name):
        counters["modelled speed-up over bf16"] = row.speed_up(e.core.name)
    return counters


def _benchmark(row, e, index):
    name = f"{row.provider}@{e.core.name}/{row.case}"
    nanoseconds = e.cycles / e.core.ghz
    return {
        "name": name, "run_name": name, "run_type": "iteration", "family_index": index,
        "per_family_instance_index": 0, "repetitions": 1, "repetition_index": 0, "threads": 1,
        "iterations": 1, "real_time": nanoseconds, "cpu_time": nanoseconds, "time_unit": "ns",
        "label": f"modelled on {e.core.name}: {row.counted.about['kernel']}",
        "bound": e.bound,
        "hot": [[f.name, f.instructions, round(f.cycles, 1)] for f in e.functions[:8]],
        **_counters(row, e),
    }


def _cores_json(answer):
    """What a roofline needs; the limits of issue as far as a case of the tier was modelled."""
    found = {core.name: {"ghz": core.ghz, "core_gbs": core.core_gbs, "source": core.source,
                         "limits": {}} for core in CORES}
    for row in answer.modelled:
        for name, e in row.estimates.items():
            if e is not None and e.peak:
                found[name]["limits"][MULTIPLY[row.provider]] = e.peak
    return found


def _curve_json(curve):
    points = [{"at": at, "case": row.case, "workspace": row.workspace,
               "cycles/MAC": {name: e.cycles * row.threads / row.macs
                              for name, e in row.estimates.items() if e is not None},
               "compute cycles/MAC": {name: e.compute * row.threads / row.macs
                                      for name, e in row.estimates.items() if e is not None}}
              for at, row in curve_points(curve)]
    return {"title": curve.series.title, "axis": curve.series.axis,
            "provider": curve.series.provider, "points": points}


def as_json(answer):
    """Google Benchmark's format: a benchmark per case and core, plus what it has no place for."""
    rows = [(row, e) for row in answer.modelled for e in row.estimates.values() if e is not None]
    return {
        "context": _context(answer.modelled),
        "benchmarks": [_benchmark(row, e, i) for i, (row, e) in enumerate(rows)],
        "cores": _cores_json(answer),
        "curves": [_curve_json(curve) for curve in answer.curves],
        "not_available": [{"provider": provider, "case": case, "reason": reason}
                          for (provider, case), reason in sorted(answer.refused.items())],
        "targets": [{"what": v.target.what, "core": v.core, "at_least": v.target.at_least,
                     "goal": v.target.goal, "unit": v.target.unit, "value": v.value,
                     "state": v.state, "reason": v.reason} for v in answer.verdicts],
    }
