# shellcheck shell=bash
# What ci/test.sh and ci/nightly.sh share; they set `out`, the folder of the logs, and are run from the
# root of the tree. A failing step does not stop the others; finish prints the sum.

out=${out:?the folder of the logs}
total_passed=0 total_failed=0 total_skipped=0
child='' lane=''

# ---- What a step's log says: each prints "passed failed skipped" ------------------------------

# One result for a whole command.
count_status() {
    if [ "$2" != 0 ]; then
        echo 0 1 0
    elif grep -q '^lint-[a-z]*: skipped' "$1"; then
        echo 0 0 1
    else
        echo 1 0 0
    fi
}

# "N passed, N failed" with or without "N skipped"; the last such line counts.
count_tally() {
    sed -nE 's/.*\b([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?.*/\1 \2 \4/p' "$1" |
        tail -n 1 | awk '{ print $1, $2, $3 + 0 } END { if (!NR) print 0, 0, 0 }'
}

# The ledger of armq-conform. A crash is a failure; a waiver is not a pass.
count_ledger() {
    awk '/^planned [0-9]+ = passed / { line = $0 }
        END {
            n = split(line, f, /[^0-9]+/)
            if (n < 7 || f[2] != f[3] + f[4] + f[5] + f[6] + f[7]) print 0, 0, 0
            else print f[3], f[4] + f[7], f[5] + f[6]
        }' "$1"
}

# "faults: N caught, N missed".
count_faults() {
    sed -nE 's/^faults: ([0-9]+) caught, ([0-9]+) missed.*/\1 \2 0/p' "$1" | tail -n 1 |
        awk '{ print } END { if (!NR) print 0, 0, 0 }'
}

# "mutants: N killed, N survived, N equivalent, N same code, N did not build".
count_mutants() {
    sed -nE 's/^mutants: ([0-9]+) killed, ([0-9]+) survived, ([0-9]+) equivalent, ([0-9]+) same code, ([0-9]+) did not build$/\1 \2 \3 \4 \5/p' "$1" |
        tail -n 1 | awk '{ print $1, $2, $3 + $4 + $5 } END { if (!NR) print 0, 0, 0 }'
}

# Python's unittest.
count_unittest() {
    awk 'function value(name) {
            if (!match($0, "[(, ]" name "=[0-9]+")) return 0
            return substr($0, RSTART + length(name) + 2, RLENGTH - length(name) - 2) + 0
        }
        /^Ran [0-9]+ tests? in / { ran += $2 }
        /^(OK|FAILED)( \(.*\))?$/ {
            failed += value("failures") + value("errors") + value("unexpected successes")
            skipped += value("skipped")
        }
        END { good = ran - failed - skipped; print (good > 0 ? good : 0), failed + 0, skipped + 0 }' "$1"
}

# ---- Running a step ---------------------------------------------------------------------------

# excerpt LOG LINES: compilers' errors, failed cases with the lines that reproduce each, then the
# end of the log without what went well.
excerpt() {
    grep -E '[0-9]: (fatal )?error: ' "$1" | sort -u | head -n 20 || true
    grep -E '^FAIL |^     (reproduce|smallest): ' "$1" | head -n 30 || true
    grep -vE '^  [A-Z]+  |: [0-9]+ passed, 0 failed|: (error|note): ' "$1" | tail -n "$2" || true
}

# step NAME COUNT COMMAND...: runs the command with its output in a log, and adds up what it says.
step() {
    local name=$1 count=$2 log=$out/$1.log status=0 start passed failed skipped verdict=ok
    shift 2
    printf '%-24s ' "$name"
    start=${EPOCHREALTIME/./}
    # In the background, so that an interrupt reaches the trap at once.
    timeout -k 10 "${step_seconds:-1200}" "$@" >"$log" 2>&1 </dev/null &
    child=$!
    wait "$child" || status=$?
    child=''
    read -r passed failed skipped < <("count_$count" "$log" "$status")
    if [ $((passed + failed + skipped)) = 0 ]; then
        failed=1
        echo "$name: ran nothing (exit status $status)" >>"$log"
    elif [ "$status" != 0 ] && [ "$failed" = 0 ]; then
        failed=1
        echo "$name: exit status $status" >>"$log"
    fi
    [ "$failed" = 0 ] || verdict=FAILED
    local ms=$(((${EPOCHREALTIME/./} - start) / 1000))
    printf '%-6s %5d passed %3d failed %3d skipped %4d.%d s\n' \
        "$verdict" "$passed" "$failed" "$skipped" $((ms / 1000)) $((ms % 1000 / 100))
    if [ "$verdict" != ok ]; then
        excerpt "$log" "$([ "$count" = ledger ] && echo 1 || echo 30)" | sed 's/^/    | /'
        echo "    full log: $log"
    fi
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
}

# shellcheck disable=SC2030,SC2031 # a lane has sums of its own
# lane FUNCTION: runs the steps of a function beside those that follow, until join_lane shows them.
lane() {
    rm -f "$out/lane.sum" # of a lane before
    (
        total_passed=0 total_failed=0 total_skipped=0 lane=''
        trap 'kill "$child" 2>/dev/null; exit 130' INT TERM
        "$1"
        echo "$total_passed $total_failed $total_skipped" >"$out/lane.sum"
    ) >"$out/lane.log" 2>&1 </dev/null &
    lane=$!
}

# shellcheck disable=SC2031
# A lane that did not come to its end has failed.
join_lane() {
    local passed=0 failed=1 skipped=0
    wait "$lane" || true
    lane=''
    cat "$out/lane.log"
    { read -r passed failed skipped <"$out/lane.sum"; } 2>/dev/null ||
        echo "the lane of these steps ended early"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
}

interrupted() {
    trap - INT TERM
    local pid
    for pid in $child $lane; do kill "$pid" 2>/dev/null || true; done
    echo
    echo "interrupted"
    exit 130
}
trap interrupted INT TERM

# The sum over all steps; false if one failed or none passed.
finish() {
    echo
    echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
    [ "$total_failed" = 0 ] && [ "$total_passed" -gt 0 ]
}
