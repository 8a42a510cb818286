# SPDX-License-Identifier: Apache-2.0
"""Reads what the counting plugin and armq-model wrote: which blocks of instructions ran how often,
which function of which file they belong to, and which cache lines were touched."""

import bisect
import re
import struct
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

LINE = 64  # bytes
PAGE = 4096
OBJDUMP, ASSEMBLER, NM = "llvm-objdump-19", "llvm-mc-19", "llvm-nm-19"

# Control leaves a block by one of these; a block without one was cut by the translator.
_LEAVES = re.compile(r"(b|b\..*|bl|blr|br|ret|cbn?z|tbn?z|svc|brk|eret)$")


class CountError(Exception):
    """A file of counts that cannot be used; the text says why."""


@dataclass
class Counts:
    """One file of the plugin."""

    blocks: dict  # (address, instructions) -> tuple of instruction words
    segments: dict  # (region, thread) -> Counter of (address, instructions) -> times
    lines: dict  # address of a cache line -> "r", "w" or "rw"


@dataclass(frozen=True)
class Block:
    """Instructions in a row, as disassembled; addresses of branches are not part of the text."""

    address: int
    text: tuple  # of str
    function: str


# --- The plugin's file --------------------------------------------------------------------------


def _lines_of(page, read, written):
    for i in range(PAGE // LINE):
        flags = "r" * (read >> i & 1) + "w" * (written >> i & 1)
        if flags:
            yield page + LINE * i, flags


def _take(counts, words, segment):
    """One record; returns the segment that later counts belong to."""
    kind = words[0]
    if kind == "block":
        key = int(words[1], 16), len(words) - 2
        code = tuple(int(word, 16) for word in words[2:])
        if counts.blocks.setdefault(key, code) != code:
            raise CountError(f"the code at {key[0]:#x} changed while it was counted")
    elif kind == "segment":
        _, vcpu, region, thread = words
        segment = counts.segments.setdefault((int(vcpu), int(region), int(thread)), Counter())
    elif kind == "count":
        segment[int(words[1], 16), int(words[2])] += int(words[3])
    elif kind == "page":
        counts.lines.update(_lines_of(*(int(word, 16) for word in words[1:])))
    else:
        raise CountError(f"unknown record '{kind}'")
    return segment


def read_counts(path):
    lines = Path(path).read_text(encoding="ascii").splitlines()
    if not lines or lines[0] != "armq-counts 1":
        raise CountError(f"{path}: not a file of counts")
    if lines[-1] != "end":
        why = lines[-1].removeprefix("error ") if lines[-1].startswith("error ") else "it is cut"
        raise CountError(f"{path}: {why}")
    counts, segment = Counts({}, {}, {}), None
    for line in lines[1:-1]:
        segment = _take(counts, line.split(), segment)
    vcpus = {vcpu for vcpu, _, _ in counts.segments}
    if len(vcpus) != 1:
        raise CountError(f"{path}: counted on {len(vcpus)} virtual CPUs, wanted one")
    counts.segments = {key[1:]: value for key, value in counts.segments.items()}
    return counts


# --- Functions ----------------------------------------------------------------------------------


def _load_segments(path):
    """(file offset, address, bytes) of what is loaded of a 64-bit little-endian ELF file."""
    data = Path(path).read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise CountError(f"{path}: not a 64-bit little-endian ELF file")
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    found = []
    for i in range(count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, start + i * size)
        if kind == 1:  # PT_LOAD
            found.append((offset, address, length))
    return found


def _symbols(path, *options):
    out = subprocess.run([NM, "--numeric-sort", "--defined-only", *options, path], check=False,
                         capture_output=True, text=True).stdout
    rows = (line.split(None, 2) for line in out.splitlines())
    # $x and its like mark code and data, they are no functions.
    return [(int(address, 16), name.split("@")[0]) for address, kind, name in rows
            if kind in "tTwWiI" and not name.startswith("$")]


@lru_cache(maxsize=None)
def _image(path):
    symbols = _symbols(path) or _symbols(path, "--dynamic")
    return _load_segments(path), [address for address, _ in symbols], [name for _, name in symbols]


class AddressMap:
    """From addresses in the counted process to files: maps as armq-model prints them."""

    def __init__(self, maps, program):
        self.maps = maps
        self.program = str(program)

    def static(self, address):
        """(file, address in the file's own numbering) or None."""
        for area in self.maps:
            if area["first"] <= address < area["last"] and area["path"].startswith("/"):
                offset = address - area["first"] + area["offset"]
                for start, base, length in _image(area["path"])[0]:
                    if start <= offset < start + length:
                        return area["path"], base + offset - start
        return None

    def function(self, address):
        """The function's name; of libraries with the library's, 'libc.so.6:memcpy'."""
        found = self.static(address)
        if found is None:
            return "?"
        path, at = found
        _, addresses, names = _image(path)
        index = bisect.bisect_right(addresses, at) - 1
        name = names[index] if index >= 0 else "?"
        return name if Path(path).name == Path(self.program).name else f"{Path(path).name}:{name}"


# --- Blocks -------------------------------------------------------------------------------------


def disassemble(words):
    """{word: text}. Targets of branches and of address computations are given as #0."""
    words = sorted(words)
    if not words:
        return {}
    source = "".join(f".inst {word:#x}\n" for word in words)
    target = ["-triple=aarch64", "-mattr=+all"]
    code = subprocess.run([ASSEMBLER, *target, "-filetype=obj", "-o", "-"], input=source.encode(),
                          check=True, capture_output=True).stdout
    out = subprocess.run([OBJDUMP, "-d", "--no-show-raw-insn", "--mattr=+all", "-"], input=code,
                         check=True, capture_output=True).stdout.decode()
    texts = [line.split(":", 1)[1].split("//")[0] for line in out.splitlines()
             if re.match(r"\s+[0-9a-f]+:\s", line)]
    if len(texts) != len(words):
        raise CountError(f"{len(words)} instructions, {len(texts)} lines of disassembly")
    return {word: re.sub(r"0x[0-9a-f]+ <.*>", "#0", " ".join(text.split()))
            for word, text in zip(words, texts)}


def leaves(instruction):
    """Whether control may go elsewhere after this instruction."""
    return bool(_LEAVES.match(instruction.split(" ")[0]))


def join_cut(times, cut):
    """Blocks that the translator cut where no branch is (at the end of a page) are joined again
    with what follows. times: {key: times}, key = (address, instructions); cut: the keys of blocks
    without a branch at their end. Returns {tuple of keys: times}."""
    left, joined = Counter(times), Counter()
    starts = defaultdict(list)
    for key in sorted(times):
        starts[key[0]].append(key)
    for key in sorted(times):
        chain, end = [key], key
        while end in cut:
            follow = [k for k in starts[end[0] + 4 * end[1]] if left[k] >= left[key] > 0]
            if not follow:
                break
            end = follow[-1]
            chain.append(end)
        if len(chain) > 1:
            n = left[key]
            joined[tuple(chain)] += n
            for part in chain:
                left[part] -= n
    joined.update({(key,): n for key, n in left.items() if n > 0})
    return joined


def blocks_of(counts, address_map):
    """{(region, thread): {Block: times}}"""
    texts = disassemble({word for words in counts.blocks.values() for word in words})
    cut = {key for key, words in counts.blocks.items() if not leaves(texts[words[-1]])}
    made = {}

    def block(chain):
        if chain not in made:
            text = tuple(texts[word] for key in chain for word in counts.blocks[key])
            made[chain] = Block(chain[0][0], text, address_map.function(chain[0][0]))
        return made[chain]

    return {key: {block(chain): n for chain, n in join_cut(times, cut).items()}
            for key, times in counts.segments.items()}


# --- Memory -------------------------------------------------------------------------------------


def bytes_touched(lines, operands):
    """Per operand: bytes of the cache lines that were touched."""
    touched = Counter()
    starts = sorted(lines)
    for operand in operands:
        first = bisect.bisect_left(starts, operand["first"] // LINE * LINE)
        last = bisect.bisect_left(starts, operand["last"])
        touched[operand["name"]] += (last - first) * LINE
    return dict(touched)
