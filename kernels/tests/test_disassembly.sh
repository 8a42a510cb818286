#!/bin/bash
# Reads the kernels' machine code: each tier multiplies with its own instruction, in a loop; no tier's
# instruction stands outside its directory; nothing calls libm.
#
#   kernels/tests/test_disassembly.sh [OBJECTS]      default build/aarch64/obj
set -euo pipefail

objects=${1:-build/aarch64/obj}
objdump=objdump nm=nm
if [ "$(uname -m)" != aarch64 ]; then
    objdump=aarch64-linux-gnu-objdump nm=aarch64-linux-gnu-nm
fi
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# Instructions that only some CPUs have; a directory may hold those after its name.
tier_instructions='sdot|udot|usdot|smmla|ummla|usmmla|bfmmla|bfdot|bfmlalb|bfmlalt|bfcvt|bfcvtn|bfcvtn2'
allowed() {
    case $1 in
    dotprod) echo sdot ;;
    i8mm) echo 'sdot|smmla' ;;
    bf16) echo 'bfmmla|bfcvtn|bfcvtn2' ;;
    peaks-dotprod) echo sdot ;;
    peaks-i8mm) echo smmla ;;
    peaks-bf16) echo 'bfmmla|bfdot' ;;
    *) echo none ;;
    esac
}

# Mnemonics inside loops: between the target of a backward branch and the branch.
in_loops() {
    "$objdump" -d --no-show-raw-insn "$1" | awk '
        function number(hex,  i, value) {
            for (i = 1; i <= length(hex); i++)
                value = value * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
            return value
        }
        /^ *[0-9a-f]+:/ {
            address = number(substr($1, 1, length($1) - 1))
            at[++count] = address; mnemonic[count] = $2
            if ($2 ~ /^(b|b\..*|cbn?z|tbn?z)$/ && match($0, /[0-9a-f]+ </)) {
                target = number(substr($0, RSTART, RLENGTH - 2))
                if (target <= address)
                    for (i = count; i > 0 && at[i] >= target; i--) print mnemonic[i]
            }
        }'
}

expect_in_loop() {
    local object=$objects/kernels/$1 instruction
    shift
    [ -e "$object" ] || { fail "$object does not exist; build first"; return; }
    for instruction; do
        in_loops "$object" | grep -x "$instruction" >/dev/null || fail "no loop with $instruction in $object"
    done
}

expect_in_loop neon/tiles_s8.c.o smull smull2 sadalp
expect_in_loop neon/tiles_bf16.c.o fmla
expect_in_loop dotprod/tiles.c.o sdot
expect_in_loop i8mm/tiles.c.o smmla sdot
expect_in_loop bf16/tiles.c.o bfmmla
expect_in_loop bf16/stages.c.o bfcvtn bfcvtn2
# With scales per group; the two instructions that split nibbles.
expect_in_loop neon/groups_s8.c.o smull smull2 sadalp shl and fmla
expect_in_loop dotprod/groups.c.o sdot shl and fmla
expect_in_loop i8mm/groups.c.o smmla sdot shl and fmla
expect_in_loop common/weights_s4.c.o shl and
expect_in_loop common/activation.c.o fmla fdiv

# The loops that measure a core's peaks: as many of the instruction as there are accumulators, and
# of others only what counts rounds.
expect_only() {
    local object=$objects/perf/peaks/$1.c.o function=peak_loop_$2 found
    found=$("$objdump" -d --no-show-raw-insn --disassemble="$function" "$object" | awk '
        /^ *[0-9a-f]+:/ { print $2 }' | grep -vxE 'movi|dup|mov|fmov|subs|sub|cmp|b\.[a-z]+|adrp|add|cbn?z|ret|st[rp]|ld[rp]|nop' |
        sort | uniq -c | awk '{ print $1, $2 }' | paste -sd ' ')
    [ "$found" = "24 $2" ] || fail "$object, $function: '$found', wanted 24 $2"
}
expect_only neon fmla
expect_only neon smlal
expect_only dotprod sdot
expect_only i8mm smmla
expect_only bf16 bfdot
expect_only bf16 bfmmla

while read -r object; do
    directory=$(basename "$(dirname "$object")")
    [ "$directory" != peaks ] || directory=peaks-$(basename "$object" .c.o)
    found=$("$objdump" -d --no-show-raw-insn "$object" | awk '/^ *[0-9a-f]+:/ { print $2 }' |
        grep -xE "$tier_instructions" | sort -u | grep -vxE "$(allowed "$directory")" || true)
    [ -z "$found" ] || fail "$object holds" "$found"
done < <(find "$objects" -name '*.o' ! -path '*/tests/*' ! -path '*/conformance/faults/*')

# What the kernels may call: themselves, and these.
calls='memcpy|memset|memmove|snprintf|__snprintf_chk|__stack_chk_fail|__stack_chk_guard|_GLOBAL_OFFSET_TABLE_|armq_.*'
while read -r object; do
    found=$("$nm" -u "$object" | awk '{ print $2 }' | grep -vxE "$calls" || true)
    [ -z "$found" ] || fail "$object calls" "$found"
done < <(find "$objects/kernels" -name '*.o' ! -path '*/tests/*' ! -path '*/api/*')

if [ "$failures" != 0 ]; then
    echo "$failures failures"
    exit 1
fi
echo "each tier's instruction is in its loops and nowhere else; no call to libm"
