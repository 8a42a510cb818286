# SPDX-License-Identifier: Apache-2.0
"""The table of the README: what passes, per op, dialect and weights (rows) and provider (columns).

    python3 -m reports.table FILE.jsonl [...]
"""

import argparse
import sys
from collections import Counter, defaultdict

from reports.load import LoadError, load_conform
from reports.model import pass_table

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


def markdown(runs):
    providers, rows = pass_table(runs)
    lines = [["op", "dialect", "weights", "input dtypes", *providers],
             ["---"] * (4 + len(providers))]
    for (op, dialect, weights), (dtypes, cells) in merge_dtypes(rows, len(providers)).items():
        lines.append([f"`{op}`", f"`{dialect}`", weights or "–", ", ".join(dtypes),
                      *map(cell_text, cells)])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="reports.table", description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE.jsonl")
    try:
        runs = [load_conform(path) for path in parser.parse_args(arguments).files]
    except LoadError as error:
        print(f"reports.table: {error}", file=sys.stderr)
        return 2
    sys.stdout.write(markdown(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
