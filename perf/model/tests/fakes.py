# SPDX-License-Identifier: Apache-2.0
"""Counted cases that need no emulator."""

from perf.model.counts import Block
from perf.model.estimate import Counted
from perf.model.mca import Cost


class FakeMca:
    """cycles and issue per block by its first instruction; None: not known."""

    def __init__(self, costs):
        self.costs = costs
        self.failed = {}

    def measure(self, core, texts):
        pass

    def cost(self, _core, text):
        if text[0].split(" ")[0] in ("smmla", "sdot", "bfmmla") and len(text) == 24:
            return Cost(12, 12, {})  # the stream that gives the limit: two pipes
        return self.costs[text[0]]


def block(name, *text, function=None):
    return Block(hash(name) % 2**20 if not isinstance(name, int) else name, text,
                 function or str(name))


def counted(segments, provider="i8mm", case="linear_w8a8 tokens=1 n=8 k=16 seed=1", mac=128,
            threads=1, touched=None, workspace=64):
    about = {"provider": provider, "case": case, "mac": mac, "threads": threads, "bytes": 256,
             "tokens": 1, "workspace": workspace, "kernel": "a kernel",
             "machine": {"compiler": "gcc 12", "l1": 65536, "l2": 1048576, "llc": 33554432}}
    return Counted(about, segments, touched or {"x": 64, "packed": 128, "workspace": 640})
