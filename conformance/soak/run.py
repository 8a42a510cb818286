# SPDX-License-Identifier: Apache-2.0
"""Judges random cases: by default on the naive provider in three orders of arithmetic, natively.

All three are right, so whatever fails is a mistake of the reference (or of all three). Real kernels
are soaked with --providers, --ops and --cpu. Only the check `value` is run. Cases come in chunks,
each from its own seed; what became of a chunk is a line of OUT/state.jsonl, and a run of the same
build and options that was stopped goes on behind the last one. With --seconds chunks are run until
they have taken that long together, those before a stop included; the cases are those that --cases
with the number reached gives again. A chunk that failed leaves its result file beside state.jsonl.

The last line is "soak: N passed, N failed, N skipped", counting cases times providers. Exit status:
0 none failed, 1 some, 2 usage.
"""

import argparse
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

BUILD = Path(os.environ.get("BUILD", "build"))
HOST = platform.machine().replace("arm64", "aarch64")
CPUS = "native", "cortex-a72", "neoverse-n1", "max"

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


def dimensions(rng, op, group, tiled):
    def along_k(most, rarely):
        return group * rng.randint(1, 4) if group else size(rng, most, rarely)
    tokens = size(rng, 5, 40) if tiled else rng.randint(1, 5)
    if op.startswith("moe"):
        return {"tokens": tokens, "hidden": along_k(40, 160),
                "intermediate": group * rng.randint(1, 2) if group else size(rng, 24, 100),
                "experts": rng.randint(1, 5), "top_k": rng.randint(1, 4)}
    if op == "activation":
        return {"tokens": tokens, "intermediate": size(rng, 64, 300)}
    if op == "quantize":
        return {"tokens": tokens, "k": size(rng, 96, 600)}
    channels = size(rng, 12, 70) if tiled else rng.randint(1, 12)
    return {"tokens": tokens, "n": channels, "k": along_k(96, 600)}


def tile_keys(rng, keys):
    """Blocks of K and of rows that would otherwise take larger cases, and parts of them."""
    if rng.random() < 0.3:
        keys["caches"] = rng.choice(("small", "none"))
    if rng.random() < 0.2:
        keys["threads"] = rng.randint(2, 5)


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


def random_case(rng, ops, tiled):
    """tiled: what matters to a provider with tiles of many rows and columns, unlike the naive."""
    op = rng.choice(ops)
    int4 = "s4" in op or "w4" in op
    group = rng.choice((0, 0, 32, 64)) if int4 else 0
    keys = dimensions(rng, op, group, tiled)
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
    if not op.startswith("gemm") and not op.endswith("bf16") and rng.random() < 0.15:
        keys["work"] = rng.choice(FLOATS)
    if tiled:
        tile_keys(rng, keys)
    keys["seed"] = rng.randint(1, 10**9)
    return " ".join([op, *(f"{key}={value}" for key, value in keys.items())])


def write_sweep(path, options, chunk, count):
    """Seeded by seed and chunk, so that a chunk does not depend on those before it."""
    rng = random.Random(f"{options.seed} {chunk}")
    ops = [op for op in OPS if op in options.ops]
    lines = {}
    while len(lines) < count:
        lines[random_case(rng, ops, options.tiled)] = None
    path.write_text("\n".join(lines) + "\n")


# --- A chunk --------------------------------------------------------------------------------------

def orders(options):
    folder = BUILD / (HOST if options.cpu == "native" else "aarch64")
    return ["naive", *(str(folder / f"libarmq-{order}.so") for order in ("reversed", "fused"))]


def program(options):
    return BUILD / HOST / "armq-conform" if options.cpu == "native" else BUILD / "armq-conform"


def identity(options):
    """Which program judged what."""
    sums = hashlib.sha256(json.dumps([options.providers, options.ops, options.cpu]).encode())
    folder = BUILD / (HOST if options.cpu == "native" else "aarch64")
    for path in (folder / "armq-conform", *map(Path, options.providers)):
        if path.is_file():
            sums.update(path.read_bytes())
    return sums.hexdigest()[:16]


def chunk_name(options, chunk):
    return f"{options.identity}-{options.seed}-{chunk}"


def run_chunk(options, chunk, count):
    """What its line of state.jsonl says."""
    start, stem = time.monotonic(), options.out / chunk_name(options, chunk)
    sweep, out = stem.with_suffix(".sweep"), stem.with_suffix(".jsonl")
    write_sweep(sweep, options, chunk, count)
    command = [str(program(options)), "--provider", ",".join(options.providers), "--sweep",
               str(sweep), "--check", "value", "--json", str(out), "--force", "--shrink"]
    if options.jobs:
        command += ["--jobs", str(options.jobs)]
    environment = dict(os.environ)
    if options.cpu != "native":
        environment["ARMQ_CPU"] = options.cpu
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           check=False, env=environment)
    if ended.returncode not in (0, 1):
        sys.exit(f"soak: chunk {chunk}: exit status {ended.returncode}:\n{ended.stdout}")
    result = summary(out)
    if result["cases"] != count:
        sys.exit(f"soak: chunk {chunk}: {result['cases']} of {count} cases ran:\n{ended.stdout}")
    result.update(chunk=chunk, seed=options.seed, build=options.identity,
                  seconds=round(time.monotonic() - start, 3))
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
    """Lines of state.jsonl of this seed, build and options; the last may be cut."""
    path, done = options.out / "state.jsonl", {}
    if options.fresh and path.exists():
        path.unlink()
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            record = json.loads(line)
        except ValueError:
            break
        if record["seed"] == options.seed and record["build"] == options.identity:
            done[record["chunk"]] = record
    return done


def again(options, cases):
    """Arguments with which the same cases are judged once more."""
    words = ["--seed", options.seed, "--cases", cases]
    if options.cpu != "native":
        words += ["--cpu", options.cpu]
    if options.providers != orders(options):
        words += ["--providers", ",".join(options.providers)]
    if set(options.ops) != set(OPS):
        words += ["--ops", ",".join(options.ops)]
    return " ".join(map(str, words))


def report(options, chunks):
    usage = {}
    for record in chunks:
        for key, value in record["usage"].items():
            usage[key] = max(usage.get(key, [0]), value)
    print("largest share of a half-width that an f32 output used:")
    for key in sorted(usage):
        used, provider, case = usage[key]
        print(f"  {key:28} {used:.3f}  {provider}: {case}")
    for record in chunks:
        if record["failed"]:
            print(f"{record['failed']} failed in "
                  f"{options.out / chunk_name(options, record['chunk'])}.jsonl")
    total = {name: sum(c[name] for c in chunks)
             for name in ("cases", "passed", "failed", "skipped")}
    print(f"{total['cases']} cases on {len(options.providers)} "
          f"provider{'s' if len(options.providers) > 1 else ''} ({options.cpu}); again: "
          f"make soak ARGS=\"{again(options, total['cases'])}\"")
    print(f"soak: {total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] or not total["passed"] else 0


def words(text):
    return [word for word in text.split(",") if word]


def parse():
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, help="default: 200000, or what --seconds allows")
    parser.add_argument("--seconds", type=float, help="run chunks of cases for so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--providers", type=words, help="names or libraries, with commas between; "
                        "default: naive in three orders")
    parser.add_argument("--ops", type=words, default=sorted(set(OPS)), help="default: all")
    parser.add_argument("--cpu", choices=CPUS, default="native", help="other than native: emulated")
    parser.add_argument("--jobs", type=int, help="worker processes; default: usable cores")
    parser.add_argument("--out", type=Path, default=BUILD / "soak")
    parser.add_argument("--fresh", action="store_true", help="forget what was done before")
    options = parser.parse_args()
    if options.cases is None and options.seconds is None:
        options.cases = 200_000
    if options.cases is not None and options.cases < 1:
        parser.error(f"--cases {options.cases}: allowed are whole numbers from 1")
    if options.seconds is not None and not 0 < options.seconds < 1e9:
        parser.error(f"--seconds {options.seconds}: allowed are numbers above 0")
    for op in options.ops:
        if op not in OPS:
            parser.error(f"--ops '{op}': allowed are {' '.join(sorted(set(OPS)))}")
    if not options.ops:
        parser.error("--ops: names none")
    options.ops = sorted(set(options.ops))
    options.providers = options.providers or orders(options)
    options.tiled = options.providers != orders(options)
    options.identity = identity(options)
    return options


def next_count(options, chunks):
    """Cases of the chunk after these; 0: there is none."""
    if options.seconds is not None and sum(c["seconds"] for c in chunks) >= options.seconds:
        return 0
    left = CHUNK if options.cases is None else options.cases - CHUNK * len(chunks)
    return max(0, min(CHUNK, left))


def main():
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    done, chunks = done_chunks(options), []
    while count := next_count(options, chunks):
        record = done.get(len(chunks))
        known = record and record["cases"] == count
        if not known:
            record = run_chunk(options, len(chunks), count)
            with open(options.out / "state.jsonl", "a", encoding="utf-8") as state:
                state.write(json.dumps(record) + "\n")
        chunks.append(record)
        if not known:
            total = {name: sum(c[name] for c in chunks) for name in ("cases", "failed", "seconds")}
            print(f"{total['cases']:8} cases, {total['failed']} failed, {total['seconds']:.0f} s",
                  flush=True)
    return report(options, chunks)


if __name__ == "__main__":
    sys.exit(main())
