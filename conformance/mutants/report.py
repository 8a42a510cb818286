# SPDX-License-Identifier: Apache-2.0
"""What a run says: a line per mutant, a table per file, survivors with their edits."""

import json
from collections import Counter

STATES = ("killed", "survived", "equivalent", "same code", "no build")
BUILT_AT_LEAST = 0.8


def line(record):
    text = f"{record['state']:10} {record['id']}"
    if record["state"] == "killed":
        text += f"  {record['check']}: {record['case'] or record['detail']}"
    return text


def edit(record):
    def lines(mark, text):
        return [f"    {mark} {part}" for part in text.split("\n")]
    return "\n".join(lines("-", record["before"]) + lines("+", record["after"]))


def _counts(records):
    return Counter(record["state"] for record in records)


def _row(name, counts):
    total = sum(counts.values())
    built = total - counts["no build"]
    return "  ".join([f"{name:34}", f"{total:7}", f"{100 * built / total:5.1f}%"]
                     + [f"{counts[state]:10}" for state in STATES])


def table(records):
    rows = ["  ".join([f"{'file':34}", "mutants", " built"] + [f"{s:>10}" for s in STATES])]
    for name in sorted({record["file"] for record in records}):
        rows.append(_row(name, _counts(r for r in records if r["file"] == name)))
    return "\n".join(rows + [_row("sum", _counts(records))])


def finish(records, argued, path):
    """Prints and writes the summary; the exit status."""
    for record in records:
        if record["state"] == "survived" and record["id"] in argued:
            record["state"] = "equivalent"
    counts = _counts(records)
    survivors = [r for r in records if r["state"] == "survived"]
    wrong = [r for r in records if r["state"] == "killed" and r["id"] in argued]
    built = 1 - counts["no build"] / len(records)
    checks = Counter(r["check"] for r in records if r["state"] == "killed")
    path.write_text(json.dumps({"counts": counts, "checks": checks, "mutants": records}, indent=1))
    print(f"\n{table(records)}\n\nkilled by: "
          + ", ".join(f"{check} {count}" for check, count in checks.most_common()))
    for record in survivors:
        print(f"\nSURVIVED {record['id']}\n{edit(record)}")
    for record in wrong:
        print(f"\nARGUED equivalent, but killed by {record['check']}: {record['id']}\n"
              f"{edit(record)}\n    {record['case']}: {record['detail']}")
    if built < BUILT_AT_LEAST:
        print(f"\ntoo few build: {100 * built:.1f} %, wanted {100 * BUILT_AT_LEAST:.0f} %")
    print(f"\nmutants: {counts['killed']} killed, {len(survivors)} survived, "
          f"{counts['equivalent']} equivalent, "
          f"{counts['same code']} same code, {counts['no build']} did not build")
    return 1 if survivors or wrong or built < BUILT_AT_LEAST else 0
