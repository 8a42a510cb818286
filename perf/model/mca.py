# SPDX-License-Identifier: Apache-2.0
"""Cycles of blocks of instructions on a core, as llvm-mca models it: every load hits the
first-level cache, every branch is predicted. A block counts as often repeated: the cycles of one
more repetition in the steady state."""

import hashlib
import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

MCA = "llvm-mca-19"
TARGET = ("-mtriple=aarch64", "-mattr=+dotprod,+i8mm,+bf16,+fullfp16")
# Between these two lengths of run the pipeline is in its steady state.
SHORT, LONG = 100, 300
BATCH = 40  # blocks per process


class McaError(Exception):
    """llvm-mca is missing or did not understand a block."""


@dataclass(frozen=True)
class Cost:
    cycles: float  # per repetition, dependences between repetitions included
    issue: float  # per repetition, if only issue limited it: dispatch width and pipes
    pipes: dict  # by kind (L loads, V vectors, ...): cycles per repetition that a pipe is busy


@lru_cache(maxsize=None)
def version():
    try:
        out = subprocess.run([MCA, "--version"], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise McaError(f"{MCA} does not run ({error}); it is in the package llvm-19") from None
    return re.search(r"LLVM version (\S+)", out)[1]


def source_of(text):
    """The block as llvm-mca shall see it: it takes a call for 100 cycles, so calls become jumps;
    what is called is counted as blocks of its own."""
    return [re.sub(r"^blr\b", "br", re.sub(r"^bl\b", "b", line)) for line in text]


def by_kind(busy):
    """Cycles that the pipes of a kind are busy, if their work were spread evenly. llvm-mca calls
    pipes <core>Unit<kind>..., for instance N2UnitV0."""
    kinds = {}
    for name, cycles in busy.items():
        kinds.setdefault(name.split("Unit", 1)[-1][:1], []).append(cycles)
    return {kind: round(sum(found) / len(found), 6) for kind, found in sorted(kinds.items())}


class Mca:
    """Costs of blocks on cores; results are kept in files under `cache`."""

    def __init__(self, cache):
        self.cache = Path(cache)
        self.known = {}
        self.failed = {}  # (core, text) -> what llvm-mca said

    def cost(self, core, text):
        """None if llvm-mca does not know the block, or was not asked by measure()."""
        return self.known[core].get(self._key(text))

    def measure(self, core, texts):
        """Makes cost() known for the texts."""
        known = self.known.setdefault(core, self._load(core))
        missing = sorted({text for text in texts if self._key(text) not in known})
        for i in range(0, len(missing), BATCH):
            part = missing[i:i + BATCH]
            for text, cost in zip(part, self._run_all(core, part)):
                known[self._key(text)] = cost
        if missing:
            self._store(core, known)

    @staticmethod
    def _key(text):
        return hashlib.sha256("\n".join(text).encode()).hexdigest()[:32]

    # --- llvm-mca ---------------------------------------------------------------------------

    def _run_all(self, core, texts):
        try:
            return self._run(core, texts)
        except McaError as error:
            if len(texts) == 1:
                self.failed[core, texts[0]] = str(error)
                return [None]
            return [cost for text in texts for cost in self._run_all(core, [text])]

    def _run(self, core, texts):
        source = []
        for i, text in enumerate(texts):
            source += [f"# LLVM-MCA-BEGIN b{i}", *source_of(text), "# LLVM-MCA-END"]
        source = "\n".join(source) + "\n"
        short = self._regions(core, source, SHORT)
        long = self._regions(core, source, LONG)
        if not len(short[0]) == len(long[0]) == len(texts):
            raise McaError(f"{len(texts)} blocks, {len(long[0])} answers")
        return [self._cost(a, b, long[1]) for a, b in zip(short[0], long[0])]

    @staticmethod
    def _regions(core, source, iterations):
        command = [MCA, *TARGET, f"-mcpu={core}", f"-iterations={iterations}", "-json", "-"]
        done = subprocess.run(command, input=source, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise McaError(done.stderr.strip().splitlines()[0])
        answer = json.loads(done.stdout)
        return answer["CodeRegions"], answer["TargetInfo"]["Resources"]

    @staticmethod
    def _cost(short, long, pipes):
        views = [region["SummaryView"] for region in (short, long)]
        cycles = (views[1]["TotalCycles"] - views[0]["TotalCycles"]) / (LONG - SHORT)
        total = len(long["Instructions"])  # the index of the sums
        busy = by_kind({pipes[row["ResourceIndex"]]: row["ResourceUsage"]
                        for row in long["ResourcePressureView"]["ResourcePressureInfo"]
                        if row["InstructionIndex"] == total})
        # llvm-mca's own bound looks at each group of pipes by itself, not at what instructions for
        # one pipe leave to those for any of the group.
        issue = max(long["SummaryView"]["BlockRThroughput"], *busy.values(), 0)
        return Cost(cycles, issue, busy)

    # --- Cache ------------------------------------------------------------------------------

    def _path(self, core):
        sources = hashlib.sha256(f"{version()} {TARGET} {SHORT} {LONG} 2".encode()).hexdigest()[:16]
        return self.cache / f"{core}-{sources}.json"

    def _load(self, core):
        try:
            rows = json.loads(self._path(core).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return {}
        return {key: Cost(*row) for key, row in rows.items()}

    def _store(self, core, known):
        """All of the file or nothing. What llvm-mca did not know is asked again next time."""
        self.cache.mkdir(parents=True, exist_ok=True)
        rows = {key: (cost.cycles, cost.issue, cost.pipes)
                for key, cost in sorted(known.items()) if cost is not None}
        handle, temporary = tempfile.mkstemp(dir=self.cache)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            json.dump(rows, file)
        os.replace(temporary, self._path(core))
