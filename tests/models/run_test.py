#!/usr/bin/env python3
"""tests/models/run accepts a model that is as it says, and complains about any that is not."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().with_name("run")
GOOD = """\
// check: holds
// check: deadlock   -DMUTANT=WRITES_AT_ONCE
// check: assertion  -DMUTANT=NEVER_FREES
#ifndef MUTANT
#define MUTANT 0
#endif
mtype = { WRITES_AT_ONCE, NEVER_FREES }
bit filled, content;
active proctype writer() {
  byte i;
  for (i : 1 .. 2) {
    !filled || MUTANT == WRITES_AT_ONCE;
    content = i % 2;
    filled = 1
  }
}
active proctype reader() {
  byte i;
  for (i : 1 .. 2) {
    filled -> assert(content == i % 2);
    filled = (MUTANT == NEVER_FREES)
  }
}
"""
ENDLESS = "active proctype server() {\n  do :: false -> skip od\n}%s\n"
COUNTS = "active proctype counts() { int i; do :: i < 100000 -> i++ :: else -> break od }\n"

# What is wrong: (the model, words of the complaint)
BAD = {
    "a known error is not found": (GOOD.replace("bit filled", "// check: deadlock\nbit filled"),
                                   "expected: deadlock, found: holds"),
    "it does not hold": (GOOD.replace("filled = 1", "filled = 0"), "expected: holds, found: deadlock"),
    "a mutation is not found": (GOOD.replace("filled || MUTANT", "filled;\n    true || MUTANT"),
                                "expected: deadlock, found: holds"),
    "a mutation is not run": (GOOD.replace("// check: assertion  -DMUTANT=NEVER_FREES\n", ""),
                              "NEVER_FREES is not run"),
    "no run holds": (GOOD.replace("// check: holds\n", ""), "no run that holds"),
    "no mutation": ("// check: holds\nactive proctype writer() { skip }\n", "no mutation"),
    "no such result": (GOOD.replace("check: deadlock", "check: livelock"), "no such result: livelock"),
    "a statement is not reached": (GOOD.replace("    filled = 1\n", "    filled = 1;\n    if\n    :: true\n"
                                                "    :: i > 2 ->\n      content = 0\n    fi\n"),
                                   "is never reached: content = 0"),
    "a process does not end": (GOOD + ENDLESS.replace("do", "end: do") % "", "is never reached: }"),
    "one ends that is said not to": (GOOD.replace("    filled = 1\n", "    filled = 1  // never ends\n"),
                                     "is reached, although it says that it is not"),
    "the search is too long": (GOOD + COUNTS, "the search is not complete"),
    "it is no Promela": (GOOD + "active proctype { }\n", "spin"),
}


def run(text):
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.pml"
        model.write_text(text, encoding="utf-8")
        return subprocess.run([RUN, model], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)


class RunTest(unittest.TestCase):
    def test_good(self):
        for text in (GOOD, GOOD + ENDLESS.replace("do", "end: do") % "  // never ends"):
            done = run(text)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_bad(self):
        for what, (text, words) in BAD.items():
            with self.subTest(what):
                done = run(text)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(words, done.stdout)

    def test_no_file(self):
        done = subprocess.run([RUN, "no-such.pml"], text=True, stdout=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no such file", done.stdout)


if __name__ == "__main__":
    if not shutil.which("spin") or not shutil.which("cc"):
        print("skipped: spin or cc is missing (tools/setup test installs them)")
        sys.exit(77)
    unittest.main()
