# SPDX-License-Identifier: Apache-2.0
"""Runs cases under QEMU with the counting plugin."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from perf.model.counts import CountError
from perf.model.estimate import read_counted

EMULATOR = "qemu-aarch64"
# No SVE: armq does not use it, and the C library would choose its memcpy by it.
CPU = "max,sve=off"
REFUSED = 3
# Emulated multiply-accumulates per second, roughly: what takes long is started first.
_RATES = {"bf16": 4e7, "neon": 2e8}
# Of one case: beyond them it hangs, on however slow a machine.
PATIENCE_SECONDS, PATIENCE_EFFORTS = 300, 100


class RunError(Exception):
    """A case that could not be run or counted; the text says which and why."""


@dataclass(frozen=True)
class Job:
    provider: str
    case: str  # canonical text
    macs: int

    @property
    def effort(self):
        return self.macs / _RATES.get(self.provider, 1e9)


@dataclass
class Results:
    counted: list  # in the order of the jobs
    refused: dict  # (provider, case) -> reason


class Runner:
    extra = {}  # environment of the program besides what it gets anyway
    patience = PATIENCE_SECONDS

    def __init__(self, build):
        build = Path(build)
        self.program = build / "aarch64" / "armq-model"
        self.plugin = build / "model" / "libarmq-count.so"
        self.work = build / "model" / "counts"
        self.cases = {}  # line -> what it expands to
        # Nothing of the user's environment: it would move the stack.
        self.environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C",
                            "ARMQ_EMULATED": "1", "ARMQ_CPU": "max", **self.extra}

    def check(self):
        """Both parts are built."""
        for part in (self.program, self.plugin):
            if not part.is_file():
                raise RunError(f"{part} is missing; `make model` builds it")

    def _emulate(self, arguments, plugin=(), effort=0):
        command = [EMULATOR, "-L", "/", "-cpu", CPU, *plugin, str(self.program), *arguments]
        try:
            return subprocess.run(command, env=self.environment, capture_output=True, text=True,
                                  check=False, timeout=self.patience + PATIENCE_EFFORTS * effort)
        except subprocess.TimeoutExpired as error:
            raise RunError(f"{' '.join(arguments)}: not ready after "
                           f"{error.timeout:.0f} s") from None
        except OSError as error:
            raise RunError(f"{EMULATOR}: {error.strerror} (package qemu-user)") from None

    def expand(self, providers, lines):
        """Jobs for every case of the lines on every provider."""
        return [Job(provider, case, macs) for line in lines for macs, case in self._cases(line)
                for provider in providers]

    def _cases(self, line):
        if line not in self.cases:
            done = self._emulate(["--list", line])
            if done.returncode != 0:
                raise RunError(done.stderr.strip())
            words = (text.split(" ", 1) for text in done.stdout.splitlines())
            self.cases[line] = [(int(macs), case) for macs, case in words]
        return self.cases[line]

    def run(self, job, number):
        """Counted, or the reason why the provider refuses the case (a str)."""
        self.work.mkdir(parents=True, exist_ok=True)
        out = self.work / f"{os.getpid()}-{number}.txt"
        done = self._emulate(["--provider", job.provider, job.case],
                             ["-plugin", f"file={self.plugin},out={out}"], job.effort)
        where = f"{job.provider}: {job.case}"
        try:
            if done.returncode == REFUSED:
                return json.loads(done.stdout)["refused"]
            if done.returncode != 0:
                raise RunError(f"{where}: {done.stderr.strip() or done.returncode}")
            return read_counted(json.loads(done.stdout), out, self.program)
        except (OSError, ValueError, CountError) as error:
            raise RunError(f"{where}: {error}") from None
        finally:
            out.unlink(missing_ok=True)

    def run_all(self, jobs, parallel, progress=sys.stderr):
        """Every job once, whatever its order; the results stand in the order of the jobs."""
        jobs = list(dict.fromkeys(jobs))
        order = sorted(range(len(jobs)), key=lambda i: (-jobs[i].effort, i))
        found = {}
        with ThreadPoolExecutor(parallel) as pool:
            tasks = {i: pool.submit(self.run, jobs[i], i) for i in order}
            for i in order:
                try:
                    found[i] = tasks[i].result()
                except RunError:
                    for task in tasks.values():
                        task.cancel()
                    raise
                if progress and progress.isatty():
                    print(f"\r{len(found)} of {len(jobs)} cases counted ", end="", file=progress)
        if progress and progress.isatty():
            print(file=progress)
        refused = {(jobs[i].provider, jobs[i].case): answer for i, answer in found.items()
                   if isinstance(answer, str)}
        return Results([found[i] for i in range(len(jobs)) if not isinstance(found[i], str)],
                       refused)


def emulator_version():
    out = subprocess.run([EMULATOR, "--version"], check=False, capture_output=True, text=True)
    found = re.search(r"version (\S+)", out.stdout)
    return found[1] if found else "unknown"
