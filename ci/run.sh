#!/bin/bash
# Everything `make run` does after the build: judges the kernels on the ci sweep and on real model
# shapes, times a few, and writes the report. Results and report are in build/run/. The exit status
# is non-zero when a case failed, and the report is written all the same.
set -euo pipefail
cd "$(dirname -- "$0")/.."

out=build/run
status=0
rm -rf "$out"
mkdir -p "$out"

# The worst status so far wins; later stages run all the same.
stage() {
    local code=0
    echo
    echo "== $1"
    shift
    "$@" || code=$?
    [ "$code" = 0 ] || echo "   exit status $code: $*"
    [ "$code" -le "$status" ] || status=$code
}

for sweep in ci models-quick; do
    stage "conformance, sweep $sweep" build/armq-conform --sweep "$sweep" --jobs "$(nproc)" \
        --json "$out/conform-$sweep.jsonl" --junit "$out/conform-$sweep.xml"
done
stage "benchmark, sweep quick" build/armq-bench --sweep quick \
    --benchmark_out="$out/bench.json" --benchmark_out_format=json
stage "report" /usr/bin/python3 -B -m reports.report --conform "$out"/conform-*.jsonl \
    --bench "$out/bench.json" --out "$out/report.html"

echo
if [ "$status" = 0 ]; then
    echo "armq: everything passed"
else
    echo "armq: something failed, see above (exit status $status)"
fi
[ ! -e "$out/report.html" ] || echo "report: $PWD/$out/report.html"
exit "$status"
