#!/bin/bash
# What is too long for every commit: the soaks, the full and model sweeps on every CPU level, offsets
# beyond 2^31, all faults, a sample of mutants, the modelled speeds. One line per step; each step's
# full output, and the result files, are in build/nightly/. A failing step does not stop the others.
# The last line is the sum, as that of ci/test.sh.
#
#   ci/nightly.sh [STEP...]     only these: soak soak-bf16 full models overflow faults mutants model
#
# Environment:
#   NIGHTLY_SEED=YYYYMMDD       of the soaks and of the sample of mutants: by default today's date (UTC),
#                               so that every night sees other cases
#   NIGHTLY_SOAK_CASES=200000   of soak
#   NIGHTLY_SOAK_SECONDS=3600   of soak-bf16, half of them for each CPU
#   NIGHTLY_CPUS='cortex-a72 neoverse-n1 max'   for full, models and overflow
#   NIGHTLY_FILTER=REGEX        only the cases of full, models and overflow whose text matches
#   NIGHTLY_MUTANTS=30          size of the sample
set -euo pipefail
export LC_ALL=C CI="${CI:-nightly}" PYTHONDONTWRITEBYTECODE=1
cd "$(dirname -- "$0")/.."

out=build/nightly
jobs=$(nproc)
step_seconds=36000
declare -A tier=([cortex-a72]=neon [neoverse-n1]=dotprod [max]=i8mm)
steps=(soak soak-bf16 full models overflow faults mutants model)
wanted=("$@")
seed=${NIGHTLY_SEED:-$(date -u +%Y%m%d)} soak_cases=${NIGHTLY_SOAK_CASES:-200000}
soak_seconds=${NIGHTLY_SOAK_SECONDS:-3600} mutants=${NIGHTLY_MUTANTS:-30}
read -ra cpus <<<"${NIGHTLY_CPUS:-cortex-a72 neoverse-n1 max}"

usage() {
    echo "ci/nightly.sh: $*" >&2
    exit 2
}

for name in "${wanted[@]}"; do
    [[ " ${steps[*]} " == *" $name "* ]] || usage "'$name' is no step; allowed are ${steps[*]}"
done
for name in seed soak_cases soak_seconds mutants; do
    [[ ${!name} =~ ^[1-9][0-9]{0,8}$ ]] ||
        usage "NIGHTLY_${name^^}='${!name}': allowed are whole numbers from 1"
done
for name in "${cpus[@]}"; do
    [ -n "${tier[$name]:-}" ] ||
        usage "NIGHTLY_CPUS names '$name'; allowed are cortex-a72 neoverse-n1 max"
done

# shellcheck source=ci/steps.sh
. ci/steps.sh

# is_wanted NAME: true if no steps were named, or this one was.
is_wanted() {
    [ ${#wanted[@]} = 0 ] || [[ " ${wanted[*]} " == *" $1 "* ]]
}

# soak NAME ARGUMENTS: what a night that was killed has judged counts, that of one that ended does not.
soak() {
    local name=$1 state=build/soak-nightly/$1
    shift
    step "$name" tally make --no-print-directory soak "ARGS=--seed $seed --out $state $*"
    [ ! -d "$state" ] || mv "$state" "$out/$name.state"
}

soak_bf16() {
    local half=$(((soak_seconds + 1) / 2)) ops=linear_bf16,moe_bf16
    soak soak-bf16-max "--seconds $half --ops $ops --cpu max --providers bf16"
    soak soak-bf16-cortex-a72 "--seconds $half --ops $ops --cpu cortex-a72 --providers neon"
}

# sweep NAME SWEEP...: on every CPU level, each of which must have run its own tier.
sweep() {
    local name=$1 cpu options=()
    shift
    is_wanted "$name" || return 0
    for s in "$@"; do options+=(--sweep "$s"); done
    [ -z "${NIGHTLY_FILTER:-}" ] || options+=(--filter "$NIGHTLY_FILTER")
    for cpu in "${cpus[@]}"; do
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
echo "seed $seed"
step build status make --no-print-directory "-j$jobs" all
! is_wanted soak || soak soak "--cases $soak_cases"
! is_wanted soak-bf16 || soak_bf16
sweep full full
sweep models models
sweep overflow overflow
make_step faults faults faults
make_step mutants mutants mutants "ARGS=--sample $mutants --seed $seed"
make_step model tally model "ARGS=--strict --json build/model/model.json"
finish
