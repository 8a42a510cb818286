#!/bin/bash
# Runs unit-test programs and adds up what cmocka counted.
#
#   ci/unit.sh native|CPU DIR PROGRAM...
#
# CPU is a QEMU CPU name. Logs and JUnit XML go to DIR. The last line is
# "N passed, N failed, N skipped"; a program that dies, or tests nothing, is one more failure.
set -euo pipefail

cpu=$1 out=$2
shift 2

# Adds up the testsuite elements of cmocka's XML files: "passed failed skipped".
count_xml() {
    cat "$@" 2>/dev/null | awk '
        function value(name) {
            if (!match($0, name "=\"[0-9]+\"")) return 0
            return substr($0, RSTART + length(name) + 2, RLENGTH - length(name) - 3) + 0
        }
        /<testsuite / {
            bad = value("failures") + value("errors")
            good = value("tests") - bad - value("skipped")
            passed += good > 0 ? good : 0; failed += bad; skipped += value("skipped")
        }
        END { print passed + 0, failed + 0, skipped + 0 }'
}

run_one() {
    local program=$1 name dir status=0 passed failed skipped
    name=${program#build/*/}
    dir=$out/${name//\//.}
    rm -rf "$dir"
    mkdir -p "$dir"
    export CMOCKA_MESSAGE_OUTPUT=XML CMOCKA_XML_FILE=$dir/%g.xml
    local command=("$program")
    if [ "$cpu" != native ]; then
        export ARMQ_EMULATED=1 ARMQ_CPU=$cpu
        command=(qemu-aarch64 -L / -cpu "$cpu" "$program")
    fi
    local start=${EPOCHREALTIME/[.,]/}
    timeout -k 10 300 "${command[@]}" >"$dir/log" 2>&1 </dev/null || status=$?
    local ms=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
    read -r passed failed skipped < <(count_xml "$dir"/*.xml)
    local note=
    if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
        failed=1 note=" (exit status $status)"
    elif [ $((passed + failed + skipped)) = 0 ]; then
        failed=1 note=" (no test ran)"
    fi
    echo "$passed $failed $skipped" >"$dir/counts"
    {
        if [ "$failed" != 0 ]; then
            tail -n 40 "$dir/log"
            (cat "$dir"/*.xml 2>/dev/null || true) | awk -F '"' '
                /<testcase / { name = $2 }
                /<failure>/ { print "in " name ":"; inside = 1 }
                inside {
                    last = /<\/failure>/
                    gsub(/ *<\/?failure>|<!\[CDATA\[|\]\]>/, "")
                    print "    " $0
                    inside = !last
                }'
        fi
        printf '%s: %d passed, %d failed, %d skipped%s, %d.%d s\n' \
            "$name" "$passed" "$failed" "$skipped" "$note" $((ms / 1000)) $((ms % 1000 / 100))
    } >"$dir/report"
    cat "$dir/report"
}

# One program per process, so that xargs can run as many at a time as there are processors.
if [ "$1" = --one ]; then
    run_one "$2"
    exit
fi

rm -rf "$out"
mkdir -p "$out"
printf '%s\0' "$@" | xargs -0 -r -n 1 -P "$(nproc)" bash "$0" "$cpu" "$out" --one
cat "$out"/*/counts 2>/dev/null | awk '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed > 0 || passed + skipped == 0
    }'
