# SPDX-License-Identifier: Apache-2.0
"""The whole way from a case to tables and JSON, under the emulator."""

import contextlib
import io
import json
import os
import platform
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from perf.model import __main__ as command
from perf.model.mca import Mca, McaError
from perf.model.modelled import problem
from perf.model.runner import Job, Runner, RunError
from perf.model.targets import Target, rate
from reports.load import load_bench

BUILD = os.environ.get("ARMQ_BUILD", "build")
CASE = "linear_w8a8 tokens=9 n=24 k=64"
BASE = "linear_bf16 tokens=9 n=24 k=64"


def run(*arguments):
    """(exit status, standard output, standard error)"""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = command.main(["--build", BUILD, *arguments])
        except SystemExit as error:
            status = error.code
    return status, out.getvalue(), err.getvalue()


class Answers(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def test_two_runs_give_the_same_bytes(self):
        texts = []
        for i, environment in enumerate(({}, {"SOME_VARIABLE": "x" * 3000})):
            path = self.directory / f"{i}.json"
            with mock.patch.dict(os.environ, environment):
                status, out, err = run("--jobs", str(i + 1), "--json", str(path),
                                       "--provider", "i8mm,dotprod,bf16", CASE, BASE,
                                       CASE + " threads=3")
            self.assertEqual(status, 0, err)
            texts.append((out, path.read_bytes()))
        self.assertEqual(texts[0], texts[1])

    def test_another_host_gives_the_same_bytes(self):
        """Other caches, as hwloc would find them, and another number of processors."""
        other = "pack:1 l3:1(size=3145728) l2:1(size=98304) l1d:1(size=8192) core:1 pu:8"
        seen = subprocess.run([f"{BUILD}/{platform.machine()}/armq-conform", "--force", "--json",
                               str(self.directory / "seen"), "--provider", "naive",
                               "quantize tokens=1 k=1"],
                              env={"HWLOC_SYNTHETIC": other}, capture_output=True, check=True)
        self.assertEqual(seen.returncode, 0)
        with open(self.directory / "seen", encoding="utf-8") as file:
            machine = json.loads(file.readline())["machine"]
        self.assertEqual((machine["l1"], machine["l2"], machine["llc"]), (8192, 98304, 3145728))
        texts = []
        for i, extra in enumerate(({}, {"HWLOC_SYNTHETIC": other})):
            path = self.directory / f"{i}.json"
            with mock.patch.object(Runner, "extra", extra):
                status, out, err = run("--json", str(path), "--provider", "i8mm,bf16", CASE, BASE)
            self.assertEqual(status, 0, err)
            texts.append((out, path.read_bytes()))
        self.assertEqual(texts[0], texts[1])

    def test_json_is_read_as_a_benchmark_that_is_no_performance(self):
        path = self.directory / "model.json"
        status, out, err = run("--json", str(path), "--provider", "i8mm,bf16", CASE, BASE)
        self.assertEqual(status, 0, err)
        self.assertIn("Modelled, not measured", out)
        bench = load_bench(path)
        self.assertFalse(bench.time_is_performance)
        row = {(row.provider, row.case.split()[0]): row for row in bench.rows}[
            "i8mm@neoverse-n2", "linear_w8a8"]
        self.assertIn("modelled on neoverse-n2", row.label)
        self.assertIsNone(row.error)
        n = row.counters
        self.assertEqual(n["MAC"], 9 * 24 * 64)
        # x, y: bf16; w: int8; scales: f32
        self.assertEqual(n["bytes"], 9 * 64 * 2 + 9 * 24 * 2 + 24 * 64 + 24 * 4)
        self.assertAlmostEqual(n["instructions/MAC"] * n["MAC"], n["instructions"])
        self.assertAlmostEqual(n["modelled MAC/cycle"] * n["modelled cycles"], n["MAC"])
        self.assertEqual(n["modelled cycles"],
                         max(n["modelled compute cycles"], n["modelled memory cycles"]))
        self.assertAlmostEqual(row.seconds[0] * 3.2e9, n["modelled cycles"], delta=1e-3)
        self.assertEqual(n["issue limit MAC/cycle"], 64)
        self.assertAlmostEqual(n["modelled % of issue limit"],
                               100 * n["modelled MAC/cycle"] / 64)
        self.assertGreaterEqual(n["covered"], 0.99)
        self.assertGreater(n["modelled speed-up over bf16"], 0)
        data = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual(data["context"]["armq_caches"], f"{2**16} {2**20} {2**25}")
        # The bf16 provider has no int8, and the i8mm one no bf16.
        self.assertIn("not available: 1 case on bf16: ", out)
        self.assertEqual([(row["provider"], row["case"].split()[0])
                          for row in data["not_available"]],
                         [("bf16", "linear_w8a8"), ("i8mm", "linear_bf16")])

    def test_threads_share_the_work(self):
        path = self.directory / "model.json"
        case = "gemm_s8s8s32 tokens=64 n=128 k=256"
        status, _, err = run("--json", str(path), "--provider", "dotprod", case + " threads=1,4")
        self.assertEqual(status, 0, err)
        rows = [row for row in json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
                if "neoverse-n1" in row["name"]]
        one, four = (row["modelled compute cycles"] for row in rows)
        self.assertLess(four, 0.28 * one)
        self.assertGreater(four, 0.25 * one)
        self.assertAlmostEqual(rows[0]["instructions"], rows[1]["instructions"],
                               delta=0.02 * rows[0]["instructions"])

    def test_hot_functions_and_blocks(self):
        status, out, _ = run("--provider", "i8mm", "--core", "N2", "--hot", "3", "--blocks", "2",
                             "gemm_s8s8s32 tokens=8 n=8 k=512")
        self.assertEqual(status, 0)
        self.assertRegex(out, r"smmla_8x8 +\d+ ")
        self.assertIn("    smmla v", out)
        self.assertNotIn(" V2 ", out)

    def test_usage_and_wrong_answers(self):
        for arguments, text in ((["--provider", "i8mm", "linear_w8a8 tokens=zork n=1 k=1"],
                                 "zork"),
                                (["--provider", "zork", CASE], "no provider 'zork'"),
                                (["--provider", "i8mm,", CASE], "'i8mm,' has an empty entry"),
                                (["--core", "N7", CASE], "no core 'N7'"),
                                (["--jobs", "0", CASE], "'0'; wanted a number from 1 on"),
                                (["--hot", "-1", CASE], "'-1'; wanted a number from 0 on"),
                                (["--json", "/nowhere/x.json", CASE], "'/nowhere/x.json' cannot"),
                                (["--build", "/nowhere", CASE], "armq-model is missing"),
                                (["--suite", "zork"], "'zork'"),
                                (["--suite", "tiles", CASE], "--suite tiles and a CASE"),
                                (["--provider", "i8mm"], "--provider i8mm without a CASE"),
                                (["--strict", CASE], "suites that have some: default, tiles"),
                                (["--strict", "--suite", "short"], "without targets to judge"),
                                (["--provider", f"{BUILD}/aarch64/broken/libforget_bias.so",
                                  CASE + " bias=f32"], "wrong answer")):
            status, out, err = run(*arguments)
            self.assertEqual((status, out), (2, ""))
            self.assertIn(text, err)

    def test_strict_fails_when_a_target_is_missed(self):
        for goal, wanted in ((1, 0), (65, 1)):
            target = Target("a target", ("N2",), True, goal, "MAC/cycle", (("i8mm", CASE),), rate,
                            tile=True)
            with mock.patch.object(command, "TARGETS", (target,)):
                status, out, err = run("--suite", "tiles", "--strict")
                self.assertEqual(status, wanted, err)
                self.assertIn("NOT MET" if wanted else "  met", out)
                self.assertTrue(out.endswith("0 passed, 1 failed, 0 skipped\n" if wanted else
                                             "1 passed, 0 failed, 0 skipped\n"), out)
                self.assertEqual(run("--suite", "tiles")[0], 0)

    def test_strict_fails_when_a_target_cannot_be_judged(self):
        """A tile that is gone, or that its provider refuses, has not met its target."""
        targets = tuple(Target("a target", ("N2",), True, 1, "MAC/cycle", ((provider, CASE),), rate,
                               tile=True) for provider in ("bf16", "i8mm"))
        with mock.patch.object(command, "TARGETS", targets):
            status, out, err = run("--suite", "tiles", "--strict")
        self.assertEqual(status, 1, err)
        self.assertIn("not available: bf16: ", out)
        self.assertTrue(out.endswith("1 passed, 1 failed, 0 skipped\n"), out)

    def test_what_llvm_mca_does_not_know_is_said(self):
        """The hottest block of a case is taken from it: then its figures are guesses."""
        cost = Mca.cost
        with mock.patch.object(Mca, "cost", lambda self, core, text: None if "smmla" in str(text)
                               and len(text) != 24
                               else cost(self, core, text)):
            status, out, err = run("--provider", "i8mm", "--core", "N2",
                                   "gemm_s8s8s32 tokens=8 n=64 k=512")
        self.assertEqual(status, 0, err)
        self.assertRegex(out, r"guessed: i8mm gemm_s8s8s32 .* on N2: llvm-mca knows [0-9.]+ % of "
                              r"the instructions, wanted 99 %")

    def test_without_llvm_nothing_is_counted(self):
        with mock.patch.object(command, "version", side_effect=McaError("llvm-19 is missing")), \
                mock.patch.object(Runner, "run_all", side_effect=AssertionError("counted")):
            status, out, err = run(CASE)
        self.assertEqual((status, out, err), (2, "", "model: llvm-19 is missing\n"))


class Running(unittest.TestCase):
    def test_lists_are_expanded_as_armq_bench_does(self):
        jobs = Runner(BUILD).expand(["i8mm", "neon"], ["linear_w8a8 tokens=1,2 n=8 k=16"])
        self.assertEqual(jobs, [
            Job("i8mm", "linear_w8a8 tokens=1 n=8 k=16 seed=1", 128),
            Job("neon", "linear_w8a8 tokens=1 n=8 k=16 seed=1", 128),
            Job("i8mm", "linear_w8a8 tokens=2 n=8 k=16 seed=1", 256),
            Job("neon", "linear_w8a8 tokens=2 n=8 k=16 seed=1", 256)])

    def test_the_library_of_a_user(self):
        job = Job(f"{BUILD}/aarch64/broken/libforget_bias.so", CASE + " seed=1", 1)
        counted = Runner(BUILD).run(job, 0)
        self.assertGreater(counted.instructions, 9 * 24 * 64)
        functions = {block.function for times in counted.segments.values() for block in times}
        self.assertTrue(any(name.startswith("libforget_bias.so:") for name in functions))

    def test_curves_go_from_one_token_to_4096_and_over_threads(self):
        runner, axes = Runner(BUILD), {}
        options = command.parse_arguments([])
        jobs = command.jobs_of(options, runner, ())
        for series in command.series_of(options):
            points = runner.expand([series.provider], [series.line])
            self.assertLessEqual(set(points), set(jobs))
            at = [int(dict(word.split("=") for word in point.case.split()[1:]).get(series.axis, 1))
                  for point in points]
            self.assertEqual(at, [2**i for i in range(len(at))])
            axes.setdefault(series.axis, []).append(max(at))
        self.assertEqual(set(axes), {"tokens", "threads"})
        self.assertGreaterEqual(axes["tokens"].count(4096), 3)  # all but bf16
        self.assertEqual(axes["threads"], [64])

    def test_one_that_does_not_run_stops_the_rest(self):
        with self.assertRaisesRegex(RunError, "zork"):
            Runner(BUILD).run_all([Job("zork", CASE, 1)], 1)

    def test_one_that_hangs_is_an_error(self):
        runner = Runner(BUILD)
        runner.patience = 5
        job = Job(f"{BUILD}/aarch64/broken/libloop_forever.so",
                  "linear_w8a8 tokens=3 n=8 k=16 seed=1", 384)
        with self.assertRaisesRegex(RunError, "libloop_forever.*tokens=3.*not ready after 5 s"):
            runner.run(job, 0)

    def test_problems(self):
        same = problem("linear_w8a8 tokens=1 n=8 k=16 dialect=sglang-w8a8 seed=1")
        self.assertEqual(same, problem("linear_bf16 tokens=1 n=8 k=16 seed=1"))
        self.assertNotEqual(same, problem("linear_bf16 tokens=2 n=8 k=16 seed=1"))
        self.assertNotEqual(same, problem("moe_bf16 tokens=1 n=8 k=16 seed=1"))


if __name__ == "__main__":
    unittest.main()
