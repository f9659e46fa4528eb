#!/usr/bin/env python3
"""Tests tests/gpu/run itself, with steps, tools and ranks that are made here: other steps after one that
fails or is slow, none after a failed preflight, the order, the report, and the bars.

    run_test.py BUILD
"""

import argparse
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

from started import BUILD, FOLDER, FORMS, LIMIT, STAND_IN, built, run, started
from steps import bars, execute, frameworks, sanitizer, table, toolkit
from steps.context import Context, LeftOut
from steps.place import Place
from swapped import activation

CHECKED = ("reduce", "calls", "nccl", "scripts", "mps", "train")


def point(**more):
    return {"kind": "sweep", "form": "threads", "collective": "all_reduce", "ranks": 8, "bytes": 8,
            "microseconds": 10.0} | more


class Steps(unittest.TestCase):
    """Runs of steps that are made here."""

    def report_of(self, *steps, seconds=60.0):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "report.json"
            made = [table.Step(name, "", limit, *body) for name, limit, *body in steps]
            options = argparse.Namespace(brief=False, seconds=seconds, out=str(out))
            returned = run.run_steps(made, Place(folder, STAND_IN), options)
            self.assertEqual(json.loads(out.read_text()), returned)
            return returned, out.with_suffix(".log").read_text()

    @staticmethod
    def shell(text):
        return lambda context: context.run("sh", ["sh", "-c", text])

    def test_a_failing_step_is_reported_and_the_others_go_on(self):
        def mistake(_):
            raise KeyError("a mistake of the step")

        def absent(_):
            raise LeftOut("there is none")

        report, log = self.report_of(
            ("fails", 60, self.shell("echo words; exit 3")), ("mistaken", 60, mistake),
            ("absent", 60, absent), ("works", 60, self.shell("echo '{\"kind\": \"said\"}'")))
        self.assertEqual([(entry["step"], entry["status"]) for entry in report["steps"]],
                         [("fails", "failed"), ("mistaken", "failed"), ("absent", "left out"),
                          ("works", "passed")])
        self.assertEqual(report["steps"][0]["commands"][0]["status"], 3)
        self.assertEqual([entry["left_out"] for entry in report["steps"]], [[], [], ["there is none"], []])
        self.assertEqual(report["steps"][3]["lines"], [{"kind": "said"}])
        self.assertIn("words", log)
        self.assertIn("a mistake of the step", log)
        self.assertTrue(report["finished"])
        self.assertTrue(report["rehearsal"])
        self.assertEqual(run.tell(report), 1)

    def test_nothing_runs_after_a_step_that_all_others_need_has_failed(self):
        for body, limit, outcome in (("exit 3", 60, "failed"), ("sleep 1000", 2, "timed out")):
            report, _ = self.report_of(
                ("needed", limit, self.shell(body), True), ("next", 60, self.shell("true")),
                ("last", 60, self.shell("true")), seconds=limit + 120.0)
            self.assertEqual([entry["status"] for entry in report["steps"]], [outcome] + ["not run"] * 2)
            self.assertEqual(report["steps"][1]["left_out"], [f"needed {outcome}"])
            self.assertEqual(report["steps"][1]["commands"], [])
            self.assertTrue(report["finished"])
            wrong = "SOMETHING IS WRONG" if outcome == "failed" else "SOMETHING TOOK TOO LONG"
            self.assertEqual(self.told(report), (1, wrong + ": see above; of 3 steps 2 not run"))

    def test_a_command_that_takes_too_long_is_ended_with_what_it_started(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "process"
            report, log = self.report_of(
                ("slow", 6, self.shell(f"sleep 1000 & echo $! > {path}; wait")),
                ("next", 60, self.shell("true")))
            self.assertEqual([entry["status"] for entry in report["steps"]], ["timed out", "passed"])
            self.assertEqual(report["steps"][0]["commands"][0]["status"], execute.TOO_LONG)
            self.assertIn("not done within 6 s", log)
            self.await_end_of(int(path.read_text()))

    def await_end_of(self, process):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            try:
                state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                return
            if state in "ZX":
                return
        self.fail(f"process {process} still runs")

    def test_all_steps_together_have_a_time(self):
        begun = []
        report, _ = self.report_of(("first", 60, self.shell("sleep 1000")),
                                   ("second", 60, lambda context: begun.append(context.left())),
                                   seconds=4.0)
        self.assertEqual(begun, [0.0])
        self.assertEqual(report["steps"][0]["status"], "timed out")

    def test_what_no_time_was_left_for_is_left_out_and_not_failed(self):
        def cut(context):
            context.run("quick", ["true"], may_be_cut=True)
            context.run("endless", ["sleep", "1000"], may_be_cut=True)
            context.run("late", ["true"])

        report, log = self.report_of(
            ("cut", 15, cut), ("endless", 1, lambda context: context.run("endless", ["sleep", "1000"],
                                                                        may_be_cut=True)), seconds=16.0)
        self.assertEqual([entry["status"] for entry in report["steps"]], ["passed", "left out"])
        self.assertEqual([command["outcome"] for command in report["steps"][0]["commands"]],
                         ["passed", "left out", "left out"])
        self.assertEqual(report["steps"][0]["left_out"], [f"{name}: no time was left" for name in
                                                          ("endless", "late")])
        self.assertIn("ended: it was not done within", log)
        self.assertEqual(self.told(report), (0, "all right; of 2 steps 1 left out, 1 left out in part"))

    def test_what_the_machine_lacks_is_left_out_and_not_failed(self):
        report, _ = self.report_of(("lacks", 60, self.shell("echo not run: it is old >&2; exit 77")),
                                   ("fails", 60, self.shell("exit 77")))
        self.assertEqual([entry["status"] for entry in report["steps"]], ["left out", "failed"])
        self.assertEqual(report["steps"][0]["left_out"], ["sh: it is old"])
        self.assertEqual(self.told(report), (1, "SOMETHING IS WRONG: see above; of 2 steps 1 left out"))

    def told(self, report):
        """The exit status, and the last line."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = run.tell(report)
        return status, said.getvalue().splitlines()[-1]

    def test_the_last_line_and_the_status_are_of_all_steps(self):
        for statuses, wanted in ((["passed"], (0, "all right")),
                                 (["left out"], (2, "nothing ran; of 1 steps 1 left out")),
                                 (["passed", "timed out"], (1, "SOMETHING TOOK TOO LONG: see above")),
                                 (["failed", "timed out"],
                                  (1, "SOMETHING IS WRONG AND SOMETHING TOOK TOO LONG: see above"))):
            steps = [{"step": status, "status": status, "left_out": ["it"] * (status == "left out")}
                     for status in statuses]
            self.assertEqual(self.told({"bars": [], "steps": steps}), wanted)

    def test_steps_have_what_others_leave_and_never_what_others_need(self):
        for seconds, taken, wanted in ((30, 10, [10, 20]), (30, 4, [10, 26]), (60, 20, [20, 40]),
                                       (60, 5, [20, 55]), (15, 10, [10, 5]), (15, 15, [10, 0])):
            steps = [table.Step(str(each), "", each, None) for each in (10, 20)]
            clock = [0, 0, taken]
            with unittest.mock.patch.object(run.time, "monotonic", lambda clock=clock: clock.pop(0)):
                self.assertEqual([limit for _, limit in run.limits(steps, seconds)], wanted)

    def test_the_table_ends_in_time(self):
        names = [step.name for step in table.STEPS]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(sum(step.seconds for step in table.STEPS), table.MOST_SECONDS)
        self.assertLess(table.MOST_SECONDS, 9 * 60)


    def test_what_all_need_comes_first_and_long_measurements_last(self):
        names = [step.name for step in table.STEPS]
        self.assertEqual([step.name for step in table.STEPS if step.needed], ["preflight"])
        self.assertEqual(names[:1], ["preflight"])
        last = names[names.index("sanitizer") + 1:]
        self.assertEqual(last, [*FORMS])
        self.assertLess(max(names.index(name) for name in CHECKED), names.index("soak"))


class Bars(unittest.TestCase):
    def reached(self, *lines):
        return {bar["what"]: bar["reached"] for bar in bars.bars(list(lines))}

    def test_small_calls(self):
        fast = point(microseconds_in_graph=7.0)
        slow = point(ranks=2, microseconds=13.0, microseconds_in_graph=9.0)
        self.assertEqual(list(self.reached(fast, slow).values()), [True, True, False, False])

    def test_large_calls_are_held_against_the_copies_of_their_form(self):
        copy = {"kind": "copy", "form": "threads", "bytes": 1 << 28, "gigabytes_per_second": 4000.0}
        least = 2 * 8 * (64 << 20) / 4000e3  # microseconds
        for microseconds, reached in ((least / 0.81, True), (least / 0.79, False)):
            line = point(bytes=64 << 20, microseconds=microseconds)
            self.assertEqual(list(self.reached(copy, line).values()), [reached])
        self.assertEqual(self.reached(point(bytes=64 << 20)), {})  # without a copy's speed

    def test_processes_beside_threads(self):
        own = point(bytes=64 << 20, ranks=4)
        for times, reached in ((2.9, True), (3.1, False)):
            line = point(form="processes", bytes=64 << 20, ranks=4, microseconds=10.0 * times)
            self.assertEqual(list(self.reached(own, line).values()), [reached])

    def test_reductions_and_memory(self):
        line = {"kind": "reduction", "type": "float16", "operands": 2, "bytes": 64 << 20, "of_copy": 0.91}
        memory = {"kind": "memory", "form": "threads", "ranks": 8, "device_bytes_of_one": 65 << 20}
        self.assertEqual(list(self.reached(line, line | {"of_copy": 0.5}, memory).values()),
                         [False, False])  # the same reduction twice: the last one counts here
        self.assertEqual(self.reached(line | {"bytes": 1 << 20}, line | {"type": "int8"}), {})


class Options(unittest.TestCase):
    def test_wrong_options_and_nothing_to_run(self):
        status, said = self.assert_and_start(2, "--only", "reduce,nothing")
        self.assertIn("no step nothing; there are preflight", said)
        with tempfile.TemporaryDirectory() as folder:
            _, said = self.assert_and_start(2, "--build", folder)
            self.assertIn("lacks gpu_reduce", said)

    def test_the_help_names_every_step(self):
        _, said = self.assert_and_start(0, "--help")
        for step in table.STEPS:
            self.assertIn(f"  {step.name} ", said)

    def assert_and_start(self, status, *words):
        answer = started(*words)
        self.assertEqual(answer[0], status, answer[1])
        return answer

    @unittest.skipUnless(built("gpu_sweep"), "gpu_sweep is not built")
    @unittest.skipIf(Place(BUILD).devices() > 0, "there is a GPU here")
    def test_without_a_gpu_nothing_runs(self):
        status, said = started("--build", BUILD)
        self.assertEqual(status, 77, said)
        self.assertIn("NO GPU HERE", said)


class Toolkit(unittest.TestCase):
    """What is found of a toolkit that is made here."""

    def test_programs_and_libraries_are_found_in_the_named_toolkit(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for place in ("bin/tool", "checker/checker", "lib64/libit.so.13"):
                path = root / place
                path.parent.mkdir()
                path.touch(0o755)
            with unittest.mock.patch.dict(os.environ, CUDA_HOME=folder):
                self.assertEqual(toolkit.program("tool"), str(root / "bin/tool"))
                self.assertEqual(toolkit.program("checker"), str(root / "checker/checker"))
                self.assertIsNone(toolkit.program("no such tool"))
                self.assertEqual(toolkit.libraries("libit.so.*"), [root / "lib64"])


class Sanitizer(unittest.TestCase):
    """The step, with a tool that is made here."""

    def outcomes(self, body, seconds=LIMIT):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "bin").mkdir()
            for name, words in (("compute-sanitizer", body), ("gpu_nccl", ""), ("gpu_reduce", "")):
                (root / "bin" / name).write_text(f"#!/bin/sh\n{words}\n")
                (root / "bin" / name).chmod(0o755)
            with unittest.mock.patch.dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}"):
                step = Context(Place(folder), seconds, True)
                sanitizer.checked(step)
        return step.outcome(), [command["outcome"] for command in step.commands]

    def test_a_finding_is_a_failure_and_want_of_time_is_not(self):
        three = 3  # commands: of the two programs, and of a script
        self.assertEqual(self.outcomes("exit 0"), ("passed", ["passed"] * three))
        self.assertEqual(self.outcomes("exit 9"), ("failed", ["failed"] * three))
        self.assertEqual(self.outcomes("sleep 1000", 1), ("left out", ["left out"] * three))
        slow = 'case "$*" in *gpu_nccl*) sleep 1000;; *gpu_reduce*) exit 9;; esac'
        self.assertEqual(self.outcomes(slow, 40),
                         ("failed", ["left out", "failed", "passed"]))


class Frameworks(unittest.TestCase):
    """The steps of PyTorch, with ranks that are made here."""

    def said(self, step, library=b""):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "bin").mkdir()
            (root / "libnccl.so.2").write_bytes(b"\0" + library + b"\0")
            (root / "line").write_text(json.dumps({"kind": "pytorch", "library": "NVIDIA's",
                                                   "mapped": [str(root / "libnccl.so.2")]}))
            (root / "bin/rondorun").write_text(
                "#!/bin/sh\necho said $CUDA_DEVICE_MAX_CONNECTIONS $PYTORCH_CUDA_ALLOC_CONF"
                f" $NCCL_MULTI_RANK_GPU_ENABLE $*\ncat {root}/line\n")
            (root / "bin/rondorun").chmod(0o755)
            context = Context(Place(folder), LIMIT, True)
            with unittest.mock.patch.object(frameworks.importlib.util, "find_spec"):
                with contextlib.suppress(LeftOut):
                    step(context)
        self.assertEqual(context.outcome(), "passed")
        return [line.replace("/", " ").split() for line in context.text.splitlines()
                if line.startswith("said")]

    def test_two_ranks_of_nvidia_where_its_library_lets_them_share_a_gpu(self):
        self.assertEqual(len(self.said(frameworks.nvidia)), 2)
        said = self.said(frameworks.nvidia, frameworks.SHARES.encode())
        self.assertEqual(["--nvidia" in words for words in said], [False, True, True])
        self.assertEqual([("--nccl" in words, "--share-gpu" in words) for words in said],
                         [(True, False), (False, False), (False, True)])
        self.assertEqual(said[2][1:5], ["32", "1", "-n", "2"])

    def test_short_runs_in_other_surroundings(self):
        said = self.said(frameworks.pytorch)
        self.assertEqual(["--short" in words for words in said], [False] * 2 + [True] * 4)
        self.assertEqual(["--device-id" in words for words in said], [False] * 2 + [True] + [False] * 3)
        self.assertEqual([words[1] for words in said], ["32"] * 4 + ["1", "8"])
        self.assertEqual(said[3][2], "expandable_segments:True")


class Swap(unittest.TestCase):
    """Which library a rank has, by memory maps that are given."""

    MAPS = ("7f00-7f01 r-xp 00000000 08:01 42   {}\n7f01-7f02 r--p 00001000 08:01 42   {}\n"
            "7f02-7f03 r-xp 00000000 08:01 43   /lib/libnccl_other.so\n7f03-7f04 rw-p 0 00:00 0\n")

    def mapped(self, *libraries):
        with tempfile.TemporaryDirectory() as folder:
            maps = pathlib.Path(folder) / "maps"
            maps.write_text("".join(self.MAPS.format(each, each) for each in libraries))
            return activation().mapped(maps)

    def check(self, library):
        active = activation()
        active.preloaded = lambda: pathlib.Path("/ours/libnccl.so.2")
        active.bound = lambda: library
        active.check()

    def test_the_map_tells_which_nccl_is_there(self):
        self.assertEqual(self.mapped("/b/libnccl.so.2", "/a/libnccl.so.2.29"),
                         ["/a/libnccl.so.2.29", "/b/libnccl.so.2"])
        self.check("/ours/libnccl.so.2")
        for library, words in ((None, "is not in this process's memory"),
                               ("/theirs/libnccl.so.2", "another NCCL is used")):
            with self.assertRaisesRegex(RuntimeError, words):
                self.check(library)

    def test_where_calls_go_is_asked_of_the_loader(self):
        program = [sys.executable, "-c", "from swapped import activation; print(activation().bound())"]
        for preloaded in ("", str((BUILD / "lib/nccl/libnccl.so.2").resolve())):
            said = subprocess.run(program, text=True, stdout=subprocess.PIPE, cwd=FOLDER, check=True,
                                  env=dict(os.environ, LD_PRELOAD=preloaded)).stdout
            self.assertEqual(said.strip(), preloaded or "None")


if __name__ == "__main__":
    unittest.main()
