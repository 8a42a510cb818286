# SPDX-License-Identifier: Apache-2.0
"""Tables of the READMEs: what passes, per op, dialect and weights (rows) and provider (columns);
with --checks, which check judged which op; with --targets, what the targets of the model gave.

    python3 -m reports.table [--checks] FILE.jsonl [...]
    python3 -m reports.table --targets model.json [...]
"""

import argparse
import sys
from collections import Counter, defaultdict

from reports.load import LoadError, load_conform
from reports.model import checks_by_op, pass_table
from reports.modelled import load_modelled

DTYPE_ORDER = ("f32", "bf16", "f16", "s8", "s32")


def merge_dtypes(rows, width):
    """Rows (op, dialect, weights) with the input dtypes seen and, per provider, results by
    status."""
    merged, dtypes = defaultdict(lambda: [Counter() for _ in range(width)]), defaultdict(set)
    for (*row, pair), cells in rows:
        row = tuple(row)
        dtypes[row].add(pair.split(" ")[0])
        for total, cell in zip(merged[row], cells):
            total.update(cell or {})
    return {key: (sorted(dtypes[key], key=DTYPE_ORDER.index), cells)
            for key, cells in merged.items()}


def cell_text(results):
    """'231', '3 of 231 FAIL', or a dash where nothing ran."""
    bad = results["failed"] + results["crashed"]
    ran = results["passed"] + results["waived"] + bad
    if not ran:
        return "–"
    if bad:
        return f"{bad} of {ran} FAIL"
    waived = f" ({results['waived']} waived)" if results["waived"] else ""
    return f"{results['passed']}{waived}"


def markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def what_passes(runs):
    providers, rows = pass_table(runs)
    return markdown(
        ["op", "dialect", "weights", "input dtypes", *providers],
        [[f"`{op}`", f"`{dialect}`", weights or "–", ", ".join(dtypes), *map(cell_text, cells)]
         for (op, dialect, weights), (dtypes, cells) in merge_dtypes(rows, len(providers)).items()])


def what_is_checked(runs):
    """Per check and op, how many results on all providers it judged; a dash: it does not apply."""
    judged = checks_by_op(runs)
    ops = sorted({op for counts in judged.values() for op in counts})
    return markdown(["check", *(f"`{op}`" for op in ops)],
                    [[check, *(str(counts[op] or "–") for op in ops)]
                     for check, counts in judged.items()])


def target_text(target):
    if target["state"] == "met":
        return f"{target['value']:.4g}"
    return target["state"] if target["value"] is None else f"**{target['value']:.4g}**"


def what_is_reached(runs):
    """A row per target and goal, a column per core; bold: not met."""
    rows, cores = defaultdict(dict), set()
    for run in runs:
        for target in run.targets:
            sign = "≥" if target["at_least"] else "≤"
            goal = f"{sign} {target['goal']:g} {target['unit']}"
            rows[target["what"].replace("|", " and "), goal][target["core"]] = target
            cores.add(target["core"])
    return markdown(["what", "target", *sorted(cores)],
                    [[what, goal, *(target_text(cells[core]) if core in cells else "–"
                                    for core in sorted(cores))]
                     for (what, goal), cells in rows.items()])


TABLES = {"passes": (load_conform, what_passes), "checks": (load_conform, what_is_checked),
          "targets": (load_modelled, what_is_reached)}


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="reports.table", description=__doc__.split("\n")[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--checks", dest="table", action="store_const", const="checks",
                       help="which check judged which op")
    which.add_argument("--targets", dest="table", action="store_const", const="targets",
                       help="targets of the model; the files are those of make model")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.set_defaults(table="passes")
    options = parser.parse_args(arguments)
    load, table = TABLES[options.table]
    try:
        runs = [load(path) for path in options.files]
    except LoadError as error:
        print(f"reports.table: {error}", file=sys.stderr)
        return 2
    sys.stdout.write(table(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
