#!/bin/bash
# armq-conform as a user runs it: what unit tests cannot see.
set -euo pipefail
cd "$(dirname -- "$0")/../.."

build=${BUILD:-build}
conform=$build/armq-conform
small='gemm_s8s8s32 tokens=1,2 n=3 k=4'
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failures=0

# wanted STATUS TEXT WHAT: what the last run left in $status and $out/log.
wanted() {
    if [ "$status" != "$1" ] || ! grep -qF -- "$2" "$out/log"; then
        echo "$3: status $status, wanted $1 and '$2':"
        sed 's/^/    /' "$out/log"
        failures=$((failures + 1))
    fi
}

# expect STATUS TEXT ARGUMENT...: the exit status, and a text in what was printed.
expect() {
    local code=$1 text=$2
    shift 2
    status=0
    "$conform" "$@" >"$out/log" 2>&1 || status=$?
    wanted "$code" "$text" "armq-conform $*"
}

# --- A stdout that takes nothing is no success ---------------------------------------------------

for arguments in --list=checks --list=keys --help; do
    status=0
    "$conform" "$arguments" >/dev/full 2>"$out/log" || status=$?
    wanted 1 'stdout cannot be written' "armq-conform $arguments >/dev/full"
done
status=0
"$conform" --provider naive "$small" >/dev/full 2>"$out/log" || status=$?
wanted 1 'stdout cannot be written' 'a run >/dev/full'
status=0
"$conform" --provider naive --json "$out/closed.jsonl" "$small" >&- 2>"$out/log" || status=$?
wanted 2 'stdout is closed' 'a run >&-'
[ ! -s "$out/closed.jsonl" ] || failures=$((failures + 1))
status=0
"$conform" --provider naive "$small" >/dev/null 2>"$out/log" || status=$?
echo "status $status" >>"$out/log"
wanted 0 'status 0' 'a run >/dev/null'

[ "$failures" = 0 ]
echo "armq-conform: all as wanted"
