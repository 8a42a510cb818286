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

# --- Results of two builds are not mixed ----------------------------------------------------------

libraries=$build/aarch64/broken
cp "$libraries/libprint_ledger.so" "$out/lib.so"
expect 0 'passed 2' --provider "$out/lib.so" --json "$out/two.jsonl" "$small"
sed -i '2,$d' "$out/two.jsonl" # as if it had been killed at once
cp "$out/two.jsonl" "$out/one.jsonl"
expect 0 'passed 2' --provider "$out/lib.so" --resume "$out/one.jsonl" "$small"
printf '\0' >>"$out/lib.so" # the same code in another file
cp "$out/two.jsonl" "$out/before.jsonl"
expect 2 'provider print-ledger was another build' \
    --provider "$out/lib.so" --resume "$out/two.jsonl" "$small"
cmp -s "$out/two.jsonl" "$out/before.jsonl" || failures=$((failures + 1))
sed 's/"program":"0x[0-9a-f]*"/"program":"0x0123456789abcdef"/' "$out/two.jsonl" >"$out/other.jsonl"
expect 2 'another build of armq-conform (content 0x0123456789abcdef' \
    --provider "$out/lib.so" --resume "$out/other.jsonl" "$small"
sed 's/"program":"0x[0-9a-f]*",//' "$out/two.jsonl" >"$out/older.jsonl"
expect 2 'another build of armq-conform (content unknown' \
    --provider "$out/lib.so" --resume "$out/older.jsonl" "$small"
# Not the emulator's hash.
program=$(sed -n 's/.*"program":"\(0x[0-9a-f]*\)".*/\1/p' "$out/two.jsonl")
computed=$(/usr/bin/python3 - "$build/aarch64/armq-conform" <<'END'
import sys

value = 0xCBF29CE484222325
for byte in open(sys.argv[1], "rb").read():
    value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
print(f"0x{value:016x}")
END
)
if [ "$program" != "$computed" ]; then
    echo "program is $program, the file's hash is $computed"
    failures=$((failures + 1))
fi

# --- The line that reproduces a failure does, when it is pasted ----------------------------------

# reproduces PROGRAM LIBRARY ARGUMENT...: the line printed for the first failure gives the same one.
reproduces() {
    local program=$1 library=$2 line first
    shift 2
    "$program" --provider "$library" "$@" >"$out/first" 2>&1 || true
    line=$(sed -n '/^ *reproduce: /{s///p;q}' "$out/first")
    first=$(grep -m 1 '^FAIL ' "$out/first") || true
    status=0
    bash -c "$line" >"$out/log" 2>&1 || status=$?
    wanted 1 "${first:-no failure}" "$line"
}

odd="$out/it's a \"folder\" & more"
native=$build/$(uname -m | sed s/arm64/aarch64/)
mkdir "$odd"
cp "$libraries/libforget_bias.so" "$odd/arm.so"
cp "$native/broken/libforget_bias.so" "$odd/native.so"
cp "$native/armq-conform" "$odd/armq-conform"
biased='linear_w8a8 tokens=2,3 n=9 k=80 bias=f32 dialect=kleidi-w8a8'
reproduces "$conform" "$odd/arm.so" "$biased"
reproduces "$conform" "$odd/arm.so" --sweep linear-ci --filter 'bias=f32' --seed 7 --timeout 20 \
    --check value,memory
reproduces "$odd/armq-conform" "$odd/native.so" "$biased"

# --- Enough is enough ----------------------------------------------------------------------------

wrong='linear_w8a8 tokens=2,3,4,5,6 n=9 k=80 bias=f32'
status=0
"$native/armq-conform" --provider "$odd/native.so" --jobs 1 --max-failures 2 --json "$out/enough" \
    "$wrong" >"$out/log" 2>&1 || status=$?
wanted 1 'planned 5 = passed 0 + failed 2 + skipped 3 ' '--max-failures 2'
grep -q '"reason":"not run: 2 failed, --max-failures 2"' "$out/enough" || wanted 1 'no reason' "$wrong"

# --- Memory that the harness lacks is nobody's failure -------------------------------------------

# limited KIBIBYTES ARGUMENT...: natively, for an emulator needs memory of its own.
limited() {
    local kibibytes=$1
    shift
    status=0
    (ulimit -v "$kibibytes" && exec "$build/$(uname -m | sed s/arm64/aarch64/)/armq-conform" \
        --provider naive --jobs 1 "$@") >"$out/log" 2>&1 || status=$?
}

limited 200000 'quantize tokens=20 k=2000000 in=f32'
wanted 3 'because: not enough memory for ' 'too large for 200 MB'
wanted 3 'skipped 1 + waived 0 + crashed 0' 'too large for 200 MB'
limited 200000 'quantize tokens=10 k=2000000 in=f16' # 8 bytes an element are the judge's
wanted 3 'value: not enough memory to judge' 'judge too large for 200 MB'
wanted 3 'skipped 1 + waived 0 + crashed 0' 'judge too large for 200 MB'
expect 3 'not enough memory: ' --provider naive 'quantize tokens=1000000 k=1000000 in=f32'

[ "$failures" = 0 ]
echo "armq-conform: all as wanted"
