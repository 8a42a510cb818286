# SPDX-License-Identifier: Apache-2.0
"""Mutants built and judged under the emulator: one of each kind, seen as what it is."""

import contextlib
import io
import json
import os
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

from conformance.mutants import __main__ as command
from conformance.mutants.equivalent import EquivalentError, argue, read
from conformance.mutants.mutant import Mutant

BUILD = os.environ.get("BUILD", "build")
FILE = "kernels/bf16/tiles.c"
SWEEP = "linear_bf16 tokens=3 n=17 k=19\n"

# id: (before, after)
EDITS = {
    "wrong": ("*to = vbfmmlaq_f32(*to, row[r], column.val[c]);", "*to = *to;"),
    "hang": ("for (; k_steps > 0; k_steps--) {", "for (; k_steps > 0; k_steps++) {"),
    "same": ("for (int half = 0; half < 2; half++) {", "for (int half = 0; half != 2; half++) {"),
    "odd": ("float32x4_t sum[16];", "float32x4_t sum[16"),
    # Another way to load, the same values.
    "unseen": ("if (panels != 2)", "if (panels != 1)"),
}


def mutant(name):
    before, after = EDITS[name]
    text = (command.ROOT / FILE).read_text()
    assert before in text, before
    return Mutant(FILE, 1, "rule", before, after, before, after, text.replace(before, after), name)


class Run(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        (self.directory / "one.sweep").write_text(SWEEP)
        (self.directory / "equivalent.txt").write_text("")

    def run_on(self, *names, argued=""):
        """(exit status, name -> state)"""
        (self.directory / "equivalent.txt").write_text(argued)
        made = {FILE: [mutant(name) for name in names]}
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), mock.patch.object(
                command, "mutants_of", lambda root, name: made.get(name, [])):
            status = command.main(
                ["--build", BUILD, "--out", str(self.directory), "--sweep",
                 str(self.directory / "one.sweep"), "--equivalent",
                 str(self.directory / "equivalent.txt")])
        self.output = out.getvalue()
        records = json.loads((self.directory / "mutants.json").read_text())["mutants"]
        return status, {record["id"]: record["state"] for record in records}

    def test_each_kind_is_told(self):
        status, states = self.run_on("wrong", "hang", "same", "wrong", "wrong", "odd")
        self.assertEqual(status, 0, self.output)
        self.assertEqual(states, {"wrong": "killed", "hang": "killed", "same": "same code",
                                  "odd": "no build"})
        self.assertIn("wrong  value: linear_bf16 tokens=3 n=17 k=19", self.output)
        self.assertIn("hang  crash: linear_bf16 tokens=3 n=17 k=19", self.output)
        # A second run has all results, and judges nothing.
        with mock.patch.object(command, "judge_one", side_effect=AssertionError):
            self.assertEqual(self.run_on("wrong", "same")[0], 0)

    def test_a_survivor_fails_the_run_unless_argued(self):
        status, states = self.run_on("unseen")
        self.assertEqual((status, states), (1, {"unseen": "survived"}), self.output)
        self.assertIn("SURVIVED unseen\n    - if (panels != 2)\n    + if (panels != 1)",
                      self.output)
        argued = f"{FILE} rule\n- if (panels != 2)\n+ if (panels != 1)\nthe same values\n"
        self.assertEqual(self.run_on("unseen", argued=argued), (0, {"unseen": "equivalent"}))

    def test_what_a_killed_run_left_is_no_part_of_a_mutant(self):
        header = "kernels/common/tile.h"  # tiles.c includes it
        for slot in range(os.cpu_count()):
            left = self.directory / f"slot{slot}" / header
            left.parent.mkdir(parents=True)
            left.write_text("#error left behind\n")
        self.assertEqual(self.run_on("same", "wrong")[1], {"same": "same code", "wrong": "killed"},
                         self.output)

    def test_too_few_that_build(self):
        self.assertEqual(self.run_on("odd"), (1, {"odd": "no build"}))
        self.assertIn("too few build", self.output)


class Equivalent(unittest.TestCase):
    def test_reasons_are_found(self):
        entries = read(f"# comment\n{FILE} rule\n- if (panels  != 2)\n+ if (panels != 1)\n"
                       "- float32x4_t sum[16];\nfirst\nsecond\n")
        self.assertEqual(argue(entries, [mutant("unseen"), mutant("odd"), mutant("wrong")]),
                         {"unseen": "first second", "odd": "first second"})

    def test_the_same_edit_in_another_place(self):
        first = mutant("unseen")
        # Deeper inside a block.
        second = replace(first, before="  " + first.before, after="  " + first.after, id="later")
        entries = read(f"{FILE} rule 2\n- if (panels != 2)\nwhy\n")
        self.assertEqual(argue(entries, [first, second]), {"later": "why"})

    def test_an_entry_that_matches_nothing_is_an_error(self):
        entries = read(f"{FILE} rule\n- no such line\nwhy\n")
        with self.assertRaisesRegex(EquivalentError, "(?s)line 1: .* no such line"):
            argue(entries, [mutant("unseen")])

    def test_an_entry_without_a_reason_is_an_error(self):
        with self.assertRaisesRegex(EquivalentError, "line 3: wanted"):
            read(f"\n\n{FILE} rule\n- a line\n+ another\n")


class Choice(unittest.TestCase):
    def test_a_sample_depends_on_its_seed_alone(self):
        made = [mutant("wrong")] * 50
        made = [replace(m, id=f"m{i}") for i, m in enumerate(made)]

        def sample(seed):
            options = command.parse(["--sample", "5", "--seed", seed])
            return [m.id for m in command.choose(made, options)]
        self.assertEqual(len(set(sample("1"))), 5)
        self.assertEqual(sample("1"), sample("1"))
        self.assertNotEqual(sample("1"), sample("2"))
