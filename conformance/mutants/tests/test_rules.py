# SPDX-License-Identifier: Apache-2.0
"""Every rule makes the edits it is for, and nothing of what is no code."""

import unittest

from conformance.mutants import source
from conformance.mutants.rules import RULES, edits_of

# rule: (source, what the edits make of it)
EXAMPLES = {
    "bound": ("if (a < b) x();", ["if (a <= b) x();"]),
    "equality": ("if (a == b) x();", ["if (a != b) x();"]),
    "logic": ("if (a && b) x();", ["if (a || b) x();"]),
    "arithmetic": ("y = a + *b;", ["y = a - *b;"]),
    "assignment": ("a += b;", ["a -= b;", "a = b;"]),
    "shift": ("y = 1 << n;", ["y = 1 >> n;"]),
    "truth": ("f(true);", ["f(false);"]),
    "size": ("sizeof(float)", ["sizeof(uint16_t)"]),
    "constant": ("a = 3 * int8_t(x16);", ["a = 4 * int8_t(x16);", "a = 2 * int8_t(x16);"]),
    "float": ("f(0x1.8p19f)", ["f((1.001f * 0x1.8p19f))"]),
    "negation": ("y = a ? g(b ? 1 : 2) : c;",
                 ["y = !(a) ? g(b ? 1 : 2) : c;", "y = a ? g(!(b) ? 1 : 2) : c;"]),
    "index": ("y = s[r / 4] + vdotq_laneq_s32(a, b, c, 2);",
              ["y = s[(r / 4) ^ 1] + vdotq_laneq_s32(a, b, c, 2);",
               "y = s[r / 4] + vdotq_laneq_s32(a, b, c, 3);"]),
    "operands": ("vmmlaq_s32(*to, rows[f(1, 2)], columns)",
                 ["vmmlaq_s32(*to, columns, rows[f(1, 2)])"]),
    "accumulate": ("y = vdotq_s32(s[0], f(x, 1), z);", ["y = s[0];"]),
    "sign": ("y = vdotq_s32(s, x, z);",
             ["y = (int32x4_t)vdotq_u32((uint32x4_t)(s), (uint8x16_t)(x), (uint8x16_t)(z));"]),
    "intrinsic": ("vget_low_s8(x)", ["vget_high_s8(x)"]),
    "drop": ("int a = f(1); if (a) { p += a; g(p); }",
             ["int a = f(1); if (a) { ; g(p); }", "int a = f(1); if (a) { p += a; ; }"]),
}


def made(text, rule):
    return [text[:e.start] + e.text + text[e.end:] for e in edits_of(text, [rule])]


class Rules(unittest.TestCase):
    def test_each_rule_has_an_example(self):
        self.assertEqual(set(EXAMPLES), set(RULES))

    def test_edits(self):
        for rule, (text, wanted) in EXAMPLES.items():
            with self.subTest(rule):
                self.assertCountEqual(made(text, rule), wanted)

    def test_what_is_no_code_stays(self):
        text = ('#include "a/b1.h"\n#ifndef A_1\n/* a < 1 */\n// b + 2\n'
                ';f("%d < 3", \'4\');\n')
        self.assertEqual([e.rule for e in edits_of(text)], ["drop"])

    def test_no_edit_twice(self):
        text = "for (int i = 0; i < 10; i++) { y[i] += x[i] * 2; }"
        results = [text[:e.start] + e.text + text[e.end:] for e in edits_of(text)]
        self.assertEqual(len(results), len(set(results)))
        self.assertNotIn(text, results)

    def test_declarations_are_no_index(self):
        self.assertEqual(made("int32x4_t sum[16];\nconst int8_t *from[4];", "index"), [])


class Source(unittest.TestCase):
    def test_masked_keeps_length_and_lines(self):
        text = 'a /* b\n c */ "d\\"e" \'"\' f // g\nh'
        code = source.masked(text)
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.count("\n"), text.count("\n"))
        self.assertEqual(code.split(), ["a", "f", "h"])

    def test_statements_beside_macros(self):
        code = "UNROLL for (;;) s[i] = f(i); else *to = g(*to); return h(1);"
        self.assertEqual([code[a:b] for a, b in source.statements(code)],
                         ["s[i] = f(i)", "*to = g(*to)"])
