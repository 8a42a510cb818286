# SPDX-License-Identifier: Apache-2.0
"""Lists of what is modelled beside the cases of the targets: (providers, case line)."""

_ALL = ("i8mm", "dotprod", "neon")

_TOKENS = "tokens=1,2,4,8,16,32,64,128,256,512,1024,2048,4096"
SCALING = (
    (("i8mm",), f"linear_w8a8 {_TOKENS} n=512 k=1024"),
    (("bf16",), "linear_bf16 tokens=1,2,4,8,16,32,64,128 n=512 k=1024"),
    (("i8mm",), f"moe_w8a8 {_TOKENS} hidden=512 intermediate=256 experts=16 top_k=4 "
                "routing=balanced"),
    (("i8mm",), "linear_w8a8 tokens=128 n=2048 k=1024 threads=1,2,4,8,16,32,64"),
)

SUITES = {
    "default": (
        (_ALL, "linear_w8a8 tokens=1,32 n=1536 k=2048"),
        (("neon",), "linear_bf16 tokens=1,32 n=256 k=2048"),
        *SCALING,
    ),
    "tiles": (),
    "short": (
        (_ALL, "linear_w8a8 tokens=1,32 n=256 k=2048"),
        (("bf16",), "linear_bf16 tokens=1,32 n=256 k=2048"),
    ),
}
