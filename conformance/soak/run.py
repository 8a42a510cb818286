# SPDX-License-Identifier: Apache-2.0
"""Judges random cases on the naive provider in three orders of arithmetic: make soak [ARGS=...].

All three are right, so whatever fails is a mistake of the reference (or of all three). Only the
check `value` is run. Cases come in chunks, each from its own seed; what became of a chunk is a line
of OUT/state.jsonl, and a run of the same build that was stopped goes on behind the last one. A
chunk that failed leaves its result file beside it.

The last line is "soak: N passed, N failed, N skipped", counting cases times orders. Exit status: 0
none failed, 1 some, 2 usage.
"""

import argparse
import functools
import hashlib
import json
import os
import platform
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

FOLDER = Path(os.environ.get("BUILD", "build")) / platform.machine().replace("arm64", "aarch64")
PROGRAM = FOLDER / "armq-conform"
LIBRARIES = [FOLDER / f"libarmq-{order}.so" for order in ("reversed", "fused")]

CHUNK = 2000
FLOATS = "f32", "bf16", "f16"
KINDS = ("normal",) * 8 + ("outliers", "ties", "zero_rows", "subnormals", "extremes", "bad_scales")
ROUTINGS = ("mixed",) * 4 + ("softmax", "balanced", "one", "last", "empty", "repeat", "skip")
OPS = ("linear_w8a8", "linear_w4a8", "moe_w8a8", "moe_w4a8") * 4 + (
    "linear_bf16", "moe_bf16", "activation") * 2 + ("quantize", "gemm_s8s8s32", "gemm_s8s4s32")


# --- Random cases ---------------------------------------------------------------------------------

def dialects(op):
    """(dialect, dtypes) that the op has."""
    return {"linear_w8a8": (("sglang-w8a8", ("bf16",)), ("vllm-w8a8", FLOATS),
                            ("kleidi-w8a8", FLOATS)),
            "moe_w8a8": (("sglang-w8a8", ("bf16",)), ("vllm-w8a8", FLOATS), ("vllm-w8a8", FLOATS)),
            "quantize": (("vllm-w8a8", FLOATS), ("kleidi-w8a8", FLOATS), ("vllm-w4a8", FLOATS)),
            "activation": (("vllm-w8a8", FLOATS), ("vllm-w4a8", FLOATS))}.get(
                op, ((None, FLOATS),))


def size(rng, most, rarely):
    return rng.randint(1, rarely if rng.random() < 0.1 else most)


def kind(rng, op):
    """Kinds of data that the op has."""
    name = rng.choice(KINDS)
    lacks = {"activation": ("ties", "outliers", "bad_scales"), "quantize": ("bad_scales",),
             "linear_bf16": ("bad_scales",), "moe_bf16": ("bad_scales",)}
    return "normal" if name in lacks.get(op, ()) else name


def bias(rng, dtype):
    return rng.choice(("0", "f32", dtype))


def activation(rng, op, dialect):
    if dialect == "sglang-w8a8":
        return "silu"
    if dialect == "vllm-w4a8" or op == "moe_w4a8":
        return rng.choice(("silu", "swigluoai"))
    return rng.choice(("silu", "gelu", "gelu_tanh", "swigluoai"))


def dimensions(rng, op, group):
    def along_k(most, rarely):
        return group * rng.randint(1, 4) if group else size(rng, most, rarely)
    tokens = rng.randint(1, 5)
    if op.startswith("moe"):
        return {"tokens": tokens, "hidden": along_k(40, 160),
                "intermediate": group * rng.randint(1, 2) if group else size(rng, 24, 100),
                "experts": rng.randint(1, 5), "top_k": rng.randint(1, 4)}
    if op == "activation":
        return {"tokens": tokens, "intermediate": size(rng, 64, 300)}
    if op == "quantize":
        return {"tokens": tokens, "k": size(rng, 96, 600)}
    return {"tokens": tokens, "n": rng.randint(1, 12), "k": along_k(96, 600)}


def moe_keys(rng, keys, dtype):
    routing = rng.choice(ROUTINGS)
    if routing == "repeat" and keys["top_k"] < 2:
        routing = "mixed"
    first, second = bias(rng, dtype), bias(rng, dtype)
    if "0" not in (first, second):
        second = first  # both have one dtype
    router = rng.choice(("output", "output", "output", "input"))
    if keys["top_k"] == 1 and rng.random() < 0.3:
        router = "none"
    keys.update(routing=routing, w13_bias=first, w2_bias=second, router=router)


def random_case(rng):
    op = rng.choice(OPS)
    int4 = "s4" in op or "w4" in op
    group = rng.choice((0, 0, 32, 64)) if int4 else 0
    keys = dimensions(rng, op, group)
    dialect, dtypes = rng.choice(dialects(op))
    dtype = rng.choice(dtypes)
    if dialect:
        keys["dialect"] = dialect
    if op.startswith("gemm"):
        keys["data"] = rng.choice(("normal", "normal", "extremes"))
    else:
        keys.update({"in": dtype, "data": kind(rng, op)})
    if op.startswith("linear"):
        keys["bias"] = bias(rng, dtype)
        if dialect != "sglang-w8a8":
            keys["out"] = rng.choice(FLOATS)
    if op.startswith("moe"):
        moe_keys(rng, keys, dtype)
    if op.startswith("moe") or op == "activation":
        keys["activation"] = activation(rng, op, dialect)
    if int4:
        keys.update(group_size=group, zero_points=rng.randint(0, 1),
                    format=rng.choice(("s4_low", "s4_word8")))
    if op in ("linear_w8a8", "linear_w4a8", "moe_w8a8", "moe_w4a8") and rng.random() < 0.15:
        keys["quant"] = rng.choice(("symmetric", "asymmetric"))
    keys["seed"] = rng.randint(1, 10**9)
    return " ".join([op, *(f"{key}={value}" for key, value in keys.items())])


def write_sweep(path, seed, chunk, count):
    """Seeded by both numbers, so that a chunk does not depend on those before it."""
    rng = random.Random(f"{seed} {chunk}")
    lines = {}
    while len(lines) < count:
        lines[random_case(rng)] = None
    path.write_text("\n".join(lines) + "\n")


# --- A chunk --------------------------------------------------------------------------------------

@functools.cache
def build():
    """Which program and libraries judged."""
    whole = b"".join(path.read_bytes() for path in (PROGRAM, *LIBRARIES))
    return hashlib.sha256(whole).hexdigest()[:16]


def run_chunk(options, chunk, count):
    """What its line of state.jsonl says."""
    sweep, out = options.out / f"chunk-{chunk}.sweep", options.out / f"chunk-{chunk}.jsonl"
    write_sweep(sweep, options.seed, chunk, count)
    providers = ",".join(["naive", *map(str, LIBRARIES)])
    command = [str(PROGRAM), "--provider", providers, "--sweep", str(sweep), "--check", "value",
               "--json", str(out), "--force", "--shrink"]
    if options.jobs:
        command += ["--jobs", str(options.jobs)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           check=False)
    if ended.returncode not in (0, 1):
        sys.exit(f"soak: chunk {chunk}: exit status {ended.returncode}:\n{ended.stdout}")
    result = summary(out)
    if result["cases"] != count:
        sys.exit(f"soak: chunk {chunk}: {result['cases']} of {count} cases ran:\n{ended.stdout}")
    result.update(chunk=chunk, seed=options.seed, build=build())
    if result["failed"]:
        print("\n".join(line for line in ended.stdout.splitlines()
                        if line.startswith(("FAIL ", "     "))), flush=True)
    else:
        sweep.unlink()
        out.unlink()
    return result


def summary(path):
    status, usage, cases = Counter(), {}, set()
    for line in path.read_text().splitlines():
        record = json.loads(line)
        if record["type"] != "case":
            continue
        cases.add(record["case"])
        status[record["status"]] += 1
        used = record.get("quality", {}).get("usage_max", 0)
        key = f"{record['op']} {record['dialect']}"
        if isinstance(used, (int, float)) and used > usage.get(key, [0])[0]:
            usage[key] = [used, record["provider"], record["case"]]
    return {"cases": len(cases), "passed": status["passed"], "skipped": status["skipped"],
            "failed": status["failed"] + status["crashed"], "usage": usage}


# --- The whole ------------------------------------------------------------------------------------

def done_chunks(options):
    """Lines of state.jsonl of this seed and build; the last may be cut."""
    path, done = options.out / "state.jsonl", {}
    if options.fresh and path.exists():
        path.unlink()
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            record = json.loads(line)
        except ValueError:
            break
        if record["seed"] == options.seed and record["build"] == build():
            done[record["chunk"]] = record
    return done


def report(chunks):
    usage = {}
    for record in chunks:
        for key, value in record["usage"].items():
            usage[key] = max(usage.get(key, [0]), value)
    print("largest share of a half-width that an f32 output used:")
    for key in sorted(usage):
        used, provider, case = usage[key]
        print(f"  {key:28} {used:.3f}  {provider}: {case}")
    total = {name: sum(c[name] for c in chunks)
             for name in ("cases", "passed", "failed", "skipped")}
    print(f"{total['cases']} cases in three orders")
    print(f"soak: {total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] or not total["passed"] else 0


def parse():
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, help="worker processes; default: usable cores")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("BUILD", "build")) / "soak")
    parser.add_argument("--fresh", action="store_true", help="forget what was done before")
    options = parser.parse_args()
    if options.cases < 1:
        parser.error(f"--cases {options.cases}: allowed are whole numbers from 1")
    return options


def main():
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    done, start, chunks = done_chunks(options), time.monotonic(), []
    for chunk in range((options.cases + CHUNK - 1) // CHUNK):
        count = min(CHUNK, options.cases - chunk * CHUNK)
        record = done.get(chunk)
        if not record or record["cases"] != count:
            record = run_chunk(options, chunk, count)
            with open(options.out / "state.jsonl", "a", encoding="utf-8") as state:
                state.write(json.dumps(record) + "\n")
            failed = record["failed"] + sum(c["failed"] for c in chunks)
            print(f"{chunk * CHUNK + count:8} cases, {failed} failed, "
                  f"{time.monotonic() - start:.0f} s", flush=True)
        chunks.append(record)
    return report(chunks)


if __name__ == "__main__":
    sys.exit(main())
