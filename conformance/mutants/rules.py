# SPDX-License-Identifier: Apache-2.0
"""The table of edit rules: each a mistake that people make, and the edits that make it.

A rule takes a source's code (comments and literals blanked) and yields (start, end, replacement).
"""

import re
from dataclasses import dataclass

from conformance.mutants import source


@dataclass(frozen=True)
class Edit:
    rule: str
    start: int
    end: int
    text: str


def _tokens(pattern, swaps):
    """Every match of the pattern becomes what the table says, one or several."""
    regex = re.compile(pattern)

    def edits(code):
        for match in regex.finditer(code):
            for new in swaps.get(match.group(1), ()):
                yield match.start(1), match.end(1), new
    return edits


def _both_ways(*pairs):
    table = {}
    for one, other in pairs:
        table.setdefault(one, []).append(other)
        table.setdefault(other, []).append(one)
    return table


_bounds = _tokens(r"(?<= )(<=|>=|<|>)(?= )", _both_ways(("<", "<="), (">", ">=")))
_equality = _tokens(r"(?<= )(==|!=)(?= )", _both_ways(("==", "!=")))
_logic = _tokens(r"(?<= )(&&|\|\|)(?= )", _both_ways(("&&", "||")))
_arithmetic = _tokens(r"(?<=[\w)\]] )([-+*/%])(?= )",
                      {"+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "%": ["/"]})
_assignment = _tokens(r"(?<= )([-+*]=)(?= )", {"+=": ["-=", "="], "-=": ["+="], "*=": ["="]})
_shift = _tokens(r"(?<= )(<<|>>)(?= )", _both_ways(("<<", ">>")))
_truth = _tokens(r"\b(true|false)\b", _both_ways(("true", "false")))
_size = _tokens(r"\bsizeof\((\w+)\)", _both_ways(("uint16_t", "float"), ("int32_t", "int8_t")))


def _constants(code):
    for match in re.finditer(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)(?![\w.])", code):
        value = int(match.group(1), 0)
        for new in (value + 1, value - 1):
            if new >= 0:
                yield match.start(1), match.end(1), str(new)


def _floats(code):
    number = r"(?<![\w.])((?:\d+\.\d*|0x[\da-f.]+p[-+]?\d+|\d+(?=f))(?:e[-+]?\d+)?f?)(?!\w)"
    for match in re.finditer(number, code):
        near = "1e-3f" if float.fromhex(match.group(1).rstrip("f")) == 0 else None
        yield match.start(1), match.end(1), near or f"(1.001f * {match.group(1)})"


def _negations(code):
    for match in re.finditer(r"\b(?:if|while) (\()", code):
        end = source.closing(code, match.start(1))
        if end is not None:
            inner = code[match.end(1):end]
            yield match.end(1), end, f"!({inner})"
    for match in re.finditer(r" (\?) ", code):
        start = source.condition_start(code, match.start())
        if start < match.start():
            yield start, match.start(), f"!({code[start:match.start()]})"


def _indices(code):
    for match in re.finditer(r"(?<=\w)(\[)", code):
        end = source.closing(code, match.start(1))
        inner = code[match.end(1):end] if end is not None else ""
        if inner:
            yield match.end(1), end, f"({inner}) ^ 1"
    for match in re.finditer(r"_laneq?_\w+(\()", code):
        spans = source.arguments(code, match.start(1))
        if len(spans) > 1 and code[slice(*spans[-1])].isdigit():
            start, end = spans[-1]
            yield start, end, str(int(code[start:end]) ^ 1)


def _calls(code, pattern):
    for match in re.finditer(r"(?<!\w)(" + pattern + r")(\()", code):
        spans = source.arguments(code, match.start(2))
        if spans and spans[0][0] < spans[0][1]:
            yield match, spans


# Functions whose last two arguments have one type: nothing but attention keeps them in order.
_ORDERED = (r"v(?:sub|vcombine|zip[12]|trn[12]|uzp[12]|mmla|bic|padd|mull|rsubhn|combine|ext)q?_\w+"
            r"|v(?:bsl|mls|fms)q_\w+|\w*halves|\w*floats|armq_narrow_\w+_pair|store_pair"
            r"|vbfmmlaq_f32|memcpy|min64|max64|multiply_add|armq_split")


def _operands(code):
    for _, spans in _calls(code, _ORDERED):
        if len(spans) >= 2:
            (s1, e1), (s2, e2) = spans[-2:]
            yield s1, e2, code[s2:e2] + code[e1:s2] + code[s1:e1]


_ACCUMULATING = (r"v(?:add|mmla|dot|dot_laneq|padal|fma|fma_n|fms_n|mls_n|fma_laneq)q_[sfu]\d+"
                 r"|vbfmmlaq_f32|vdotq_laneq_s32|armq_group_add|multiply_add|dot_lane")


def _accumulates(code):
    for match, spans in _calls(code, _ACCUMULATING):
        end = source.closing(code, match.start(2)) + 1
        names = [code[slice(*span)] for span in spans]
        kept = names[1] if match.group(1) == "armq_group_add" else names[0]
        yield match.start(1), end, kept


# (signed name, unsigned name, its result, its arguments)
_UNSIGNED = (
    ("vmull_s8", "vmull_u8", "int16x8_t", ("uint8x8_t", "uint8x8_t")),
    ("vmull_high_s8", "vmull_high_u8", "int16x8_t", ("uint8x16_t", "uint8x16_t")),
    ("vpadalq_s16", "vpadalq_u16", "int32x4_t", ("uint32x4_t", "uint16x8_t")),
    ("vdotq_s32", "vdotq_u32", "int32x4_t", ("uint32x4_t", "uint8x16_t", "uint8x16_t")),
    ("vmmlaq_s32", "vmmlaq_u32", "int32x4_t", ("uint32x4_t", "uint8x16_t", "uint8x16_t")),
    ("vmmlaq_s32", "vusmmlaq_s32", "int32x4_t", ("int32x4_t", "uint8x16_t", "int8x16_t")),
    ("vdotq_laneq_s32", "vdotq_laneq_u32", "int32x4_t",
     ("uint32x4_t", "uint8x16_t", "uint8x16_t", "")),
    ("vcvtq_f32_s32", "vcvtq_f32_u32", "float32x4_t", ("uint32x4_t",)),
    ("vshrq_n_s32", "vshrq_n_u32", "int32x4_t", ("uint32x4_t", "")),
    ("vshrq_n_s8", "vshrq_n_u8", "int8x16_t", ("uint8x16_t", "")),
    ("vmovl_s16", "vmovl_u16", "int32x4_t", ("uint16x4_t",)),
    ("vmovl_high_s16", "vmovl_high_u16", "int32x4_t", ("uint16x8_t",)),
    ("vmovl_s8", "vmovl_u8", "int16x8_t", ("uint8x8_t",)),
    ("vaddlvq_s8", "vaddlvq_u8", "int32_t", ("uint8x16_t",)),
    ("vaddlvq_s16", "vaddlvq_u16", "int32_t", ("uint16x8_t",)),
    ("vpaddlq_s8", "vpaddlq_u8", "int16x8_t", ("uint8x16_t",)),
    ("vpaddlq_s16", "vpaddlq_u16", "int32x4_t", ("uint16x8_t",)),
)


def _signs(code):
    for signed, unsigned, result, types in _UNSIGNED:
        for match, spans in _calls(code, signed):
            end = source.closing(code, match.start(2)) + 1
            casts = [f"({t})({code[slice(*s)]})" if t else code[slice(*s)]
                     for t, s in zip(types, spans)]
            yield match.start(1), end, f"({result}){unsigned}({', '.join(casts)})"
    for match in re.finditer(r"\b(u?int(?:8|16|32)_t)(?= \*?\)| \w+ = |\))", code):
        old = match.group(1)
        yield match.start(), match.end(), old[1:] if old[0] == "u" else "u" + old


_INTRINSICS = _both_ways(
    ("low", "high"), ("min", "max"), ("zip1", "zip2"), ("trn1", "trn2"), ("uzp1", "uzp2"),
    ("add", "sub"), ("fma", "fms"), ("mla", "mls"), ("minnm", "maxnm"), ("maxnmv", "minnmv"),
    ("rndn", "rnda"), ("cvtn", "cvta"), ("ceq", "cgt"), ("cgt", "cge"), ("clt", "cle"),
    ("qmovn", "movn"), ("padd", "add"), ("rsubhn", "subhn"), ("and", "orr"), ("maxv", "minv"),
    ("max", "maxnm"), ("mlal", "mlsl"), ("upper", "lower"), ("cagt", "cage"), ("rndm", "rndp"))
_WORDS = re.compile(r"(?<!\w)v([a-z]+[12]?)(?=q?_|_high|_n)")


def _intrinsics(code):
    for match in _WORDS.finditer(code):
        for new in _INTRINSICS.get(match.group(1), ()):
            yield match.start(1), match.end(1), new
    # Halves, in names of intrinsics and of functions made of them.
    for match in re.finditer(r"(?<=_)(low|high)(?=_(?:[su]\d|nibbles|f16|bf16|s8)|\()"
                             r"|\b(low|high)(?=_(?:halves|floats))", code):
        yield match.start(), match.end(), "high" if match.group() == "low" else "low"
    for match in re.finditer(r"\b(min|max)(?=64\b)", code):
        yield match.start(), match.end(), "max" if match.group() == "min" else "min"


def _drops(code):
    for start, end in source.statements(code):
        # These steer the compiler and do nothing.
        if not code.startswith("__asm__", start):
            yield start, end, ""


RULES = {
    "bound": (_bounds, "a comparison takes in, or leaves out, its bound"),
    "equality": (_equality, "== and != exchanged"),
    "logic": (_logic, "&& and || exchanged"),
    "arithmetic": (_arithmetic, "another operator: + -, - +, * +, / *, % /"),
    "assignment": (_assignment, "+= to -= or =, -= to +=: a pointer or a sum goes wrong"),
    "shift": (_shift, "<< and >> exchanged"),
    "truth": (_truth, "true and false exchanged"),
    "size": (_size, "sizeof another type"),
    "constant": (_constants, "an integer one more or one less"),
    "float": (_floats, "a float constant off by a thousandth"),
    "negation": (_negations, "a condition negated"),
    "index": (_indices, "the neighbour's index or lane"),
    "operands": (_operands, "two operands exchanged"),
    "accumulate": (_accumulates, "what was to be added is dropped"),
    "sign": (_signs, "signed and unsigned exchanged"),
    "intrinsic": (_intrinsics, "a related instruction: halves, min and max, add and subtract"),
    "drop": (_drops, "a statement left out"),
}


def edits_of(text, names=None):
    """All edits of a source by the rules, in the order of position; none makes the same text."""
    code = source.masked(text)
    found = {}
    for name, (rule, _) in RULES.items():
        if names and name not in names:
            continue
        for start, end, new in rule(code):
            # Sizes of arrays stay: one element more is never seen, one less is undefined.
            if text[start:end] != new and not source.is_array_size(code, start):
                found.setdefault((start, end, new), Edit(name, start, end, new))
    return [found[key] for key in sorted(found)]
