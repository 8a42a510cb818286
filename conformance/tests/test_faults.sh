#!/bin/bash
# The runner of conformance/faults and its library: what must be an error is one, a fault that is
# there is caught, one that is not caught is a failure.
set -euo pipefail
cd "$(dirname -- "$0")/../.."

build=${BUILD:-build}
python=/usr/bin/python3
machine=$(uname -m | sed s/arm64/aarch64/)
conform=$build/$machine/armq-conform
library=$build/$machine/libarmq-faults.so
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failures=0

# expect STATUS TEXT COMMAND...: the exit status, and a text in what was printed.
expect() {
    local code=$1 text=$2 status=0
    shift 2
    "$@" >"$out/log" 2>&1 || status=$?
    if [ "$status" != "$code" ] || ! grep -qF -- "$text" "$out/log"; then
        echo "$*: status $status, wanted $code and '$text':"
        sed 's/^/    /' "$out/log"
        failures=$((failures + 1))
    fi
}

case='linear_w8a8 tokens=2 n=3 k=5 bias=1'
expect 2 "ARMQ_FAULT='no_such' is not in" \
    env ARMQ_FAULT=no_such "$conform" --provider "$library" "$case"
expect 0 'passed 1 ' env ARMQ_FAULT= "$conform" --provider "$library" "$case"
expect 0 'passed 1 ' env -u ARMQ_FAULT "$conform" --provider "$library" "$case"
expect 1 'failed 1 ' env ARMQ_FAULT=bias_twice "$conform" --provider "$library" "$case"

run=("$python" -B conformance/faults/run.py --sharp)
expect 0 'faults: 1 caught, 0 missed' "${run[@]}" bias_twice
expect 2 "there is no fault 'no_such'" "${run[@]}" no_such

# changed SCRIPT PATTERN: the table after sed, which has lines like that now.
changed() {
    sed "$1" conformance/faults/table.def >"$out/table.def"
    grep -q "$2" "$out/table.def" || failures=$((failures + 1))
}
changed 's/^F(bias_twice, bias, l8/F(bias_twice, bias, q l8/' 'bias_twice, bias, q l8'
expect 1 'not by value in quantize' "${run[@]}" --table "$out/table.def" bias_twice
changed 's/^\(F(bias_twice.*\) value,/\1 poison,/' 'bias_twice.*poison'
expect 0 'faults: 1 caught, 0 missed' "${run[@]}" --table "$out/table.def" bias_twice
changed 's/^\(F(bias_twice.*\) value,/\1 overflow,/' 'bias_twice.*overflow'
expect 1 'faults: 0 caught, 1 missed' "${run[@]}" --table "$out/table.def" bias_twice
changed 's/^F(bias_twice\(.*\), value, any, "",/E(bias_twice\1,/; /^E(bias_twice/s/)$/, "it is not")/' '^E(bias_twice'
expect 1 'CAUGHT, though argued' "${run[@]}" --table "$out/table.def" bias_twice
changed 's/^F(bias_twice/F(no_source/' 'no_source'
expect 2 'no source has FAULT(no_source)' "${run[@]}" --table "$out/table.def" bias_dropped

[ "$failures" = 0 ]
echo "faults: the runner is as wanted"
