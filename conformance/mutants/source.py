# SPDX-License-Identifier: Apache-2.0
"""C sources as far as edit rules need them: what is code, arguments of a call, statements."""

import re

OPEN, CLOSE = "([{", ")]}"

_NOT_CODE = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
        | ^\#\s*(?:include|ifn?def|undef|pragma|error)[^\n]*""",
    re.DOTALL | re.MULTILINE | re.VERBOSE)
_GUARD = re.compile(r"^#define \w+_H$", re.MULTILINE)


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def masked(text):
    """The text with comments, literals and includes blanked: the same length, the same lines."""
    return _GUARD.sub(_blank, _NOT_CODE.sub(_blank, text))


def closing(code, start):
    """Index of the bracket that closes the one at `start`, or None."""
    depth = 0
    for i in range(start, len(code)):
        if code[i] in OPEN:
            depth += 1
        elif code[i] in CLOSE:
            depth -= 1
            if depth == 0:
                return i
    return None


def arguments(code, start):
    """[(start, end)] of the arguments between the parenthesis at `start` and its partner."""
    end = closing(code, start)
    if end is None:
        return []
    spans, depth, first = [], 0, start + 1
    for i in range(start + 1, end):
        if code[i] in OPEN:
            depth += 1
        elif code[i] in CLOSE:
            depth -= 1
        elif code[i] == "," and depth == 0:
            spans.append((first, i))
            first = i + 1
    spans.append((first, end))
    return [_stripped(code, *span) for span in spans]


def _stripped(code, start, end):
    while start < end and code[start].isspace():
        start += 1
    while end > start and code[end - 1].isspace():
        end -= 1
    return start, end


def condition_start(code, end):
    """Where the condition before the `?` at `end` begins."""
    depth, i = 0, end - 1
    while i >= 0:
        c = code[i]
        if c in CLOSE:
            depth += 1
        elif c in OPEN:
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and (c in ";,?:\\" or c == "=" and _assigns(code, i)):
            break
        i -= 1
    start = _stripped(code, i + 1, end)[0]
    returns = re.match(r"return\b\s*", code[start:end])
    return start + (returns.end() if returns else 0)


def _assigns(code, i):
    return code[i - 1] not in "=!<>" and code[i + 1] != "="


# A statement that is no declaration: something is assigned or called.
_STATEMENT = re.compile(r"(?:[;{})]|\belse\b|UNROLL)\s*(?:\\\n\s*)?"
                        r"((?:\*\s*)?[a-z_][\w.]*(?:\[[^;\]]*\]|->|\.|\w)*\s*(?:[-+*/%|&^]|<<|>>)?="
                        r"[^=][^;{}]*;|[a-z_]\w*\s*\([^;{}]*\);)")


def statements(code):
    """[(start, end)] of expression statements, the semicolon left out."""
    spans, at = [], 0
    while True:
        match = _STATEMENT.search(code, at)
        if not match:
            return spans
        spans.append((match.start(1), match.end(1) - 1))
        at = match.end(1) - 1


# A type, declarators, and an open bracket.
_ARRAY = re.compile(r"[\s(]*(?:static\s+|const\s+)*[a-z]\w*\s+(?:const\s+)?\**\w+(?:\[[^=;]*)$")
_BREAKS = re.compile(r"[;{}(]|\bUNROLL\b")


def is_array_size(code, position):
    """Whether an array is declared here with the expression at `position` as its size."""
    start = max((m.end() for m in _BREAKS.finditer(code, max(0, position - 300), position)),
                default=0)
    declared = code[start:position]
    if declared.count("[") <= declared.count("]"):
        return False
    last = declared.rsplit(",", 1)[-1] if not re.match(r"\s*\w+\s+\w", declared) else declared
    return bool(_ARRAY.match(last)) and not re.match(r"\s*(?:return|else|case)\b", last)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def lines_around(text, start, end):
    """The whole lines of text[start:end], as one line with single spaces."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return text[first:last if last >= 0 else len(text)]


def squeezed(text):
    return " ".join(text.replace("\\\n", " ").split())
