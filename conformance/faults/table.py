# SPDX-License-Identifier: Apache-2.0
"""Reads table.def, and compares it with the sources that hold the mistakes."""

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = (HERE, HERE.parent / "naive")

OPS = {"q": "quantize", "a": "activation", "g8": "gemm_s8s8s32", "g4": "gemm_s8s4s32",
       "l8": "linear_w8a8", "l4": "linear_w4a8", "lb": "linear_bf16",
       "m8": "moe_w8a8", "m4": "moe_w4a8", "mb": "moe_bf16"}
CHECKS = ("value", "written", "repeat", "threads", "batch", "permute", "reentrant", "alloc",
          "registers", "poison", "extremes", "align", "arguments", "overflow", "memory", "inputs",
          "crash", "load")
WHERES = ("any", "aarch64", "cortex_a72")


class TableError(Exception):
    """What is wrong with the table, in a sentence."""


@dataclass
class Fault:
    """One row; `why` argues that an equivalent one cannot be caught, else it is empty."""

    id: str
    kind: str
    ops: tuple
    check: str
    where: str
    cases: str
    text: str
    why: str = ""


def arguments(text):
    """The arguments of a macro call: words, or strings in quotes, next to each other or alone."""
    parts = re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', text)
    return ["".join(re.findall(r'"([^"]*)"', part)) if '"' in part else part.strip()
            for part in parts]


def rows(text):
    """(macro, arguments) of every row."""
    for match in re.finditer(r"^([KFE])\((.*?)\)$", text, re.MULTILINE | re.DOTALL):
        yield match[1], arguments(match[2])


def expect(what, value, allowed):
    if value not in allowed:
        raise TableError(f"{what} is '{value}'; allowed: {', '.join(allowed)}")
    return value


def fault_of(macro, row, kinds):
    wanted = 7 if macro == "F" else 5
    if len(row) != wanted:
        raise TableError(f"row {macro}({row[0]}) has {len(row)} arguments, not {wanted}")
    name, kind, ops = row[0], row[1], row[2].split()
    where = f"row {name}: "
    expect(where + "kind", kind, kinds)
    full = tuple(OPS[expect(where + "op", op, tuple(OPS))] for op in ops)
    if not full or len(set(full)) != len(full):
        raise TableError(f"{where}ops '{row[2]}': none, or one twice")
    if macro == "E":
        return Fault(name, kind, full, "", "any", "", row[3], row[4])
    expect(where + "check", row[3], CHECKS)
    expect(where + "where", row[4], WHERES)
    return Fault(name, kind, full, *row[3:7])


def parse(text):
    """kinds (name: text), faults. Every kind has a fault, every name is used once."""
    kinds, faults = {}, []
    for macro, row in rows(text):
        if macro == "K":
            kinds[row[0]] = row[1]
        else:
            faults.append(fault_of(macro, row, kinds))
    names = [fault.id for fault in faults]
    twice = sorted({name for name in names if names.count(name) > 1})
    empty = sorted(set(kinds) - {fault.kind for fault in faults if not fault.why})
    if twice or empty or not faults:
        raise TableError(f"rows that are there twice: {twice}; kinds without a fault: {empty}")
    return kinds, faults


def sites():
    """Names that the sources mention in FAULT(...), FAULT_DO(...) or FAULT_IS(...)."""
    found = set()
    for folder in SOURCES:
        for path in sorted(folder.glob("*.[chS]")):
            if path.name != "fault.h":
                found |= set(re.findall(r"\bFAULT(?:_DO|_IS)?\(\s*(\w+)", path.read_text("utf-8")))
    return found


def load(path=HERE / "table.def"):
    """kinds, faults of a table, all of which the sources have."""
    kinds, faults = parse(Path(path).read_text("utf-8"))
    missing = sorted({fault.id for fault in faults} - sites())
    if missing:
        raise TableError(f"no source has FAULT({missing[0]}), nor these: {missing[1:]}")
    return kinds, faults
