# SPDX-License-Identifier: Apache-2.0
"""From counts to modelled time: cycles of every block times how often it ran."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from perf.model.cores import CORES, MACS, MULTIPLY, memory_cycles, peak_text, runs_on
from perf.model.counts import AddressMap, blocks_of, bytes_touched, read_counts

# Blocks are modelled, hottest first, until they hold this share of a case's instructions; the rest
# is taken to be as fast as these on average.
COVERED = 0.995
# With less, because llvm-mca does not know some of them, a case's figures are too much of a guess
# to be judged.
ENOUGH = 0.99


@dataclass
class Counted:
    """A case that ran and was counted."""

    about: dict  # as armq-model describes it
    segments: dict  # {(region, thread): {Block: times}}
    touched: dict  # bytes of cache lines per operand

    @property
    def provider(self):
        return self.about["provider"]

    @property
    def case(self):
        return self.about["case"]

    @property
    def instructions(self):
        return sum(len(block.text) * n for times in self.segments.values()
                   for block, n in times.items())

    @property
    def memory_bytes(self):
        """What has to come from, or go to, memory once. The workspace is written before it is
        read and sized to stay in a core's caches."""
        return sum(n for name, n in self.touched.items() if name != "workspace")

    def totals(self):
        """{Block: times} over all segments."""
        total = Counter()
        for times in self.segments.values():
            total.update(times)
        return total


def read_counted(about, path, program):
    counts = read_counts(path)
    return Counted(about, blocks_of(counts, AddressMap(about["maps"], program)),
                   bytes_touched(counts.lines, about["operands"]))


def hottest(totals, share=COVERED):
    """The blocks with most instructions that together hold the share, hottest first."""
    order = sorted(totals, key=lambda b: (-len(b.text) * totals[b], b.address, len(b.text)))
    whole = sum(len(b.text) * n for b, n in totals.items())
    chosen, held = [], 0
    for block in order:
        if held >= share * whole:
            break
        chosen.append(block)
        held += len(block.text) * totals[block]
    return chosen


@dataclass
class Function:
    name: str
    instructions: int = 0
    cycles: float = 0.0
    macs: int = 0  # of its multiply instructions, what they do to padding included


@dataclass
class Estimate:
    """One case on one core."""

    core: object
    compute: float  # cycles on the critical path
    work: float  # cycles of all threads together
    issue: float  # the same, if only issue limited every block
    memory: float  # cycles that the bytes take
    covered: float  # share of the instructions that llvm-mca saw
    peak: float  # MAC per cycle and core that issue allows; None: the provider has no such limit
    functions: list = field(default_factory=list)  # hottest first
    loop: object = None  # Loop: the block where most instructions ran

    @property
    def cycles(self):
        return max(self.compute, self.memory)

    @property
    def bound(self):
        return "memory" if self.memory > self.compute else "compute"


@dataclass
class Loop:
    """The hottest block, by what limits its issue."""

    function: str
    text: tuple
    cycles: float  # per iteration
    issue: float
    loads: float  # cycles per iteration that the load pipes are busy, all of them alike
    vectors: float

    @property
    def binding(self):
        return "loads" if self.loads > self.vectors else "vector pipes"

    @property
    def share(self):
        """Of the limit that the loads or the vector instructions alone set."""
        return max(self.loads, self.vectors) / self.issue


def _loop(block, cost):
    return Loop(block.function, block.text, cost.cycles, cost.issue, cost.pipes.get("L", 0.0),
                cost.pipes.get("V", 0.0))


class Model:
    """Turns counted cases into estimates; mca keeps the costs of blocks."""

    def __init__(self, mca):
        self.mca = mca

    def measure(self, counted):
        """Everything llvm-mca is asked for the cases, in as few processes as possible."""
        hot = [(case.provider, hottest(case.totals())) for case in counted]
        for core in CORES:
            texts = {block.text for provider, blocks in hot if runs_on(provider, core)
                     for block in blocks}
            texts |= {peak_text(name) for provider, name in MULTIPLY.items()
                      if runs_on(provider, core)}
            self.mca.measure(core.name, texts)

    def peak(self, core, provider):
        """MAC per cycle of a stream of the provider's multiply instruction; None: it has none."""
        name = MULTIPLY.get(provider)
        if name is None or not runs_on(provider, core):
            return None
        text = peak_text(name)
        return MACS[name] * len(text) / self.mca.cost(core.name, text).issue

    def estimate(self, counted, core):
        """None if the core, or llvm-mca, lacks the provider's instructions."""
        if not runs_on(counted.provider, core):
            return None
        totals = counted.totals()
        known = {}
        for block in hottest(totals):
            cost = self.mca.cost(core.name, block.text)
            if cost is not None:
                known[block] = cost
        held = sum(len(b.text) * totals[b] for b in known)
        if held == 0:
            return None
        average = sum(cost.cycles * totals[b] for b, cost in known.items()) / held
        issue = sum(cost.issue * totals[b] for b, cost in known.items())

        def cycles(block):
            return known[block].cycles if block in known else average * len(block.text)

        spent = {key: sum(cycles(b) * n for b, n in times.items())
                 for key, times in counted.segments.items()}
        functions = {}
        for block, n in totals.items():
            function = functions.setdefault(block.function, Function(block.function))
            function.instructions += len(block.text) * n
            function.cycles += cycles(block) * n
            function.macs += block_macs(block, counted.provider) * n
        hot = max(known, key=lambda b: (len(b.text) * totals[b], -b.address))
        return Estimate(core, critical_path(spent), sum(spent.values()),
                        issue * counted.instructions / held,
                        memory_cycles(core, counted.memory_bytes, counted.about["threads"]),
                        held / counted.instructions, self.peak(core, counted.provider),
                        sorted(functions.values(), key=lambda f: (-f.cycles, f.name)),
                        _loop(hot, known[hot]))


def block_macs(block, provider):
    """Multiply-accumulates of one run of the block by its tier's multiply instruction."""
    name = MULTIPLY.get(provider)
    return sum(MACS[name] for text in block.text if text.split(" ")[0] == name) if name else 0


def critical_path(spent):
    """Serial parts, and of every parallel region the slowest thread. spent: {(region, thread):
    cycles}; region 0 is serial."""
    regions = defaultdict(list)
    for (region, _), cycles in spent.items():
        regions[region].append(cycles)
    return sum(regions.pop(0, [])) + sum(map(max, regions.values()))
