# SPDX-License-Identifier: Apache-2.0
"""The Markdown table against results counted by hand."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import fixtures as fx  # noqa: E402  (the path is set first)
from reports import table  # noqa: E402


class Table(unittest.TestCase):
    def table(self, *records, options=()):
        with tempfile.TemporaryDirectory() as folder:
            path = fx.write_lines(Path(folder) / "conform.jsonl", records)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                self.assertEqual(table.main([*options, path]), 0)
        return [[cell.strip() for cell in line.split("|")[1:-1]]
                for line in out.getvalue().splitlines()]

    def test_counts_dtypes_and_dashes(self):
        lines = self.table(fx.run_record(5), fx.case_record(1), fx.case_record(2, **{"in": "f32"}),
                           fx.case_record(3, status="failed"), fx.case_record(4, status="waived"),
                           fx.case_record(5, provider="neon", status="skipped", reason="no"),
                           fx.ledger_record(passed=2, failed=1, skipped=1, waived=1))
        row = dict(zip(lines[0], lines[2]))
        self.assertEqual(row["op"], "`linear_w8a8`")
        self.assertEqual(row["weights"], "int8")
        self.assertEqual(row["input dtypes"], "f32, bf16")
        self.assertEqual(row["i8mm"], "1 of 4 FAIL")
        self.assertEqual(row["neon"], "–")

    def test_waived_is_not_hidden_and_crashes_fail(self):
        lines = self.table(fx.run_record(3), fx.case_record(1), fx.case_record(2, status="waived"),
                           fx.case_record(3, provider="neon", status="crashed"),
                           fx.ledger_record(passed=1, waived=1, crashed=1))
        row = dict(zip(lines[0], lines[2]))
        self.assertEqual(row["i8mm"], "1 (1 waived)")
        self.assertEqual(row["neon"], "1 of 1 FAIL")

    def test_int4_has_a_row_for_each_kind_of_scales(self):
        cases = ("n=2 k=64", "n=2 k=64 group_size=32", "n=2 k=64 in=f16 group_size=64",
                 "n=2 k=64 zero_points=1")
        lines = self.table(fx.run_record(5), fx.case_record(
            1, op="quantize", case="quantize tokens=1 k=4 seed=1"), *[fx.case_record(
                1, op="linear_w4a8", dialect="vllm-w4a8",
                case=f"linear_w4a8 tokens=1 {case} seed=1",
                **({"in": "f16"} if "f16" in case else {})) for case in cases],
            fx.ledger_record(passed=5))
        self.assertEqual([line[:4] + line[5:6] for line in lines[2:]], [
            ["`linear_w4a8`", "`vllm-w4a8`", "int4 asymmetric", "bf16", "1"],
            ["`linear_w4a8`", "`vllm-w4a8`", "int4 per channel", "bf16", "1"],
            ["`linear_w4a8`", "`vllm-w4a8`", "int4 per group", "bf16, f16", "2"],
            ["`quantize`", "`vllm-w8a8`", "–", "bf16", "1"]])

    def test_checks_count_what_they_judged(self):
        lines = self.table(
            fx.run_record(4), fx.case_record(1), fx.case_record(2, provider="neon"),
            fx.case_record(3, status="failed", checks={"value": "failed", "memory": "passed"}),
            fx.case_record(4, op="quantize", checks={"value": "passed", "threads": "passed"}),
            fx.ledger_record(passed=3, failed=1), options=["--checks"])
        self.assertEqual(lines[0], ["check", "`linear_w8a8`", "`quantize`"])
        self.assertEqual(lines[2:], [["value", "3", "1"], ["memory", "3", "–"],
                                     ["threads", "–", "1"]])

    def test_bad_file(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertEqual(table.main(["/no/such/file.jsonl"]), 2)
        self.assertIn("/no/such/file.jsonl", err.getvalue())


if __name__ == "__main__":
    unittest.main()
