# SPDX-License-Identifier: Apache-2.0
"""The core models: what llvm-mca calls them, and the parameters of the memory term."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Core:
    name: str  # llvm-mca's -mcpu
    short: str
    ghz: float
    core_gbs: float  # read bandwidth from memory, one core, 10^9 bytes/s
    socket_gbs: float  # all cores
    features: frozenset  # what its kernels may use
    source: str  # of the three figures


_ARM = ("Arm learning path 'Memory subsystem' (learn.arm.com), ASCT bandwidth-sweep and "
        "peak-bandwidth, all reads")
_SHARE = "; socket: 83 % of the theoretical figure, as measured on Graviton2"

# All figures enter the memory term only: cycles of computation do not depend on them.
CORES = (
    Core("neoverse-n1", "N1", 2.5, 20.9, 169.6, frozenset({"dotprod"}),
         f"AWS Graviton2, measured: {_ARM}; 2.5 GHz: chipsandcheese.com, Graviton 3 First "
         "Impressions"),
    Core("neoverse-n2", "N2", 3.2, 20.9, 233.0, frozenset({"dotprod", "i8mm", "bf16"}),
         "Alibaba Yitian 710, 3.2 GHz, 8 channels: chipsandcheese.com, Arm's Neoverse N2; one "
         f"core: ASSUMED as N1, the lowest here{_SHARE} of DDR5-4400"),
    Core("neoverse-v1", "V1", 2.6, 37.0, 254.0, frozenset({"dotprod", "i8mm", "bf16"}),
         "AWS Graviton3, 2.6 GHz, DDR5-4800, 8 channels: en.wikichip.org, AWS Graviton3; one core: "
         f"ASSUMED as V2{_SHARE}"),
    Core("neoverse-v2", "V2", 2.8, 37.0, 465.5, frozenset({"dotprod", "i8mm", "bf16"}),
         f"AWS Graviton4, measured: {_ARM}; 2.8 GHz: en.wikichip.org, Graviton4"),
)
BY_NAME = {core.name: core for core in CORES} | {core.short: core for core in CORES}

# The multiply instruction that a provider's tier is named for; neon widens and has no single one.
MULTIPLY = {"i8mm": "smmla", "dotprod": "sdot", "bf16": "bfmmla"}
# Multiply-accumulates of one instruction.
MACS = {"smmla": 32, "sdot": 16, "bfmmla": 16}


def runs_on(provider, core):
    """The built-in tiers need what they are named for; others are modelled everywhere."""
    return provider not in MULTIPLY or provider in core.features


def peak_text(instruction):
    """A stream of independent multiplications: as many accumulators as registers allow."""
    types = "4s, v30.8h, v31.8h" if instruction == "bfmmla" else "4s, v30.16b, v31.16b"
    return tuple(f"{instruction} v{i}.{types}" for i in range(24))


def memory_cycles(core, size, threads):
    """To move `size` bytes from memory with so many cores at once."""
    return size * core.ghz / min(core.core_gbs * threads, core.socket_gbs)
