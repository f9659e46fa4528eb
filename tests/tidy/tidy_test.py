#!/usr/bin/env python3
"""Every check of checks.py accepts a good snippet and complains about a bad one."""

import unittest

import checks

HEADER = "// A header.\n#pragma once\n"

# check: (files it must accept, files it must complain about)
CASES = {
    checks.pragma_once: (
        {"core/base/a.h": HEADER, "core/base/a.cc": "int a;\n"},
        {"core/base/a.h": "// A header.\nint a();\n"}),
    checks.finished: (
        {"core/base/a.cc": "// the method of stubborn people\n"},
        {"core/base/a.cc": "// TO" + "DO: later\n"}),
    checks.no_machine: (
        {"README.md": "run it in your own folder, a network /tmp/x\n"},
        {"README.md": "run it in /wo" + "rk/main\n"}),
    checks.line_width: (
        {"core/base/a.cc": "x" * 110 + '\nauto text = R"(' + "x" * 200 + ')";\n'},
        {"core/base/a.cc": "x" * 111 + "\n"}),
    checks.file_length: (
        {"core/base/a.cc": "int a;\n" * 400},
        {"core/base/a.cc": "int a;\n" * 401}),
    checks.includes_exist: (
        {"core/base/a.cc": '#include "core/base/a.h"\n', "core/base/a.h": HEADER},
        {"core/base/a.cc": '#include "a.h"\n', "core/base/a.h": HEADER}),
    checks.layers: (
        {"transports/a.cc": '#include "core/base/a.h"\n#include <vector>\n',
         "core/base/a.h": HEADER},
        {"core/schedule/a.cc": '#include "algorithms/table.h"\n', "algorithms/table.h": HEADER}),
    checks.no_dead_files: (
        {"core/base/a.cc": '#include "core/base/a.h"\n', "core/base/a.h": HEADER,
         "core/base/CMakeLists.txt": "rondo_layer(base SOURCES a.cc)\n",
         "tools/a/b.cc": "int a;\n", "tools/a/setup.py": 'SOURCES = """\nb.cc\n""".split()\n',
         "tests/one_test.cc": "int a;\n",
         "tests/CMakeLists.txt": "foreach(name one two)\n  t(${name}_test.cc)\nendforeach()\n"},
        {"core/base/aa.cc": "int a;\n",
         "core/base/CMakeLists.txt": "rondo_layer(base SOURCES a.cc)\n"}),
    checks.memory_order: (
        {"core/base/a.cc": "a.store(f(1), std::memory_order_release);\n"
                           "b.load(std::memory_order_acquire);\n"},
        {"core/base/a.cc": "a.store(f(1));\n"}),
}

FURTHER_BAD = [
    (checks.line_width, {"tools/a.js": "x" * 111 + "\n"}),
    (checks.line_width, {"core/a.pml": "x" * 111 + "\n"}),
    (checks.file_length, {"core/a.pml": "bit a;\n" * 401}),
    (checks.file_length, {"tools/a.css": "a {}\n" * 401}),
    (checks.pragma_once, {"kernels/cpu/a-inl.h": HEADER}),
    (checks.layers, {"core/base/a.h": '#include "rondo/rondo.h"\n',
                     "core/include/rondo/rondo.h": HEADER}),
    (checks.layers, {"elsewhere/a.cc": "int a;\n"}),
    (checks.no_dead_files, {"core/base/a.h": HEADER}),
    (checks.memory_order, {"core/base/a.cc": "while (!flag.load()) {}\n"}),
    (checks.memory_order, {"core/base/a.cc": "count->fetch_add(1);\n"}),
]


class Mutation(unittest.TestCase):
    def test_every_check_has_a_case(self):
        self.assertEqual(set(CASES), set(checks.ALL))

    def test_good_is_accepted(self):
        for check, (good, _) in CASES.items():
            with self.subTest(check.__name__):
                self.assertEqual(list(check(good)), [])

    def test_bad_is_rejected(self):
        bad_cases = [(check, bad) for check, (_, bad) in CASES.items()] + FURTHER_BAD
        for check, bad in bad_cases:
            with self.subTest(check.__name__, files=bad):
                self.assertEqual(len(list(check(bad))), 1)


if __name__ == "__main__":
    unittest.main()
