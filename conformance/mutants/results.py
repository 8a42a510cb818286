# SPDX-License-Identifier: Apache-2.0
"""Results on disk, a line each as they come: a run that was killed goes on where it stopped."""

import hashlib
import json
import threading
from pathlib import Path


class Fingerprint:
    """What every result of a file depends on, but for the edit: kernels, sweeps, the judge."""

    def __init__(self, builder, build, judge):
        self.root, self.judge = builder.root, judge
        self.common = hashlib.sha256()
        for path in [self.root / name for name in sorted(builder.readers)] + [
                build / "aarch64/armq-conform"]:
            if path.exists():
                self.common.update(path.read_bytes())
        self.stamps = {}

    def of(self, name):
        if name not in self.stamps:
            digest = self.common.copy()
            for tier, sweep in self.judge.plan(name):
                path = Path(sweep)
                if "/" not in str(sweep):
                    path = self.root / f"conformance/sweeps/{sweep}.sweep"
                digest.update(tier.encode() + path.read_bytes())
            self.stamps[name] = digest.hexdigest()[:16]
        return self.stamps[name]


class Results:
    """again: None, "all" or "survivors", see --again; "none": every result there is."""

    def __init__(self, path, again, fingerprint):
        self.path, self.stamp = path, fingerprint.of
        self.lock = threading.Lock()
        self.records = {}
        if path.exists() and again != "all":
            for line in path.read_text().splitlines():
                self._read(line, again)

    def _read(self, line, again):
        try:
            record = json.loads(line)
        except ValueError:
            return  # the end of a run that was killed
        kept = again == "survivors" and record["state"] != "survived"
        if kept or again == "none" or not again and record["stamp"] == self.stamp(record["file"]):
            self.records[record["key"]] = record

    def known(self, mutant):
        return self.records.get(self._key(mutant))

    @staticmethod
    def _key(mutant):
        return hashlib.sha256((mutant.file + "\0" + mutant.text).encode()).hexdigest()[:16]

    def add(self, mutant, record):
        key = self._key(mutant)
        record = {**record, "key": key, "stamp": self.stamp(mutant.file)}
        with self.lock:
            self.records[key] = record
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
