# SPDX-License-Identifier: Apache-2.0
"""Runs armq-conform on a library until the first failure."""

import os
import re
import signal
import subprocess
from dataclasses import dataclass

CALL_SECONDS = 3       # of one call; a correct one takes milliseconds
RUN_SECONDS = 900      # of a whole sweep, far beyond what the slowest machine needs
_FAIL = re.compile(r"^FAIL [\w-]+: (.+?): (\w+): (.*)")
_LEDGER = re.compile(r"^planned (\d+) = passed (\d+) \+ failed (\d+) \+ skipped (\d+)")


@dataclass
class Verdict:
    """check: the one that failed; None: all passed. skipped: cases."""

    check: str = None
    case: str = ""
    detail: str = ""
    tier: str = ""
    passed: int = 0
    skipped: int = 0


def _stop(process):
    """The group is this run's own: the program and its workers."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Judge:
    """program: build/armq-conform. plan(file) -> [(tier, sweep)]."""

    def __init__(self, program, plan):
        self.program, self.plan = str(program), plan
        self.clean = {}

    def run(self, library, tier, sweep):
        environment = dict(os.environ, ARMQ_MUTANT_TIER=tier, LC_ALL="C")
        process = subprocess.Popen(
            ["timeout", "--foreground", "-k", "1", str(RUN_SECONDS), self.program, "--jobs", "1",
             "--no-shrink", "--timeout", str(CALL_SECONDS), "--provider", str(library),
             "--sweep", str(sweep)],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True)
        lines = []
        try:
            for line in process.stdout:
                lines.append(line)
                match = _FAIL.match(line.split("\r\033[K")[-1])
                if match:
                    return Verdict(match[2], match[1], match[3], tier)
            status = process.wait()
        finally:
            _stop(process)
            process.stdout.close()
        ledger = next((m for m in map(_LEDGER.match, reversed(lines)) if m), None)
        if status == 0 and ledger:
            return Verdict(tier=tier, passed=int(ledger[2]), skipped=int(ledger[4]))
        if status == 3 and ledger:
            return Verdict("skipped", "", "every case is refused", tier)
        if status == 2:
            raise RuntimeError(f"{library} is not judged: {''.join(lines[-2:]).strip()}")
        return Verdict("crash", "", f"status {status}: {''.join(lines[-2:]).strip()}", tier)

    def baseline(self, library, tier, sweep):
        """What the unedited kernels do: they pass."""
        key = tier, str(sweep)
        if key not in self.clean:
            verdict = self.run(library, tier, sweep)
            if verdict.check:
                raise RuntimeError(f"the unedited {tier} fails {sweep}: {verdict.case}: "
                                   f"{verdict.check}: {verdict.detail}")
            self.clean[key] = verdict
        return self.clean[key]

    def judge(self, name, library):
        """The first failure of any sweep of the file. A case less that ran is one too."""
        verdict = Verdict()
        for tier, sweep in self.plan(name):
            verdict = self.run(library, tier, sweep)
            passed = self.clean[tier, str(sweep)].passed
            if not verdict.check and verdict.passed != passed:
                verdict.check = "skipped"
                verdict.detail = f"{verdict.passed} cases ran, not {passed}"
            if verdict.check:
                return verdict
        return verdict
