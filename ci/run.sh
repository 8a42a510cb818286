#!/bin/bash
# Everything `make run` does after the build: judges the kernels on the ci sweep and on real model
# shapes, times a few, models the speed of a few on Neoverse cores, and writes the report. Results and report are in build/run/. The exit status
# is non-zero when a case failed, and the report is written all the same.
set -euo pipefail
cd "$(dirname -- "$0")/.."

out=build/run
sweeps=(ci models-quick)
status=0
rm -rf "$out" build/model/short.json
mkdir -p "$out"

# The worst status so far wins; later stages run all the same.
stage() {
    local code=0
    echo
    echo "== $1"
    shift
    "$@" || code=$?
    [ "$code" = 0 ] || echo "   exit status $code"
    [ "$code" -le "$status" ] || status=$code
}

# shellcheck disable=SC2317 # stage calls it
bench() {
    local code=0
    build/armq-bench --sweep quick --benchmark_out="$out/bench.json" --benchmark_out_format=json \
        >"$out/bench.txt" 2>&1 || code=$?
    [ "$code" = 0 ] || tail -n 20 "$out/bench.txt"
    # 4: the kernels are right, and the machine was too noisy to judge their times.
    [ "$code" != 4 ] || code=0
    return "$code"
}

# shellcheck disable=SC2317 # stage calls it
model() {
    local code=0
    make --no-print-directory model-short >"$out/model.txt" 2>&1 || code=$?
    if [ "$code" = 0 ]; then # one of the cores, without the hot functions
        sed -nE '/^Modelled|^provider +case| N2 /s/(.{,134}).*/\1/p' "$out/model.txt"
    else
        tail -n 20 "$out/model.txt"
    fi
    return "$code"
}

# The ledger that ends a file of results, as text.
ledger() {
    tail -n 1 "$1" | tr -d '{}"' | tr ',' '\n' | sed -nE 's/^([a-z]+):([0-9]+)$/\2 \1/p' | paste -s -d ' '
}

for sweep in "${sweeps[@]}"; do
    stage "conformance, sweep $sweep" build/armq-conform --sweep "$sweep" --jobs "$(nproc)" \
        --json "$out/conform-$sweep.jsonl" --junit "$out/conform-$sweep.xml"
done
stage "benchmark, sweep quick" bench
stage "modelled speed, a few cases" model
more=()
[ ! -s build/model/short.json ] || more+=(--modelled build/model/short.json)
[ ! -s build/faults/matrix.json ] || more+=(--faults build/faults/matrix.json)
stage "report" /usr/bin/python3 -B -m reports.report --conform "$out"/conform-*.jsonl \
    --bench "$out/bench.json" "${more[@]}" --out "$out/report.html"
# The README's tables: what passes per op, dialect and provider; which check judges which op.
/usr/bin/python3 -B -m reports.table "$out/conform-ci.jsonl" >"$out/table.md" || status=1
/usr/bin/python3 -B -m reports.table --checks "$out/conform-ci.jsonl" >"$out/checks.md" || status=1

echo
echo "== summary"
for sweep in "${sweeps[@]}"; do
    printf '%-26s %s\n' "conformance $sweep" "$(ledger "$out/conform-$sweep.jsonl")"
done
printf '%-26s %s\n' "benchmark quick" \
    "$(grep -c '"run_type"' "$out/bench.json" || true) timings, see $out/bench.txt"
printf '%-26s %s\n' "modelled speed" "see $out/model.txt (make model: all of it)"
printf '%-26s %s\n' "verdict" \
    "$([ "$status" = 0 ] && echo "everything passed" || echo "something FAILED, see above")"
[ ! -e "$out/report.html" ] || printf '%-26s %s\n' "report" "$PWD/$out/report.html"
exit "$status"
