#!/bin/bash
# Proves what the harness does about providers that crash, hang, print or answer oddly, and how it
# reports and shrinks wrong results (which it finds at all is proven by make faults): each broken
# provider fails its run, the check that is responsible says so, and the rest of the run completes.
# Under the build machine's own architecture and as AArch64. The last line is "broken: N passed, N failed".
set -euo pipefail
cd "$(dirname -- "$0")/../../.."

build=${BUILD:-build}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

# 3 tokens are what some of the broken providers stumble over.
linear_cases=(
    'linear_w8a8 tokens=2,3 n=9 k=80 bias=0,f32 dialect=sglang-w8a8'
    'linear_w8a8 tokens=2,3 n=9 k=80 bias=f32 dialect=kleidi-w8a8'
    'gemm_s8s8s32 tokens=2,5 n=9 k=80 data=extremes'
)
moe_cases=(
    'moe_w8a8 tokens=4 hidden=24 intermediate=16 experts=3 top_k=2 dialect=sglang-w8a8,vllm-w8a8'
    'moe_w8a8 tokens=4 hidden=24 intermediate=16 experts=3 top_k=2 in=f32,bf16 activation=swigluoai'
)

# about COUNT CASE...: what is run from here on, and how many cases it stands for.
about() {
    count=$1
    shift
    cases=("$@")
}

# of_ci FILTER: the same for the cases of the sweep ci that match.
of_ci() {
    cases=(--sweep ci --filter "$1")
    count=$("$program" --provider naive "${cases[@]}" --list 2>"$scratch/log" | wc -l)
    [ "$count" -gt 0 ] || verdict 'no such case' ci "$1"
}

verdict() {
    if [ "$1" = ok ]; then
        passed=$((passed + 1))
        echo "ok $2: $3"
    else
        failed=$((failed + 1))
        echo "FAILED $2: $3: $1"
        sed 's/^/    | /' "$scratch/log"
    fi
}

# run NAME: runs the broken provider beside the naive one; sets status and ledger.
run() {
    status=0
    "$program" --provider "naive,$libraries/lib$1.so" --no-shrink --timeout 1 --jobs 2 "${cases[@]}" \
        >"$scratch/log" 2>&1 || status=$?
    ledger=$(tail -n 1 "$scratch/log")
}

# The naive cases all passed, and the sum is right: so many cases on two providers.
completed() {
    grep -Eq "^planned $((2 * count)) = passed " <<<"$ledger" &&
        [ "$(awk '$1 == "naive" { p += $3; bad += $4 + $5 + $6 + $7 } END { print p + 0, bad + 0 }' \
            "$scratch/log")" = "$count 0" ]
}

# caught FILE CHECK TEXT: fails with that check and a text (a regular expression) in its sentence.
caught() {
    local what="$2 ($arch)" name=${1//_/-}
    run "$1"
    if [ "$status" != 1 ]; then
        verdict "exit status $status, not 1" "$1" "$what"
    elif ! grep -Eq "^FAIL $name: [a-z0-9_]+ [^:]*: $2: .*($3)" "$scratch/log"; then
        verdict "no failure of check $2 with '$3'" "$1" "$what"
    elif ! completed; then
        verdict "the rest of the run is not complete" "$1" "$what"
    else
        verdict ok "$1" "$what"
    fi
}

# Not a wrong result, but said aloud, and undone: subnormal rows are still right.
reported() {
    local name=$1 text=$2
    cases+=('linear_w8a8 tokens=5 n=9 k=80 dialect=vllm-w8a8 in=f32 data=subnormals')
    run "$name"
    unset 'cases[-1]'
    if [ "$status" != 0 ]; then
        verdict "exit status $status, not 0" "$name" "reported ($arch)"
    elif ! grep -q "$text" "$scratch/log"; then
        verdict "no '$text'" "$name" "reported ($arch)"
    else
        verdict ok "$name" "reported ($arch)"
    fi
}

# comes_down FILE CASE SMALLEST: the smallest case that a failed one comes down to.
comes_down() {
    local what="comes down to '$3' ($arch)"
    status=0
    "$program" --provider "$libraries/lib$1.so" --shrink --timeout 1 --jobs 1 --json "$scratch/json" \
        --force "$2" >"$scratch/log" 2>&1 || status=$?
    if [ "$status" != 1 ] || [ "$(tail -n 1 "$scratch/log" | cut -d ' ' -f 2)" != 1 ]; then
        verdict "exit status $status, not 1, or another sum than 1 case" "$1" "$what"
    elif ! grep -qF "     smallest: " "$scratch/log" || ! grep -qF "'$3'" "$scratch/log"; then
        verdict 'another smallest case, or none' "$1" "$what"
    elif ! grep -qF "\"shrunk\":{\"case\":\"$3\"" "$scratch/json"; then
        verdict 'not in the result file' "$1" "$what"
    else
        verdict ok "$1" "$what"
    fi
}

# What a provider prints must not stand where the results do.
stdout_is_clean() {
    local name=print_ledger what="keeps stdout clean ($arch)" forged='^planned 1 = passed 1 '
    status=0
    "$program" --provider "$libraries/lib$name.so" --jobs 1 "${cases[@]}" \
        >"$scratch/log" 2>"$scratch/err" || status=$?
    if [ "$status" != 0 ] || grep -q "$forged" "$scratch/log"; then
        verdict "exit status $status, or the provider's text is on stdout" "$name" "$what"
    elif ! grep -q "$forged" "$scratch/err"; then
        verdict "the provider's text is not on stderr" "$name" "$what"
    else
        verdict ok "$name" "$what"
    fi
}

portable() {
    about 8 "${linear_cases[@]}"
    caught skip_k_block value 'y|element|wanted'
    caught forget_bias value 'wanted'
    caught read_past_x memory 'past the end of x'
    caught loop_forever crash 'hang: .* in value'
    caught null_deref crash 'SIGSEGV'
    caught exit_quietly crash 'ended the process with status 0'
    caught fork_and_abort crash 'SIGABRT in value'
    caught hang_in_query crash 'hang: .* in value'
    caught hang_in_release crash 'hang: .* in [a-z]+'
    caught odd_status value 'query returned .*77.* three is too many'
    stdout_is_clean
    reported fast_math 'changed the floating-point control register'
    run crash_on_load
    if [ "$status" = 1 ] && grep -q 'died while it was loaded: SIGABRT' "$scratch/log" &&
        grep -Eq '^planned 16 = passed 8 .* crashed 8$' <<<"$ledger"; then
        verdict ok crash_on_load "crash ($arch)"
    else
        verdict "exit status $status, $ledger" crash_on_load "crash ($arch)"
    fi

    comes_down skip_k_block \
        'linear_w8a8 tokens=7 n=64 k=512 dialect=sglang-w8a8 bias=f32 data=outliers seed=3' \
        'linear_w8a8 tokens=1 n=1 k=17 dialect=sglang-w8a8 seed=1'
    comes_down null_deref 'linear_w8a8 tokens=3 n=9 k=80 in=f32' \
        'linear_w8a8 tokens=3 n=1 k=1 in=f32 seed=1'
    comes_down loop_forever 'linear_w8a8 tokens=3 n=2 k=2' 'linear_w8a8 tokens=3 n=1 k=1 seed=1'
    comes_down read_past_x 'linear_w8a8 tokens=3 n=9 k=80' 'linear_w8a8 tokens=1 n=1 k=1 seed=1'
    comes_down first_group_scale \
        'moe_w4a8 tokens=4 hidden=128 intermediate=64 experts=4 top_k=2 group_size=64' \
        'moe_w4a8 tokens=1 hidden=64 intermediate=32 experts=1 top_k=1 group_size=32 seed=1'

    about 4 "${moe_cases[@]}"
    local mistake
    for mistake in ignore_limit ignore_alpha; do
        caught "$mistake" value 'wanted'
    done
    about 1 'linear_w8a8 tokens=3 n=9 k=80 x_pad=2147483659 memory=sparse'
    caught read_past_x overflow 'SIGSEGV'

    # int4, in what everyone runs.
    of_ci '^linear_w4a8 tokens=(1|5|6) n=(18|20) '
    for mistake in first_group_scale previous_group_scale channel_as_groups; do
        caught "$mistake" value 'wanted'
    done
}

host=$(uname -m)
case $host in
aarch64 | arm64) ;;
*)
    arch=$host program=$build/$host/armq-conform libraries=$build/$host/broken
    portable
    ;;
esac
arch=aarch64 program=$build/armq-conform libraries=$build/aarch64/broken
portable

echo "broken: $passed passed, $failed failed"
[ "$failed" = 0 ]
