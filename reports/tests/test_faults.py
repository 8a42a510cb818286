# SPDX-License-Identifier: Apache-2.0
"""The page's part about faults, and the table that make faults reads."""

import copy
import html
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from conformance.faults import run, table  # noqa: E402  (the path is set first)
from reports import faults, report  # noqa: E402
from reports.load import LoadError  # noqa: E402


def fault(name, verdict="caught", **changes):
    record = {"id": name, "kind": "bias", "ops": ["linear_w8a8", "moe_w8a8"], "check": "value",
              "where": "any", "cases": {}, "text": f"what {name} does", "why": "",
              "verdict": verdict, "missed": [], "ci": None,
              "caught": {"linear_w8a8": {"value": 3, "batch": 1}, "moe_w8a8": {"value": 2}}}
    return dict(record, **changes)


MATRIX = {"schema": 1, "sharp": False, "caught": 2, "missed": 2, "kinds": {"bias": "of a sum"},
          "clean": [{"sweep": "sharp", "where": "any", "cases": 9, "passed": 8, "failed": ["c"]}],
          "faults": [fault("twice"), fault("arm", where="cortex_a72"),
                     fault("gone", "missed", missed=["moe_w8a8"],
                           caught={"linear_w8a8": {"value": 1}}),
                     fault("late", ci={"missed": ["linear_w8a8"]}),
                     fault("same", "equivalent", why="because", check="", caught={})]}


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "matrix.json"

    def load(self, matrix):
        self.path.write_text(json.dumps(matrix), encoding="utf-8")
        return faults.load_faults(self.path)

    def text(self, matrix):
        page = report.render([], [], "now", matrix=self.load(matrix))
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())

    def test_page(self):
        text = self.text(MATRIX)
        self.assertIn("2 caught, 2 missed , in 1 kinds; 1 more change no result", text)
        self.assertIn("sharp (this machine): 8 of 9 cases passed", text)
        self.assertIn("what twice does caught value linear_w8a8 3, moe_w8a8 2 batch 1", text)
        self.assertIn("what arm does (cortex-a72)", text)
        self.assertIn("MISSED in moe_w8a8 value linear_w8a8 1, moe_w8a8 0", text)
        self.assertIn("ci MISSES it in linear_w8a8", text)
        self.assertIn("what same does. because changes nothing", text)

    def test_misses_are_bad(self):
        rows = faults.view(self.load(MATRIX))["kinds"][0]["rows"]
        good = {row["id"]: row["good"] for row in rows}
        self.assertEqual(good, {"twice": True, "arm": True, "gone": False, "late": False,
                                "same": True})

    def test_no_matrix_no_part(self):
        self.assertIn("Not in this report: <code>make faults</code>", report.render([], [], "now"))

    def test_bad_files(self):
        for change in ({"schema": 2}, {"faults": {}}, {"faults": [fault("x", "perhaps")]},
                       {"faults": [fault("x", kind="other")]}, {"clean": [{}]}):
            with self.subTest(change=change), self.assertRaises(LoadError):
                self.load({**copy.deepcopy(MATRIX), **change})
        with self.assertRaises(LoadError):
            faults.load_faults(self.path.with_name("nothing.json"))


class Table(unittest.TestCase):
    ROWS = ('K(kind, "text")\n'
            'F(one, kind, l8 m8, value, any, "", "does this, "\n  "and that")\n'
            'E(two, kind, q, "does nothing", "why")\n')

    def test_rows(self):
        kinds, found = table.parse(self.ROWS)
        self.assertEqual(kinds, {"kind": "text"})
        self.assertEqual(found[0], table.Fault("one", "kind", ("linear_w8a8", "moe_w8a8"), "value",
                                               "any", "", "does this, and that"))
        self.assertEqual((found[1].id, found[1].why), ("two", "why"))

    def test_wrong_rows(self):
        for old, new in (("value", "colour"), ("l8 m8", "l9"), ("l8 m8", "l8 l8"), ("any", "there"),
                         ("two", "one"), ("one, kind", "one, other"), ('F(one', 'E(one'),
                         ('K(kind, "text")', 'K(kind, "text")\nK(empty, "text")')):
            with self.subTest(new=new), self.assertRaises(table.TableError):
                table.parse(self.ROWS.replace(old, new, 1))

    def test_the_tree(self):
        kinds, found = table.load()
        self.assertGreaterEqual(len([f for f in found if not f.why]), 100)
        self.assertEqual({op for f in found for op in f.ops}, set(table.OPS.values()))
        self.assertLessEqual({f.id for f in found}, table.sites())
        self.assertNotIn("no_such_fault", table.sites())
        self.assertGreater(len(kinds), 35)


class Verdicts(unittest.TestCase):
    FAULT = table.Fault("x", "kind", ("linear_w8a8", "moe_w8a8"), "value", "any", "", "text")
    HEADER = {"providers": [{"fpcr_changed_by_load": False}]}

    @staticmethod
    def cases(*failed):
        return [{"op": op, "status": "failed" if checks else "passed",
                 "checks": {check: "failed" for check in checks}} for op, checks in failed]

    def missed(self, *failed):
        return run.missed_ops(self.FAULT, self.HEADER, run.count(self.cases(*failed))[0])

    def test_own_check_in_every_op(self):
        self.assertEqual(self.missed(("linear_w8a8", ["value"]), ("moe_w8a8", ["value"])), [])
        self.assertEqual(self.missed(("linear_w8a8", ["value"]), ("moe_w8a8", ["batch"])),
                         ["moe_w8a8"])
        self.assertEqual(self.missed(("linear_w8a8", ["crash"]), ("moe_w8a8", [])),
                         ["linear_w8a8", "moe_w8a8"])

    def test_load(self):
        load = table.Fault("x", "kind", ("quantize",), "load", "any", "", "text")
        noticed = {"providers": [{"fpcr_changed_by_load": True}]}
        self.assertEqual(run.missed_ops(load, noticed, {}), [])
        self.assertEqual(run.missed_ops(load, self.HEADER, {}), ["quantize"])


if __name__ == "__main__":
    unittest.main()
