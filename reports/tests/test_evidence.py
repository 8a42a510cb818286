# SPDX-License-Identifier: Apache-2.0
"""Evidence of native times, from files written here; nothing of it from emulated ones."""

import json
import tempfile
import unittest
from pathlib import Path

from reports import evidence, model
from reports.load import LoadError, load_bench
from reports.report import render
from reports.tests import fixtures

SHAPE = "tokens=1 n=64 k=512 seed=1"
PEAKS = [{"kind": 0, "threads": 1, "SMMLA MAC/s": 192e9, "read memory bytes/s": 21.5e9},
         {"kind": 0, "threads": 4, "SMMLA MAC/s": 768e9}]
MEASURED = {"% of peak": 90.0, "speed-up": 1.9, "speed-up low": 1.85, "speed-up high": 1.95,
            "pairs": 15, "spread %": 1.25, "migrations": 0, "cold bytes": 134217729.0,
            "label": "i8mm 8x8; cold, 12 copies; bound by memory"}


class EvidenceTest(unittest.TestCase):
    def bench(self, rows, emulated=False, **context):
        data = fixtures.bench_data(rows, emulated)
        data["context"].update(context)
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "bench.json"
            path.write_text(json.dumps(data), encoding="utf-8")
            return load_bench(str(path))

    def native(self, **changes):
        return self.bench([
            fixtures.bench_row(f"i8mm/linear_w8a8 {SHAPE}/cold", 2.0, **dict(MEASURED, **changes)),
            fixtures.bench_row(f"bf16/linear_bf16 {SHAPE}/cold", 4.0, label="bf16 8x8, BFMMLA"),
            fixtures.bench_row(f"bf16/linear_bf16 {SHAPE}", 3.0, label="warm one"),
        ], armq_peaks=json.dumps(PEAKS))

    def test_modes_are_read_from_names(self):
        rows = self.bench([fixtures.bench_row("i8mm/quantize tokens=1 k=8/cold/kind1", 1.0),
                           fixtures.bench_row("i8mm/quantize tokens=1 k=8/kind0", 1.0),
                           fixtures.bench_row("i8mm/quantize tokens=1 k=8", 1.0)]).rows
        self.assertEqual([(r.case, r.memory, r.kind) for r in rows],
                         [("quantize tokens=1 k=8", "cold", "kind1"),
                          ("quantize tokens=1 k=8", "warm", "kind0"),
                          ("quantize tokens=1 k=8", "warm", "")])

    def test_row(self):
        row = evidence.view(self.native())["rows"][0]
        self.assertEqual((row.memory, row.cold_bytes, row.bound), ("cold", 134217729.0, "memory"))
        self.assertEqual((row.ratio, row.low, row.high), (1.9, 1.85, 1.95))
        self.assertEqual((row.percent, row.spread, row.verdict), (90.0, 1.25, "quiet"))

    def test_percent_is_that_of_the_median(self):
        name = f"i8mm/linear_w8a8 {SHAPE}"
        bench = self.bench([fixtures.bench_row(name, us, **{"% of peak": 100 / us})
                            for us in (1.0, 2.0, 4.0)], armq_peaks="[]")
        self.assertAlmostEqual(evidence.view(bench)["rows"][0].percent, 50.0)

    def test_paired_ratio_stands_and_cold_is_compared_with_cold(self):
        found = model.speedups(self.native())
        self.assertEqual([(s.ratio, s.low, s.high, s.weights) for s in found],
                         [(1.9, 1.85, 1.95, "int8, cold")])
        self.assertIn("BFMMLA", found[0].baseline)

    def test_noisy_row_has_no_ratio(self):
        bench = self.native(label="i8mm 8x8; cold, 12 copies; bound by memory; "
                                  "noisy: migrated 2 times")
        view = evidence.view(bench)
        self.assertEqual(view["noisy"], 1)
        self.assertEqual(view["rows"][0].verdict, "too noisy to judge: noisy: migrated 2 times")
        self.assertIsNone(view["rows"][0].ratio)
        self.assertIsNone(view["rows"][0].percent)
        self.assertEqual(model.speedups(bench), [])
        self.assertIn("too noisy to judge", self.page(bench))

    def test_invalid_row(self):
        bench = self.bench([fixtures.bench_row(
            f"i8mm/linear_w8a8 {SHAPE}", 0.0, error_occurred=True,
            error_message="invalid: 297 % of the measured peak (memory)")], armq_peaks="[]")
        view = evidence.view(bench)
        self.assertEqual((view["invalid"], view["rows"][0].word), (1, "failed"))
        self.assertIn("1 result is invalid", self.page(bench))

    @staticmethod
    def page(bench):
        return render([], [bench], "now")

    def test_page(self):
        page = self.page(self.native())
        for text in ("SMMLA, GMAC/s", "192", "read memory, GB/s", "21.5", "[1.85, 1.95]", "90.0",
                     "4 threads, cores of kind 0", "134 217 729", "interleaved pairs"):
            self.assertIn(text, page.replace("\u202f", " ").replace("\u2009", " "))
        self.assertNotIn("SMMLA MAC/s", page)  # the raw text is not among the definitions

    def test_emulated_shows_nothing(self):
        bench = self.bench([fixtures.bench_row(f"i8mm/linear_w8a8 {SHAPE}", 2.0, **MEASURED)],
                           emulated=True, armq_peaks=json.dumps(PEAKS), armq_emulated_peaks="[]")
        self.assertEqual(evidence.view(bench), {"emulated": True})
        self.assertEqual(evidence.peaks_of(bench), [])
        page = self.page(bench)
        self.assertIn("test of the plumbing", page)
        for text in ("% of peak", "192", "1.85"):
            self.assertNotIn(text, page)

    def test_files_without_evidence_stay_as_they_were(self):
        self.assertIsNone(evidence.view(self.bench([fixtures.bench_row("i8mm/quantize k=8", 1.0)])))

    def test_unreadable_peaks(self):
        for text in ("{", "[1]", '[{"kind": 0}]'):
            with self.assertRaises(LoadError):
                evidence.view(self.bench([], armq_peaks=text))


if __name__ == "__main__":
    unittest.main()
