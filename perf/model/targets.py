# SPDX-License-Identifier: Apache-2.0
"""What the kernels have to reach, and whether they do."""

from dataclasses import dataclass

from perf.model.estimate import ENOUGH

# The states of a target on a core.
MET, MISSED, ABSENT = "met", "NOT MET", "not available"


@dataclass(frozen=True)
class Target:
    what: str
    cores: tuple  # short names
    at_least: bool  # else: at most
    goal: float
    unit: str
    cases: tuple  # (provider, case line) that `value` looks at
    value: object  # function(list of Modelled, one per case, short name of the core) -> number
    tile: bool = False  # quick enough, and strict enough, for every test run

    def met(self, value):
        return value >= self.goal if self.at_least else value <= self.goal


@dataclass(frozen=True)
class Verdict:
    target: Target
    core: str
    value: float  # None: not available
    state: str
    reason: str  # why it is not available


# --- Values: of the target's cases on a core ----------------------------------------------------


def tile_share(rows, core):
    """The hottest function alone, prologue and epilogue of every call included, against the issue
    limit. What it multiplies beyond the case's own MACs is padding and counts for nothing."""
    shares = []
    for row in rows:
        tile, peak = row.on(core).functions[0], row.on(core).peak
        shares.append(100 * min(row.macs, tile.macs) / tile.cycles / peak)
    return min(shares)


def rate(rows, core):
    """MAC per cycle of the whole op; of several cases the slowest."""
    return min(row.macs / row.on(core).cycles for row in rows)


def issue_rate(rows, core):
    """MAC per cycle of the whole op if only issue limited it: neither latency nor memory."""
    return min(row.macs / row.on(core).issue for row in rows)


def speed_up(rows, core):
    """Of the first over the second."""
    return rows[1].on(core).cycles / rows[0].on(core).cycles


def rate_share(rows, core):
    """MAC per cycle of the first in % of the second's."""
    return 100 * rate(rows[:1], core) / rate(rows[1:], core)


def weight_bytes(rows, _core):
    """Bytes of packed weights touched by the first over those of the second."""
    return rows[0].touched["packed"] / rows[1].touched["packed"]


def loop_share(rows, core):
    """Of the limit that loads or vector pipes set, in the hottest block, by issue alone."""
    return min(100 * row.on(core).loop.share for row in rows)


def instructions_per_mac(rows, _core):
    return max(row.instructions / row.macs for row in rows)


def _per_mac(row, core):
    """Cycles per MAC of one core times the cores at work."""
    return row.on(core).cycles * row.threads / row.macs


def growth(rows, core):
    """The dearest MAC over the cheapest: 1 where cost does not depend on what the cases differ
    in."""
    costs = [_per_mac(row, core) for row in rows]
    return max(costs) / min(costs)


def workspace_growth(rows, _core):
    """Bytes of the largest workspace over the smallest."""
    return max(row.workspace for row in rows) / min(row.workspace for row in rows)


# --- The table ----------------------------------------------------------------------------------

_N2_V2 = ("N2", "V2")
_MOE = "tokens=64 hidden=2048 intermediate=768 experts=16 top_k=8 routing=balanced"
_LARGE = "tokens=32,128 n=1536 k=2048"
_ROWS64 = "tokens=64,128 n=1536 k=2048"
_SHORT = "tokens=128 n=2048 k=768"
_ONE = "tokens=1 n=2048 k=2048"
_TILE = "tokens=32 n=256 k=2048"
# Points of the curves in suites.py, beyond the tile; 8 rows an expert are 32 tokens there.
_MANY = "tokens=32,64,128,256,512,1024,2048,4096"
_BLOCKED = "tokens=256,512,1024,2048,4096"
_CURVE = "n=512 k=1024"
_CURVE_MOE = "hidden=512 intermediate=256 experts=16 top_k=4 routing=balanced"
_THREADS = "linear_w8a8 tokens=128 n=2048 k=1024 threads=1,2,4,8,16,32,64"
_G32, _G128, _ZERO = "group_size=32", "group_size=128", "zero_points=1"


def _target(what, cores, goal, unit, value, *cases, at_least=True, tile=False):
    return Target(what, cores, at_least, goal, unit, cases, value, tile)


TARGETS = (
    _target("int8 i8mm tile, whole tile, K=2048, of the SMMLA limit", _N2_V2, 95, "%", tile_share,
            ("i8mm", f"gemm_s8s8s32 {_TILE}"), tile=True),
    _target("bf16 BFMMLA tile, whole tile, K=2048, of the BFMMLA limit", _N2_V2, 97, "%",
            tile_share, ("bf16", f"linear_bf16 {_TILE}"), tile=True),
    _target("int8 dotprod tile, whole tile, K=2048, of the SDOT limit", ("N1",), 95, "%",
            tile_share, ("dotprod", f"gemm_s8s8s32 {_TILE}"), tile=True),
    _target("linear_w8a8 (32|128,1536,2048), whole op", ("N2",), 59, "MAC/cycle", rate,
            ("i8mm", f"linear_w8a8 {_LARGE}")),
    _target("linear_bf16 (32|128,1536,2048), whole op", ("N2",), 31, "MAC/cycle", rate,
            ("bf16", f"linear_bf16 {_LARGE}")),
    _target("linear_w4a8 per channel, 64|128 rows, whole op", ("N2",), 55, "MAC/cycle", rate,
            ("i8mm", f"linear_w4a8 {_ROWS64}")),
    _target("linear_w4a8 group 128, 64|128 rows, whole op", ("N2",), 46, "MAC/cycle", rate,
            ("i8mm", f"linear_w4a8 {_ROWS64} {_G128}")),
    _target("linear_w4a8 group 32, 64|128 rows, whole op", ("N2",), 33, "MAC/cycle", rate,
            ("i8mm", f"linear_w4a8 {_ROWS64} {_G32}")),
    _target("linear_w4a8 group 32, 32|128 rows, whole op", ("N2",), 0.085, "instr/MAC",
            instructions_per_mac, ("i8mm", f"linear_w4a8 {_LARGE} {_G32}"), at_least=False),
    _target("moe_w8a8 over moe_bf16, 32 rows an expert", _N2_V2, 1.8, "x", speed_up,
            ("i8mm", f"moe_w8a8 {_MOE}"), ("bf16", f"moe_bf16 {_MOE}")),
    _target("moe_w4a8 group 128 over moe_bf16, 32 rows an expert", _N2_V2, 1.35, "x", speed_up,
            ("i8mm", f"moe_w4a8 {_MOE} {_G128}"), ("bf16", f"moe_bf16 {_MOE}")),
    _target("moe_w8a8's MAC/cycle, of linear_w8a8's at 32 rows", _N2_V2, 85, "%", rate_share,
            ("i8mm", f"moe_w8a8 {_MOE}"), ("i8mm", "linear_w8a8 tokens=32 n=1536 k=2048")),
    _target("weight bytes touched per token at decode, bf16 : int8", ("N2",), 1.95, "x",
            weight_bytes, ("bf16", f"linear_bf16 {_ONE}"), ("i8mm", f"linear_w8a8 {_ONE}")),
    _target("weight bytes touched per token at decode, bf16 : int4 group 128", ("N2",), 3.6, "x",
            weight_bytes, ("bf16", f"linear_bf16 {_ONE}"), ("i8mm", f"linear_w4a8 {_ONE} {_G128}")),
    _target("one token, int8, inner loop, of the binding issue limit", _N2_V2, 90, "%", loop_share,
            ("i8mm", f"linear_w8a8 {_ONE}"), tile=True),
    _target("one token, int4 per channel, inner loop, of the binding issue limit", _N2_V2, 90, "%",
            loop_share, ("i8mm", f"linear_w4a8 {_ONE}"), tile=True),
    # The share above stays where it is when useless instructions go to the pipes that bind. These
    # limits are of the useful ones: 90 % of two SDOT a cycle; of three loads a cycle, nine for
    # eight SDOT; of two vector instructions a cycle, and of four, two for each SDOT on nibbles.
    _target("one token, int8, whole op by issue", ("N2",), 28.8, "MAC/cycle", issue_rate,
            ("i8mm", f"linear_w8a8 {_ONE}"), tile=True),
    _target("one token, int8, whole op by issue", ("V2",), 38.4, "MAC/cycle", issue_rate,
            ("i8mm", f"linear_w8a8 {_ONE}"), tile=True),
    _target("one token, int4 per channel, whole op by issue", ("N2",), 14.4, "MAC/cycle",
            issue_rate, ("i8mm", f"linear_w4a8 {_ONE}"), tile=True),
    _target("one token, int4 per channel, whole op by issue", ("V2",), 28.8, "MAC/cycle",
            issue_rate, ("i8mm", f"linear_w4a8 {_ONE}"), tile=True),
    _target("one token, int8, whole op", ("N2",), 0.15, "instr/MAC", instructions_per_mac,
            ("i8mm", f"linear_w8a8 {_ONE}"), at_least=False, tile=True),
    _target("one token, int4 per channel, whole op", ("N2",), 0.16, "instr/MAC",
            instructions_per_mac, ("i8mm", f"linear_w4a8 {_ONE}"), at_least=False, tile=True),
    _target("one token, int4 group 32, whole op", ("N2",), 0.225, "instr/MAC",
            instructions_per_mac, ("i8mm", f"linear_w4a8 {_ONE} {_G32}"), at_least=False,
            tile=True),
    _target("one token, int4 with zero points, per channel|group 128, whole op", ("N2",), 12,
            "MAC/cycle", rate, ("i8mm", f"linear_w4a8 {_ONE} {_ZERO}"),
            ("i8mm", f"linear_w4a8 {_ONE} {_G128} {_ZERO}"),
            ("dotprod", f"linear_w4a8 {_ONE} {_G128} {_ZERO}"), tile=True),
    _target("one token, int4 with zero points, group 32, whole op", ("N2",), 0.24, "instr/MAC",
            instructions_per_mac, ("i8mm", f"linear_w4a8 {_ONE} {_G32} {_ZERO}"), at_least=False,
            tile=True),
    # No more than the best published micro-kernels: KleidiAI 1.30, GCC 12 or clang 19, counted in
    # the same way; quantising, packing and multiplying together but where it says otherwise.
    _target("linear_w8a8 (32|128,1536,2048), KleidiAI's", ("N2",), 0.0578, "instr/MAC",
            instructions_per_mac, ("i8mm", f"linear_w8a8 {_LARGE}"), at_least=False),
    _target("linear_w8a8 on dotprod (32,1536,2048), KleidiAI's multiplying alone", ("N1",), 0.0869,
            "instr/MAC", instructions_per_mac,
            ("dotprod", "linear_w8a8 tokens=32 n=1536 k=2048"), at_least=False),
    _target("linear_w4a8 per channel on dotprod (32,1536,2048), KleidiAI's multiplying alone",
            ("N1",), 0.0893, "instr/MAC", instructions_per_mac,
            ("dotprod", "linear_w4a8 tokens=32 n=1536 k=2048"), at_least=False),
    _target("linear_w4a8 per channel (32|128,1536,2048), KleidiAI's", ("N2",), 0.0567, "instr/MAC",
            instructions_per_mac, ("i8mm", f"linear_w4a8 {_LARGE}"), at_least=False),
    _target("linear_w4a8 group 128, 64|128 rows, KleidiAI's multiplying alone", ("N2",), 0.0704,
            "instr/MAC", instructions_per_mac, ("i8mm", f"linear_w4a8 {_ROWS64} {_G128}"),
            at_least=False),
    _target("linear_bf16 (32|128,1536,2048), KleidiAI's", ("N2",), 0.103, "instr/MAC",
            instructions_per_mac, ("bf16", f"linear_bf16 {_LARGE}"), at_least=False),
    _target("linear_w8a8 (128,2048,768), KleidiAI's", ("N2",), 0.0599, "instr/MAC",
            instructions_per_mac, ("i8mm", f"linear_w8a8 {_SHORT}"), at_least=False),
    _target("linear_w4a8 per channel (128,2048,768), KleidiAI's", ("N2",), 0.0587, "instr/MAC",
            instructions_per_mac, ("i8mm", f"linear_w4a8 {_SHORT}"), at_least=False),
    _target("linear_w4a8 group 32 (128,2048,768), KleidiAI's", ("N2",), 0.0942, "instr/MAC",
            instructions_per_mac, ("i8mm", f"linear_w4a8 {_SHORT} {_G32}"), at_least=False),
    _target("linear_bf16 (128,2048,768), KleidiAI's", ("N2",), 0.1043, "instr/MAC",
            instructions_per_mac, ("bf16", f"linear_bf16 {_SHORT}"), at_least=False),
    _target("one token, bf16, KleidiAI's", ("N2",), 0.342, "instr/MAC", instructions_per_mac,
            ("bf16", f"linear_bf16 {_ONE}"), at_least=False),
    # Scaling: flat beyond the tile.
    _target("linear_w8a8, cycles/MAC over 32 to 4096 tokens, most : least", _N2_V2, 1.05, "x",
            growth, ("i8mm", f"linear_w8a8 {_MANY} {_CURVE}"), at_least=False),
    _target("linear_w4a8 group 128, cycles/MAC over 32 to 4096 tokens, most : least", _N2_V2, 1.15,
            "x", growth, ("i8mm", f"linear_w4a8 {_MANY} {_CURVE} {_G128}"), at_least=False),
    _target("moe_w8a8, cycles/MAC over 32 to 4096 tokens, most : least", _N2_V2, 1.1, "x", growth,
            ("i8mm", f"moe_w8a8 {_MANY} {_CURVE_MOE}"), at_least=False),
    _target("linear_w8a8, cycles/MAC and core over 1 to 64 threads, most : least", _N2_V2, 1.05,
            "x", growth, ("i8mm", _THREADS), at_least=False),
    _target("workspace over 256 to 4096 tokens, most : least", ("N2",), 1, "x", workspace_growth,
            ("i8mm", f"linear_w8a8 {_BLOCKED} {_CURVE}"), at_least=False),
    _target("workspace of moe_w8a8 over 256 to 4096 tokens, most : least", ("N2",), 1, "x",
            workspace_growth, ("i8mm", f"moe_w8a8 {_BLOCKED} {_CURVE_MOE}"), at_least=False),
)


def judge(target, find):
    """Verdicts, one per core. find(provider, case line) gives the list of Modelled that the line
    stands for, or the reason (a str) why there is none."""
    found, missing = [], None
    for provider, line in target.cases:
        answer = find(provider, line)
        if isinstance(answer, str):
            missing = missing or f"{provider}: {answer}"
        else:
            found += answer
    return [_verdict(target, core, found, missing or _unknown(found, core))
            for core in target.cores]


def _unknown(rows, core):
    """Why the rows cannot be judged on the core; None: they can."""
    for row in rows:
        estimate = row.on(core)
        if estimate is None:
            return f"{row.provider}: there is no model of its instructions"
        if estimate.covered < ENOUGH:
            return (f"{row.provider}: llvm-mca knows {100 * estimate.covered:.1f} % of the "
                    f"instructions, wanted {100 * ENOUGH:g} %")
    return None


def _verdict(target, core, rows, reason):
    if reason:
        return Verdict(target, core, None, ABSENT, reason)
    value = target.value(rows, core)
    return Verdict(target, core, value, MET if target.met(value) else MISSED, "")
