#!/bin/bash
# The soak tool: what it may be asked, that a failed case is told and counted, that a run that was
# stopped goes on, and that a budget of seconds names the cases it reached.
set -euo pipefail
cd "$(dirname -- "$0")/../.."

export BUILD=${BUILD:-build}
machine=$(uname -m | sed s/arm64/aarch64/)
library=$BUILD/$machine/libarmq-faults.so
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failures=0

complain() {
    echo "$1"
    tail -n 12 "$out/log" | sed 's/^/    /'
    failures=$((failures + 1))
}

# soak STATUS ARGUMENT...: its exit status; what it printed is in $out/log.
soak() {
    local code=$1 status=0
    shift
    what="soak $*"
    /usr/bin/python3 -B conformance/soak/run.py --jobs 1 --out "$out/soak" "$@" >"$out/log" 2>&1 ||
        status=$?
    [ "$status" = "$code" ] || complain "$what: status $status, wanted $code:"
}

# says REGEX: the last run printed it.
says() {
    grep -qE -- "$1" "$out/log" || complain "$what: wanted '$1':"
}

says_not() {
    ! grep -qE -- "$1" "$out/log" || complain "$what: not wanted '$1':"
}

soak 2 --ops linear_bf17
says "--ops 'linear_bf17': allowed are activation gemm_s8s4s32 "
soak 2 --cpu z80
says "invalid choice: 'z80'"
soak 2 --seconds 0
says '--seconds 0.0: allowed are numbers above 0'
soak 2 --cases 0
says '--cases 0: allowed'
soak 1 --cases 5 --providers no_such
says "exit status 2"
says "no_such"

# The orders, natively, of chosen ops.
soak 0 --cases 30 --seed 5 --ops linear_bf16,moe_bf16
says '^soak: 90 passed, 0 failed, 0 skipped$'
says '30 cases on 3 providers \(native\); again: make soak ARGS="--seed 5 --cases 30 --ops linear_bf16,moe_bf16"'
says '^  (linear|moe)_bf16 bf16 '
says_not '_w[48]a8'

# Real kernels on an emulated CPU; what they refuse is no pass.
soak 0 --cases 20 --ops linear_bf16 --cpu max --providers bf16
says '^soak: 20 passed, 0 failed, 0 skipped$'
soak 1 --cases 20 --ops linear_w8a8 --cpu max --providers bf16
says 'exit status 3'

# A budget is spent by whole chunks; the cases are those of the number it names.
soak 0 --seconds 0.01 --seed 7 --ops quantize --providers naive
says '^ +2000 cases, 0 failed, '
says 'again: make soak ARGS="--seed 7 --cases 2000 --providers naive --ops quantize"'
soak 0 --cases 2000 --seed 7 --ops quantize --providers naive
says_not '^ +2000 cases, ' # it has them already
says '^soak: 2000 passed, 0 failed, 0 skipped$'
soak 0 --cases 2003 --seed 7 --ops quantize --providers naive
says '^ +2003 cases, 0 failed'
says_not '^ +2000 cases, '
soak 0 --seconds 0.01 --seed 7 --ops quantize --providers naive
says_not '^ +[0-9]+ cases, ' # the time before the stop counts
says '^soak: 2000 passed, '
soak 0 --cases 3 --seed 7 --ops quantize --providers "naive,$library"
says '^ +3 cases, 0 failed' # others judge anew
says '^soak: 6 passed, 0 failed, 0 skipped$'

# A line of the state that was being written is not believed.
tail -n 1 "$out/soak/state.jsonl" | head -c 40 >"$out/cut"
cat "$out/cut" >"$out/soak/state.jsonl"
soak 0 --cases 3 --seed 7 --ops quantize --providers "naive,$library"
says '^ +3 cases, 0 failed'

# Mistakes are found, told with what reproduces them, and kept.
export ARMQ_FAULT=bias_twice
soak 1 --cases 60 --ops linear_bf16 --providers "$library" --fresh
says '^FAIL [^ ]+: linear_bf16 tokens=.*: value: '
says "^     reproduce: .*armq-conform --provider '$library' --check value 'linear_bf16 "
says '^soak: [1-9][0-9]* passed, [1-9][0-9]* failed, 0 skipped$'
kept=$(sed -nE 's/^[0-9]+ failed in (.*)$/\1/p' "$out/log")
grep -q '"status":"failed"' "$kept" || complain "$what: '$kept' has no failed case:"
case=$(sed -nE "/^     reproduce: /{s/.* '(linear_bf16 [^']*)'\$/\1/p;q}" "$out/log")
"$BUILD/$machine/armq-conform" --provider "$library" "$case" >"$out/log" 2>&1 &&
    complain "'$case' does not fail again:"
soak 1 --cases 60 --ops linear_bf16 --providers "$library"
says '^soak: .* [1-9][0-9]* failed, 0 skipped$'
grep -q . "$kept" || complain "$what: '$kept' is gone:"

[ "$failures" = 0 ]
echo "soak: the tool is as wanted"
