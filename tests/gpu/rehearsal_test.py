#!/usr/bin/env python3
"""Rehearses the steps of tests/gpu/run that the driver's stand-in can carry, and what is packed.

    rehearsal_test.py BUILD
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from started import BUILD, FOLDER, FORMS, LIMIT, STAND_IN, built, run, started
import freed_memory
from steps import pack, sweeps
from steps.execute import execute
from steps.place import Place

PATIENT = 6000  # seconds of all steps together, so that none is short of time


class Rehearsal(unittest.TestCase):
    """The steps themselves, with the driver's stand-in."""

    def report_of(self, build, steps, **environment):
        """The exit status, the report and the output."""
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "report.json"
            status, said = started("--build", build, "--stand-in", STAND_IN, "--brief", "--seconds", PATIENT,
                                   "--only", ",".join(steps), "--out", out, **environment)
            return status, json.loads(out.read_text()), said

    def rehearse(self, build, steps):
        status, report, said = self.report_of(build, steps)
        self.assertEqual(status, 0, said)
        self.assertEqual({entry["step"]: entry["status"] for entry in report["steps"]},
                         {step: "passed" for step in steps}, said)
        return report

    @unittest.skipUnless(built("gpu_preflight"), "built without nvcc")
    def test_the_preflight_and_what_memory_operations_cost(self):
        lines = run.all_lines(self.rehearse(BUILD, ("preflight", "costs")))
        self.assertEqual(sum(line["kind"] == "preflight" for line in lines), 5)
        self.assertEqual([(line["operation"], line["operations"]) for line in lines
                          if line["kind"] == "memory_operations"],
                         [(operation, count) for count in (1, 7, 14, 70) for operation in ("write", "wait")])

    @unittest.skipUnless(built("gpu_preflight"), "built without nvcc")
    def test_a_driver_that_lacks_something_stops_the_run(self):
        for variable, value, *words in (
                ("FAKE_DRIVER_CUDA", "11.6", "this CUDA driver (of CUDA 11.6) takes no device kernels",
                 "Try: a driver of CUDA 11.7 or newer"),
                ("FAKE_MEMORY_OPERATIONS", "lost", "the word in host memory is as it was before", "Try: use"),
                ("FAKE_MEMORY_OPERATIONS", "unbatched", "WRONG: batches of them: rondo: cuStreamBatchMemOp")):
            status, report, said = self.report_of(BUILD, ("preflight", "calls"), **{variable: value})
            self.assertEqual(status, 1, said)
            self.assertEqual([entry["status"] for entry in report["steps"]], ["failed", "not run"])
            for each in (*words, "STOPPED: preflight failed", "of 2 steps 1 not run"):
                self.assertIn(each, said)

    @unittest.skipUnless(built("gpu_sweep"), "gpu_sweep is not built")
    def test_every_form_of_the_sweep(self):
        report = self.rehearse(BUILD, FORMS)
        lines = [line for line in run.all_lines(report) if line["kind"] == "sweep"]
        self.assertEqual({line["form"] for line in lines}, set(FORMS))
        self.assertEqual({line["wrong"] for line in lines}, {0})
        for form in FORMS[1:]:
            found = {(line["collective"], line["ranks"]) for line in lines if line["form"] == form}
            self.assertEqual(len(found), 9 * 3, form)
        replayed = {line["form"] for line in lines if "microseconds_in_graph" in line}
        self.assertEqual(replayed, set(FORMS) - {"one_thread"})
        self.assertTrue(report["bars"])
        self.assertIn("#wrong", sweeps.tables(lines))

    @unittest.skipUnless(built("gpu_calls"), "built without nvcc")
    def test_kernels_that_wait(self):
        lines = [line for line in run.all_lines(self.rehearse(BUILD, ("calls", "soak")))
                 if line["kind"] == "soak"]
        self.assertEqual(sorted({line["ranks"] for line in lines}), [2, 4, 7])
        self.assertEqual({line["form"] for line in lines}, {"small", "program"})
        for line in lines:
            self.assertEqual((line["launches"], line["wrong_elements"]), (line["wanted"], 0), line)

    @unittest.skipUnless((STAND_IN / "libcuda.so.1").is_file(), "the driver's stand-in is not built")
    def test_memory_that_is_freed_while_another_process_maps_it(self):
        done = execute([sys.executable, FOLDER / "freed_memory.py"],
                               Place(BUILD, STAND_IN).environment(), LIMIT)
        self.assertEqual(done.status, 0, done.text)
        self.assertEqual([(line["memory"], line["owner"], line["found"]) for line in done.lines],
                         [(memory, owner, "as it was") for memory in ("cuMemAlloc", "cuMemCreate")
                          for owner in ("frees it", "is killed")])
        wrong = [freed_memory.is_wrong(line | {"found": "changed"}) for line in done.lines]
        self.assertEqual(wrong, [False, False, True, True])  # the manual promises nothing of the others

    @unittest.skipUnless(built(*pack.NEEDED), "not everything that is packed is built")
    def test_what_is_packed_runs_by_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            archive = pathlib.Path(folder) / "packed.tar.xz"
            status, said = started("--build", BUILD, "--pack", archive)
            self.assertEqual(status, 0, said)
            subprocess.run(["tar", "xf", archive, "-C", folder], check=True)
            self.rehearse(folder, ("preflight", "one_stream"))


if __name__ == "__main__":
    unittest.main()
