#!/bin/bash
# Builds examples/plain_gemm.c as README.md says and has it judged: every gemm of the sweep ci must
# run and pass. The last line is "example: N passed, N failed".
set -euo pipefail
cd "$(dirname -- "$0")/../.."

build=${BUILD:-build}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
case $(uname -m) in
aarch64 | arm64) compiler=gcc ;;
*) compiler=aarch64-linux-gnu-gcc ;;
esac

finish() {
    echo "example: $1 passed, $2 failed"
    [ "$2" = 0 ]
    exit
}

"$compiler" -O2 -shared -fPIC -I. -o "$scratch/libplain.so" \
    examples/plain_gemm.c kernels/api/describe.c kernels/api/names.c || finish 0 1

status=0
"$build/armq-conform" --provider "$scratch/libplain.so" --sweep ci --filter '^gemm_s8s8s32' \
    >"$scratch/log" 2>&1 || status=$?
cat "$scratch/log"
ledger='^planned ([0-9]+) = passed ([0-9]+) \+ failed 0 \+ skipped 0 \+ waived 0 \+ crashed 0$'
if ! [[ $(tail -n 1 "$scratch/log") =~ $ledger ]]; then
    echo "not every case has passed (exit status $status)"
    finish 0 1
fi
passed=${BASH_REMATCH[2]}
if [ "$status" != 0 ] || [ "$passed" = 0 ] || [ "$passed" != "${BASH_REMATCH[1]}" ]; then
    echo "exit status $status, passed $passed of ${BASH_REMATCH[1]}"
    finish "$passed" 1
fi
finish "$passed" 0
