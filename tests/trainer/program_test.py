#!/usr/bin/env python3
"""rondo-train and tools/trainer/survive as a user starts them, and kills them."""
import csv
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))

from jobs import BUILT, RONDORUN, Job, each, finish  # noqa: E402

TRAIN = BUILT / "rondo-train"
SURVIVE = ROOT / "tools/trainer/survive"
QUICK = "--layers 1 --width 16 --heads 2 --block 16 --batch 6 --steps 6".split()
ELASTIC = "--elastic does not work with --validate, "
MISTAKES = [
    (1, "cannot read the text /nowhere", "--data", "/nowhere"),
    (2, "is neither int8 nor topk:SHARE", "--compress", "topk"),
    (2, "there is no formula for --compress", "--validate", "--compress", "topk:0.1"),
    (2, "ends in .csv", "--log", "x.txt"),
    (2, "--device", "--device", "tpu"),
    (1, "the ranks of hogwild differ in it", "--strategy", "hogwild", "--checkpoint", "x"),
    (1, "puts float32 changes between CPUs", "--strategy", "hogwild", "--precision", "bf16"),
    (1, "--local-steps and --staleness count", "--strategy", "local_sgd", "--local-steps", "0"),
    (2, "--local-steps works only with --strategy local_sgd", "--local-steps", "4"),
    (2, "no formulas for hogwild and local_sgd", "--strategy", "hogwild", "--validate"),
    (2, ELASTIC, "--strategy", "hogwild", "--elastic"),
    (1, "the profile '/': there is no such file", "--formulas", "full", "--profile", "/"),
    (2, "above 0, as in --bucket-mb 25", "--bucket-mb", "0"),
    (2, "--sample: -1 is below 0", "--sample", "-1"),
    (1, "--threads 0: matrix products need at least one. Try: --threads 1", "--threads", "0"),
    (2, "--memory-limit: -1 is below 0", "--memory-limit", "-1"),
    (2, "more than can be counted", "--memory-limit", "17592186044416"),
    (2, "--precision: 1 not in {float32,bf16,fp16}", "--precision", "1"),
    (2, "--checkpoint-keep: must be at least 1", "--checkpoint", "x", "--checkpoint-keep", "0"),
    (2, ELASTIC, "--elastic", "--compress", "topk:0.1"),
    (2, ELASTIC, "--elastic", "--validate"),
    (2, ELASTIC, "--elastic", "--device", "gpu"),
    (2, "--join works only with --elastic and --checkpoint DIR", "--join", "--elastic"),
    (2, "--join works only with --elastic and --checkpoint", "--join", "--checkpoint", "x"),
]


def losses_in(path):
    """[(step, loss)] of a log in CSV; none where there is no file."""
    if not path.exists():
        return []
    rows = csv.reader(line for line in path.read_text().splitlines(True)[1:] if line.endswith("\n"))
    return [(int(row[0]), float(row[1])) for row in rows]


class Trainings(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def check_said(self, text, *parts):
        for part in parts:
            self.assertIn(part, text)


class Program(Trainings):
    def test_ranks_train_write_text_and_leave_a_log_and_a_picture(self):
        log, plot = self.folder / "log.csv", self.folder / "plot.svg"
        ended = finish(RONDORUN, "-n", 3, TRAIN, *QUICK, "--log", log, "--plot", plot, "--sample", 30)
        self.assertEqual((ended.status, ended.trouble), (0, ""))
        self.check_said(ended.output, "ddp on 3 ranks, 96 tokens a step", "step 6/6  loss ",
                        "time a step, rank 0 (ms):", "payload a rank", f"log {log}, plot {plot}")
        self.assertEqual(losses_in(log)[-1][0], 6)
        self.assertIn("</svg>", plot.read_text())

    def test_a_run_that_is_refused_or_has_nothing_left_to_do_leaves_the_log_before_it_alone(self):
        log = self.folder / "log.csv"
        saved = [TRAIN, *QUICK, "--checkpoint", self.folder / "saved", "--log", log]
        self.assertEqual(finish(*saved).status, 0)
        before = log.read_text()
        self.assertIn("\n6,", before)
        refused = finish(*saved)
        self.assertEqual(refused.status, 1)
        self.assertIn("holds a checkpoint of step 6", refused.error)
        self.assertEqual(log.read_text(), before)
        self.assertEqual(finish(*saved, "--resume").status, 0)
        self.assertEqual(log.read_text(), before)

    def test_it_runs_without_a_launcher_too(self):
        ended = finish(TRAIN, *QUICK)
        self.assertEqual((ended.status, ended.trouble), (0, ""))
        self.assertIn("ddp on 1 rank, 96 tokens a step", ended.output)

    def test_the_help_is_text(self):
        ended = finish(TRAIN, "--help")
        self.assertEqual(ended.status, 0)
        self.check_said(ended.output, "--precision TYPE:{float32,bf16,fp16}",
                        "Go on when ranks die, and take in processes that --join")
        self.assertRegex(ended.output, r"\A[ -~\n]+\Z")

    @each(*MISTAKES)
    def test_mistakes_end_every_rank_at_once_and_are_said_once(self, mistake):
        status, words, *options = mistake
        ended = finish(RONDORUN, "-n", 2, TRAIN, *QUICK, *options)
        self.assertEqual(ended.status, status, ended)
        self.assertEqual(ended.error.count(words), 1, ended.error)

    def checkpoints_since(self, step):
        """Whether there is a checkpoint of this step or later. Later ones replace each checkpoint, on a
        fast disk sooner than a test looks. So no test waits for one by name."""
        folder = self.folder / "checkpoints"
        names = os.listdir(folder) if folder.exists() else []
        return any(name[5:].isdigit() and int(name[5:]) >= step for name in names)

    def test_a_run_that_is_killed_as_a_whole_at_any_time_goes_on_from_its_last_checkpoint(self):
        log = self.folder / "log.csv"
        words = [RONDORUN, "-n", 2, TRAIN, *"--layers 1 --width 8 --heads 1 --block 8 --batch 4".split(),
                 *"--steps 200000 --checkpoint-every 5 --resume --validate-every 0".split(),
                 "--checkpoint", self.folder / "checkpoints", "--log", log]
        with Job(*words) as job:
            job.wait_until(lambda: self.checkpoints_since(10), "the second checkpoint")
            job.kill()
        before = losses_in(log)
        self.assertGreaterEqual(len(before), 10)
        with Job(*words) as job:
            job.wait_for("resumed at step ")
            job.wait_until(lambda: losses_in(log)[-1][0] > before[-1][0], "steps behind those that were lost")
            job.kill()
        steps = [step for step, _ in losses_in(log)]
        self.assertEqual(steps, list(range(1, len(steps) + 1)))


class Survive(Trainings):
    def survive(self, *options, strategy="ddp", log="log.csv"):
        """Long enough for a kill in the middle, and short enough for rounding to stay small."""
        return finish(SURVIVE, "--bin", BUILT, "--steps", 200, *options, "--", "--strategy", strategy,
                      "--log", self.folder / log, *"--formulas none --layers 2 --width 64 --heads 2".split(),
                      *"--block 32 --batch 12 --validate-every 0".split())

    def test_a_training_survives_two_kills_and_its_losses_are_those_of_an_undisturbed_one(self):
        calm = self.survive("--kill=", log="calm.csv")
        self.assertEqual(calm.status, 0, calm)
        expected = losses_in(self.folder / "calm.csv")
        self.assertEqual(len(expected), 200)
        for transport, strategy in ("shm", "ddp"), ("tcp", "zero3"):
            with self.subTest(transport=transport, strategy=strategy):
                ended = self.survive("--transport", transport, strategy=strategy)
                self.assertEqual(ended.status, 0, ended)
                self.check_said(
                    ended.output, "--- step 70: kill -9 of rank 2, process ",
                    "; 3 ranks go on from step ", "--- step 140: kill -9 of rank 0, process ",
                    "; 2 ranks go on from step ", "step 200/200")
                self.assertIn("was killed by signal 9 (SIGKILL); 2 ranks are left\n", ended.error)
                losses = losses_in(self.folder / "log.csv")
                self.assertEqual([step for step, _ in losses], list(range(1, 201)))
                for (_, loss), (_, alone) in zip(losses, expected):
                    self.assertLess(abs(loss - alone), 1e-5 * alone)

    def test_a_study_has_a_row_of_each_run(self):
        done = finish(sys.executable, ROOT / "tools/trainer/study", "--bin", BUILT, "--ranks", "1,2",
                      "--strategies", "zero1", "--output", self.folder / "study", "--", *QUICK[:-2])
        self.assertEqual(done.status, 0, done)
        written = (self.folder / "study.txt").read_text()
        self.assertEqual((written, written.count("zero1 x 1 "), written.count("zero1 x 2 ")),
                         (done.output, 4, 4), done)

    @each("4", "1,1", "0,1,2,3", "x")
    def test_mistakes_of_who_is_to_be_killed_are_refused(self, ranks):
        refused = finish(SURVIVE, "--bin", BUILT, "--kill", ranks)
        self.assertEqual(refused.status, 2)
        self.assertIn("--kill", refused.error)


if __name__ == "__main__":
    unittest.main()
