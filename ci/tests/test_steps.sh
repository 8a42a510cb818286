#!/bin/bash
# ci/steps.sh: what a log says is counted, and what it does not say is a failure; ci/nightly.sh
# refuses what it does not know.
set -euo pipefail
cd "$(dirname -- "$0")/../.."

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# shellcheck source=ci/steps.sh
. ci/steps.sh
failures=0

complain() {
    echo "$*"
    failures=$((failures + 1))
}

# counted COUNT STATUS WANTED TEXT: "passed failed skipped" of a log with this text.
counted() {
    local got
    printf '%b' "$4" >"$out/text"
    got=$("count_$1" "$out/text" "$2")
    [ "$got" = "$3" ] || complain "count_$1 of '$4', status $2: '$got', wanted '$3'"
}

counted status 0 '1 0 0' ''
counted status 2 '0 1 0' 'lint-shell: skipped: no shellcheck\n'
counted status 0 '0 0 1' 'lint-shell: skipped: no shellcheck\n'
counted tally 0 '5 0 0' '3 passed, 1 failed\nsoak: 5 passed, 0 failed\n'
counted tally 0 '12 3 4' 'soak: 12 passed, 3 failed, 4 skipped\n'
counted tally 0 '0 0 0' 'nothing\n'
counted ledger 1 '5 3 7' 'planned 15 = passed 5 + failed 1 + skipped 3 + waived 4 + crashed 2\n'
counted ledger 0 '0 0 0' 'planned 15 = passed 5 + failed 1 + skipped 3 + waived 4 + crashed 1\n'
counted ledger 130 '0 0 0' "stopped after 3 of 9 cases, 0 failed; go on with --resume 'x'\n"
counted faults 1 '8 2 0' 'faults: 8 caught, 2 missed, 4 argued\n'
counted faults 0 '0 0 0' ''
counted mutants 1 '25 1 5' 'mutants: 25 killed, 1 survived, 3 equivalent, 2 same code, 0 did not build\n'
counted mutants 2 '0 0 0' "mutants: conform: exit status 3\n"
counted unittest 0 '4 0 1' 'Ran 5 tests in 0.1s\n\nOK (skipped=1)\n'
counted unittest 1 '3 2 0' 'Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=1)\n'

# steps_say VERDICT PASSED FAILED SKIPPED COUNT COMMAND: a whole step, and what it adds to the sum.
steps_say() {
    total_passed=0 total_failed=0 total_skipped=0
    step name "$5" bash -c "$6" >"$out/step"
    if ! grep -qE "^name +$1 +$2 passed +$3 failed +$4 skipped " "$out/step" ||
        [ "$total_passed $total_failed $total_skipped" != "$2 $3 $4" ]; then
        complain "step $5 '$6': wanted $*, got: $(cat "$out/step"); $total_passed $total_failed $total_skipped"
    fi
}

steps_say ok 1 0 0 status true
steps_say FAILED 0 1 0 status false
steps_say ok 2 0 1 tally 'echo 2 passed, 0 failed, 1 skipped'
steps_say FAILED 2 1 0 tally 'echo 2 passed, 0 failed; exit 3'
steps_say FAILED 2 4 0 tally 'echo 2 passed, 4 failed'
steps_say FAILED 0 1 0 tally 'echo all is well'
steps_say FAILED 0 1 0 mutants 'echo mutants: ran; exit 0'
step_seconds=1 steps_say FAILED 0 1 0 tally 'sleep 9; echo 2 passed, 0 failed'

total_passed=3 total_failed=0
finish >"$out/step" || complain "finish: 3 passed and none failed is a failure"
total_failed=1
finish >"$out/step" && complain "finish: a failure is none"
total_passed=0 total_failed=0
finish >"$out/step" && complain "finish: nothing ran, and it is no failure"

# lane_says PASSED FAILED SKIPPED FUNCTION: what a lane adds to the sum of the steps beside it.
lane_says() {
    total_passed=10 total_failed=0 total_skipped=1
    lane "$4"
    step beside status true >"$out/step"
    join_lane >"$out/step"
    [ "$total_passed $total_failed $total_skipped" = "$1 $2 $3" ] ||
        complain "lane $4: wanted $1 $2 $3, got $total_passed $total_failed $total_skipped: $(cat "$out/step")"
}

good_lane() {
    step first tally echo '2 passed, 0 failed, 3 skipped'
    step second status true
}
bad_lane() {
    step first tally echo '2 passed, 0 failed'
    step second tally bash -c 'echo 4 passed, 2 failed; exit 1'
}
cut_lane() {
    step first status true
    exit 0
}

lane_says 14 0 4 good_lane
grep -qE '^first +ok +2 passed' "$out/step" || complain "join_lane does not show the lane's steps"
lane_says 17 2 1 bad_lane
lane_says 11 1 1 cut_lane
grep -q 'ended early' "$out/step" || complain "join_lane does not say that a lane ended early"

# refused TEXT [VARIABLE=VALUE...] [STEP]: by ci/nightly.sh, before anything is run or removed.
refused() {
    local text=$1 status=0
    shift
    timeout 20 env "$@" >"$out/step" 2>&1 || status=$?
    if [ "$status" != 2 ] || ! grep -qF -- "$text" "$out/step"; then
        complain "$*: status $status, wanted 2 and '$text', got: $(cat "$out/step")"
    fi
}

refused "'soaks' is no step; allowed are soak soak-bf16 full" ci/nightly.sh soak soaks
refused "NIGHTLY_SOAK_SECONDS='1h': allowed" NIGHTLY_SOAK_SECONDS=1h ci/nightly.sh soak-bf16
refused "NIGHTLY_MUTANTS='0': allowed" NIGHTLY_MUTANTS=0 ci/nightly.sh mutants
refused "names 'z80'; allowed are cortex-a72" NIGHTLY_CPUS='max z80' ci/nightly.sh overflow

[ "$failures" = 0 ]
echo "steps: logs are counted as wanted"
