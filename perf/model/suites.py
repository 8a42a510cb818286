# SPDX-License-Identifier: Apache-2.0
"""Lists of what is modelled beside the cases of the targets."""

from dataclasses import dataclass

_KERNELS = ("i8mm", "dotprod", "neon")
_TOKENS = "tokens=1,2,4,8,16,32,64,128,256,512,1024,2048,4096"
# Emulated BFMMLA is slow.
_FEWER = "tokens=1,2,4,8,16,32,64,128"


@dataclass(frozen=True)
class Series:
    """Cases that differ in one key, for a curve over it."""

    title: str
    axis: str
    provider: str
    line: str


SCALING = (
    Series("linear_w8a8, n=512, k=1024", "tokens", "i8mm",
           f"linear_w8a8 {_TOKENS} n=512 k=1024"),
    Series("linear_w4a8 group 128, n=512, k=1024", "tokens", "i8mm",
           f"linear_w4a8 {_TOKENS} n=512 k=1024 group_size=128"),
    Series("linear_bf16, n=512, k=1024", "tokens", "bf16", f"linear_bf16 {_FEWER} n=512 k=1024"),
    Series("moe_w8a8, hidden=512, intermediate=256, 16 experts, top 4", "tokens", "i8mm",
           f"moe_w8a8 {_TOKENS} hidden=512 intermediate=256 experts=16 top_k=4 routing=balanced"),
    Series("linear_w8a8, 128 tokens, n=2048, k=1024", "threads", "i8mm",
           "linear_w8a8 tokens=128 n=2048 k=1024 threads=1,2,4,8,16,32,64"),
)

# (providers, case line)
SUITES = {
    "default": (
        (_KERNELS, "linear_w8a8 tokens=1,32 n=1536 k=2048"),
        (("i8mm", "dotprod"), "linear_w4a8 tokens=1,32 n=1536 k=2048"),
        (("i8mm", "dotprod"), "linear_w4a8 tokens=1,32 n=1536 k=2048 group_size=32,128"),
        (("i8mm",), "moe_w8a8 tokens=1 hidden=2048 intermediate=768 experts=16 top_k=8"),
        (("bf16",), "moe_bf16 tokens=1 hidden=2048 intermediate=768 experts=16 top_k=8"),
        (("bf16",), "linear_bf16 tokens=1 n=1536 k=2048"),
        (("neon",), "linear_bf16 tokens=1,32 n=256 k=2048"),
    ),
    "tiles": (),
    "short": (
        (_KERNELS, "linear_w8a8 tokens=1,32 n=256 k=2048"),
        (("i8mm",), "linear_w4a8 tokens=1,32 n=256 k=2048 group_size=0"),
        (("i8mm",), "linear_w4a8 tokens=1,32 n=256 k=2048 group_size=128"),
        (("bf16",), "linear_bf16 tokens=1,32 n=256 k=2048"),
    ),
}
