# SPDX-License-Identifier: Apache-2.0
"""A mutant: a source, a place and a rule; and the sweeps that judge it."""

from dataclasses import dataclass
from pathlib import Path

from conformance.mutants import source
from conformance.mutants.rules import edits_of

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    rule: str
    old: str
    new: str
    before: str  # whole lines
    after: str
    text: str    # the whole edited source
    id: str

    def record(self):
        return {"id": self.id, "file": self.file, "line": self.line, "rule": self.rule,
                "before": self.before, "after": self.after}

    def brief(self):
        return f"{source.squeezed(self.old)} -> {source.squeezed(self.new) or '(nothing)'}"


def mutants_of(root, name):
    """All mutants of a source."""
    text = (root / name).read_text()
    counts = {}
    for edit in edits_of(text):
        line = source.line_of(text, edit.start)
        place = f"{name}:{line}:{edit.rule}"
        counts[place] = counts.get(place, 0) + 1
        edited = text[:edit.start] + edit.text + text[edit.end:]
        after = source.lines_around(edited, edit.start, edit.start + len(edit.text))
        yield Mutant(name, line, edit.rule, text[edit.start:edit.end], edit.text,
                     source.lines_around(text, edit.start, edit.end), after, edited,
                     f"{place}:{counts[place]}")


def sweeps_of(name, instead=()):
    """[(tier, sweep)] that judge an edit of this source, those that tell most first."""
    part = name.split("/")[1]
    tiles, sharp = HERE / "tiles.sweep", HERE / "../faults/sharp.sweep"
    if part != "common":
        return [(part, s) for s in instead or (tiles,)]
    # Each tier has k steps, and heights, of its own; the likeliest to differ first.
    pairs = [(tier, s) for tier in ("i8mm", "neon", "dotprod", "bf16")
             for s in instead or (sharp, tiles)]
    return pairs if instead else [("i8mm", HERE / "first.sweep"), *pairs]
