# SPDX-License-Identifier: Apache-2.0
"""The report against result files whose figures are worked out by hand."""

import contextlib
import html
import io
import json
import math
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import fixtures as fx  # noqa: E402  (the path is set first)
from reports import load, model, report  # noqa: E402


def text_of(page):
    """What a reader sees: without markup, blanks joined."""
    page = re.sub(r"<style>.*?</style>", "", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split()).replace("\u202f", " ")


class ReportCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def lines(self, records, name="conform.jsonl"):
        return fx.write_lines(self.folder / name, records)

    def run_report(self, *arguments):
        """(exit status, page or None, stderr)"""
        out, err = self.folder / "report.html", io.StringIO()
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
            status = report.main([*arguments, "--out", str(out)])
        page = out.read_text(encoding="utf-8") if out.exists() else None
        return status, page, err.getvalue()

    def page(self, records, *more):
        status, page, err = self.run_report("--conform", self.lines(records), *more)
        self.assertEqual(status, 0, err)
        return page

    def verdict(self, records):
        return model.run_verdict(load.load_conform(self.lines(records))).word


class Verdicts(ReportCase):
    def test_pass(self):
        page = self.page([fx.run_record(2), fx.case_record(1),
                          fx.case_record(2, status="skipped", reason="the CPU lacks i8mm"),
                          fx.ledger_record(passed=1, skipped=1)])
        self.assertIn("<strong>PASS</strong>", page)
        self.assertIn("2 results: 1 passed, 0 failed, 1 skipped, 0 waived, 0 crashed.",
                      text_of(page))

    def test_a_failure_and_a_crash_fail(self):
        for status in ("failed", "crashed"):
            records = [fx.run_record(2), fx.case_record(1), fx.case_record(2, status=status),
                       fx.ledger_record(passed=1, **{status: 1})]
            self.assertEqual(self.verdict(records), "FAIL")

    def test_a_failure_outweighs_a_missing_ledger(self):
        self.assertEqual(self.verdict([fx.run_record(2), fx.case_record(1, status="failed")]),
                         "FAIL")

    def test_nothing_ran(self):
        records = [fx.run_record(1), fx.case_record(1, status="skipped"),
                   fx.ledger_record(skipped=1)]
        self.assertEqual(self.verdict(records), "NOTHING RAN")
        self.assertEqual(self.verdict([fx.run_record(0), fx.ledger_record()]), "NOTHING RAN")

    def test_incomplete(self):
        one = fx.case_record(1)
        for records in ([fx.run_record(1), one],  # no ledger
                        [fx.run_record(1), one, fx.ledger_record(passed=1, planned=2)],
                        [fx.run_record(2), one, fx.ledger_record(passed=1)],
                        [fx.run_record(2), one, fx.ledger_record(passed=2)]):
            self.assertEqual(self.verdict(records), "INCOMPLETE")

    def test_incomplete_says_why(self):
        text = text_of(self.page([fx.run_record(3), fx.case_record(1)]))
        self.assertIn("INCOMPLETE", text)
        self.assertIn("its ledger is missing; 1 of 3 planned results are there", text)
        text = text_of(self.page([fx.run_record(2), fx.case_record(1),
                                  fx.ledger_record(passed=1, planned=2)]))
        self.assertIn("the ledger does not add up: planned 2, accounted for 1", text)

    def test_a_cut_last_line_is_said(self):
        path = self.lines([fx.run_record(2), fx.case_record(1)])
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(fx.case_record(2))[:100])
        status, page, err = self.run_report("--conform", path)
        self.assertEqual(status, 0)
        self.assertIn("the last line is cut", err)
        self.assertIn("its last line is cut; 1 of 2 planned", text_of(page))

    def test_a_resumed_run_counts_a_case_once(self):
        run = load.load_conform(self.lines([
            fx.run_record(1), fx.case_record(1, status="crashed"), fx.run_record(1),
            fx.case_record(1), fx.ledger_record(passed=1)]))
        self.assertEqual([case["status"] for case in run.cases], ["passed"])
        self.assertEqual(model.run_verdict(run).word, "PASS")

    def test_the_worst_file_decides(self):
        good = self.lines([fx.run_record(1), fx.case_record(1), fx.ledger_record(passed=1)])
        bad = self.lines([fx.run_record(1), fx.case_record(1, status="failed"),
                          fx.ledger_record(failed=1)], "bad.jsonl")
        _, page, _ = self.run_report("--conform", good, bad)
        self.assertIn("<strong>FAIL</strong>", page)
        self.assertIn("bad.jsonl: 1 failed, 0 crashed", text_of(page))

    def test_a_wrong_benchmark_fails(self):
        bench = fx.write_bench(self.folder / "b.json", [
            fx.bench_row("i8mm/gemm_s8s8s32 tokens=1 n=2 k=3", 0, error_occurred=True,
                         error_message="wrong answer, so no time")], emulated=True)
        page = self.page([fx.run_record(1), fx.case_record(1), fx.ledger_record(passed=1)],
                         "--bench", bench)
        self.assertIn("<strong>FAIL</strong>", page)
        self.assertIn("wrong answer, so no time", page)


class Tables(ReportCase):
    def test_passes_per_op_and_provider(self):
        records = [fx.case_record(t, provider=p) for t in (1, 2, 3) for p in ("neon", "i8mm")]
        records[0]["status"] = "failed"
        records.append(fx.case_record(1, **{
            "in": "f32", "out": "f32", "case": "linear_w8a8 tokens=1 n=64 k=512 in=f32 seed=1"}))
        runs = [load.load_conform(self.lines([fx.run_record(7)] + records))]
        providers, rows = model.pass_table(runs)
        self.assertEqual(providers, ["neon", "i8mm", "sme"])
        self.assertEqual([row for row, _ in rows],
                         [("linear_w8a8", "vllm-w8a8", "int8", "bf16 → bf16"),
                          ("linear_w8a8", "vllm-w8a8", "int8", "f32 → f32")])
        self.assertEqual(dict(rows[0][1][0]), {"failed": 1, "passed": 2})
        self.assertEqual(dict(rows[0][1][1]), {"passed": 3})
        self.assertIsNone(rows[0][1][2])
        self.assertEqual(dict(rows[1][1][1]), {"passed": 1})

    def test_passes_of_int4(self):
        cases = ("tokens=1 n=2 k=64", "tokens=1 n=2 k=64 group_size=32",
                 "tokens=1 n=2 k=64 group_size=64", "tokens=1 n=2 k=64 zero_points=1",
                 "tokens=1 n=2 k=64 group_size=32 zero_points=1")
        records = [fx.case_record(1, op="linear_w4a8", dialect="vllm-w4a8",
                                  case=f"linear_w4a8 {case} seed=1") for case in cases]
        runs = [load.load_conform(self.lines([fx.run_record(5)] + records))]
        _, rows = model.pass_table(runs)
        self.assertEqual([(row[2], dict(cells[1])) for row, cells in rows],
                         [("int4 asymmetric", {"passed": 2}), ("int4 per channel", {"passed": 1}),
                          ("int4 per group", {"passed": 2})])
        page = self.page([fx.run_record(5)] + records + [fx.ledger_record(passed=5)])
        self.assertIn("<td>int4 per group</td>", page)

    def test_checks_with_reasons(self):
        records = [fx.case_record(1), fx.case_record(2, notes={"threads": "one tile"}),
                   fx.case_record(3, status="failed", notes={}, checks={"value": "failed"}),
                   fx.case_record(4, status="skipped", checks={}, notes={}),
                   fx.case_record(5, notes={"value": "9 MiB of memory"})]
        rows = model.check_table([load.load_conform(self.lines([fx.run_record(5)] + records))])
        table = {name: (n["passed"], n["failed"], n["skipped"], n["not run"], notes)
                 for name, n, notes in rows}
        self.assertEqual(table["value"], (3, 1, 0, 0, []))  # a note on a pass is no reason
        self.assertEqual(table["memory"], (3, 0, 0, 1, []))
        self.assertEqual(table["threads"], (0, 0, 3, 1, [("not claimed", 1), ("one tile", 1)]))

    def test_failure_with_the_line_that_reproduces_it(self):
        failure = {"check": "value", "detail": "3 of 64 outside", "operand": "y", "row": 4,
                   "column": 63, "got": "nan", "lo": 1.0078125, "mid": 1.01, "hi": "inf"}
        records = [fx.run_record(1), fx.case_record(5, status="failed", failures=[failure]),
                   fx.ledger_record(failed=1)]
        text = text_of(self.page(records))
        self.assertIn("y[4][63] = NaN, wanted 1.0078125 to inf", text)
        self.assertIn("ARMQ_CPU=max build/armq-conform --provider i8mm "
                      "'linear_w8a8 tokens=5 n=64 k=512 seed=1'", text)
        records[0]["machine"] = fx.NATIVE
        records[0]["providers"][1]["spec"] = "./my lib.so"
        text = text_of(self.page(records))
        self.assertIn("build/armq-conform --provider './my lib.so' 'linear_w8a8", text)
        self.assertNotIn("ARMQ_CPU", text)

    def test_skips_by_reason(self):
        records = [fx.case_record(t, status="skipped", reason="the CPU lacks i8mm")
                   for t in (1, 2, 3)]
        run = load.load_conform(self.lines([fx.run_record(3)] + records))
        self.assertEqual(model.skip_table([run]), [("i8mm", "the CPU lacks i8mm", 3, "max")])


class IntervalQuality(ReportCase):
    def rows(self, *cases):
        return model.quality_table([load.load_conform(self.lines([fx.run_record(9), *cases]))])

    def test_figures(self):
        """100 elements at 1e-6 and 300 at 3e-6: the weighted median is 3e-6; 8 of 400 ambiguous
        are 2 %."""
        row, = self.rows(
            fx.case_record(1, quality=fx.quality(100, 2, 1e-6, 4e-6, sqnr=40.0, bins={12: 100})),
            fx.case_record(2, quality=fx.quality(300, 6, 3e-6, 9e-6, sqnr=36.0,
                                                 bins={12: 100, 13: 200})))
        self.assertEqual(row.key, ("linear_w8a8", "vllm-w8a8", "bf16", "default"))
        self.assertEqual((row.judged, row.ambiguous_share), (400, 0.02))
        self.assertEqual((row.half_median, row.half_max), (3e-6, 9e-6))
        self.assertEqual((row.sqnr_median, row.sqnr_min), (38.0, 36.0))
        self.assertEqual((row.histogram[12], row.histogram[13], sum(row.histogram)),
                         (200, 200, 400))
        self.assertTrue(math.isnan(row.usage_max))
        self.assertEqual(row.targets, [("half-width", True), ("ambiguous", True)])

    def test_weighted_median(self):
        self.assertEqual(model.weighted_median([(9, 1), (1, 1), (2, 3)]), 2)
        self.assertEqual(model.weighted_median([(2, 1), (1, 1)]), 1)
        self.assertEqual(model.weighted_median([(5, 0), (7, 2)]), 7)
        self.assertTrue(math.isnan(model.weighted_median([])))

    def test_directed_data_stands_beside_and_has_no_target(self):
        rows = self.rows(fx.case_record(1, quality=fx.quality(100, 0, 1e-6, 1e-6)),
                         fx.case_record(2, data="subnormals", quality=fx.quality(50, 40, 1, 1)))
        self.assertEqual([(row.data, row.judged) for row in rows],
                         [("default", 100), ("directed", 50)])
        self.assertEqual(rows[1].targets, [])
        self.assertTrue(all(fine for _, fine in rows[0].targets))

    def test_ambiguous_elements_of_model_shapes_have_no_target(self):
        small = "linear_w8a8 tokens=1 n=8 k=8 sample=0 seed=1"
        large = "linear_w8a8 tokens=1 n=5120 k=2048 sample=4096 seed=1"
        moe = "moe_bf16 tokens=1 hidden=2048 intermediate=8 experts=2 top_k=1 seed=1"
        self.assertTrue(model.MODEL_SHAPE.search(moe))
        self.assertFalse(model.MODEL_SHAPE.search(moe.replace("2048", "204")))
        rows = self.rows(
            dict(fx.case_record(1, quality=fx.quality(100, 3, 1e-6, 1e-6)), case=small),
            dict(fx.case_record(2, quality=fx.quality(100, 3, 1e-6, 1e-6)), case=large))
        self.assertEqual([row.data for row in rows], ["default", "model shape"])
        self.assertEqual(rows[0].targets, [("half-width", True), ("ambiguous", False)])
        self.assertEqual(rows[1].targets, [("half-width", True)])

    def test_over_target_is_marked(self):
        cases = [fx.case_record(1, quality=fx.quality(100, 3, 2.1e-5, 4e-5, bins={16: 100})),
                 fx.case_record(2, out="f32", quality=fx.quality(100, 100, 1e-6, 1e-6, 0.95,
                                                                 bins={12: 100}))]
        wide, used = self.rows(*cases)
        self.assertEqual(wide.targets, [("half-width", False), ("ambiguous", False)])
        self.assertEqual(used.targets, [("half-width", True), ("usage", False)])
        text = text_of(self.page([fx.run_record(2), *cases, fx.ledger_record(passed=2)]))
        self.assertIn("linear_w8a8 vllm-w8a8 bf16 default 100 2.1e-5 ✗ over 4e-5 3 ✗ over –", text)
        self.assertIn("linear_w8a8 vllm-w8a8 f32 default 100 1e-6 ✓ 1e-6 100 0.95 ✗ over", text)

    def test_the_baseline_has_no_half_width_target(self):
        row, = self.rows(fx.case_record(1, op="linear_bf16", dialect="bf16",
                                        quality=fx.quality(10, 0, 1e-3, 1e-3)))
        self.assertEqual(row.targets, [("ambiguous", True)])

    def test_numbers_that_are_none(self):
        row, = self.rows(fx.case_record(1, quality=fx.quality(10, 0, None, "nan")))
        self.assertTrue(math.isnan(row.half_median) and math.isnan(row.half_max))
        self.assertEqual(row.targets[0], ("half-width", None))

    def test_histogram_is_drawn(self):
        page = self.page([fx.run_record(1), fx.ledger_record(passed=1), fx.case_record(
            1, quality=fx.quality(100, 0, 1e-6, 1e-6, bins={12: 100}))])
        self.assertIn('<svg role="img"', page)
        self.assertIn("% of judged elements", page)


class Benchmarks(ReportCase):
    CASE = "tokens=4 n=64 k=512 seed=1"

    def write(self, emulated, **changes):
        rows = [
            fx.bench_row(f"i8mm/linear_w8a8 {self.CASE}", 10),
            fx.bench_row(f"i8mm/linear_w8a8 {self.CASE}", 30),
            fx.bench_row(f"i8mm/linear_w8a8 {self.CASE}", 20),
            fx.bench_row(f"neon/linear_bf16 {self.CASE}", 90, label="f32 FMA"),
            fx.bench_row(f"bf16/linear_bf16 {self.CASE}", 50, label="BFMMLA"),
            fx.bench_row("i8mm/linear_w8a8 tokens=5 n=64 k=512 seed=1", 10),
        ]
        path = self.folder / "bench.json"
        data = fx.bench_data(rows, emulated)
        data["context"].update(changes)
        path.write_text(json.dumps(data), encoding="utf-8")
        return str(path)

    def bench_page(self, path):
        return self.page([fx.run_record(1), fx.case_record(1), fx.ledger_record(passed=1)],
                         "--bench", path)

    def test_speedup_is_the_ratio_of_medians(self):
        """50 us over the median of 10, 30 and 20 us; bf16 goes before neon; 5 tokens have no
        baseline."""
        found = model.speedups(load.load_bench(self.write(emulated=False)))
        self.assertEqual([(s.provider, s.layer, s.tokens, s.ratio) for s in found],
                         [("i8mm", "64 × 512", 4, 2.5)])
        text = text_of(self.bench_page(self.write(emulated=False)))
        self.assertIn("2.50×", text)
        self.assertIn("not paired, without a confidence interval", text)
        self.assertIn("on bf16: BFMMLA", text)

    def test_rates(self):
        """1e6 MAC and 5e5 bytes in 20 us: 50 GMAC/s and 25 GB/s."""
        text = text_of(self.bench_page(self.write(emulated=False)))
        self.assertIn("a kernel 20.00 3 50.00 25.00 1 000 000 500 000 2.000 – neon", text)

    def test_int4_beside_int8(self):
        """Each kind of weights is a row and a panel of its own; weight bytes as counted."""
        kinds = {"": "int4 per channel", " group_size=32": "int4 groups of 32",
                 " group_size=128 zero_points=1": "int4 groups of 128, zero points"}
        rows = [fx.bench_row(f"i8mm/linear_w4a8 {self.CASE}{kind}", 10 * (i + 1),
                             **{"weight bytes/token": 123456.25 + i})
                for i, kind in enumerate(kinds)]
        rows.append(fx.bench_row(f"i8mm/linear_w8a8 {self.CASE}", 40))
        rows.append(fx.bench_row(f"bf16/linear_bf16 {self.CASE}", 60))
        path = fx.write_bench(self.folder / "b.json", rows, emulated=False)
        found = {s.weights: s.ratio for s in model.speedups(load.load_bench(path))}
        self.assertEqual(found, dict(zip([*kinds.values(), "int8"], (6, 3, 2, 1.5))))
        page = self.bench_page(path)
        for weights in kinds.values():
            self.assertIn(f"i8mm, vllm-w4a8, {weights}", page)
        self.assertIn("2.000 123 456 i8mm", text_of(page))
        self.assertIn("2.000 123 458", text_of(page))

    def test_emulated_time_is_never_performance(self):
        for emulated, claim in ((True, "false"), (True, "true"), (False, "false")):
            path = self.write(emulated, time_is_performance=claim)
            bench = load.load_bench(path)
            self.assertEqual(model.speedups(bench), [])
            page = self.bench_page(path)
            text = text_of(page)
            self.assertIn("Emulated: time is not performance", text)
            for word in ("GMAC/s", "time, µs", "2.50×", "Speed-up over bf16"):
                self.assertNotIn(word, text)

    def test_only_the_median_of_aggregates(self):
        rows = [fx.bench_row(f"i8mm/linear_w8a8 {self.CASE}", time, run_type="aggregate",
                             aggregate_name=name)
                for name, time in (("mean", 70), ("median", 20), ("stddev", 1))]
        rows.append(fx.bench_row(f"neon/linear_bf16 {self.CASE}", 30))
        path = fx.write_bench(self.folder / "b.json", rows, emulated=False)
        found, = model.speedups(load.load_bench(path))
        self.assertEqual(found.ratio, 1.5)

    def test_other_threads_or_dtypes_are_no_baseline(self):
        for change in ("threads=2", "in=f32", "out=f32"):
            rows = [fx.bench_row(f"i8mm/linear_w8a8 {self.CASE}", 10),
                    fx.bench_row(f"bf16/linear_bf16 {self.CASE} {change}", 20)]
            path = fx.write_bench(self.folder / "b.json", rows, emulated=False)
            self.assertEqual(model.speedups(load.load_bench(path)), [])


class Page(ReportCase):
    def test_text_from_files_is_escaped(self):
        evil = "<script>alert(1)</script>"
        failure = {"check": evil, "detail": evil, "operand": evil, "row": 1, "column": 1,
                   "got": evil, "lo": 0, "mid": 0, "hi": 0}
        case = fx.case_record(1, status="failed", failures=[failure], provider=evil, op=evil,
                              dialect="$x^2$" + evil, out="f32", reason=evil, kernel=evil,
                              case=evil, notes={evil: evil}, checks={evil: "skipped"},
                              quality=fx.quality(10, 1, 1e-6, 1e-6, 0.1, bins={12: 10}))
        record = fx.run_record(1, command=[evil], machine=dict(fx.MACHINE, cpu=evil))
        bench = fx.write_bench(self.folder / "b.json", [
            fx.bench_row(f"{evil.replace('/', '')}/linear_w8a8 tokens=1 n=1 k=1 dialect={evil}", 1,
                         label=evil),
            fx.bench_row("bf16/linear_bf16 tokens=1 n=1 k=1", 1, label=evil)], emulated=False)
        page = self.page([record, case, fx.ledger_record(failed=1)], "--bench", bench)
        self.assertNotIn("<script", page)
        self.assertIn("&lt;script&gt;", page)

    def test_self_contained(self):
        bench = fx.write_bench(self.folder / "b.json", [
            fx.bench_row("i8mm/linear_w8a8 tokens=1 n=1 k=1", 1),
            fx.bench_row("bf16/linear_bf16 tokens=1 n=1 k=1", 1)], emulated=False)
        page = self.page([fx.run_record(1), fx.ledger_record(passed=1), fx.case_record(
            1, quality=fx.quality(100, 0, 1e-6, 1e-6, bins={12: 100}))], "--bench", bench)
        self.assertEqual(page.count("<svg "), 2)
        self.assertEqual(re.findall(r'(?:src|href)="(?!#)[^"]*', page), [])
        self.assertEqual(re.findall(r"@import|url\((?!#).*", page), [])
        ids = re.findall(r'\bid="([^"]*)"', page)
        self.assertEqual(len(ids), len(set(ids)))

    def test_deterministic(self):
        path = self.lines([fx.run_record(1), fx.ledger_record(passed=1), fx.case_record(
            1, quality=fx.quality(100, 0, 1e-6, 1e-6, bins={12: 100}))])
        pages = [report.render([load.load_conform(path)], [], "now") for _ in range(2)]
        self.assertTrue(pages[0] == pages[1], "two pages of the same files differ")

    def test_emulation_is_said(self):
        records = [fx.run_record(1), fx.case_record(1), fx.ledger_record(passed=1)]
        self.assertIn("no time in them is performance", text_of(self.page(records)))
        records[0]["machine"] = fx.NATIVE
        self.assertNotIn("no time in them is performance", text_of(self.page(records)))

    def test_amounts(self):
        for value, text in ((12345.6, "12 346"), (999.94, "999.9"), (20, "20.00"),
                            (0.012345, "0.01235"), (0, "0"), (None, "–")):
            self.assertEqual(model.amount(value).replace("\u202f", " "), text)


class BadInput(ReportCase):
    def refused(self, message, *arguments):
        """Exit status 2, the message, and an existing page that stays as it was."""
        out = self.folder / "report.html"
        out.write_text("before", encoding="utf-8")
        status, page, err = self.run_report(*arguments)
        self.assertEqual(status, 2)
        self.assertIn(message, err)
        self.assertEqual(page, "before")
        self.assertEqual(sorted(self.folder.glob(".report*")), [])

    def conform_refused(self, message, text):
        path = self.folder / "bad.jsonl"
        path.write_text(text, encoding="utf-8")
        self.refused(f"{path}{message}", "--conform", str(path))

    def test_files_that_are_not_there_or_empty(self):
        self.refused("nowhere.jsonl: No such file", "--conform", "nowhere.jsonl")
        self.refused("nowhere.json: No such file", "--bench", "nowhere.json")
        self.conform_refused(": the file is empty", "\n")

    def test_lines_that_cannot_be_used(self):
        run, case = json.dumps(fx.run_record(1)), json.dumps(fx.case_record(1))
        self.conform_refused(":1: not JSON", "hello\n")
        self.conform_refused(":2: not JSON", f"{run}\n{case[:50]}\n{case}\n")
        self.conform_refused(":1: not a record", "[1]\n")
        self.conform_refused(":1: the first record must be of type 'run'", f"{case}\n")
        self.conform_refused(":2: unknown record type 'zork'", f'{run}\n{{"type":"zork"}}\n')
        self.conform_refused(":1: schema 7", run.replace('"schema": 1', '"schema": 7'))
        for message, change in ((":2: status 'fine'; allowed: passed", {"status": "fine"}),
                                (":2: 'provider' is 3", {"provider": 3}),
                                (":2: check value is 'good'", {"checks": {"value": "good"}}),
                                (":2: a histogram without 24", {"quality": {
                                    "judged": 1, "ambiguous": 0, "histogram": [1]}})):
            bad = json.dumps(fx.case_record(1, **change))
            self.conform_refused(message, f"{run}\n{bad}\n{case}\n")
        self.conform_refused(":2: a record of type 'case' without 'provider'",
                             f'{run}\n{{"type":"case","case":"x"}}\n')
        self.conform_refused(":2: the ledger's 'failed'",
                             f'{run}\n{{"type":"ledger","planned":1,"passed":1}}\n')

    def test_bench_files_that_cannot_be_used(self):
        path = self.folder / "bench.json"
        for message, text in ((": not JSON", "{"), (": no 'context'", "[]"),
                              (": the context does not say armq_emulated",
                               '{"context":{},"benchmarks":[]}'),
                              (": benchmarks[0]: benchmark 'x' is not named PROVIDER/CASE",
                               '{"context":{"armq_emulated":"true"},'
                               '"benchmarks":[{"run_name":"x"}]}')):
            path.write_text(text, encoding="utf-8")
            self.refused(f"{path}{message}", "--bench", str(path))

    def test_an_output_that_cannot_be_written(self):
        path = self.lines([fx.run_record(1), fx.case_record(1), fx.ledger_record(passed=1)])
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            status = report.main(["--conform", path, "--out", str(self.folder / "no" / "x.html")])
        self.assertEqual(status, 2)
        self.assertIn("x.html: No such file", err.getvalue())
        (self.folder / "report.html").mkdir()
        with contextlib.redirect_stderr(err):
            status = report.main(["--conform", path, "--out", str(self.folder / "report.html")])
        self.assertEqual(status, 2)
        self.assertIn("report.html: Is a directory", err.getvalue())
        self.assertEqual(list(self.folder.glob(".report*")), [])


if __name__ == "__main__":
    unittest.main()
