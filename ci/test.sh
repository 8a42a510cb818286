#!/bin/bash
# Everything `make test` does: lint, unit tests, golden data, proofs, modelled targets of the tiles,
# conformance on every CPU level.
# One line per step; each step's full output is in build/test/<step>.log. A failing step does not
# stop the others. The last line is the sum: "N passed, N failed, N skipped".
set -euo pipefail
export LC_ALL=C CI="${CI:-}" PYTHONDONTWRITEBYTECODE=1
cd "$(dirname -- "$0")/.."

python=/usr/bin/python3
out=build/test
jobs=$(nproc)
cpus=(cortex-a72 neoverse-n1 max)

# A step is a command under a timeout; to build, this script calls itself.
if [ "${1:-}" = --build ]; then
    shift
    parallel=()
    case ${MAKEFLAGS:-} in *jobserver*) ;; *) parallel=("-j$jobs") ;; esac
    exec make --keep-going --no-print-directory "${parallel[@]}" "$@"
fi

rm -rf "$out"
mkdir -p "$out"

# shellcheck source=ci/steps.sh
. ci/steps.sh

# ---- The steps --------------------------------------------------------------------------------

make_step() {
    step "$1" status bash ci/test.sh --build "$2"
}

unit_step() {
    local name=$1 cpu=$2 programs=()
    shift 2
    mapfile -t programs < <(for list in "$@"; do tr ' ' '\n' <"$list"; done | sed '/^$/d')
    [ ${#programs[@]} = 0 ] || step "$name" tally bash ci/unit.sh "$cpu" "$out/$name" "${programs[@]}"
}

make_step build all
for tool in format tidy shell python header; do
    make_step "lint-$tool" "lint-$tool"
done

arm=$(case $(uname -m) in aarch64 | arm64) echo yes ;; esac)

# What keeps one core busy, or waits, beside the rest.
# shellcheck disable=SC2317 # lane calls it
proofs() {
    local tests script
    for tests in reference reports; do
        step "python-$tests" unittest "$python" -m unittest discover -v -s "$tests/tests"
    done
    for script in */tests/test_*.sh; do
        step "$(basename "$script" .sh)" status bash "$script"
    done
    step model-unit unittest bash ci/test.sh --build model-test
    step faults faults bash ci/test.sh --build faults ARGS=--sharp
}

lane proofs
if [ "$arm" ]; then
    unit_step unit-native native build/aarch64/tests.txt build/aarch64/kernel-tests.txt
else
    unit_step unit-native native "build/$(uname -m)/tests.txt"
    unit_step unit-max max build/aarch64/tests.txt
fi
for cpu in "${cpus[@]}"; do
    unit_step "kernels-$cpu" "$cpu" build/aarch64/kernel-tests.txt
done
for folder in golden vectors; do
    [ "$arm" ] || step "$folder-native" tally "build/$(uname -m)/armq-golden" "reference/$folder"
    step "$folder" tally build/armq-golden "reference/$folder"
done
step broken-providers tally bash conformance/tests/broken/run.sh
step example tally bash conformance/tests/example.sh
step soak tally make --no-print-directory soak "ARGS=--cases 4000 --seed 7 --fresh --out $out/soak"
step model-tiles tally bash ci/test.sh --build model-tiles
join_lane

# The naive provider is plain C, the same code on every CPU: once emulated, once native.
kernels=neon,dotprod,i8mm,bf16
declare -A tier=([cortex-a72]=neon [neoverse-n1]=dotprod [max]=i8mm)
declare -A naive=([max]=",naive")

conform() {
    local name=conform-$1
    shift
    step "$name" ledger "$@" --sweep ci --jobs "$jobs" --json "$out/$name.jsonl" --junit "$out/$name.xml"
}

conform native "build/$(uname -m | sed s/arm64/aarch64/)/armq-conform"
for cpu in "${cpus[@]}"; do
    ARMQ_CPU=$cpu conform "$cpu" build/armq-conform --provider "$kernels${naive[$cpu]:-}" \
        --require-tier "${tier[$cpu]}"
done

finish
