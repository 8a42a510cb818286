# SPDX-License-Identifier: Apache-2.0
"""The page's part about modelled speed."""

import copy
import json
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from reports import modelled, report, table  # noqa: E402
from reports.load import LoadError  # noqa: E402

CASE = "linear_w8a8 tokens={} n=8 k=16 seed=1"


def bench(provider, core, case, cycles, **more):
    name = f"{provider}@{core}/{case}"
    return {"name": name, "run_name": name, "run_type": "iteration", "repetitions": 1,
            "iterations": 1, "real_time": cycles, "cpu_time": cycles, "time_unit": "ns",
            "label": f"modelled on {core}: a kernel", "bound": "compute",
            "hot": [["tile", 30, 75.0], ["<pack>", 10, 25.0]], "MAC": 6400, "instructions": 1234567,
            "bytes touched": 3200, "logical threads": 1, "instructions/MAC": 0.25,
            "modelled cycles": cycles, "modelled MAC/cycle": 6400 / cycles,
            "modelled % of issue limit": 50.0, "modelled speed-up over bf16": 1.5, **more}


def target(what, state, value=1.0, reason=""):
    return {"what": what, "core": "N2", "at_least": True, "goal": 59, "unit": "MAC/cycle",
            "value": value, "state": state, "reason": reason}


def point(at):
    return {"at": at, "case": CASE.format(at), "workspace": 1024 * at,
            "cycles/MAC": {"neoverse-n2": 0.5 / at}, "compute cycles/MAC": {"neoverse-n2": 0.1}}


DATA = {
    "context": {"armq_emulated": "true", "time_is_performance": "false",
                "armq_modelled": "Modelled, not measured", "armq_llvm_mca": "19.1.7"},
    "benchmarks": [bench("i8mm", "neoverse-n2", CASE.format(5), 200.0),
                   bench("i8mm", "neoverse-v2", CASE.format(5), 100.0),
                   bench("i8mm", "neoverse-n2", CASE.format(1), 400.0)],
    "cores": {"neoverse-n2": {"ghz": 3.2, "core_gbs": 20.9, "source": "somewhere",
                              "limits": {"smmla": 64.0, "sdot": 32.0}},
              "neoverse-v2": {"ghz": 2.8, "core_gbs": 37.0, "source": "elsewhere", "limits": {}}},
    "curves": [{"title": "a $curve$", "axis": "tokens", "provider": "i8mm",
                "points": [point(1), point(2)]}],
    "not_available": [{"provider": "bf16", "case": CASE.format(5), "reason": "no <int8> here"},
                      {"provider": "bf16", "case": CASE.format(1), "reason": "no <int8> here"}],
    "targets": [target("fast", "met", 60.25), target("faster", "NOT MET", 50.5),
                target("unheard of", "not available", None, "i8mm: cannot")],
}


class Modelled(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name) / "model.json"
        self.data = copy.deepcopy(DATA)

    def load(self):
        self.path.write_text(json.dumps(self.data), encoding="utf-8")
        return modelled.load_modelled(str(self.path))

    def page(self):
        return report.render([], [], "now", [self.load()])

    def test_markdown_of_targets(self):
        self.data["targets"].append({**target("fast", "met", 120.5), "core": "V2"})
        lines = [[cell.strip() for cell in line.split("|")[1:-1]]
                 for line in table.what_is_reached([self.load()]).splitlines()]
        self.assertEqual(lines[0], ["what", "target", "N2", "V2"])
        self.assertEqual(lines[2:], [["fast", "≥ 59 MAC/cycle", "60.25", "120.5"],
                                     ["faster", "≥ 59 MAC/cycle", "**50.5**", "–"],
                                     ["unheard of", "≥ 59 MAC/cycle", "not available", "–"]])

    def test_rows(self):
        run = self.load()
        self.assertEqual([(row.provider, row.core, row.bound) for row in run.rows],
                         [("i8mm", "neoverse-n2", "compute"), ("i8mm", "neoverse-v2", "compute"),
                          ("i8mm", "neoverse-n2", "compute")])
        self.assertEqual(run.rows[0].intensity, 2)
        self.assertEqual(run.rows[0].hot_text, "tile 75 %, <pack> 25 %")
        # Points of a curve are in the plot, not in the table.
        self.assertEqual([row.case for row in modelled.table_rows(run)], [CASE.format(5)] * 2)
        self.assertEqual(modelled.absences(run), [("bf16", "no <int8> here", 2)])

    def test_page(self):
        text = self.page()
        self.assertIn("Modelled, not measured", text)
        self.assertIn("1 met, 1 not met, 1 not available", text)
        for state, shown in (("met", "60.25"), ("missed", "50.5")):
            cells = rf'{re.escape(shown)}</td><td>MAC/cycle</td>\s*<td class="{state}">'
            self.assertRegex(text, cells)
        self.assertIn("not available: i8mm: cannot", text)
        self.assertIn("no &lt;int8&gt; here", text)
        self.assertIn("&lt;pack&gt; 25 %", text)
        self.assertNotIn("<pack>", text)

    def test_plots(self):
        plots = re.findall(r"<svg.*?</svg>", self.page(), re.S)
        self.assertEqual(len(plots), 2)
        for plot in plots:
            self.assertIn("modelled", plot)
            xml.etree.ElementTree.fromstring(plot)
        self.assertIn("SMMLA 64", plots[0])
        self.assertIn("6.5 bytes/cycle", plots[0])  # 20.9 / 3.2
        self.assertIn("a $curve$", plots[1])

    def test_it_says_that_it_is_modelled(self):
        """Above the tables, over the targets, in the title of every panel."""
        text = self.page()
        self.assertIn("<b>Modelled, not measured</b>", text)
        self.assertIn("target (modelled)", text)
        self.assertIn("Cases, modelled per core", text)
        for core in ("neoverse-n2", "neoverse-v2"):
            self.assertIn(f"{core}, modelled", text)

    def test_the_page_is_the_same_twice(self):
        self.assertEqual(self.page(), self.page())

    def test_without_what_there_may_not_be(self):
        self.data.update(benchmarks=[], curves=[], targets=[], not_available=[])
        text = self.page()
        self.assertIn("Modelled speed", text)
        self.assertNotIn("<svg", text)
        self.assertNotIn("Modelled speed", report.render([], [], "now"))

    def test_other_files_are_refused(self):
        for change, text in ((lambda d: d["context"].pop("armq_modelled"), "armq_modelled"),
                             (lambda d: d["context"].update(armq_emulated="false",
                                                            time_is_performance="true"),
                              "armq_modelled"),
                             (lambda d: d.pop("targets"), "targets"),
                             (lambda d: d.pop("cores"), "cores"),
                             (lambda d: d["targets"][0].update(state="fine"), "'fine'"),
                             (lambda d: d["targets"][0].pop("goal"), "'goal'"),
                             (lambda d: d["curves"][0]["points"][0].update(at="1"), "'at'"),
                             (lambda d: d["curves"][0]["points"][0].update(at=0), "'at' is 0"),
                             (lambda d: d["curves"][0]["points"][0].update(workspace=-1),
                              "'workspace' is -1"),
                             (lambda d: d["curves"][0]["points"][1]["cycles/MAC"].update(n1="x"),
                              "'n1' is \"x\", wanted a number above 0"),
                             (lambda d: d["cores"]["neoverse-n2"].update(ghz=0), "'ghz' is 0"),
                             (lambda d: d["cores"]["neoverse-n2"]["limits"].update(smmla=[]),
                              r"'smmla' is \[\]"),
                             (lambda d: d["benchmarks"][0].update(hot=3), "'hot' is 3"),
                             (lambda d: d["benchmarks"][0].update(hot=[["tile", 1]]),
                              r"'hot' has \[\"tile\", 1\], wanted \[function"),
                             (lambda d: d["benchmarks"][0].pop("instructions"),
                              "'instructions' is null"),
                             (lambda d: d["benchmarks"][0].update({"modelled cycles": "fast"}),
                              "'modelled cycles' is null"),
                             (lambda d: d["benchmarks"][0].update(
                                 run_name="i8mm@neoverse-n2/" + CASE.format(5) + "/cold"),
                              "is timed, not modelled"),
                             (lambda d: d["benchmarks"][0].update(run_name="i8mm/x y"),
                              "PROVIDER@CORE")):
            self.data = copy.deepcopy(DATA)
            change(self.data)
            with self.subTest(text), self.assertRaisesRegex(LoadError, text):
                self.load()


if __name__ == "__main__":
    unittest.main()
