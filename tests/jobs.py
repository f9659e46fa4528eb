"""Whole jobs in tests: rondorun and its ranks, run to their end or watched, and what they said."""
import functools
import os
import pathlib
import re
import typing
import unittest

from running import CLOCK, Running, require, wait_until

BUILT = pathlib.Path(os.environ.get("BUILT", pathlib.Path(__file__).parents[1] / "build/check/bin"))
RONDORUN = BUILT / "rondorun"
RANK_PROGRAM = BUILT / "job_rank_program"
SKIPPED = 77  # what ctest counts as skipped
FAILURE = re.compile(r"^rank (\d+) fails (\w+) (-?\d+) after ([\d.]+) s: (.*)", re.MULTILINE)


class Result(typing.NamedTuple):
    status: int
    output: str
    error: str

    @property
    def trouble(self):
        """Standard error, without the ranks' notes of whom a call waits for. On a busy machine these are
        nobody's fault."""
        return "".join(line for line in self.error.splitlines(True) if ": waiting for rank" not in line)


class Failure(typing.NamedTuple):
    """What a rank program printed of the error that it ended with."""
    code: str
    peer: int
    seconds: float
    text: str


def failures_in(output):
    """By rank."""
    return {int(rank): Failure(code, int(peer), float(seconds), text)
            for rank, code, peer, seconds, text in FAILURE.findall(output)}


class Job(Running):
    """A command whose standard error is apart, and whose status is that which a shell shows."""

    def __init__(self, *words, **options):
        super().__init__(*words, **{"apart": True, **options})
        self._begin = CLOCK.now()

    def end(self):
        status = self.status()
        return 128 - status if status < 0 else status

    def ends_in_time(self):
        """Whether the job ends within 5 s, in which it must once a rank was killed; on a busy machine within
        the time that it took to come so far."""
        now = CLOCK.now()
        return wait_until(self.has_ended, max(5, now - self._begin))

    def result(self):
        return Result(self.end(), self.text, self.error)

    def rank(self, number):
        """The process of a rank that said "up RANK PID"."""
        found = re.search(rf"^up {number} (\d+)", self.text, re.MULTILINE)
        require(found, f"no rank {number}", self.log)
        return int(found[1])

    def wait_for_error(self, text):
        self.wait_until(lambda: text in self.error, f"'{text}'")

    def wait_none_left(self):
        self.wait_until(lambda: not self.left(), "the end of all processes")

    def kill_rank(self, number):
        os.kill(self.rank(number), 9)


def finish(*words, **options):
    """Runs a command to its end. No process of it is left then."""
    with Job(*words, **options) as job:
        result = job.result()
        job.wait_none_left()
        return result


def job_of(ranks, options, script):
    """rondorun -n RANKS, options, the rank program with its script (tests/job/rank_program.cc)."""
    grace = [] if "--grace" in options else ["--grace", "20"]
    return [RONDORUN, "-n", ranks, *options, *grace, RANK_PROGRAM, *script]


def each(*values):
    """A test for each of these values, which is its last argument."""
    def decorate(test):
        @functools.wraps(test)
        def all_of_them(self, *given):
            for value in values:
                with self.subTest(value):
                    test(self, *given, value)
        return all_of_them
    return decorate


each_transport = each("shm", "tcp")


class JobTest(unittest.TestCase):
    maxDiff = None

    def check_clean(self, result):
        self.assertEqual((result.status, result.trouble, failures_in(result.output)), (0, "", {}), result)

    def check_failures(self, result, ranks, texts=(), within=None, **fields):
        """So many ranks ended with an error whose text has all of these parts, and which has these fields;
        `within` so many seconds."""
        failures = failures_in(result.output)
        self.assertEqual(len(failures), ranks, result)
        for failure in failures.values():
            for name, value in fields.items():
                self.assertEqual(getattr(failure, name), value, failure)
            for text in texts:
                self.assertIn(text, failure.text)
            if within is not None:
                self.assertLess(failure.seconds, within, failure)
        return failures

    def in_time(self, attempt):
        """One of three tries returns that a job ended in time. The machine may be busy in the others."""
        for _ in range(3):
            if attempt():
                return
            print("a job's end took too long; again", flush=True)
        self.fail("no job ended in time")
