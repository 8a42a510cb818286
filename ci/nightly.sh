#!/bin/bash
# What is too long for every commit: the soak, the full and model sweeps on every CPU level, offsets
# beyond 2^31, all faults, a sample of mutants, the modelled speeds. One line per step; each step's
# full output, and the result files, are in build/nightly/. A failing step does not stop the others.
# The last line is the sum, as that of ci/test.sh.
#
#   ci/nightly.sh [STEP...]     only these: soak full models overflow faults mutants model
set -euo pipefail
export LC_ALL=C CI="${CI:-nightly}" PYTHONDONTWRITEBYTECODE=1
cd "$(dirname -- "$0")/.."

out=build/nightly
jobs=$(nproc)
step_seconds=36000
declare -A tier=([cortex-a72]=neon [neoverse-n1]=dotprod [max]=i8mm)
wanted=("$@")

# shellcheck source=ci/steps.sh
. ci/steps.sh

for name in "${wanted[@]}"; do
    case $name in
    soak | full | models | overflow | faults | mutants | model) ;;
    *)
        echo "ci/nightly.sh: '$name' is no step; allowed are soak full models overflow faults mutants model" >&2
        exit 2
        ;;
    esac
done

# is_wanted NAME: true if no steps were named, or this one was.
is_wanted() {
    [ ${#wanted[@]} = 0 ] || [[ " ${wanted[*]} " == *" $1 "* ]]
}

# sweep NAME SWEEP...: on every CPU level, each of which must have run its own tier.
sweep() {
    local name=$1 cpu options=()
    shift
    is_wanted "$name" || return 0
    for s in "$@"; do options+=(--sweep "$s"); done
    for cpu in cortex-a72 neoverse-n1 max; do
        ARMQ_CPU=$cpu step "$name-$cpu" ledger build/armq-conform "${options[@]}" --jobs "$jobs" \
            --require-tier "${tier[$cpu]}" --json "$out/$name-$cpu.jsonl" --junit "$out/$name-$cpu.xml"
    done
}

make_step() {
    local name=$1 count=$2
    shift 2
    ! is_wanted "$name" || step "$name" "$count" make --no-print-directory "$@"
}

rm -rf "$out"
mkdir -p "$out"
step build status make --no-print-directory "-j$jobs" all
make_step soak tally soak
sweep full full
sweep models models
sweep overflow overflow
make_step faults faults faults
make_step mutants status mutants "ARGS=--sample 30"
make_step model status model
finish
