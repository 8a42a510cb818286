# SPDX-License-Identifier: Apache-2.0
"""equivalent.txt: mutants that cannot change any result, each with the reason.

    kernels/i8mm/tiles.c constant      the file and the rule; a number behind them: only where that
                                       edit of that line stands for the first (1), second ... time
    - the line before the edit         white space does not count
    + the line after it                left out: every edit of that rule in that line
    why it cannot be seen, one line or more, up to a blank line

Several pairs of - and + may share one reason. Lines that begin with # are comments.
"""

from collections import Counter
from dataclasses import dataclass, field

from conformance.mutants.source import squeezed


class EquivalentError(Exception):
    """The file says something that is not so."""


@dataclass
class Entry:
    file: str
    rule: str
    before: str
    after: str
    reason: str
    line: int
    place: int = 0
    used: bool = field(default=False)

    def matches(self, mutant, place):
        return (self.file == mutant.file and self.rule == mutant.rule
                and self.before == squeezed(mutant.before)
                and self.after in (None, squeezed(mutant.after))
                and self.place in (0, place))


def _stanzas(text):
    stanza, first = [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.startswith("#"):
            continue
        if line.strip():
            first = first if stanza else number
            stanza.append(line)
        elif stanza:
            yield first, stanza
            stanza = []


def _entries(number, stanza):
    head = stanza[0].split()
    pairs, reason = [], []
    for line in stanza[1:]:
        if line.startswith("- "):
            pairs.append([squeezed(line[2:]), None])
        elif line.startswith("+") and pairs and pairs[-1][1] is None and not reason:
            pairs[-1][1] = squeezed(line[1:])
        else:
            reason.append(line.strip())
    place = head.pop() if len(head) == 3 else "0"
    if len(head) != 2 or not place.isdigit() or not pairs or not reason:
        raise EquivalentError(f"line {number}: wanted 'FILE RULE [PLACE]', lines '- before', "
                              "'+ after', and a reason")
    return [Entry(*head, before, after, " ".join(reason), number, int(place))
            for before, after in pairs]


def read(text):
    return [entry for number, stanza in _stanzas(text) for entry in _entries(number, stanza)]


def argue(entries, mutants):
    """mutant id -> reason, over all mutants there are; an entry without a mutant is an error."""
    argued, places = {}, Counter()
    for mutant in mutants:
        edit = mutant.file, mutant.rule, squeezed(mutant.before), squeezed(mutant.after)
        places[edit] += 1
        for entry in entries:
            if entry.matches(mutant, places[edit]):
                entry.used = True
                argued[mutant.id] = entry.reason
    stale = [entry for entry in entries if not entry.used]
    if stale:
        raise EquivalentError("\n".join(
            f"line {e.line}: {e.file} has no mutant of rule {e.rule} with\n    - {e.before}\n"
            f"    + {e.after or '(any)'}" for e in stale))
    return argued
