# SPDX-License-Identifier: Apache-2.0
"""The plugin against loops whose instructions were counted by hand."""

import os
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from perf.model.counts import (AddressMap, CountError, blocks_of, bytes_touched, disassemble,
                               join_cut, leaves, read_counts)
from perf.model.runner import CPU, EMULATOR

BUILD = Path(os.environ.get("ARMQ_BUILD", "build"))
PLUGIN = BUILD / "model" / "libarmq-count.so"


def parse_maps(text):
    """The lines of /proc/self/maps that hold code, as armq-model describes them."""
    maps = []
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 6 and "x" in words[1]:
            first, last = (int(word, 16) for word in words[0].split("-"))
            maps.append({"first": first, "last": last, "offset": int(words[2], 16),
                         "path": words[5]})
    return maps


def totals(segment):
    """Instructions per function."""
    found = Counter()
    for block, times in segment.items():
        found[block.function] += len(block.text) * times
    return found


class Plugin(unittest.TestCase):
    def count(self, variant, *words, arguments=""):
        """(Counts or CountError, what the program printed)"""
        program = BUILD / "model" / "tests" / f"loop-{variant}"
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory) / "counts"
            done = subprocess.run([EMULATOR, "-L", "/", "-cpu", CPU, "-plugin",
                                   f"file={PLUGIN},out={out}{arguments}", program, *words],
                                  check=False, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            try:
                return read_counts(out), done.stdout
            except CountError as error:
                return error, done.stdout

    def blocks(self, variant, *words):
        counts, printed = self.count(variant, *words)
        return blocks_of(counts, AddressMap(parse_maps(printed), f"loop-{variant}"))

    def test_loops_have_the_instructions_counted_by_hand(self):
        for variant in ("pie", "static"):
            with self.subTest(variant):
                blocks = self.blocks(variant)
                self.assertEqual(sorted(blocks), [(0, 0), (1, 0), (1, 1)])
                serial = totals(blocks[0, 0])
                self.assertEqual(serial["counted_loop"], 1 + 4 * 1000 + 1)
                self.assertEqual(serial["cut_loop"], 1 + 6 * 500 + 1)
                self.assertEqual(serial["touch_lines"], 4)
                self.assertEqual(totals(blocks[1, 0])["counted_loop"], 1 + 4 * 10 + 1)
                self.assertEqual(totals(blocks[1, 1])["counted_loop"], 1 + 4 * 20 + 1)
                # The marks themselves are not counted.
                self.assertEqual([name for name in serial if "mark" in name], [])

    def test_the_first_pass_of_a_loop_is_a_block_of_its_own(self):
        loops = {block.text: times for block, times in self.blocks("pie")[0, 0].items()
                 if block.function == "counted_loop"}
        body = ("ldr x3, [x1]", "add x2, x2, x3", "subs x0, x0, #0x1", "b.ne #0")
        self.assertEqual(loops, {("mov x2, xzr",) + body: 1, body: 999, ("ret",): 1})

    def test_a_loop_across_pages_is_one_block(self):
        loops = {len(block.text): times for block, times in self.blocks("pie")[0, 0].items()
                 if block.function == "cut_loop"}
        self.assertEqual(loops, {7: 1, 6: 499, 1: 1})

    def test_other_threads_are_not_counted(self):
        found = totals(self.blocks("pie", "busy")[0, 0])
        self.assertEqual((found["counted_loop"], found["cut_loop"]), (4002, 3002))

    def test_lines_that_were_touched(self):
        counts, printed = self.count("static")
        base = int(printed.split()[1], 16)
        lines = {line - base: how for line, how in counts.lines.items()
                 if base <= line < base + 4096}
        self.assertEqual(lines, {0: "rw", 64: "r", 128: "w"})
        operands = [{"name": "a", "first": base, "last": base + 65},
                    {"name": "b", "first": base + 128, "last": base + 4096},
                    {"name": "c", "first": base + 1024, "last": base + 2048}]
        self.assertEqual(bytes_touched(counts.lines, operands), {"a": 128, "b": 64, "c": 0})

    def test_memory_need_not_be_watched(self):
        counts, _ = self.count("static", arguments=",lines=0")
        self.assertEqual(counts.lines, {})
        self.assertGreater(len(counts.blocks), 5)

    def test_static_addresses_hold_the_words_that_ran(self):
        for variant in ("pie", "static"):
            counts, printed = self.count(variant)
            address_map = AddressMap(parse_maps(printed), f"loop-{variant}")
            path = BUILD / "model" / "tests" / f"loop-{variant}"
            listing = subprocess.run(["llvm-objdump-19", "-d", path], check=True,
                                     capture_output=True, text=True).stdout
            in_file = {}
            for line in listing.splitlines():
                address, colon, rest = line.strip().partition(":")
                if colon and rest and all(c in "0123456789abcdef" for c in address):
                    in_file[int(address, 16)] = int(rest.split()[0], 16)
            for (address, _), words in counts.blocks.items():
                _, at = address_map.static(address)
                self.assertEqual([in_file[at + 4 * i] for i in range(len(words))], list(words))

    def test_a_program_that_ends_while_counted_is_an_error(self):
        error, _ = self.count("pie", "unfinished")
        self.assertIsInstance(error, CountError)
        self.assertIn("ended while it was counted", str(error))

    def test_bad_arguments_are_refused(self):
        program = BUILD / "model" / "tests" / "loop-static"
        for arguments, text in (("", "out=FILE is missing"), (",lines=2,out=x", "lines=2")):
            done = subprocess.run([EMULATOR, "-plugin", f"file={PLUGIN}{arguments}", program],
                                  check=False, capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)


class Files(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "counts"
            path.write_text(text, encoding="ascii")
            return read_counts(path)

    def test_damaged_files_are_errors(self):
        good = "armq-counts 1\nblock 10 d503201f\nsegment 0 0 0\ncount 10 1 5\nend\n"
        self.assertEqual(self.read(good).segments, {(0, 0): Counter({(16, 1): 5})})
        for bad, why in ((good.replace("end\n", ""), "cut"),
                         (good.replace("end", "error too little"), "too little"),
                         (good.replace("armq-counts 1", "armq-counts 2"), "not a file of counts"),
                         (good.replace("\ncount", "\ncuont"), "unknown record"),
                         (good.replace("segment", "block 10 d503201e\nsegment"), "changed"),
                         (good.replace("end", "segment 1 0 0\nend"), "2 virtual CPUs")):
            with self.subTest(why), self.assertRaisesRegex(CountError, why):
                self.read(bad)


class Text(unittest.TestCase):
    def test_addresses_are_not_part_of_the_text(self):
        words = {0x54ffffa1: "b.ne #0", 0x940003c2: "bl #0", 0xb0000500: "adrp x0, #0",
                 0xd65f03c0: "ret", 0x4e80a400: "smmla v0.4s, v0.16b, v0.16b",
                 0x00000000: "udf #0"}
        found = disassemble(words)
        found[0] = found[0].replace("0x0", "0")
        self.assertEqual(found, words)

    def test_what_ends_a_block(self):
        for text in ("b #0", "b.ne #0", "bl #0", "blr x1", "br x1", "ret", "cbz x0, #0",
                     "tbnz w0, #3, #0", "svc #0"):
            self.assertTrue(leaves(text), text)
        for text in ("bic v0.16b, v1.16b, v2.16b", "bfi x0, x1, #1, #2", "add x0, x0, x1",
                     "bfmmla v0.4s, v1.8h, v2.8h"):
            self.assertFalse(leaves(text), text)

    def test_cut_blocks_join_as_often_as_they_ran(self):
        a, b, c = (0, 2), (8, 3), (0x40, 1)
        # a falls into b; b is also entered by itself.
        self.assertEqual(join_cut({a: 5, b: 7, c: 1}, {a}), {(a, b): 5, (b,): 2, (c,): 1})
        self.assertEqual(join_cut({a: 5, b: 5}, {a, b}), {(a, b): 5})
        # Without a successor that ran as often nothing is joined.
        self.assertEqual(join_cut({a: 5, b: 4}, {a}), {(a,): 5, (b,): 4})
        self.assertEqual(join_cut({a: 5, b: 5}, set()), {(a,): 5, (b,): 5})


if __name__ == "__main__":
    unittest.main()
