#!/bin/bash
# armq-bench as a user runs it: exit statuses, and what an emulated run says.
set -euo pipefail
cd "$(dirname -- "$0")/../.."

bench=build/armq-bench
small='linear_w8a8 tokens=2 n=16 k=32'
fast=--benchmark_min_time=0.001
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failures=0

# expect STATUS TEXT ARGUMENT...: the exit status, and a text in what was printed.
expect() {
    local wanted=$1 text=$2 status=0
    shift 2
    "$bench" "$@" >"$out/log" 2>&1 || status=$?
    if [ "$status" != "$wanted" ] || ! grep -qF -- "$text" "$out/log"; then
        echo "armq-bench $*: status $status, wanted $wanted and '$text':"
        sed 's/^/    /' "$out/log"
        failures=$((failures + 1))
    fi
}

expect 0 "neon/$small seed=1/cold/real_time" "$small" --provider neon "$fast"
expect 0 "neon/$small seed=1/real_time" "$small" --provider neon "$fast" --memory warm
expect 0 "neon/$small seed=1" linear_w8a8 tokens=2 n=16 k=32 --provider neon --list
expect 0 'threads=2' "$small" --provider neon --threads 2 "$fast"
expect 1 'wrong answer, so no time' "$small bias=f32" "$fast" \
    --provider build/aarch64/broken/libforget_bias.so
expect 1 'ended by the provider' 'linear_w8a8 tokens=3 n=16 k=32' "$fast" \
    --provider build/aarch64/broken/libexit_quietly.so
expect 2 "unknown option '--swep'" --swep quick
expect 2 'nothing to time'
expect 2 'command line:1:' 'linear_w8a8 tokens=two n=16 k=32'
expect 2 'perf/cases' --sweep no-such-sweep
echo '# no case' >"$out/none.sweep"
expect 2 "none.sweep' has no case" --sweep "$out/none.sweep"
expect 2 'wanted a number from 1' "$small" --benchmark_repetitions=-1
expect 2 "no provider 'zork'" "$small" --provider zork
expect 2 'is not allowed' "$small" --benchmark_format=zork
expect 2 "'--benchmark_zork'" "$small" --benchmark_zork
expect 2 'No such file' "$small" --benchmark_out="$out/none/x.json"
expect 3 'nothing ran' "$small" --provider neon --benchmark_filter=zork
expect 3 'would not run at once' "$small" --provider neon --threads 1024
for format in json csv console; do
    expect 1 '--benchmark_out cannot be written' "$small" --provider neon "$fast" \
        --benchmark_out=/dev/full "--benchmark_out_format=$format"
    expect 0 'real_time' "$small" --provider neon "$fast" "--benchmark_out=$out/file" \
        "--benchmark_out_format=$format"
    if ! grep -q real_time "$out/file"; then
        echo "nothing in the $format file"
        failures=$((failures + 1))
    fi
done
for arguments in "--list" "$fast"; do
    status=0
    "$bench" "$small" --provider neon "$arguments" >/dev/full 2>"$out/log" || status=$?
    if [ "$status" != 1 ] || ! grep -q 'stdout cannot be written' "$out/log"; then
        echo "armq-bench $arguments >/dev/full: status $status"
        failures=$((failures + 1))
    fi
done
ARMQ_CPU=cortex-a72 expect 3 'the CPU lacks' "$small" --provider i8mm
ARMQ_CPU=cortex-a72 expect 0 'peak of SMMLA skipped: the CPU lacks i8mm' "$small" --provider neon "$fast"
expect 2 "--memory 'hot'" "$small" --memory hot
expect 2 'kinds of usable cores' "$small" --cores 9
expect 3 'no weights that could be cold' 'quantize tokens=2 k=32' --provider neon --memory cold
expect 0 'emulated pairs=3' "$small" 'linear_bf16 tokens=2 n=16 k=32' --provider neon,bf16 --pairs 3 "$fast"
expect 0 'noise verdict: none' "$small" --provider neon "$fast" --threads 1,all
# Affinity is respected: on one processor there is one thread.
first=$(awk '/^Cpus_allowed_list/ { split($2, f, "[-,]"); print f[1] }' /proc/self/status)
bound=$bench
bench=taskset
expect 3 '2 threads on 1 usable cores' -c "$first" "$bound" "$small" --provider neon --threads 2
expect 0 "armq_affinity: $first" -c "$first" "$bound" "$small" --provider neon --threads all "$fast"
bench=$bound

# A CPU name in the environment means QEMU, on Arm machines too.
export ARMQ_CPU=max
expect 0 'NOT performance' --sweep quick "$fast" --benchmark_repetitions=2 \
    --benchmark_out="$out/bench.json"
if grep -qiE 'speed-up over|[0-9]x \[|% of peak|% of the measured' "$out/log"; then
    echo "an emulated run speaks of a speed-up or a share of a peak"
    failures=$((failures + 1))
fi
/usr/bin/python3 - "$out/bench.json" <<'END' || failures=$((failures + 1))
import json
import sys

data = json.load(open(sys.argv[1]))
context = data["context"]
assert context["armq_emulated"] == "true", context
assert context["time_is_performance"] == "false", context
assert context["armq_cpu"] == "max" and "i8mm" in context["armq_features"], context
rows = [row for row in data["benchmarks"] if row["run_type"] == "iteration"]
assert {row["run_name"].split("/")[0] for row in rows} == {"neon", "dotprod", "i8mm", "bf16"}
weights = {row["run_name"]: row.get("weight bytes/token") for row in rows}
decode = " tokens=1 n=256 k=512{} seed=1/cold/real_time"
bf16 = weights["bf16/linear_bf16" + decode.format("")]
assert bf16 / weights["i8mm/linear_w8a8" + decode.format("")] >= 1.95, weights
assert bf16 / weights["i8mm/linear_w4a8" + decode.format(" group_size=128")] >= 3.6, weights
for key in ("midr", "hwcap", "hwcap2", "l1", "l2", "llc", "governor", "kernel", "compiler", "affinity",
            "cpuset", "cpu_quota", "load", "core_kinds", "huge_pages", "cores"):
    assert context["armq_" + key], key
assert "armq_peaks" not in context, context
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
assert context["armq_affinity"] == status["Cpus_allowed_list"].strip(), context
for peaks in json.loads(context["armq_emulated_peaks"]):
    rates = {name: value for name, value in peaks.items() if name not in ("kind", "threads")}
    assert len(rates) == 10 and all(name.startswith("emulated ") for name in rates), peaks
    assert min(rates.values()) > 0, peaks
for row in rows:
    assert not {"% of peak", "speed-up", "spread %"} & set(row), row
    cold = "/cold/" in row["run_name"]
    assert cold == (" tokens=1 " in row["run_name"]) == ("; cold, " in row["label"]), row
    assert not cold or row["cold bytes"] > 2 * int(context["armq_llc"]), row
    assert ("weight bytes/token" in row) == ("quantize" not in row["run_name"]), row
    assert "MAC/s" not in row and "bytes/s" not in row and "tokens/s" not in row, row
    assert row["emulated tokens/s"] > 0 and "not performance" in row["label"], row
    if row["run_name"].startswith("i8mm/linear_w8a8 tokens=32 n=256 k=512 seed=1"):
        assert row["MAC"] == 32 * 256 * 512, row
        assert row["bytes"] == 256 * 512 + 256 * 4 + 32 * 512 * 2 + 32 * 256 * 2, row
END

[ "$failures" = 0 ]
echo "armq-bench: all as wanted"
